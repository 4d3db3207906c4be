//! The devices of `system.toml`.

use core::arch::asm;
use core::fmt;
use core::mem::MaybeUninit;
use linerate_agent::Instant;
use linerate_agent_firmware::Machine;
use linerate_nic::dma::Coherence;
use linerate_nic::mmio::{Mmio, Registers};
use linerate_nic::tse::Blocks;

/// Cycles of the hart in a second, and duration of one.
const HERTZ: u64 = 83_333_333;
pub const CYCLE_NS: u64 = (1_000_000_000 + HERTZ / 2) / HERTZ;

/// JTAG UART: data, whose bit 15 marks a valid octet; control, with the interrupt for input.
const CONSOLE: usize = 0x0800_1000;
const DATA: usize = 0;
const VALID: u32 = 1 << 15;
const CONSOLE_CONTROL: usize = 4;
const READ_INTERRUPT: u32 = 1;

/// Interval timer: status, control, period.
const TIMER: usize = 0x0800_2000;
const STATUS: usize = 0x00;
const CONTROL: usize = 0x04;
const PERIODL: usize = 0x08;
const PERIODH: usize = 0x0c;
const INTERRUPT: u32 = 1 << 0;
const START: u32 = 1 << 2;
const STOP: u32 = 1 << 3;

/// Interrupt controller: enabled lines; the lines of console, timer and the two engines.
const INTC: usize = 0x0800_3000;
const ENABLE: usize = 4;
const LINES: u32 = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4;
/// `mie.MEIE`.
const EXTERNAL: usize = 1 << 11;

/// Receive and transmit engine, and MAC.
const RECEIVE: usize = 0x0800_5000;
const TRANSMIT: usize = 0x0800_5040;
const MAC: usize = 0x0800_5400;

/// Added to an address of memory, it bypasses the data cache.
const UNCACHED: usize = 0x8000_0000;

/// A device of this board.
const fn device(base: usize) -> Mmio {
    // SAFETY: a device that accesses no memory beside the driver's; each is used in one place.
    unsafe { Mmio::new(base) }
}

/// The console.
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for octet in text.bytes() {
            device(CONSOLE).write_at(DATA, u32::from(octet));
        }
        Ok(())
    }
}

/// Orders accesses to memory and to devices. Memory that the DMA uses is never cached.
#[derive(Debug, Clone, Copy)]
pub struct Io;

impl Coherence for Io {
    #[inline]
    fn barrier(&self) {
        // SAFETY: a fence only.
        unsafe { asm!("fence iorw, iorw", options(nostack, preserves_flags)) };
    }
}

/// `memory` at its uncached address, set to `value`.
pub fn uncached<T>(memory: &'static mut MaybeUninit<T>, value: T) -> &'static mut T {
    let address = core::ptr::from_mut(memory).expose_provenance() | UNCACHED;
    let memory = core::ptr::with_exposed_provenance_mut::<MaybeUninit<T>>(address);
    // SAFETY: the same memory by another address, of which this is the only reference.
    unsafe { (*memory).write(value) }
}

/// The same for buffers, which begin as zeros like all static memory without a value.
pub fn uncached_zeroes<const N: usize>(
    memory: &'static mut MaybeUninit<[[crate::Aligned; N]; 2]>,
) -> &'static mut [[crate::Aligned; N]; 2] {
    let address = core::ptr::from_mut(memory).expose_provenance() | UNCACHED;
    // SAFETY: the same memory by another address, of which this is the only reference; octets of any value are valid,
    // and they were set to zero before the start.
    unsafe { &mut *core::ptr::with_exposed_provenance_mut(address) }
}

/// The machine.
pub struct SoftSoc {
    _private: (),
}

impl SoftSoc {
    /// Lets timer, console and DMA wake the hart, and returns the registers of the network. Call it once.
    pub fn start() -> (Self, Blocks<Mmio>) {
        device(CONSOLE).write_at(CONSOLE_CONTROL, READ_INTERRUPT);
        device(INTC).write_at(ENABLE, LINES);
        // Interrupts wake the hart and are not taken: mstatus.MIE is 0.
        // SAFETY: enables no trap.
        unsafe { asm!("csrw mie, {}", in(reg) EXTERNAL) };
        let network = Blocks {
            mac: device(MAC),
            receive: device(RECEIVE),
            transmit: device(TRANSMIT),
        };
        (Self { _private: () }, network)
    }
}

/// Cycles since the start.
fn cycles() -> u64 {
    loop {
        let (high, low, again): (u32, u32, u32);
        // SAFETY: reads a counter.
        unsafe {
            asm!(
                "csrr {}, mcycleh", "csrr {}, mcycle", "csrr {}, mcycleh",
                out(reg) high, out(reg) low, out(reg) again,
            );
        }
        if high == again {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

impl fmt::Write for SoftSoc {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        Console.write_str(text)
    }
}

impl Machine for SoftSoc {
    fn now(&self) -> Instant {
        Instant::from_ns(cycles() * CYCLE_NS)
    }

    fn read_console(&mut self) -> Option<u8> {
        let data: u32 = device(CONSOLE).read_at(DATA);
        (data & VALID != 0).then_some(data as u8)
    }

    fn sleep(&mut self, until: Instant) {
        let Some(wait) = (until.ns() / CYCLE_NS).checked_sub(cycles()) else {
            return;
        };
        let period = u32::try_from(wait).unwrap_or(u32::MAX);
        let timer = device(TIMER);
        timer.write_at(PERIODL, period & 0xffff);
        timer.write_at(PERIODH, period >> 16);
        timer.write_at(CONTROL, INTERRUPT | START);
        // SAFETY: ends when the timer's interrupt is pending, at the latest.
        unsafe { asm!("wfi") };
        timer.write_at(CONTROL, STOP);
        timer.write_at(STATUS, 0_u32);
    }

    fn seed(&mut self) -> u64 {
        cycles()
    }
}

/// Sleeps for ever: no interrupt is enabled.
pub fn stop() -> ! {
    loop {
        // SAFETY: disables all interrupts, and waits.
        unsafe { asm!("csrw mie, zero", "wfi") };
    }
}
