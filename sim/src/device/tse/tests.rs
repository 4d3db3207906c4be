use super::*;
use crate::random::Random;
use linerate_ether::fcs;
use linerate_ether::pause::Pause;

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 2];
const TX_ENA: u32 = 1;
const RX_ENA: u32 = 2;
const GIGABIT: u32 = 8;

fn ns(ns: u64) -> Instant {
    Instant::from_ns(ns)
}

/// A MAC with a link of this speed since 1 us.
fn mac(mbit_per_s: u32, command: u32) -> Tse {
    let mut mac = Tse::new(1024, 512, 1, Span::from_ns(100));
    let partner = Partner {
        mbit_per_s,
        pause: true,
    };
    mac.connect(Some(partner), Instant::ZERO);
    mac.write(0x0c, u32::from_le_bytes([2, 0, 0, 0]), Instant::ZERO);
    mac.write(0x10, 0x0200, Instant::ZERO);
    mac.write(0x30, 8, Instant::ZERO);
    mac.write(0x08, command, Instant::ZERO);
    mac.advance(ns(1000));
    mac
}

fn gigabit(command: u32) -> Tse {
    mac(1000, GIGABIT | TX_ENA | RX_ENA | command)
}

fn counter(mac: &mut Tse, offset: u32) -> u32 {
    mac.read(offset, ns(1_000_000_000)).unwrap()
}

/// A frame with FCS of `len` octets.
fn frame(destination: [u8; 6], len: usize) -> Vec<u8> {
    let mut octets = vec![0x55; len - 4];
    octets[..6].copy_from_slice(&destination);
    octets[12..14].copy_from_slice(&[0x08, 0x00]);
    let fcs = fcs::crc32(&octets).to_le_bytes();
    octets.extend(fcs);
    octets
}

/// It arrives from `start` on at this speed.
fn arrive(mac: &mut Tse, octets: Vec<u8>, start: Instant, mbit_per_s: u32) -> Instant {
    let frame = LineFrame::new(octets, start, LinkMode { mbit_per_s });
    let end = frame.end;
    Line::receive_frame(mac, frame);
    end
}

fn run(mac: &mut Tse, until: Instant) {
    for _ in 0..100_000 {
        let next = mac.next_event();
        if next > until {
            return;
        }
        mac.advance(next);
        assert!(mac.next_event() > next, "no progress");
    }
    panic!("it never ends");
}

fn send(mac: &mut Tse, octets: Vec<u8>, now: Instant) {
    let end = Some(0);
    mac.stream_input(Fragment { octets, end }, now);
}

/// All of the next received packet.
fn take(mac: &mut Tse, now: Instant) -> Option<(Vec<u8>, u8)> {
    let mut octets = Vec::new();
    while let Some(fragment) = mac.stream_output(64, now) {
        octets.extend(fragment.octets);
        if let Some(error) = fragment.end {
            return Some((octets, error));
        }
    }
    assert!(octets.is_empty(), "incomplete");
    None
}

#[test]
fn a_frame_is_padded_and_sent_in_the_time_of_its_octets_and_the_gap_follows() {
    for (speed, command, octet_ns) in [(1000, GIGABIT, 8), (100, 0, 80), (10, 1 << 25, 800)] {
        let mut mac = mac(speed, command | TX_ENA);
        send(&mut mac, frame([0xff; 6], 40), ns(2000));
        send(&mut mac, frame([0xff; 6], 1000), ns(2000));
        run(&mut mac, ns(10_000_000));
        let first = mac.take_frame().unwrap();
        assert_eq!((first.octets.len(), first.fault), (64, None), "{speed}");
        assert!(fcs::is_good(&first.octets));
        assert_eq!(first.start, ns(2000));
        assert_eq!(first.end, ns(2000 + 72 * octet_ns));
        let second = mac.take_frame().unwrap();
        assert_eq!(second.start, ns(2000 + (72 + 12) * octet_ns));
        assert_eq!(second.octets.len(), 1004);
        assert_eq!(counter(&mut mac, 0x68), 2);
        assert_eq!(counter(&mut mac, 0xa8), 2);
    }
}

