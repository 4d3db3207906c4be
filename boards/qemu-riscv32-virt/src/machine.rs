//! QEMU's RV32 machine virt; `qemu-system-riscv32 -M virt,dumpdtb=FILE` gives the device addresses.

use core::arch::asm;
use core::fmt;
use linerate_agent::Instant;
use linerate_agent_firmware::Machine;
use linerate_nic::dma::Coherence;
use linerate_nic::mmio::{Mmio, Registers};

/// Ticks of the CLINT's counter.
pub const TICKS_PER_S: u64 = 10_000_000;

/// NS16550A: receive and transmit register, line status.
const UART: usize = 0x1000_0000;
const LINE_STATUS: usize = 5;
const DATA_READY: u8 = 1;
const TRANSMITTER_EMPTY: u8 = 1 << 5;

/// The CLINT's compare register of hart 0 and its counter.
const TIMER_COMPARE: usize = 0x0200_4000;
const TIMER: usize = 0x0200_bff8;

/// The PLIC: priority of each interrupt; enable bits of hart 0 in machine mode; claim and complete.
const PLIC: usize = 0x0c00_0000;
const ENABLE: usize = 0x2000;
const CLAIM: usize = 0x20_0004;

/// Slots of virtio devices, and the interrupt of the first.
const SLOTS: usize = 0x1000_1000;
const SLOT: usize = 0x1000;
const SLOT_COUNT: usize = 8;
const FIRST_INTERRUPT: usize = 1;
/// The register `DeviceID`, and its value for a network device.
const DEVICE_ID: usize = 8;
const NETWORK: u32 = 1;

/// mie: the timer's and the PLIC's interrupt.
const WAKE_INTERRUPTS: usize = 1 << 7 | 1 << 11;

/// The serial port.
pub struct Console;

impl Console {
    fn registers() -> Mmio {
        // SAFETY: the UART, which does not access memory.
        unsafe { Mmio::new(UART) }
    }
}

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let uart = Self::registers();
        for octet in text.bytes() {
            while Registers::<u8>::read_at(&uart, LINE_STATUS) & TRANSMITTER_EMPTY == 0 {}
            uart.write_at(0, octet);
        }
        Ok(())
    }
}

/// Orders accesses to memory and to devices.
#[derive(Debug, Clone, Copy)]
pub struct Io;

impl Coherence for Io {
    #[inline]
    fn barrier(&self) {
        // SAFETY: a fence only.
        unsafe { asm!("fence iorw, iorw", options(nostack, preserves_flags)) };
    }
}

/// The CLINT's compare register of this hart.
fn compare() -> Mmio {
    // SAFETY: it does not access memory.
    unsafe { Mmio::new(TIMER_COMPARE) }
}

/// The PLIC.
fn plic() -> Mmio {
    // SAFETY: it does not access memory.
    unsafe { Mmio::new(PLIC) }
}

/// Claims the pending interrupt; 0: none.
pub fn claim() -> u32 {
    plic().read_at(CLAIM)
}

/// Completes a claimed interrupt.
pub fn complete(interrupt: u32) {
    if interrupt != 0 {
        plic().write_at(CLAIM, interrupt);
    }
}

/// The machine.
pub struct Virt {
    /// Slots not yet probed.
    slots: core::ops::Range<usize>,
}

impl Virt {
    /// Lets the timer and the devices wake the hart. Call it once.
    pub fn start() -> Self {
        let plic = plic();
        let mut wanted = 0_u32;
        for interrupt in (FIRST_INTERRUPT..).take(SLOT_COUNT) {
            plic.write_at(4 * interrupt, 1_u32);
            wanted |= 1 << interrupt;
        }
        plic.write_at(ENABLE, wanted);
        Self::no_alarm();
        // Interrupts wake the hart and are not taken: mstatus.MIE is 0.
        // SAFETY: enables no trap.
        unsafe { asm!("csrw mie, {}", in(reg) WAKE_INTERRUPTS) };
        Self {
            slots: 0..SLOT_COUNT,
        }
    }

    /// Returns the registers of the network device, if there is one; once.
    pub fn network_slot(&mut self) -> Option<Mmio> {
        core::mem::take(&mut self.slots)
            // SAFETY: a device slot, and each is probed once.
            .map(|slot| unsafe { Mmio::new(SLOTS + slot * SLOT) })
            .find(|slot| Registers::<u32>::read_at(slot, DEVICE_ID) == NETWORK)
    }

    /// Disables the timer's interrupt: after reset, and when a sleep is over.
    fn no_alarm() {
        compare().write_at(4, u32::MAX);
    }

    fn ticks() -> u64 {
        // SAFETY: the CLINT's counter.
        let clint = unsafe { Mmio::new(TIMER) };
        loop {
            let high: u32 = clint.read_at(4);
            let low: u32 = clint.read_at(0);
            let again: u32 = clint.read_at(4);
            if high == again {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }
}

impl fmt::Write for Virt {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        Console.write_str(text)
    }
}

impl Machine for Virt {
    fn now(&self) -> Instant {
        Instant::from_ns(Self::ticks() * (1_000_000_000 / TICKS_PER_S))
    }

    fn read_console(&mut self) -> Option<u8> {
        let uart = Console::registers();
        let status: u8 = uart.read_at(LINE_STATUS);
        (status & DATA_READY != 0).then(|| uart.read_at(0))
    }

    fn sleep(&mut self, until: Instant) {
        let ticks = until.ns() / (1_000_000_000 / TICKS_PER_S);
        let compare = compare();
        // No intermediate value may be an earlier time.
        compare.write_at(4, u32::MAX);
        compare.write_at(0, ticks as u32);
        compare.write_at(4, (ticks >> 32) as u32);
        // SAFETY: ends when the timer's interrupt is pending, at the latest.
        unsafe { asm!("wfi") };
        Self::no_alarm();
        complete(claim());
    }

    fn seed(&mut self) -> u64 {
        // Differs in each start, as QEMU's clock keeps running.
        Self::ticks()
    }
}

/// Ends the machine with an error (`SiFive`'s test device, at `0x10_0000`: `0x3333` is failure).
pub fn stop() -> ! {
    // SAFETY: a register of a device that nothing else here uses.
    unsafe {
        core::ptr::write_volatile(
            core::ptr::with_exposed_provenance_mut::<u32>(0x10_0000),
            0x1_3333,
        );
    }
    loop {
        core::hint::spin_loop();
    }
}
