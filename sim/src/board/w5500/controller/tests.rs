use super::*;

const OWN: [u8; 6] = [2, 0, 0, 0, 0, 2];
const NOW: Instant = Instant::from_ns(1_000);

/// Control octets of the blocks of socket 0 and of the common registers.
const COMMON: u8 = 0x00;
const SOCKET: u8 = 0x08;
const SEND_BUFFER: u8 = 0x10;
const RECEIVE_BUFFER: u8 = 0x18;

fn frame(chip: &mut W5500, address: u16, control: u8, data: &[u8]) -> Vec<u8> {
    chip.select(false);
    let [high, low] = address.to_be_bytes();
    for octet in [high, low, control] {
        chip.exchange(octet, NOW);
    }
    let read = data
        .iter()
        .map(|&octet| chip.exchange(octet, NOW))
        .collect();
    chip.select(true);
    read
}

fn write(chip: &mut W5500, block: u8, address: u16, data: &[u8]) {
    frame(chip, address, block | 4, data);
}

fn read(chip: &mut W5500, block: u8, address: u16, len: usize) -> Vec<u8> {
    frame(chip, address, block, &vec![0; len])
}

/// A chip with all memory in socket 0, open in MACRAW mode with the filter.
fn open() -> W5500 {
    let mut chip = W5500::new(Config::default());
    chip.set_link(true);
    write(&mut chip, COMMON, 0x09, &OWN);
    write(&mut chip, COMMON, 0x18, &[1]);
    write(&mut chip, SOCKET, 0x2c, &[4]);
    write(&mut chip, SOCKET, 0x1e, &[16, 16]);
    write(&mut chip, SOCKET, 0x00, &[0x84]);
    write(&mut chip, SOCKET, 0x01, &[1]);
    chip
}

fn to_own(len: usize) -> Vec<u8> {
    let mut octets = vec![0x55; len];
    octets[..6].copy_from_slice(&OWN);
    octets
}

#[test]
fn registers_answer_in_variable_and_fixed_length_frames() {
    let mut chip = W5500::new(Config::default());
    assert_eq!(read(&mut chip, COMMON, 0x39, 1), [4]);
    assert_eq!(read(&mut chip, COMMON, 0x2e, 1), [PHY_DOWN]);
    chip.set_link(true);
    assert_eq!(read(&mut chip, COMMON, 0x2e, 1), [PHY_UP]);
    // Two frames of one octet with chip select low all the time.
    let data = [0x00, 0x39, COMMON | 1, 0];
    assert_eq!(
        frame(&mut chip, 0x19, COMMON | 1, &[&[0], &data[..]].concat())[0],
        0x07
    );
    chip.select(false);
    let answers = [[0, 0x19, 2, 0, 0], [0, 0x39, 1, 0, 0]].map(|octets| {
        let answer = octets.map(|octet| chip.exchange(octet, NOW));
        (answer[3], answer[4])
    });
    assert_eq!(answers[0], (0x07, 0xd0), "RTR in a frame of two octets");
    assert_eq!(answers[1].0, 4);
}

#[test]
fn a_socket_is_open_after_the_command_and_only_in_modes_that_are_modelled() {
    let mut chip = open();
    assert_eq!(read(&mut chip, SOCKET, 0x03, 1), [0x42]);
    assert_eq!(read(&mut chip, SOCKET, 0x20, 2), [0x40, 0]);
    write(&mut chip, SOCKET, 0x01, &[0x10]);
    assert_eq!(read(&mut chip, SOCKET, 0x03, 1), [0]);
    write(&mut chip, SOCKET, 0x00, &[0x01]);
    write(&mut chip, SOCKET, 0x01, &[1]);
    assert_eq!(read(&mut chip, SOCKET, 0x03, 1), [0], "TCP is not modelled");
    assert_eq!(chip.unsupported(), 1);
}

#[test]
fn a_received_frame_is_behind_its_length_and_interrupts_once() {
    let mut chip = open();
    chip.receive(&to_own(60), NOW);
    chip.receive(&to_own(61), NOW);
    assert_eq!(chip.interrupt_since(), Some(NOW));
    assert_eq!(read(&mut chip, SOCKET, 0x26, 2), [0, 60 + 61 + 4]);
    assert_eq!(read(&mut chip, RECEIVE_BUFFER, 0, 3), [0, 62, 2]);
    assert_eq!(read(&mut chip, RECEIVE_BUFFER, 62, 2), [0, 63]);
    write(&mut chip, SOCKET, 0x02, &[4]);
    assert_eq!(chip.interrupt_since(), None);
    // The pointer applies with the command.
    write(&mut chip, SOCKET, 0x28, &[0, 62]);
    assert_eq!(read(&mut chip, SOCKET, 0x26, 2), [0, 125]);
    write(&mut chip, SOCKET, 0x01, &[0x40]);
    assert_eq!(read(&mut chip, SOCKET, 0x26, 2), [0, 63]);
    assert_eq!(
        chip.interrupt_since(),
        None,
        "arrivals interrupt, frames that wait do not"
    );
}

