//! The other end of the chip's port.

use linerate_sim::chip::esp32c6::{Esp32c6, Port, SpiHost, SpiLine, UsbHost};
use linerate_sim::time::{Instant, Span};

/// Octets that the other end has ahead of a UART's line: the FIFO of a 16550.
const UART_AHEAD: usize = 16;
const USB_AHEAD: usize = 64;
/// Transfers that the master has composed before they begin.
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
    /// The USB Serial/JTAG.
    Usb,
    /// SPI 2 as a slave of this master.
    Spi(SpiHost),
}

impl End {
    /// The words of the program's console line for it.
    pub fn words(&self) -> String {
        match self {
            Self::Uart {
                bits_per_s,
                threshold,
            } => format!("{bits_per_s} {threshold}"),
            Self::Usb => "usb 64".to_owned(),
            Self::Spi(host) => format!("spi {}", host.transfer_octets),
        }
    }

    /// Its name in the results.
    pub fn name(&self) -> String {
        match self {
            Self::Uart { bits_per_s, .. } => format!("uart-{bits_per_s}"),
            Self::Usb => "usb".to_owned(),
            Self::Spi(host) => format!(
                "spi-{}-{}-{}",
                8_000_000_000 / host.octet.as_ns(),
                host.transfer_octets,
                host.pause.as_ns() / 1000
            ),
        }
    }

    /// Time of an octet on the line.
    pub fn octet(&self) -> Span {
        match self {
            Self::Uart { bits_per_s, .. } => {
                Span::from_ns(UART_BITS * 1_000_000_000 / u64::from(*bits_per_s))
            }
            Self::Usb => Span::from_ns(UART_BITS * 1_000_000_000 / USB_BITS_PER_S),
            Self::Spi(host) => host.octet,
        }
    }

    /// Connects it to the chip, whose program has started.
    pub fn connect(&self, chip: &mut Esp32c6) {
        match self {
            Self::Uart { .. } => chip.record_line(Port::Uart1),
            Self::Usb => {
                chip.connect_usb(UsbHost::default());
                chip.record_line(Port::UsbSerial);
            }
            Self::Spi(host) => chip.connect_spi(*host),
        }
    }

    fn port(&self) -> Port {
        match self {
            Self::Uart { .. } | Self::Spi(_) => Port::Uart1,
            Self::Usb => Port::UsbSerial,
        }
    }

    /// Octets that it takes now.
    pub fn room(&self, chip: &mut Esp32c6) -> usize {
        let (ahead, waiting) = match self {
            Self::Uart { .. } => (UART_AHEAD, chip.line_backlog(self.port())),
            Self::Usb => (USB_AHEAD, chip.line_backlog(self.port())),
            Self::Spi(host) => {
                let waiting = chip.spi_line().map_or(0, |line| line.backlog());
                return if waiting < SPI_AHEAD {
                    payload(host)
                } else {
                    0
                };
            }
        };
        ahead.saturating_sub(waiting)
    }

    /// Sends octets to the chip, at most those for which there is [room](Self::room).
    pub fn send(&self, chip: &mut Esp32c6, octets: &[u8]) {
        match self {
            Self::Spi(_) => {
                if let Some(line) = chip.spi_line().filter(|_| !octets.is_empty()) {
                    let count = (octets.len() as u16).to_le_bytes();
                    line.send([&count, octets].concat());
                }
            }
            _ => chip.console_input(self.port(), octets),
        }
    }

    /// Octets from the chip since the last call, with their times.
    pub fn take(&self, chip: &mut Esp32c6) -> Vec<(Instant, u8)> {
        let Self::Spi(_) = self else {
            return chip.take_line(self.port());
        };
        let line = chip.spi_line();
        let transfers = line.map(SpiLine::take_arrived).unwrap_or_default();
        let mut all = Vec::new();
        for (at, octets) in &transfers {
            let Some((count, rest)) = octets.split_first_chunk() else {
                continue;
            };
            let count = usize::from(u16::from_le_bytes(*count));
            let octets = rest.get(..count).unwrap_or_default();
            all.extend(octets.iter().map(|octet| (*at, *octet)));
        }
        all
    }
}

/// Octets of a transfer behind the two that have their number.
fn payload(host: &SpiHost) -> usize {
    host.transfer_octets.saturating_sub(2)
}
