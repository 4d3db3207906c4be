//! Transfers of a master and of a slave, burst by burst.

use super::*;

fn spi(writes: &[(u32, u32)]) -> SpiController {
    let mut spi = SpiController::default();
    spi.set_clocks(&[80_000_000], Instant::ZERO);
    for &(offset, value) in writes {
        assert!(spi.write(offset, value, Instant::from_ns(1_000)));
    }
    spi
}

/// Completes all bursts; returns what was sent, echoing its complement, and the time of the end.
fn drain(spi: &mut SpiController) -> (Vec<u8>, Instant) {
    let (mut sent, mut end) = (Vec::new(), Instant::ZERO);
    while let Some(burst) = spi.burst() {
        sent.extend(&burst.sent[..burst.len]);
        end = burst.end();
        spi.complete(&burst, burst.sent, burst.sent.map(|octet| !octet));
    }
    (sent, end)
}

#[test]
fn data_registers_are_exchanged_at_the_divided_clock() {
    // 80 MHz / 7: 87.5 ns a bit.
    let mut spi = spi(&[
        (CLOCK, 6 << 12),
        (USER, DOUTDIN | USR_MOSI | USR_MISO),
        (MS_DLEN, 6 * 8 - 1),
        (W, 0x4433_2211),
        (W + 4, 0xaabb_6655),
        (CMD, CMD_USR),
    ]);
    assert_eq!(spi.read(CMD, Instant::ZERO), Some(CMD_USR));
    let (sent, end) = drain(&mut spi);
    assert_eq!(sent, [0x11, 0x22, 0x33, 0x44, 0x55, 0x66]);
    assert_eq!(end, Instant::from_ns(1_000 + 6 * 700));
    assert_eq!(spi.read(W, end), Some(!0x4433_2211));
    assert_eq!(spi.read(W + 4, end), Some(0xaabb_99aa), "upper half stays");
    assert_eq!(spi.read(CMD, end), Some(0));
    assert_eq!(spi.interrupts(), 0);
    spi.write(DMA_INT_ENA, TRANS_DONE, end);
    assert_eq!(spi.interrupts(), 1);
    spi.write(DMA_INT_CLR, TRANS_DONE, end);
    assert_eq!(spi.interrupts(), 0);
}

#[test]
fn command_and_address_go_before_the_data_that_are_read() {
    // Command 0x1234 as esp-hal stores it, address 0x18 of eight bits.
    let mut spi = spi(&[
        (CLOCK, CLK_EQU_SYSCLK),
        (USER, USR_COMMAND | USR_ADDR | USR_MISO),
        (USER1, 7 << 27),
        (USER2, 15 << 28 | 0x3412),
        (ADDR, 0x18 << 24),
        (MS_DLEN, 2 * 8 - 1),
        (CMD, CMD_USR),
    ]);
    let (sent, end) = drain(&mut spi);
    assert_eq!(sent, [0x12, 0x34, 0x18, 0, 0]);
    assert_eq!(end, Instant::from_ns(1_000 + 5 * 100));
    assert_eq!(spi.read(W, end).unwrap() & 0xffff, 0xffff);
}

/// A slave with a host of 10 Mbit/s, six octets a transfer and 2 µs between; a transfer ends each 6.8 µs.
fn slave() -> SpiController {
    let mut spi = spi(&[(SLAVE, SLAVE_MODE), (DMA_CONF, DMA_RX_ENA | DMA_TX_ENA)]);
    let host = SpiHost {
        octet: Span::from_ns(800),
        transfer_octets: 6,
        pause: Span::from_us(2),
    };
    spi.connect(host, Instant::ZERO);
    let line = spi.line().expect("connected");
    line.send(vec![1, 2, 3, 4, 5, 6]);
    line.send(vec![7, 8]);
    spi
}

