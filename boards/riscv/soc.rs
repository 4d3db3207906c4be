//! Console, timer, interrupt controller and MAC of a simulated SoC, at the addresses of the board's `machine` module.

use core::arch::asm;
use core::fmt;
use linerate_agent::Instant;
use linerate_agent_firmware::Machine;
use linerate_nic::mmio::{Mmio, Registers};

use super::{BUS_HZ, CONSOLE, CYCLES, INTC, MAC, MAC_LINE, TIMER, TIMER_LINE};

/// Register `enable` of the interrupt controller.
const ENABLE: usize = 4;
/// mie: the interrupt controller's interrupt.
const EXTERNAL: usize = 1 << 11;

/// Console: data register, its valid bit.
const DATA: usize = 0;
const VALID: u32 = 1 << 15;

/// Timer: status, control, period in two halves; control bits interrupt, start and stop.
const STATUS: usize = 0x00;
const CONTROL: usize = 0x04;
const PERIOD: [usize; 2] = [0x08, 0x0c];
const INTERRUPT: u32 = 1 << 0;
const START: u32 = 1 << 2;
const STOP: u32 = 1 << 3;

pub(super) fn device(base: usize) -> Mmio {
    // SAFETY: a device of the board that does not access memory.
    unsafe { Mmio::new(base) }
}

/// True if an interrupt of the MAC is pending.
#[allow(dead_code, reason = "of some programs")]
pub fn is_interrupted() -> bool {
    let pending: u32 = device(INTC).read_at(0);
    pending & 1 << MAC_LINE != 0
}

/// Cycles since the start.
pub fn cycles() -> u64 {
    loop {
        let (high, low, again): (u32, u32, u32);
        // SAFETY: reads counters.
        unsafe {
            asm!("csrr {}, mcycleh", "csrr {}, mcycle", "csrr {}, mcycleh",
                 out(reg) high, out(reg) low, out(reg) again);
        };
        if high == again {
            return u64::from(high) << 32 | u64::from(low);
        }
    }
}

/// Time since the start.
pub fn now() -> Instant {
    let (cycles_per_span, span_ns) = CYCLES;
    Instant::from_ns(cycles() * span_ns / cycles_per_span)
}

/// The serial console.
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let console = device(CONSOLE);
        for octet in text.bytes() {
            console.write_at(DATA, u32::from(octet));
        }
        Ok(())
    }
}

/// The machine.
pub struct Board;

impl Board {
    /// Enables timer and MAC to wake the hart. Also returns the MAC's registers. Call it once.
    pub fn start() -> (Self, Mmio) {
        device(INTC).write_at(ENABLE, 1_u32 << TIMER_LINE | 1 << MAC_LINE);
        // SAFETY: enables no trap while mstatus.MIE is 0.
        unsafe { asm!("csrw mie, {}", in(reg) EXTERNAL) };
        // SAFETY: the MAC; the boards' memory is coherent with DMA.
        (Self, unsafe { Mmio::new(MAC) })
    }
}

impl fmt::Write for Board {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        Console.write_str(text)
    }
}

impl Machine for Board {
    fn now(&self) -> Instant {
        now()
    }

    fn read_console(&mut self) -> Option<u8> {
        let data: u32 = device(CONSOLE).read_at(DATA);
        (data & VALID != 0).then_some(data as u8)
    }

    fn sleep(&mut self, until: Instant) {
        let ns = until.ns().saturating_sub(self.now().ns());
        let ticks = u128::from(ns) * u128::from(BUS_HZ) / 1_000_000_000;
        if ticks == 0 {
            return;
        }
        let ticks = u32::try_from(ticks).unwrap_or(u32::MAX);
        let timer = device(TIMER);
        timer.write_at(PERIOD[0], ticks & 0xffff);
        timer.write_at(PERIOD[1], ticks >> 16);
        timer.write_at(CONTROL, INTERRUPT | START);
        // SAFETY: ends when the timer's interrupt is pending, at the latest.
        unsafe { asm!("wfi") };
        timer.write_at(CONTROL, STOP);
        timer.write_at(STATUS, 0_u32);
    }

    fn seed(&mut self) -> u64 {
        // The same in each start: the simulator is deterministic.
        cycles()
    }
}

/// Ends the program: there is nothing that switches the board off.
pub fn stop() -> ! {
    loop {
        // SAFETY: waits.
        unsafe { asm!("wfi") };
    }
}