#[test]
fn the_other_reading_of_the_datasheet_interrupts_for_frames_that_wait() {
    let mut chip = open();
    chip.config.raises_receive_again = true;
    chip.receive(&to_own(60), NOW);
    chip.receive(&to_own(60), NOW);
    write(&mut chip, SOCKET, 0x02, &[4]);
    write(&mut chip, SOCKET, 0x28, &[0, 62]);
    write(&mut chip, SOCKET, 0x01, &[0x40]);
    assert_eq!(chip.interrupt_since(), Some(NOW));
}

#[test]
fn frames_beyond_the_buffer_and_for_others_are_lost_and_counted() {
    let mut chip = open();
    let mut other = to_own(60);
    other[5] = 9;
    chip.receive(&other, NOW);
    for _ in 0..11 {
        chip.receive(&to_own(1514), NOW);
    }
    let counts = chip.statistics();
    assert_eq!(
        (counts.received, counts.overflowed, counts.filtered),
        (10, 1, 1)
    );
    assert_eq!(counts.high_water, 15_160);
}

#[test]
fn a_frame_around_the_end_of_the_buffer_is_read_in_one_piece() {
    let mut chip = open();
    for _ in 0..11 {
        chip.receive(&to_own(1514), NOW);
        let next = (read(&mut chip, SOCKET, 0x2a, 2), 0).0;
        write(&mut chip, SOCKET, 0x28, &next);
        write(&mut chip, SOCKET, 0x01, &[0x40]);
    }
    let start = 11 * 1516_u16;
    assert!(usize::from(start) > MEMORY);
    assert_eq!(chip.waiting_octets(), 0);
    assert_eq!(read(&mut chip, SOCKET, 0x2a, 2), start.to_be_bytes());
    let whole = read(&mut chip, RECEIVE_BUFFER, start - 1516, 1516);
    assert_eq!(whole[..3], [0x05, 0xec, 2]);
    assert!(whole[8..].iter().all(|&octet| octet == 0x55));
}

#[test]
fn a_sent_frame_is_padded_and_takes_its_time_on_the_medium() {
    let mut chip = open();
    write(&mut chip, SEND_BUFFER, 0, &[7; 50]);
    write(&mut chip, SOCKET, 0x24, &[0, 50]);
    write(&mut chip, SOCKET, 0x01, &[0x20]);
    assert_eq!(read(&mut chip, SOCKET, 0x20, 2), [0x3f, 0xce]);
    // The second one waits for the first and the gap.
    write(&mut chip, SEND_BUFFER, 50, &[8; 100]);
    write(&mut chip, SOCKET, 0x24, &[0, 150]);
    write(&mut chip, SOCKET, 0x01, &[0x20]);
    let end = NOW + Span::from_ns(72 * 80);
    assert_eq!(chip.next_event(), end);
    let (at, first) = chip.poll_sent(end).unwrap();
    assert_eq!((at, first.len(), first[49], first[50]), (end, 60, 7, 0));
    assert_eq!(read(&mut chip, SOCKET, 0x02, 1), [0x10]);
    let end = end + Span::from_ns((12 + 112) * 80);
    assert_eq!(chip.poll_sent(end), Some((end, vec![8; 100])));
    assert_eq!(chip.next_event(), Instant::NEVER);
    assert_eq!(read(&mut chip, SOCKET, 0x22, 2), [0, 150]);
}

#[test]
fn the_interrupt_pin_stays_high_for_its_wait_time() {
    let mut chip = open();
    // 4 x (149 + 1) clocks of 150 MHz: 4 us.
    write(&mut chip, COMMON, 0x13, &[0, 149]);
    chip.receive(&to_own(60), NOW);
    let first = chip.interrupt_since().unwrap();
    write(&mut chip, SOCKET, 0x02, &[4]);
    chip.receive(&to_own(60), NOW);
    let again = chip.interrupt_since().unwrap();
    assert!(first <= NOW + Span::from_us(4));
    assert_eq!(again, NOW + Span::from_us(4));
}

#[test]
fn a_chip_that_is_not_selected_does_not_listen() {
    let mut chip = W5500::new(Config::default());
    assert_eq!(chip.exchange(0x12, NOW), 0xff);
    assert_eq!(chip.spi_octets(), SpiOctetCounts::default());
}
