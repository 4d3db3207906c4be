//! The port of the link: an interrupt handler takes octets from the hardware's FIFO, the program fills the other one.

use core::cell::RefCell;
use critical_section::Mutex;
use esp_hal::Blocking;
use esp_hal::interrupt::Priority;
use esp_hal::peripherals::{GPIO4, GPIO5, UART1, USB_DEVICE};
use esp_hal::uart::{self, Uart, UartInterrupt, UartRx, UartTx};
use esp_hal::usb::usb_serial_jtag::{UsbSerialJtag, UsbSerialJtagRx, UsbSerialJtagTx};

use crate::counts::{Count, add, raise};
use crate::ring::Ring;
use crate::spi;

/// Octets between the interrupt handler and the program.
const CAPACITY: usize = 1024;

/// A port of the link, as the program uses it.
pub trait Octets {
    /// Takes received octets; returns their number.
    fn read(&mut self, to: &mut [u8]) -> usize;

    /// Sends octets without waiting; returns the number of those for which there was room.
    fn write(&mut self, octets: &[u8]) -> usize;

    /// Sends what has been written: nothing more comes for now.
    fn flush(&mut self);
}

/// The receiving side of the port.
enum Source {
    None,
    Uart(UartRx<'static, Blocking>),
    Usb(UsbSerialJtagRx<'static, Blocking>),
}

/// What the interrupt handler shares with the program.
struct Shared {
    source: Source,
    ring: Ring<CAPACITY>,
}

static SHARED: Mutex<RefCell<Shared>> = Mutex::new(RefCell::new(Shared {
    source: Source::None,
    ring: Ring::new(),
}));

/// UART 1 and its pads.
pub struct Wires {
    /// The controller.
    pub uart: UART1<'static>,
    /// Pad of the octets that are sent.
    pub transmit: GPIO4<'static>,
    /// Pad of those that are received.
    pub receive: GPIO5<'static>,
}

/// The sending side of the port.
pub enum Port {
    /// UART 1.
    Uart(UartTx<'static, Blocking>),
    /// USB Serial/JTAG, and true if octets were written behind the last packet.
    Usb(UsbSerialJtagTx<'static, Blocking>, bool),
    /// SPI 2 as a slave.
    Spi,
}

impl Port {
    /// UART 1, which interrupts when its FIFO has `threshold` octets or the line is idle.
    pub fn uart(wires: Wires, baud: u32, threshold: u16) -> Self {
        let receive = uart::RxConfig::default().with_fifo_full_threshold(threshold);
        let config = uart::Config::default().with_baudrate(baud).with_rx(receive);
        let mut uart = Uart::new(wires.uart, config)
            .expect("a bit rate of the UART")
            .with_tx(wires.transmit)
            .with_rx(wires.receive);
        uart.set_interrupt_handler(on_uart);
        uart.listen(UartInterrupt::RxFifoFull | UartInterrupt::RxTimeout);
        let (rx, tx) = uart.split();
        critical_section::with(|token| SHARED.borrow_ref_mut(token).source = Source::Uart(rx));
        Self::Uart(tx)
    }

    /// USB Serial/JTAG, which interrupts for each packet.
    pub fn usb(device: USB_DEVICE<'static>) -> Self {
        let mut usb = UsbSerialJtag::new(device);
        usb.set_interrupt_handler(on_usb);
        usb.listen_rx_packet_recv_interrupt();
        let (rx, tx) = usb.split();
        critical_section::with(|token| SHARED.borrow_ref_mut(token).source = Source::Usb(rx));
        Self::Usb(tx, false)
    }
}

impl Octets for Port {
    fn read(&mut self, to: &mut [u8]) -> usize {
        if matches!(self, Self::Spi) {
            return spi::read(to);
        }
        critical_section::with(|token| {
            let shared = &mut *SHARED.borrow_ref_mut(token);
            let count = shared.ring.pop(to);
            if count > 0 {
                // A packet may wait for the room: the host sends no other one.
                shared.take_packet();
            }
            count
        })
    }

    fn write(&mut self, octets: &[u8]) -> usize {
        match self {
            Self::Uart(tx) if octets.is_empty() || !tx.write_ready() => 0,
            Self::Uart(tx) => tx.write(octets).unwrap_or(0),
            Self::Spi => spi::write(octets),
            Self::Usb(tx, is_open) => {
                let written = |octet: &&u8| tx.write_byte_nb(**octet).is_ok();
                let count = octets.iter().take_while(written).count();
                *is_open |= count > 0;
                count
            }
        }
    }

    fn flush(&mut self) {
        if let Self::Usb(tx, is_open) = self
            && core::mem::replace(is_open, false)
        {
            // It reports that the packet is not fetched yet, which nobody waits for.
            let _ = tx.flush_tx_nb();
        }
    }
}

impl Shared {
    /// Takes everything from the UART's FIFO.
    fn take_fifo(&mut self) {
        let Source::Uart(rx) = &mut self.source else {
            return;
        };
        let mut taken = 0;
        let mut octets = [0; 128];
        loop {
            match rx.read_buffered(&mut octets) {
                Ok(0) => break,
                Ok(count) => {
                    let kept = self.ring.push(&octets[..count]);
                    add(Count::Unread, (count - kept) as u32);
                    taken += count;
                }
                // What is still in the FIFO can be read.
                Err(_) => add(Count::Overflows, 1),
            }
        }
        raise(Count::Fullest, taken as u32);
    }

    /// Takes a packet of the USB, if there is room for it.
    fn take_packet(&mut self) {
        let Source::Usb(rx) = &mut self.source else {
            return;
        };
        let mut octets = [0; 64];
        while self.ring.room() >= octets.len() {
            let count = rx.drain_rx_fifo(&mut octets);
            if count == 0 {
                break;
            }
            self.ring.push(&octets[..count]);
        }
    }
}

#[esp_hal::handler(priority = Priority::Priority1)]
fn on_uart() {
    UART1::regs().int_clr().write(|w| {
        w.rxfifo_full().clear_bit_by_one();
        w.rxfifo_tout().clear_bit_by_one()
    });
    add(Count::Interrupts, 1);
    critical_section::with(|token| SHARED.borrow_ref_mut(token).take_fifo());
}

#[esp_hal::handler(priority = Priority::Priority1)]
fn on_usb() {
    critical_section::with(|token| {
        let shared = &mut *SHARED.borrow_ref_mut(token);
        if let Source::Usb(rx) = &mut shared.source {
            rx.reset_rx_packet_recv_interrupt();
        }
        shared.take_packet();
    });
}
