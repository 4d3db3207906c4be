//! Octets that devices move: SPI2 as the master of a slave at the pads, and a UART through UHCI and GDMA.

use linerate_sim::board::SpiSlave;
use linerate_sim::chip::esp32c6::{Esp32c6, Port, Report};
use linerate_sim::pads::SpiOctets;
use linerate_sim::time::{Instant, Span};

use crate::asm::{A0, A1, A2, Program, T0};
use crate::board::{Lines, boot};

/// `ets_delay_us` in the ROM.
const DELAY_US: u32 = 0x4000_0040;
/// `GPIO_OUT_W1TS` and `GPIO_OUT_W1TC`, and the bit of chip select.
const SET: u32 = 0x6009_1008;
const CLEAR: u32 = 0x6009_100c;
const SELECT: u32 = 1 << 10;

fn write(program: &mut Program, words: &[(u32, u32)]) {
    for &(addr, value) in words {
        program.li(T0, addr).li(A0, value).sw(A0, T0, 0);
    }
}

fn word(chip: &Esp32c6, addr: u32) -> u32 {
    chip.memory().read_u32(addr).expect("RAM")
}

#[test]
fn a_master_exchanges_octets_with_the_slave_that_it_selects() {
    let mut program = Program::new();
    write(
        &mut program,
        &[
            (0x6009_60c4, 1 << 22 | 1 << 20), // PCR_SPI2_CLKM_CONF: on, 80 MHz
            (0x6009_001c, 2 << 12),           // IO_MUX_GPIO6: FSPICLK
            (0x6009_0020, 2 << 12),           // IO_MUX_GPIO7: FSPID
            (0x6009_000c, 2 << 12 | 1 << 9),  // IO_MUX_GPIO2: FSPIQ, FUN_IE
            (0x6009_002c, 1 << 12),           // IO_MUX_GPIO10: GPIO
            (SET, SELECT),
            (0x6009_1024, SELECT),                // GPIO_ENABLE_W1TS
            (0x6008_100c, 1 << 31),               // SPI_CLOCK: CLK_EQU_SYSCLK
            (0x6008_1010, 1 << 28 | 1 << 27 | 1), // SPI_USER: USR_MISO, USR_MOSI, DOUTDIN
            (0x6008_101c, 6 * 8 - 1),             // SPI_MS_DLEN
            (0x6008_1098, 0x0403_0201),           // SPI_W0
            (0x6008_109c, 0x0605),                // SPI_W1
            (CLEAR, SELECT),
            (0x6008_1000, 1 << 24), // SPI_CMD: USR
        ],
    );
    program.li(A0, 10).call(DELAY_US);
    write(&mut program, &[(SET, SELECT)]);
    // SPI_W0 and SPI_W1.
    program
        .li(T0, 0x6008_1000)
        .lw(A1, T0, 0x98)
        .lw(A2, T0, 0x9c);
    // Nobody is selected now.
    write(&mut program, &[(0x6008_1000, 1 << 24)]);
    program.stay();
    let mut slave = SpiSlave::default();
    slave.send(vec![0x11, 0x12, 0x13, 0x14, 0x15]);
    let mut chip = boot(&program);
    chip.run(Instant::from_ns(100_000), &mut slave);
    let transfers = slave.take_transfers();
    assert_eq!(transfers.len(), 1);
    assert_eq!(transfers[0].octets, [1, 2, 3, 4, 5, 6]);
    assert_eq!(transfers[0].clocking, Span::from_ns(6 * 100));
    let whole = transfers[0].clocks_to.since(transfers[0].clocks_from);
    assert_eq!(whole, transfers[0].clocking, "without a pause");
    assert!(transfers[0].released.since(transfers[0].selected) > Span::from_us(10));
    let received = [A1, A2].map(|register| chip.hart().regs()[usize::from(register)]);
    assert_eq!(
        received,
        [0x1413_1211, 0x0015],
        "and zeros behind the slave's octets"
    );
}

/// Descriptors and buffers.
const DESCRIPTORS: u32 = 0x4080_1000;
const BUFFERS: u32 = 0x4080_2000;
const OWNER: u32 = 1 << 31;
const SUC_EOF: u32 = 1 << 30;