#[test]
fn headers_are_shifted_both_ways() {
    let mut mac = gigabit(0);
    mac.write(0xe8, 1 << 18, ns(1000));
    mac.write(0xec, 1 << 25, ns(1000));
    let octets = frame(OWN, 100);
    send(&mut mac, [&[7, 7], &octets[..96]].concat(), ns(1000));
    let end = arrive(&mut mac, octets.clone(), ns(1000), 1000);
    run(&mut mac, ns(1_000_000));
    assert_eq!(mac.take_frame().unwrap().octets, octets);
    let (received, error) = take(&mut mac, end).unwrap();
    assert_eq!(
        (&received[..2], &received[2..], error),
        (&[0, 0][..], &octets[..96], 0)
    );
}

#[test]
fn what_is_not_for_the_station_is_not_received() {
    let other = [2, 0, 0, 0, 0, 9];
    let group = [1, 0, 0x5e, 1, 2, 3];
    let cases = [
        (OWN, 0, true),
        (other, 0, false),
        (other, 1 << 4, true),
        ([0xff; 6], 0, true),
        (group, 0, false),
    ];
    for (destination, command, is_received) in cases {
        let mut mac = gigabit(command);
        let end = arrive(&mut mac, frame(destination, 64), ns(1000), 1000);
        run(&mut mac, end);
        assert_eq!(
            take(&mut mac, end).is_some(),
            is_received,
            "{destination:x?}"
        );
    }
    // Parities of the octets: 1 of 01, 00, 5e (5 bits), 01, 02, 03 (2 bits).
    let mut mac = gigabit(0);
    mac.write(0x100 + 4 * 0b01_1101, 1, ns(1000));
    let end = arrive(&mut mac, frame(group, 64), ns(1000), 1000);
    run(&mut mac, end);
    assert!(take(&mut mac, end).is_some());
}

#[test]
fn damaged_frames_have_an_error_or_are_discarded() {
    let mut bad = frame(OWN, 100);
    bad[50] ^= 1;
    let long = frame(OWN, 1600);
    let runt = frame(OWN, 40);
    for (octets, error, counted) in [(bad, 0b101, 0x70), (long, 0b11, 0xbc), (runt, 0b11, 0xb8)] {
        for discards in [false, true] {
            let mut mac = gigabit(u32::from(discards) << 26);
            let end = arrive(&mut mac, octets.clone(), ns(1000), 1000);
            run(&mut mac, end);
            let received = take(&mut mac, end).map(|it| it.1);
            assert_eq!(received, (!discards).then_some(error), "{counted:x}");
            assert_eq!(counter(&mut mac, counted), 1, "{counted:x}");
            assert_eq!(counter(&mut mac, 0x88), 1);
            assert_eq!(counter(&mut mac, 0x6c), 0);
        }
    }
}

#[test]
fn fcs_and_padding_are_kept_or_stripped() {
    let mut octets = frame(OWN, 64);
    octets[12..14].copy_from_slice(&[0, 10]);
    let fcs = fcs::crc32(&octets[..60]).to_le_bytes();
    octets[60..].copy_from_slice(&fcs);
    for (command, len) in [(0, 60), (1 << 6, 64), (1 << 5, 24)] {
        let mut mac = gigabit(command);
        let end = arrive(&mut mac, octets.clone(), ns(1000), 1000);
        run(&mut mac, end);
        assert_eq!(take(&mut mac, end).map(|it| it.0.len()), Some(len));
    }
}

