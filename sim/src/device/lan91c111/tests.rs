//! The chip as a driver and a line see it.

use linerate_ether::fcs;

use super::*;
use crate::device::port::Partner;
use crate::time::Span;

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 2];
const RCV: u8 = 1 << 0;

fn write(chip: &mut Lan91c111, bank: u16, offset: u32, value: u16, now: Instant) {
    chip.write_bytes(BANK & !3, u32::from(bank) << 16, 0b0100, now);
    let shift = 8 * (offset & 3);
    chip.write_bytes(
        offset & !3,
        u32::from(value) << shift,
        3 << (offset & 3),
        now,
    );
}

fn read(chip: &mut Lan91c111, bank: u16, offset: u32, now: Instant) -> u16 {
    chip.write_bytes(BANK & !3, u32::from(bank) << 16, 0b0100, now);
    let word = chip
        .read_bytes(offset & !3, 3 << (offset & 3), now)
        .unwrap();
    (word >> (8 * (offset & 3))) as u16
}

fn started() -> Lan91c111 {
    let mut chip = Lan91c111::default();
    let now = Instant::ZERO;
    chip.connect(
        Some(Partner {
            mbit_per_s: 100,
            pause: false,
        }),
        now,
    );
    for at in 0..3 {
        let word = u16::from_le_bytes([OWN[2 * at], OWN[2 * at + 1]]);
        write(&mut chip, 1, 4 + 2 * at as u32, word, now);
    }
    write(&mut chip, 1, 0x0c, 0x0800, now);
    write(&mut chip, 0, 0x04, 0x0300, now);
    write(&mut chip, 0, 0x00, 0x0081, now);
    write(&mut chip, 2, 0x0c, u16::from(RCV) << 8, now);
    chip
}

fn frame(to: [u8; 6], len: usize, start: Instant) -> LineFrame {
    let mut octets: Vec<u8> = (0..len).map(|it| it as u8).collect();
    octets[..6].copy_from_slice(&to);
    octets.resize(len + fcs::LEN, 0);
    fcs::append(&mut octets, len).unwrap();
    LineFrame::new(octets, start, Lan91c111::MODE)
}

#[test]
fn a_received_frame_interrupts_and_is_read_through_the_data_register() {
    for len in [64, 65] {
        let mut chip = started();
        let sent = frame(OWN, len, Instant::from_ns(100));
        chip.receive_frame(sent.clone());
        assert_eq!(chip.next_event(), sent.end);
        chip.advance(sent.end);
        assert_eq!(chip.interrupts(), 1);
        let now = sent.end;
        write(&mut chip, 2, 0x06, 0xe000, now);
        let header = chip.read_bytes(8, 0xf, now).unwrap();
        assert_eq!(header >> 16, (len as u32 & !1) + 6);
        let mut octets = Vec::new();
        while octets.len() < len {
            octets.extend(chip.read_bytes(8, 0xf, now).unwrap().to_le_bytes());
        }
        assert_eq!(octets[..len], sent.octets[..len]);
        write(&mut chip, 2, 0x00, 4 << 5, now);
        assert_eq!(chip.interrupts(), 0);
        assert_eq!(read(&mut chip, 0, 0x08, now), 0x0404);
    }
}

#[test]
fn a_frame_that_was_allocated_written_and_enqueued_is_sent_with_padding_and_fcs() {
    let mut chip = started();
    let now = Instant::from_ns(5000);
    write(&mut chip, 2, 0x00, 1 << 5, now);
    let packet = read(&mut chip, 2, 0x02, now) >> 8;
    assert_eq!(packet & 0x80, 0);
    write(&mut chip, 2, 0x02, packet, now);
    write(&mut chip, 2, 0x06, 0x4000, now);
    chip.write_bytes(8, (14 + 6) << 16, 0xf, now);
    for word in 0..3_u32 {
        chip.write_bytes(8, word, 0xf, now);
    }
    chip.write_bytes(8, 0x0008, 0x3, now);
    // The odd octet and its flag.
    chip.write_bytes(8, 0x2077, 0x3, now);
    write(&mut chip, 2, 0x00, 6 << 5, now);
    let end = chip.next_event();
    assert_eq!(end, now + Span::from_ns(72 * 80));
    assert_eq!(chip.take_frame(), None);
    chip.advance(end);
    let sent = chip.take_frame().unwrap();
    assert_eq!(sent.octets.len(), 64);
    assert_eq!(sent.octets[12..15], [8, 0, 0x77]);
    assert!(fcs::is_good(&sent.octets));
    // Released by itself.
    assert_eq!(read(&mut chip, 0, 0x08, end), 0x0404);
}

#[test]
fn a_fifth_frame_finds_no_memory() {
    let mut chip = started();
    let mut at = Instant::from_ns(0);
    for _ in 0..5 {
        let frame = frame(OWN, 100, at);
        at = frame.end;
        chip.receive_frame(frame);
    }
    chip.advance(at);
    assert_eq!(read(&mut chip, 0, 0x08, at) >> 8, 0);
    let overrun = read(&mut chip, 2, 0x0c, at) & 1 << 4;
    assert_ne!(overrun, 0);
    // An allocation waits until memory is released.
    write(&mut chip, 2, 0x00, 1 << 5, at);
    assert_ne!(read(&mut chip, 2, 0x02, at) & 0x8000, 0);
    write(&mut chip, 2, 0x00, 4 << 5, at);
    assert_eq!(read(&mut chip, 2, 0x02, at) & 0x8000, 0);
}

#[test]
fn frames_for_others_are_ignored() {
    let mut chip = started();
    let sent = frame([2, 0, 0, 0, 0, 9], 100, Instant::ZERO);
    let end = sent.end;
    chip.receive_frame(sent);
    chip.advance(end);
    assert_eq!(chip.interrupts(), 0);
}