/// A master outside clocks these octets; returns those of the slave.
fn clock(chip: &mut Esp32c6, octets: &[u8]) -> Vec<u8> {
    let octets = SpiOctets {
        start: chip.now(),
        octet: Span::from_ns(100),
        clock_pads: 0,
        data_pads: 0,
        receive_pad: None,
        sent: octets,
    };
    let mut sent = vec![0; octets.sent.len()];
    chip.clock_spi_slave(&octets, &mut sent);
    sent
}

#[test]
fn a_slave_exchanges_a_transfer_with_a_master_outside_for_each_start() {
    let mut program = Program::new();
    write(
        &mut program,
        &[
            (0x6009_001c, 2 << 12 | 1 << 9),  // IO_MUX_GPIO6: FSPICLK, FUN_IE
            (0x6009_0020, 2 << 12 | 1 << 9),  // IO_MUX_GPIO7: FSPID, FUN_IE
            (0x6009_000c, 2 << 12),           // IO_MUX_GPIO2: FSPIQ
            (0x6009_002c, 1 << 12 | 1 << 9),  // IO_MUX_GPIO10: GPIO, FUN_IE
            (0x6009_1264, 1 << 7 | 0xa),      // GPIO_FUNC68_IN_SEL_CFG: FSPICS0 from GPIO10
            (0x6008_10e0, 1 << 26),           // SPI_SLAVE: SLAVE_MODE
            (0x6008_1030, 1 << 28 | 1 << 27), // SPI_DMA_CONF: DMA_TX_ENA, DMA_RX_ENA
            (DESCRIPTORS, OWNER | 8),
            (DESCRIPTORS + 4, BUFFERS),
            (DESCRIPTORS + 8, 0),
            (DESCRIPTORS + 0x10, OWNER | SUC_EOF | 6 << 12 | 6),
            (DESCRIPTORS + 0x14, BUFFERS + 8),
            (DESCRIPTORS + 0x18, 0),
            (BUFFERS + 8, u32::from_le_bytes(*b"abcd")),
            (BUFFERS + 12, u32::from_le_bytes(*b"ef\0\0")),
            (0x6008_00a0, 0), // GDMA_IN_PERI_SEL_CH0: SPI2
            (0x6008_0080, DESCRIPTORS & 0xf_ffff | 1 << 22), // GDMA_IN_LINK_CH0: start
            (0x6008_0100, 0), // GDMA_OUT_PERI_SEL_CH0: SPI2
            (0x6008_00e0, (DESCRIPTORS + 0x10) & 0xf_ffff | 1 << 21), // GDMA_OUT_LINK_CH0: start
            (0x6008_1000, 1 << 24), // SPI_CMD: USR
        ],
    );
    program.stay();
    let mut chip = boot(&program);
    assert_eq!(clock(&mut chip, b"xyz"), [0xff; 3], "not started yet");
    chip.run(Instant::from_ns(100_000), &mut Lines::default());
    assert_eq!(clock(&mut chip, b"xyz"), [0xff; 3], "within a transfer");
    assert!(!chip.release_spi_slave());
    assert_eq!(clock(&mut chip, b"1234"), *b"abcd");
    assert_eq!(word(&chip, DESCRIPTORS), OWNER | 8);
    assert_eq!(clock(&mut chip, b"56"), *b"ef");
    assert!(chip.release_spi_slave());
    assert_eq!(word(&chip, DESCRIPTORS), SUC_EOF | 6 << 12 | 8);
    assert_eq!(word(&chip, BUFFERS), u32::from_le_bytes(*b"1234"));
    assert_eq!(word(&chip, BUFFERS + 4) & 0xffff, 0x3635);
    // One transfer for one start.
    assert_eq!(clock(&mut chip, b"78"), [0xff; 2]);
    assert!(!chip.release_spi_slave());
}

/// UART 1 through UHCI, in chunks of four octets or until the line is idle; and descriptors of eight octets.
fn uhci() -> Program {
    let mut program = Program::new();
    write(
        &mut program,
        &[
            (0x6009_6010, 1 << 22 | 3 << 20), // PCR_UART1_SCLK_CONF: the crystal
            (0x6000_5000, 1 << 3 | 1 << 8 | 1 << 9), // UHCI_CONF0: UART1_CE, UART_IDLE_EOF_EN, LEN_EOF_EN
            (0x6000_5020, 0),                        // UHCI_ESCAPE_CONF
            (0x6000_507c, 4),                        // UHCI_PKT_THRES
            (DESCRIPTORS, OWNER | 8),
            (DESCRIPTORS + 4, BUFFERS),
            (DESCRIPTORS + 8, DESCRIPTORS + 0x10),
            (DESCRIPTORS + 0x10, OWNER | 8),
            (DESCRIPTORS + 0x14, BUFFERS + 8),
            (DESCRIPTORS + 0x18, 0),
        ],
    );
    program
}