#[test]
fn a_full_fifo_truncates_and_then_drops() {
    let mut mac = gigabit(0);
    let mut at = ns(1000);
    // 2048 octets less a reserve of 32.
    for _ in 0..4 {
        at = arrive(&mut mac, frame(OWN, 1000), at, 1000) + Span::from_ns(96);
    }
    run(&mut mac, at);
    let errors: Vec<u8> = std::iter::from_fn(|| Some(take(&mut mac, at)?.1)).collect();
    assert_eq!(errors, [0, 0, 0b1001]);
    assert_eq!(counter(&mut mac, 0xac), 1);
    assert_eq!(counter(&mut mac, 0x6c), 2);
    // Once it is empty, frames are received again.
    let end = arrive(&mut mac, frame(OWN, 1000), at, 1000);
    run(&mut mac, end);
    assert_eq!(take(&mut mac, end).map(|it| it.1), Some(0));
}

#[test]
fn a_threshold_forwards_a_frame_before_its_end() {
    let mut mac = gigabit(0);
    mac.write(0x20, 32, ns(1000));
    let end = arrive(&mut mac, frame(OWN, 1000), ns(1000), 1000);
    // 128 octets after the preamble.
    let half = ns(1000 + 8 * (8 + 128));
    run(&mut mac, half);
    let first = mac.stream_output(2000, half).unwrap();
    assert_eq!((first.octets.len(), first.end), (124, None));
    run(&mut mac, end);
    let rest = mac.stream_output(2000, end).unwrap();
    assert_eq!((rest.octets.len(), rest.end), (996 - 124, Some(0)));
}

#[test]
fn a_frame_that_runs_dry_is_broken_off() {
    let mut mac = gigabit(0);
    mac.write(0x28, 16, ns(1000));
    let part = |octets: usize, end| Fragment {
        octets: vec![0xff; octets],
        end,
    };
    mac.stream_input(part(200, None), ns(1000));
    run(&mut mac, ns(10_000));
    let sent = mac.take_frame().unwrap();
    assert_eq!(sent.fault, Some(DropCause::FifoUnderrun));
    assert_eq!(counter(&mut mac, 0x8c), 1);
    // The rest comes too late; the next packet is sent.
    mac.stream_input(part(200, Some(0)), ns(10_000));
    send(&mut mac, frame([0xff; 6], 100), ns(10_000));
    run(&mut mac, ns(20_000));
    let sent = mac.take_frame().unwrap();
    assert_eq!((sent.octets.len(), sent.fault), (104, None));
    assert_eq!(mac.take_frame(), None);
}

#[test]
fn a_frame_that_is_broken_off_at_once_has_a_preamble() {
    let mut mac = gigabit(0);
    mac.write(0x28, 2, ns(1000));
    mac.write(0x34, 8, ns(1000));
    mac.stream_input(
        Fragment {
            octets: vec![0; 8],
            end: None,
        },
        ns(2000),
    );
    // Before the first octet is due, and when it is.
    mac.advance(ns(2000));
    assert_eq!(mac.take_frame(), None);
    run(&mut mac, ns(10_000));
    let frame = mac.take_frame().expect("its beginning is on the line");
    assert!(frame.end >= ns(2000 + 8 * 8), "{frame:?}");
}

