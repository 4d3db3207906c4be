//! The ports as lines: octets with the time at which the far end has them.

use super::{Esp32c6, Port, SpiHost, SpiLine, UsbHost};
use crate::device::usb_host::Bus;
use crate::pads::SpiOctets;
use crate::time::Instant;

impl Esp32c6 {
    /// Connects a host with frames, polls and latency to the USB Serial/JTAG, until the next reset.
    pub fn connect_usb(&mut self, host: UsbHost) {
        self.soc.usb_serial().connect(host);
    }

    /// Connects a master to SPI2, which the program uses as a slave, until the next reset.
    pub fn connect_spi(&mut self, host: SpiHost) {
        let now = self.now();
        self.soc.connect_spi(host, now);
    }

    /// The master that is [connected](Self::connect_spi) to SPI2.
    pub fn spi_line(&mut self) -> Option<&mut SpiLine> {
        self.soc.spi().line()
    }

    /// A master outside, such as another chip, clocks `octets` to SPI2, which the program uses as a slave; the octets of the
    /// slave are put into `sent`, ones where it takes no part. Calls are in the order of time, and not in the chip's past.
    pub fn clock_spi_slave(&mut self, octets: &SpiOctets<'_>, sent: &mut [u8]) {
        self.soc.clock_slave(octets, sent, &mut self.memory);
    }

    /// Chip select of that master rises now; returns true if the slave took part in the transfer.
    pub fn release_spi_slave(&mut self) -> bool {
        let now = self.now();
        self.soc.release_slave(now, &mut self.memory)
    }

    /// Records what the program sends on a UART from now on, until the next reset. A USB host that is
    /// [connected](Self::connect_usb) records by itself.
    pub fn record_line(&mut self, port: Port) {
        if let Some(number) = uart(port) {
            self.soc.uart(number).record_departures();
        }
    }

    /// Octets that the far end of a port has received since the last call, with the time, which may be later than now.
    pub fn take_line(&mut self, port: Port) -> Vec<(Instant, u8)> {
        if let Some(number) = uart(port) {
            return self.soc.uart(number).take_departures();
        }
        let host = self.soc.usb_serial().host();
        host.map(Bus::take_arrived).unwrap_or_default()
    }

    /// Octets from the far end of a port that are not at the chip yet; 0 for a USB host that is not modelled.
    pub fn line_backlog(&mut self, port: Port) -> usize {
        match uart(port) {
            Some(number) => self.soc.uart(number).backlog(),
            None => self
                .soc
                .usb_serial()
                .host()
                .map_or(0, |host| host.backlog()),
        }
    }
}

/// Number of a UART.
const fn uart(port: Port) -> Option<u32> {
    match port {
        Port::Uart0 => Some(0),
        Port::Uart1 => Some(1),
        Port::UsbSerial => None,
    }
}
