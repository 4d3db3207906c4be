//! QEMU's machine mps2-an385: ARM's application note 385, its devices in the Cortex-M System Design Kit
//! (DDI 0479).

use core::arch::asm;
use core::cell::Cell;
use core::fmt;
use linerate_agent::Instant;
use linerate_agent_firmware::Machine;
use linerate_nic::mmio::{Mmio, Registers};

/// The clock of processor and timers.
pub const TICKS_PER_S: u64 = 25_000_000;
const NS_PER_TICK: u64 = 1_000_000_000 / TICKS_PER_S;

/// Two down-counting timers (DDI 0479, 4.2): one is the clock, the other an alarm.
const CLOCK: usize = 0x4000_0000;
const ALARM: usize = 0x4000_1000;
mod timer {
    pub const CONTROL: usize = 0;
    pub const VALUE: usize = 4;
    pub const RELOAD: usize = 8;
    pub const CLEAR: usize = 12;
    pub const ENABLE: u32 = 1;
    pub const INTERRUPT: u32 = 1 << 3;
}

/// The first serial port (DDI 0479, 4.3).
const UART: usize = 0x4000_4000;
mod uart {
    pub const DATA: usize = 0;
    pub const STATE: usize = 4;
    pub const CONTROL: usize = 8;
    pub const DIVIDER: usize = 16;
    pub const TX_FULL: u32 = 1;
    pub const RX_FULL: u32 = 2;
    pub const TX_ENABLE: u32 = 1;
    pub const RX_ENABLE: u32 = 2;
    /// The fastest baud rate.
    pub const MIN_DIVIDER: u32 = 16;
}

/// The LAN9118 and its interrupt (application note 385, 3.7 and table 4-1).
const NETWORK: usize = 0x4020_0000;

/// The processor's interrupt controller (ARMv7-M, B3.4): set-enable and clear-pending registers.
const NVIC: usize = 0xe000_e100;
const ENABLE: usize = 0;
const CLEAR_PENDING: usize = 0x180;
/// Interrupts of the alarm and of the network device.
const WAKE_INTERRUPTS: u32 = 1 << 9 | 1 << 13;

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
        let port = Self::registers();
        for octet in text.bytes() {
            while Registers::<u32>::read_at(&port, uart::STATE) & uart::TX_FULL != 0 {}
            port.write_at(uart::DATA, u32::from(octet));
        }
        Ok(())
    }
}

/// The machine.
pub struct Mps2 {
    clock: Mmio,
    alarm: Mmio,
    nvic: Mmio,
    /// Ticks since the start when the clock was last read. It wraps in 171 s.
    ticks: Cell<u64>,
}

impl Mps2 {
    /// Starts the clock and lets alarm and network device wake the processor. Also returns the network
    /// device's registers. Call it once.
    pub fn start() -> (Self, Mmio) {
        // SAFETY: devices of the processor and the kit; none is made to access memory.
        let [clock, alarm, nvic, port, network] =
            [CLOCK, ALARM, NVIC, UART, NETWORK].map(|it| unsafe { Mmio::new(it) });
        port.write_at(uart::DIVIDER, uart::MIN_DIVIDER);
        port.write_at(uart::CONTROL, uart::TX_ENABLE | uart::RX_ENABLE);
        clock.write_at(timer::RELOAD, u32::MAX);
        clock.write_at(timer::VALUE, u32::MAX);
        clock.write_at(timer::CONTROL, timer::ENABLE);
        nvic.write_at(ENABLE, WAKE_INTERRUPTS);
        let it = Self {
            clock,
            alarm,
            nvic,
            ticks: Cell::new(0),
        };
        (it, network)
    }

    fn ticks(&self) -> u64 {
        let before = self.ticks.get();
        let left: u32 = self.clock.read_at(timer::VALUE);
        let now = u32::MAX - left;
        let ticks = before + u64::from(now.wrapping_sub(before as u32));
        self.ticks.set(ticks);
        ticks
    }
}

impl fmt::Write for Mps2 {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        Console.write_str(text)
    }
}

impl Machine for Mps2 {
    fn now(&self) -> Instant {
        Instant::from_ns(self.ticks() * NS_PER_TICK)
    }

    fn read_console(&mut self) -> Option<u8> {
        let port = Console::registers();
        let state: u32 = port.read_at(uart::STATE);
        (state & uart::RX_FULL != 0).then(|| {
            let octet: u32 = port.read_at(uart::DATA);
            octet as u8
        })
    }

    fn sleep(&mut self, until: Instant) {
        let left = (until.ns() / NS_PER_TICK).saturating_sub(self.ticks());
        // The clock must be read before it wraps.
        let left = left.clamp(1, u64::from(u32::MAX / 2)) as u32;
        self.alarm.write_at(timer::CONTROL, 0_u32);
        self.alarm.write_at(timer::CLEAR, 1_u32);
        // It stops at zero.
        self.alarm.write_at(timer::RELOAD, 0_u32);
        self.alarm.write_at(timer::VALUE, left);
        self.nvic.write_at(CLEAR_PENDING, WAKE_INTERRUPTS);
        self.alarm
            .write_at(timer::CONTROL, timer::ENABLE | timer::INTERRUPT);
        // An interrupt line that is still active becomes pending again. PRIMASK is set: interrupts wake the
        // processor and are not taken.
        // SAFETY: ends when the alarm is pending, at the latest.
        unsafe { asm!("dsb", "wfi") };
    }

    fn seed(&mut self) -> u64 {
        // QEMU's clock is the host's, so no two starts take the same time.
        self.ticks()
    }
}
