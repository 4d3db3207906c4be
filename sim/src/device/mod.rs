//! Device models: one file, one peripheral.
//!
//! A model does not depend on a bus, a CPU, an address or another device. It gets an offset, a
//! value and the time, returns the time of its next event, and reports its interrupt outputs as
//! levels. The chip's wiring gives it an address, interrupts and clocks.

mod checksum;
mod clock;
mod dma;
pub mod dwmac;
mod efuse;
pub mod enet;
mod gdma;
mod gpio;
mod i2c_ana;
mod intc;
mod interrupts;
mod interval_timer;
mod intmtx;
mod intpri;
mod jtag_uart;
mod lan91c111;
mod lp_timer;
mod lp_wdt;
mod mdio;
mod pcr;
mod phy;
mod plic;
mod port;
mod rng;
mod sgdma;
mod spi;
mod systimer;
mod timg;
mod tse;
mod uart;
mod uhci;
pub mod usb_host;
mod usb_serial;
mod watchdog;

pub use checksum::Checksum;
pub use clock::ClockDomain;
pub use dma::Dma;
pub use efuse::Efuse;
pub use gdma::{DmaMemory, Gdma};
pub use gpio::{DEDICATED_CHANNELS, Gpio, PADS};
pub use i2c_ana::I2cAna;
pub use intc::Intc;
pub use interrupts::InterruptRegisters;
pub use interval_timer::IntervalTimer;
pub use intmtx::{IntMtx, SOURCES};
pub use intpri::IntPri;
pub use jtag_uart::JtagUart;
pub use lan91c111::Lan91c111;
pub use lp_timer::LpTimer;
pub use lp_wdt::LpWdt;
pub use pcr::{ClockTree, FunctionClock};
pub use plic::Plic;
pub use port::{Fragment, Line, LineFrame, LinkMode, Partner};
pub use rng::Rng;
pub use sgdma::{Direction, Sgdma};
pub use spi::{Burst, MAX_BURST, SpiController, SpiHost, SpiLine};
pub use systimer::SysTimer;
pub use timg::TimerGroup;
pub use tse::Tse;
pub use uart::Uart;
pub use uhci::Uhci;
pub use usb_serial::UsbSerial;
pub use watchdog::{Action, Watchdog};

use core::any::Any;
use core::fmt::Debug;

use crate::time::Instant;

/// A transfer that a device requests as a bus master: within one burst of its bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// First address.
    pub addr: u32,
    /// Length in bytes.
    pub bytes: u32,
    /// The data of a write; `None` for a read.
    pub data: Option<Vec<u8>>,
    /// The earliest time of the request.
    pub from: Instant,
}

impl Transfer {
    /// A read of `bytes` from `addr`.
    pub fn read(addr: u32, bytes: u32, from: Instant) -> Self {
        Self {
            addr,
            bytes,
            data: None,
            from,
        }
    }

    /// A write of `data` to `addr`.
    pub fn write(addr: u32, data: Vec<u8>, from: Instant) -> Self {
        Self {
            addr,
            bytes: data.len() as u32,
            data: Some(data),
            from,
        }
    }
}

/// A peripheral behind 32-bit registers.
pub trait Device: Any + Debug + Send {
    /// Reads the register at `offset`. `None`: the model gives it no behaviour, so it is plain
    /// storage.
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32>;

    /// Writes the register at `offset`; returns true if the model gives it behaviour. If not, it is
    /// plain storage.
    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool;

    /// As [`Self::read`], with byte enables: bit 0 for the lowest octet of the word. For devices whose registers are
    /// narrower than a word.
    fn read_bytes(&mut self, offset: u32, enables: u8, now: Instant) -> Option<u32> {
        let _ = enables;
        self.read(offset, now)
    }

    /// As [`Self::write`], with byte enables.
    fn write_bytes(&mut self, offset: u32, value: u32, enables: u8, now: Instant) -> bool {
        let _ = enables;
        self.write(offset, value, now)
    }

    /// Time of the next event for [`Self::advance`].
    fn next_event(&self) -> Instant {
        Instant::NEVER
    }

    /// Processes the events that are due at or before `now`.
    fn advance(&mut self, now: Instant) {
        let _ = now;
    }

    /// The next transfer of its bus-master port `port`; the model's documentation numbers the ports.
    /// The same transfer is offered until [`Self::transferred`].
    fn transfer(&self, port: usize) -> Option<Transfer> {
        let _ = port;
        None
    }

    /// The bus accepted the transfer of `port`: it is complete at `done`, which is in the future.
    /// `data` was read; it is empty after a write, and after a read where nothing is.
    fn transferred(&mut self, port: usize, data: &[u8], done: Instant) {
        let _ = (port, data, done);
    }

    /// The next octets of its stream output that are ready at `now`, at most `room`.
    fn stream_output(&mut self, room: usize, now: Instant) -> Option<Fragment> {
        let _ = (room, now);
        None
    }

    /// Octets that its stream input accepts at `now`.
    fn stream_room(&self, now: Instant) -> usize {
        let _ = now;
        0
    }

    /// Its stream input gets `fragment`: as many octets as [`Self::stream_room`], at most.
    fn stream_input(&mut self, fragment: Fragment, now: Instant) {
        let _ = (fragment, now);
    }

    /// Its network line, if it has one.
    fn line(&mut self) -> Option<&mut dyn Line> {
        None
    }

    /// Levels of the interrupt outputs, one bit each; the model's documentation numbers them.
    fn interrupts(&self) -> u32 {
        0
    }

    /// True if a read changes its state, such as one that takes a byte out of a FIFO.
    fn reads_have_side_effects(&self) -> bool {
        false
    }

    /// Comes out of a reset of the chip at `now`: called for a new model.
    fn restart(&mut self, now: Instant) {
        let _ = now;
    }

    /// Sets its clocks in hertz, in the order of the model's documentation; 0 is a clock that is off.
    fn set_clocks(&mut self, hertz: &[u64], now: Instant) {
        let _ = (hertz, now);
    }

    /// Bytes that it sent to the far end of its line since the last call.
    fn take_sent(&mut self) -> Vec<u8> {
        Vec::new()
    }

    /// The far end of its line sends `bytes` from `now`.
    fn receive(&mut self, bytes: &[u8], now: Instant) {
        let _ = (bytes, now);
    }

    /// The reset of the chip that it requests, once.
    fn take_reset(&mut self) -> Option<Action> {
        None
    }
}
