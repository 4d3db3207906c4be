//! The i.MX 6 and its Cortex-A9 (IMX6DQRM chapter 2: addresses; chapter 3: interrupts; Cortex-A9 `MPCore`
//! Technical Reference Manual).

use core::arch::asm;
use core::fmt;
use linerate_agent::Instant;
use linerate_agent_firmware::Machine;
use linerate_nic::mmio::{Mmio, Registers};

/// Ticks of the A9's timers: 100 MHz in QEMU, half the processor's clock in a chip.
pub const TICKS_PER_S: u64 = 100_000_000;
const NS_PER_TICK: u64 = 1_000_000_000 / TICKS_PER_S;

/// ENET, and the clock of its bus.
const ENET: usize = 0x0218_8000;
pub const ENET_BUS_HZ: u32 = 66_000_000;

/// UART1 (chapter 64): receive and transmit register; control registers 1 and 2, status 2.
const UART: usize = 0x0202_0000;
const URXD: usize = 0;
const UTXD: usize = 0x40;
const UCR1: usize = 0x80;
const UCR2: usize = 0x84;
const USR2: usize = 0x98;
const UART_ENABLE: u32 = 1;
/// UCR2: not in reset, receiver and transmitter on, 8 bits, no RTS.
const UART_SETUP: u32 = 1 | 1 << 1 | 1 << 2 | 1 << 5 | 1 << 14;
/// USR2: transmission complete; receive data ready.
const TRANSMIT_COMPLETE: u32 = 1 << 3;
const RECEIVE_READY: u32 = 1;

/// The A9's own devices: interface to the interrupt controller, global timer, private timer, distributor.
const GIC_CPU: usize = 0x00a0_0100;
const GLOBAL_TIMER: usize = 0x00a0_0200;
const PRIVATE_TIMER: usize = 0x00a0_0600;
const GIC: usize = 0x00a0_1000;

/// Interface: control, lowest priority that interrupts, acknowledge, end.
const ICCICR: usize = 0;
const ICCPMR: usize = 4;
const ICCIAR: usize = 0xc;
const ICCEOIR: usize = 0x10;
/// Distributor: control; for each interrupt a bit that enables it, an octet for its processors.
const ICDDCR: usize = 0;
const ICDISER: usize = 0x100;
const ICDIPTR: usize = 0x800;

/// Interrupts: the private timer, ENET.
const TIMER_INTERRUPT: usize = 29;
const ENET_INTERRUPT: usize = 150;
/// Value of the acknowledge register if no interrupt is pending.
const NO_INTERRUPT: u32 = 1023;

/// Private timer: load, control, status.
const LOAD: usize = 0;
const CONTROL: usize = 8;
const STATUS: usize = 0xc;
/// Its control: enabled, with interrupt, once.
const ONE_SHOT: u32 = 1 | 1 << 2;

fn device(base: usize) -> Mmio {
    // SAFETY: a device of the chip that does not access memory.
    unsafe { Mmio::new(base) }
}

/// The serial port.
pub struct Console;

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let uart = device(UART);
        for octet in text.bytes() {
            while Registers::<u32>::read_at(&uart, USR2) & TRANSMIT_COMPLETE == 0 {}
            uart.write_at(UTXD, u32::from(octet));
        }
        Ok(())
    }
}

/// Acknowledges the pending interrupt.
pub fn claim() -> u32 {
    device(GIC_CPU).read_at(ICCIAR)
}

/// Ends the acknowledged interrupt, if there was one.
pub fn complete(interrupt: u32) {
    if interrupt != NO_INTERRUPT {
        device(GIC_CPU).write_at(ICCEOIR, interrupt);
    }
}

/// The machine.
pub struct SabreLite;

impl SabreLite {
    /// Lets the timer and ENET wake the processor, and starts the clock and the console. Also returns ENET's
    /// registers. Call it once.
    pub fn start() -> (Self, Mmio) {
        let uart = device(UART);
        uart.write_at(UCR1, UART_ENABLE);
        uart.write_at(UCR2, UART_SETUP);
        device(GLOBAL_TIMER).write_at(CONTROL, 1_u32);
        // Interrupts wake the processor and are not taken: CPSR.I is set.
        let gic = device(GIC);
        for interrupt in [TIMER_INTERRUPT, ENET_INTERRUPT] {
            gic.write_at(ICDISER + interrupt / 32 * 4, 1_u32 << (interrupt % 32));
        }
        gic.write_at(ICDIPTR + ENET_INTERRUPT, 1_u8);
        gic.write_at(ICDDCR, 1_u32);
        let interface = device(GIC_CPU);
        interface.write_at(ICCPMR, 0xff_u32);
        interface.write_at(ICCICR, 1_u32);
        // SAFETY: the MAC; strongly ordered, like all memory without an MMU.
        (Self, unsafe { Mmio::new(ENET) })
    }

    fn ticks() -> u64 {
        let timer = device(GLOBAL_TIMER);
        loop {
            let high: u32 = timer.read_at(4);
            let low: u32 = timer.read_at(0);
            let again: u32 = timer.read_at(4);
            if high == again {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }
}

impl fmt::Write for SabreLite {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        Console.write_str(text)
    }
}

impl Machine for SabreLite {
    fn now(&self) -> Instant {
        Instant::from_ns(Self::ticks() * NS_PER_TICK)
    }

    fn read_console(&mut self) -> Option<u8> {
        let uart = device(UART);
        let status: u32 = uart.read_at(USR2);
        let octet = || Registers::<u32>::read_at(&uart, URXD) as u8;
        (status & RECEIVE_READY != 0).then(octet)
    }

    fn sleep(&mut self, until: Instant) {
        let ticks = until.ns().saturating_sub(self.now().ns()) / NS_PER_TICK;
        if ticks == 0 {
            return;
        }
        let timer = device(PRIVATE_TIMER);
        timer.write_at(LOAD, u32::try_from(ticks).unwrap_or(u32::MAX));
        timer.write_at(CONTROL, ONE_SHOT);
        // SAFETY: ends when the timer's interrupt is pending, at the latest.
        unsafe { asm!("dsb", "wfi", options(nostack, preserves_flags)) };
        timer.write_at(CONTROL, 0_u32);
        timer.write_at(STATUS, 1_u32);
        complete(claim());
    }

    fn seed(&mut self) -> u64 {
        // Differs in each start, as QEMU's clock keeps running.
        Self::ticks()
    }
}