#[test]
fn pause_frames_are_obeyed_and_sent() {
    let mut mac = gigabit(0);
    let mut octets = vec![0; 60];
    let pause = Pause {
        source: linerate_ether::frame::MacAddress([2, 0, 0, 0, 0, 1]),
        quanta: 100,
    };
    pause.emit(&mut octets).unwrap();
    let fcs = fcs::crc32(&octets).to_le_bytes();
    octets.extend(fcs);
    let end = arrive(&mut mac, octets, ns(1000), 1000);
    run(&mut mac, end);
    send(&mut mac, frame([0xff; 6], 100), end);
    run(&mut mac, ns(1_000_000));
    // 100 times 512 bits at a bit each nanosecond.
    assert_eq!(mac.take_frame().unwrap().start, end + Span::from_ns(51_200));
    assert_eq!((take(&mut mac, end), counter(&mut mac, 0x84)), (None, 1));
    // 100 words fill up: stop; then go on.
    mac.write(0x1c, 100, ns(1_000_000));
    mac.write(0x18, 7, ns(1_000_000));
    let end = arrive(&mut mac, frame(OWN, 1000), ns(1_000_000), 1000);
    run(&mut mac, end + Span::from_us(10));
    assert!(take(&mut mac, end + Span::from_us(10)).is_some());
    run(&mut mac, end + Span::from_us(20));
    let quanta: Vec<u16> = std::iter::from_fn(|| mac.take_frame())
        .map(|sent| Pause::parse(&sent.octets).unwrap().quanta)
        .collect();
    assert_eq!(quanta, [7, 0]);
    assert_eq!(counter(&mut mac, 0x80), 2);
}

#[test]
fn loopback_reset_and_a_wrong_speed() {
    let mut mac = gigabit(1 << 15);
    send(&mut mac, frame(OWN, 100)[..96].to_vec(), ns(1000));
    run(&mut mac, ns(100_000));
    assert_eq!(
        take(&mut mac, ns(100_000)),
        Some((frame(OWN, 100)[..96].to_vec(), 0))
    );
    assert_eq!(mac.take_frame(), None);
    mac.write(0x08, 1 << 13 | 3, ns(100_000));
    assert_eq!(mac.read(0x08, ns(100_000)), Some(0));
    assert_eq!(counter(&mut mac, 0x68), 0);
    let mut mac = super::tests::mac(1000, TX_ENA);
    send(&mut mac, frame(OWN, 100), ns(1000));
    run(&mut mac, ns(100_000));
    assert_eq!(
        mac.take_frame().unwrap().fault,
        Some(DropCause::SymbolError)
    );
}

#[test]
fn the_phy_is_behind_its_address() {
    let mut mac = gigabit(0);
    assert_eq!(mac.read(0x204, ns(1000)), Some(0xffff));
    mac.write(0x3c, 1, ns(1000));
    mac.read(0x204, ns(1000));
    assert_eq!(mac.read(0x204, ns(1000)).unwrap() & 0x24, 0x24);
    mac.write(0x40, 2, ns(1000));
    assert_eq!(mac.read(0x284, ns(1000)), Some(0xffff));
}

/// Random registers, frames and packets: time goes on, and the FIFOs keep their size.
#[test]
fn random_use_neither_hangs_nor_overfills_a_fifo() {
    let mut random = Random::new(0x0754);
    for _ in 0..60 {
        let mut mac = gigabit(0);
        let mut now = ns(2000);
        let mut arrives = now;
        for _ in 0..300 {
            match random.below(5) {
                0 => {
                    let offset = 4 * random.below(0x100) as u32;
                    mac.write(offset, random.next_u64() as u32, now);
                    mac.read(offset, now);
                }
                1 => {
                    mac.write(0x08, GIGABIT | TX_ENA | RX_ENA, now);
                }
                2 if arrives <= now => {
                    let len = 1 + random.below(2000) as usize;
                    let octets = frame(OWN, len.max(20))[..len].to_vec();
                    arrives = arrive(&mut mac, octets, now, 1000);
                }
                3 => {
                    let room = mac.stream_room(now);
                    let len = random.below(room.min(1600) as u64 + 1) as usize;
                    let end = (random.below(2) == 0).then_some(0);
                    mac.stream_input(
                        Fragment {
                            octets: vec![3; len],
                            end,
                        },
                        now,
                    );
                }
                _ => {
                    mac.stream_output(random.below(600) as usize, now);
                }
            }
            assert!(mac.receiver.level() <= 2048 && mac.stream_room(now) <= 4096);
            now += Span::from_ns(random.below(5000));
            run(&mut mac, now);
            while mac.take_frame().is_some() {}
        }
    }
}
