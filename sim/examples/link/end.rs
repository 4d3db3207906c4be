//! The other end of the chip's port.

use linerate_sim::board::{SpiSlave, SpiTransfer};
use linerate_sim::chip::esp32c6::{Esp32c6, Port, SpiHost, SpiLine, UsbHost};
use linerate_sim::time::{Instant, Span};

/// The chip, a slave on its SPI, and what the master has transferred with it.
pub struct Board {
    pub chip: Esp32c6,
    pub slave: SpiSlave,
    pub transfers: Vec<SpiTransfer>,
}

/// Octets that the other end has ahead of a UART's line: the FIFO of a 16550.
const UART_AHEAD: usize = 16;
const USB_AHEAD: usize = 64;
/// Transfers of SPI that the other end has composed before they begin.
const SPI_AHEAD: usize = 2;
/// Of USB full speed, bit/s: what its packets carry is more, what a program makes of them less.
const USB_BITS_PER_S: u64 = 2_000_000;
/// A UART's start bit, data and stop bit.
const UART_BITS: u64 = 10;

/// A port and its settings.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// UART 1 with this bit rate, which interrupts at so many octets in its FIFO.
    Uart { bits_per_s: u32, threshold: u32 },
    /// The same by DMA, in chunks of so many octets.
    UartDma { bits_per_s: u32, chunk: u32 },
    /// The USB Serial/JTAG.
    Usb,
    /// SPI 2 as a slave of this master.
    Spi(SpiHost),
    /// SPI 2 as the master.
    Master(Master),
}

/// Settings of the program as the master of SPI.
#[derive(Clone, Copy, Debug)]
pub struct Master {
    pub uses_dma: bool,
    pub hertz: u32,
    pub transfer_octets: usize,
    pub pause_us: u32,
}

impl Master {
    /// The word of the console line for it.
    fn word(&self) -> String {
        let path = if self.uses_dma { "dma-" } else { "" };
        format!("master-{path}{}-{}", self.hertz, self.pause_us)
    }
}

impl End {
    /// The words of the program's console line for it.
    pub fn words(&self) -> String {
        match self {
            Self::Uart {
                bits_per_s,
                threshold,
            } => format!("{bits_per_s} {threshold}"),
            Self::UartDma { bits_per_s, chunk } => format!("dma-{bits_per_s} {chunk}"),
            Self::Usb => "usb 64".to_owned(),
            Self::Spi(host) => format!("spi {}", host.transfer_octets),
            Self::Master(master) => format!("{} {}", master.word(), master.transfer_octets),
        }
    }

    /// Its name in the results.
    pub fn name(&self) -> String {
        match self {
            Self::Uart { bits_per_s, .. } => format!("uart-{bits_per_s}"),
            Self::UartDma { bits_per_s, .. } => format!("uartdma-{bits_per_s}"),
            Self::Usb => "usb".to_owned(),
            Self::Spi(host) => format!(
                "spi-{}-{}-{}",
                8_000_000_000 / host.octet.as_ns(),
                host.transfer_octets,
                host.pause.as_ns() / 1000
            ),
            Self::Master(master) => format!("{}-{}", master.word(), master.transfer_octets),
        }
    }

    /// Octets at which the program is interrupted, or of a chunk; 0 if it has neither.
    pub fn threshold(&self) -> u32 {
        match self {
            Self::Uart { threshold, .. } => *threshold,
            Self::UartDma { chunk, .. } => *chunk,
            _ => 0,
        }
    }

    /// Time of an octet on the line.
    pub fn octet(&self) -> Span {
        match self {
            Self::Uart { bits_per_s, .. } | Self::UartDma { bits_per_s, .. } => {
                Span::from_ns(UART_BITS * 1_000_000_000 / u64::from(*bits_per_s))
            }
            Self::Usb => Span::from_ns(UART_BITS * 1_000_000_000 / USB_BITS_PER_S),
            Self::Spi(host) => host.octet,
            Self::Master(master) => Span::from_ns(8_000_000_000 / u64::from(master.hertz)),
        }
    }

    /// Connects it to the chip, whose program has started.
    pub fn connect(&self, board: &mut Board) {
        let chip = &mut board.chip;
        match self {
            Self::Master(_) => {}
            Self::Uart { .. } | Self::UartDma { .. } => chip.record_line(Port::Uart1),
            Self::Usb => {
                chip.connect_usb(UsbHost::default());
                chip.record_line(Port::UsbSerial);
            }
            Self::Spi(host) => chip.connect_spi(*host),
        }
    }

    fn port(&self) -> Port {
        match self {
            Self::Usb => Port::UsbSerial,
            _ => Port::Uart1,
        }
    }

    /// Octets that it takes now.
    pub fn room(&self, board: &mut Board) -> usize {
        let chip = &mut board.chip;
        let (ahead, waiting) = match self {
            Self::Uart { .. } | Self::UartDma { .. } => {
                (UART_AHEAD, chip.line_backlog(self.port()))
            }
            Self::Usb => (USB_AHEAD, chip.line_backlog(self.port())),
            Self::Spi(host) => {
                let waiting = chip.spi_line().map_or(0, |line| line.backlog());
                return room(waiting, SPI_AHEAD, host.transfer_octets);
            }
            Self::Master(master) => {
                return room(board.slave.backlog(), SPI_AHEAD, master.transfer_octets);
            }
        };
        ahead.saturating_sub(waiting)
    }

    /// Sends octets to the chip, at most those for which there is [room](Self::room).
    pub fn send(&self, board: &mut Board, octets: &[u8]) {
        if octets.is_empty() {
            return;
        }
        let transfer = || [&(octets.len() as u16).to_le_bytes(), octets].concat();
        match self {
            Self::Spi(_) => {
                if let Some(line) = board.chip.spi_line() {
                    line.send(transfer());
                }
            }
            Self::Master(_) => board.slave.send(transfer()),
            _ => board.chip.console_input(self.port(), octets),
        }
    }

    /// Octets from the chip since the last call, with their times.
    pub fn take(&self, board: &mut Board) -> Vec<(Instant, u8)> {
        let mut all = Vec::new();
        match self {
            Self::Spi(_) => {
                let line = board.chip.spi_line();
                for (at, octets) in line.map(SpiLine::take_arrived).unwrap_or_default() {
                    all.extend(counted(&octets).iter().map(|octet| (at, *octet)));
                }
            }
            Self::Master(_) => {
                for mut transfer in board.slave.take_transfers() {
                    let octets = std::mem::take(&mut transfer.octets);
                    let at = transfer.released;
                    all.extend(counted(&octets).iter().map(|octet| (at, *octet)));
                    board.transfers.push(transfer);
                }
            }
            _ => all = board.chip.take_line(self.port()),
        }
        all
    }
}

/// Octets that an end of SPI takes with so many transfers ahead, two of which in each are their number.
fn room(waiting: usize, ahead: usize, transfer_octets: usize) -> usize {
    if waiting < ahead {
        transfer_octets.saturating_sub(2)
    } else {
        0
    }
}

/// The octets of a transfer that count.
fn counted(octets: &[u8]) -> &[u8] {
    let split = octets.split_first_chunk();
    split.map_or(&[], |(count, rest)| {
        let count = usize::from(u16::from_le_bytes(*count));
        rest.get(..count).unwrap_or_default()
    })
}