/// Time of an octet at 115,200 baud: the divider of the boot loader, 347 3/16.
const OCTET: Span = Span::from_ns(86_796);

#[test]
fn a_uart_s_octets_reach_memory_in_chunks_without_the_processor() {
    let mut program = uhci();
    write(
        &mut program,
        &[
            (0x6008_00a0, 2),                                // GDMA_IN_PERI_SEL_CH0: UHCI0
            (0x6008_0080, DESCRIPTORS & 0xf_ffff | 1 << 22), // GDMA_IN_LINK_CH0: start
        ],
    );
    program.stay();
    let mut chip = boot(&program);
    chip.run(Instant::from_ns(100_000), &mut Lines::default());
    let begin = chip.now();
    chip.console_input(Port::Uart1, b"abcdef");
    let after = |octets: u64| begin + Span::from_ticks(OCTET.ticks() * octets) + Span::from_us(1);
    chip.run(after(3), &mut Lines::default());
    assert_eq!(word(&chip, DESCRIPTORS), OWNER | 8, "three of four");
    chip.run(after(4), &mut Lines::default());
    assert_eq!(word(&chip, DESCRIPTORS), SUC_EOF | 4 << 12 | 8);
    assert_eq!(word(&chip, BUFFERS), u32::from_le_bytes(*b"abcd"));
    // The rest is a chunk when the line is idle for RX_IDLE_THRHD, 256 bits.
    chip.run(after(6 + 25), &mut Lines::default());
    assert_eq!(word(&chip, DESCRIPTORS + 0x10), OWNER | 8);
    chip.run(after(6 + 26), &mut Lines::default());
    assert_eq!(word(&chip, DESCRIPTORS + 0x10), SUC_EOF | 2 << 12 | 8);
    assert_eq!(word(&chip, BUFFERS + 8), u32::from_le_bytes(*b"ef\0\0"));
    assert!(!chip.reports().iter().any(Report::is_serious));
}

#[test]
fn octets_that_dma_has_no_memory_for_stay_in_the_uart_s_fifo() {
    let mut program = uhci();
    program.stay();
    let mut chip = boot(&program);
    chip.console_input(Port::Uart1, b"ab");
    chip.run(Instant::from_ns(1_000_000), &mut Lines::default());
    assert_eq!(word(&chip, DESCRIPTORS), OWNER | 8);
    assert_eq!(chip.line_backlog(Port::Uart1), 0, "in the FIFO");
}

#[test]
fn a_uart_sends_from_memory_as_its_fifo_has_room() {
    const LEN: u32 = 200;
    let mut program = uhci();
    write(
        &mut program,
        &[
            (DESCRIPTORS, OWNER | SUC_EOF | LEN << 12 | LEN),
            (DESCRIPTORS + 8, 0),
            (0x6008_0100, 2), // GDMA_OUT_PERI_SEL_CH0: UHCI0
            (0x6008_00e0, DESCRIPTORS & 0xf_ffff | 1 << 21), // GDMA_OUT_LINK_CH0: start
        ],
    );
    program.stay();
    let mut chip = boot(&program);
    chip.record_line(Port::Uart1);
    chip.run(Instant::from_ns(50_000), &mut Lines::default());
    let first = chip.take_line(Port::Uart1);
    assert_eq!(first.len(), 128, "as many as the FIFO has room for");
    chip.run(Instant::from_ns(20_000_000), &mut Lines::default());
    let rest = chip.take_line(Port::Uart1);
    assert_eq!(rest.len(), LEN as usize - 128);
    let ends: Vec<Instant> = first.iter().chain(&rest).map(|(at, _)| *at).collect();
    let gap = |pair: &[Instant]| pair[1].since(pair[0]).as_ns();
    assert!(ends.windows(2).all(|pair| gap(pair) == OCTET.as_ns()));
}
