//! The line that chooses driver and clock.

use embassy_time::Timer;
use esp_hal::peripherals::USB_DEVICE;
use esp_println::println;

/// The drivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Driver {
    /// An octet at a time, as in the Ethernet library of Arduino.
    Bytes,
    /// The crate embassy-net-wiznet over esp-hal's asynchronous SPI.
    Wiznet,
    /// The same over its SPI with DMA.
    WiznetDma,
    /// `linerate_nic::w5500` over embedded-hal.
    Burst,
    /// The same by DMA, header and data in one transfer.
    Dma,
    /// The same, reading ahead.
    Ahead,
}

/// Names of the drivers.
const DRIVERS: [(&str, Driver); 6] = [
    ("bytes", Driver::Bytes),
    ("wiznet", Driver::Wiznet),
    ("wiznet-dma", Driver::WiznetDma),
    ("burst", Driver::Burst),
    ("dma", Driver::Dma),
    ("ahead", Driver::Ahead),
];

/// Content of the line.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The driver.
    pub driver: Driver,
    /// The highest SPI clock in hertz; esp-hal divides 80 MHz.
    pub hertz: u32,
    /// Octets of a transfer from which on esp-hal's driver does not wait in a loop.
    pub min_async_octets: usize,
}

impl Choice {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let name = words.next()?;
        let (_, driver) = DRIVERS.into_iter().find(|(known, _)| *known == name)?;
        Some(Self {
            driver,
            hertz: words.next()?.parse().ok()?,
            min_async_octets: words.next()?.parse().ok()?,
        })
    }
}

/// Waits for a line with a choice.
pub async fn choice() -> Choice {
    println!("@ {{\"event\":\"ready\"}}");
    let mut line = [0; 80];
    let mut len = 0;
    loop {
        let port = USB_DEVICE::regs();
        let has_octet = || port.ep1_conf().read().serial_out_ep_data_avail().bit();
        while has_octet() {
            let octet = port.ep1().read().rdwr_byte().bits();
            if octet == b'\n' {
                let text = str::from_utf8(&line[..len]).unwrap_or_default();
                if let Some(choice) = Choice::parse(text) {
                    return choice;
                }
                println!("no driver, clock and octets: {text}");
                len = 0;
            } else if let Some(place) = line.get_mut(len) {
                *place = octet;
                len += 1;
            }
        }
        Timer::after_millis(1).await;
    }
}
