//! The line that chooses port and load.

use esp_hal::peripherals::USB_DEVICE;
use esp_println::println;

/// The port of the link.
#[derive(Clone, Copy, Debug)]
pub enum PortChoice {
    /// UART 1 with this bit rate; a number in the line.
    Uart(u32),
    /// The same by DMA; `dma-BITRATE`.
    UartDma(u32),
    /// The USB Serial/JTAG; `usb`.
    Usb,
    /// SPI 2 as a slave; `spi`.
    Spi,
    /// SPI 2 as the master: `master-HERTZ-PAUSE` from its data registers, `master-dma-HERTZ-PAUSE` by DMA.
    Master(MasterChoice),
}

/// A master of SPI.
#[derive(Clone, Copy, Debug)]
pub struct MasterChoice {
    /// Clock, hertz.
    pub hertz: u32,
    /// Least microseconds from a transfer to the next one.
    pub pause_us: u32,
    /// GDMA moves the octets.
    pub uses_dma: bool,
}

impl MasterChoice {
    /// Reads what is behind `master-`.
    fn parse(words: &str) -> Option<Self> {
        let by_dma = words.strip_prefix("dma-");
        let (hertz, pause_us) = by_dma.unwrap_or(words).split_once('-')?;
        Some(Self {
            hertz: hertz.parse().ok()?,
            pause_us: pause_us.parse().ok()?,
            uses_dma: by_dma.is_some(),
        })
    }
}

/// Content of the line: `PORT THRESHOLD MESSAGE LOAD PERIOD`, such as `3000000 64 128 20 100`.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The port.
    pub port: PortChoice,
    /// Octets in the UART's receive FIFO above which it interrupts, 1 to 127; or octets of a chunk of its DMA, up to 128; or
    /// octets of each transfer of SPI, up to 512.
    pub threshold: u16,
    /// Octets of the messages that are sent as fast as they go; 0: the program only counts what it receives.
    pub message_octets: usize,
    /// Microseconds of an interrupt handler of higher priority, and from one such interrupt to the next; 0: none.
    pub load_us: u32,
    /// Its period.
    pub period_us: u32,
}

impl Choice {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let port = match words.next()? {
            "usb" => PortChoice::Usb,
            "spi" => PortChoice::Spi,
            word => {
                if let Some(words) = word.strip_prefix("master-") {
                    PortChoice::Master(MasterChoice::parse(words)?)
                } else if let Some(bits_per_s) = word.strip_prefix("dma-") {
                    PortChoice::UartDma(bits_per_s.parse().ok()?)
                } else {
                    PortChoice::Uart(word.parse().ok()?)
                }
            }
        };
        let mut next = || words.next()?.parse::<u32>().ok();
        Some(Self {
            port,
            threshold: next()? as u16,
            message_octets: next()? as usize,
            load_us: next()?,
            period_us: next()?,
        })
    }
}

/// Waits for a line with a choice.
pub fn choice() -> Choice {
    println!("@ {{\"event\":\"ready\"}}");
    let mut line = [0; 80];
    let mut len = 0;
    loop {
        let port = USB_DEVICE::regs();
        if !port.ep1_conf().read().serial_out_ep_data_avail().bit() {
            continue;
        }
        let octet = port.ep1().read().rdwr_byte().bits();
        if octet == b'\n' {
            let text = str::from_utf8(&line[..len]).unwrap_or_default();
            if let Some(choice) = Choice::parse(text) {
                return choice;
            }
            println!("not a choice: {text}");
            len = 0;
        } else if let Some(place) = line.get_mut(len) {
            *place = octet;
            len += 1;
        }
    }
}
