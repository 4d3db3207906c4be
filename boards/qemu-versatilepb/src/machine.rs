//! QEMU's machine versatilepb: ARM's Versatile Platform Baseboard (DUI 0225).

use core::arch::asm;
use core::cell::Cell;
use core::fmt;
use linerate_agent::Instant;
use linerate_agent_firmware::Machine;
use linerate_nic::mmio::{Mmio, Registers};

/// Frequency of the clock.
pub const TICKS_PER_S: u64 = 24_000_000;

/// The system registers (DUI 0225, 4.3), and in them the clock.
const SYSTEM: usize = 0x1000_0000;
const CLOCK: usize = 0x5c;

/// The first pair of timers (SP804); one is the alarm.
const ALARM: usize = 0x101e_2000;
mod timer {
    pub const LOAD: usize = 0;
    pub const CONTROL: usize = 8;
    pub const CLEAR: usize = 12;
    /// Enabled, with interrupt, 32 bits, one-shot.
    pub const ALARM: u32 = 1 << 7 | 1 << 5 | 1 << 1 | 1;
    pub const NS_PER_TICK: u64 = 1000;
}

/// The real-time clock (PL031): seconds.
const RTC: usize = 0x101e_8000;

/// The first serial port (PL011).
const UART: usize = 0x101f_1000;
mod uart {
    pub const DATA: usize = 0;
    pub const FLAGS: usize = 0x18;
    pub const CONTROL: usize = 0x30;
    pub const TX_FULL: u32 = 1 << 5;
    pub const RX_EMPTY: u32 = 1 << 4;
    /// Enabled in both directions.
    pub const ENABLE: u32 = 1 << 9 | 1 << 8 | 1;
}

/// The interrupt controllers: the first (PL190), and the second, which is interrupt 31 of the first (DUI 0225,
/// 4.10).
const FIRST: usize = 0x1014_0000;
const FIRST_ENABLE: usize = 0x10;
const FIRST_INTERRUPTS: u32 = 1 << 4 | 1 << 31;
const SECOND: usize = 0x1000_3000;
const SECOND_ENABLE: usize = 8;
const SECOND_INTERRUPTS: u32 = 1 << 25;

/// The LAN91C111.
const NETWORK: usize = 0x1001_0000;

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
            while Registers::<u32>::read_at(&port, uart::FLAGS) & uart::TX_FULL != 0 {}
            port.write_at(uart::DATA, u32::from(octet));
        }
        Ok(())
    }
}

/// The machine.
pub struct Versatile {
    system: Mmio,
    alarm: Mmio,
    calendar: Mmio,
    /// Ticks since the start when the clock was last read. It wraps in 179 s.
    ticks: Cell<u64>,
}

impl Versatile {
    /// Lets alarm and network device wake the processor. Also returns the network device's registers. Call it
    /// once.
    pub fn start() -> (Self, Mmio) {
        // SAFETY: devices of the board; none is made to access memory.
        let [system, alarm, calendar, first, second, network] =
            [SYSTEM, ALARM, RTC, FIRST, SECOND, NETWORK].map(|it| unsafe { Mmio::new(it) });
        Console::registers().write_at(uart::CONTROL, uart::ENABLE);
        second.write_at(SECOND_ENABLE, SECOND_INTERRUPTS);
        first.write_at(FIRST_ENABLE, FIRST_INTERRUPTS);
        let it = Self {
            system,
            alarm,
            calendar,
            ticks: Cell::new(0),
        };
        (it, network)
    }

    fn ticks(&self) -> u64 {
        let before = self.ticks.get();
        let now: u32 = self.system.read_at(CLOCK);
        let ticks = before + u64::from(now.wrapping_sub(before as u32));
        self.ticks.set(ticks);
        ticks
    }
}

impl fmt::Write for Versatile {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        Console.write_str(text)
    }
}

impl Machine for Versatile {
    fn now(&self) -> Instant {
        Instant::from_ns(self.ticks() * 125 / 3)
    }

    fn read_console(&mut self) -> Option<u8> {
        let port = Console::registers();
        let flags: u32 = port.read_at(uart::FLAGS);
        (flags & uart::RX_EMPTY == 0).then(|| {
            let octet: u32 = port.read_at(uart::DATA);
            octet as u8
        })
    }

    fn sleep(&mut self, until: Instant) {
        let left = until.ns().saturating_sub(self.now().ns()) / timer::NS_PER_TICK;
        // The clock must be read before it wraps.
        let left = left.clamp(1, 100_000_000) as u32;
        self.alarm.write_at(timer::CONTROL, 0_u32);
        self.alarm.write_at(timer::CLEAR, 0_u32);
        self.alarm.write_at(timer::LOAD, left);
        self.alarm.write_at(timer::CONTROL, timer::ALARM);
        // Interrupts are masked in the processor: they wake it and are not taken.
        // SAFETY: ends when the alarm is pending, at the latest.
        unsafe { asm!("dsb", "wfi") };
    }

    fn seed(&mut self) -> u64 {
        let seconds: u32 = self.calendar.read_at(0);
        u64::from(seconds) << 32 | self.ticks()
    }
}