/// Performs the next transfer of the host; the slave sends 0x50 in each octet. Returns what the slave received.
fn clock(spi: &mut SpiController) -> Vec<u8> {
    let mut received = Vec::new();
    loop {
        let burst = spi.burst().expect("the host goes on");
        let from_host = burst.from_host.expect("a host");
        if burst.receives_by_dma {
            received.extend(&from_host[..burst.len]);
        }
        let sent = if burst.sends_by_dma {
            [0x50; MAX_BURST]
        } else {
            burst.sent
        };
        spi.complete(&burst, sent, from_host);
        if burst.is_last {
            return received;
        }
    }
}

#[test]
fn a_slave_exchanges_one_transfer_for_each_start() {
    let mut spi = slave();
    spi.write(CMD, CMD_USR, Instant::from_ns(2_000));
    assert_eq!(spi.read(CMD, Instant::ZERO), Some(CMD_USR));
    assert_eq!(spi.next_event(), Instant::from_ns(2_000 + 4 * 800));
    assert_eq!(clock(&mut spi), [1, 2, 3, 4, 5, 6]);
    assert_eq!(spi.read(DMA_INT_RAW, Instant::ZERO), Some(TRANS_DONE));
    assert_eq!(spi.read(CMD, Instant::ZERO), Some(0));
    // Not started again: nobody hears the next one, whose rest is zeros.
    spi.write(DMA_INT_CLR, TRANS_DONE, Instant::ZERO);
    assert_eq!(clock(&mut spi), []);
    assert_eq!(spi.read(DMA_INT_RAW, Instant::ZERO), Some(0));
    let line = spi.line().expect("connected");
    assert_eq!((line.backlog(), line.transfers()), (0, (2, 1)));
    let ends = [6_800, 13_600].map(Instant::from_ns);
    let expected = [(ends[0], vec![0x50; 6]), (ends[1], vec![0xff; 6])];
    assert_eq!(line.take_arrived(), expected);
}

#[test]
fn a_slave_without_dma_takes_part_but_keeps_nothing() {
    let mut spi = slave();
    spi.write(DMA_CONF, DMA_TX_ENA, Instant::ZERO);
    spi.write(CMD, CMD_USR, Instant::from_ns(1_000));
    assert_eq!(clock(&mut spi), []);
    assert_eq!(spi.read(DMA_INT_RAW, Instant::ZERO), Some(TRANS_DONE));
    let line = spi.line().expect("connected");
    let expected = [(Instant::from_ns(6_800), vec![0x50; 6])];
    assert_eq!(line.take_arrived(), expected);
}

#[test]
fn a_slave_that_is_started_within_a_transfer_waits_for_the_next_one() {
    let mut spi = slave();
    spi.write(CMD, CMD_USR, Instant::from_ns(2_001));
    assert_eq!(clock(&mut spi), []);
    assert_eq!(spi.read(CMD, Instant::ZERO), Some(CMD_USR), "still started");
    assert_eq!(clock(&mut spi), [7, 8, 0, 0, 0, 0]);
}

#[test]
fn a_reset_ends_the_slave_s_part_of_a_transfer() {
    let mut spi = slave();
    spi.write(CMD, CMD_USR, Instant::from_ns(1_000));
    let burst = spi.burst().expect("a burst");
    assert!(burst.receives_by_dma);
    spi.complete(&burst, [0; MAX_BURST], [0; MAX_BURST]);
    spi.write(SLAVE, SLAVE_MODE | SOFT_RESET, Instant::from_ns(5_300));
    spi.write(CMD, CMD_USR, Instant::from_ns(5_400));
    assert_eq!(clock(&mut spi), []);
    assert_eq!(spi.read(DMA_INT_RAW, Instant::ZERO), Some(0));
    assert_eq!(clock(&mut spi), [7, 8, 0, 0, 0, 0]);
}

#[test]
fn a_stopped_clock_transfers_nothing() {
    let mut spi = SpiController::default();
    spi.write(USER, DOUTDIN | USR_MOSI, Instant::ZERO);
    spi.write(CMD, CMD_USR, Instant::ZERO);
    assert_eq!(spi.burst(), None);
}
