//! RTC watchdog of the LP system.
//!
//! ESP32-C6 Technical Reference Manual, chapter "Watchdog Timers", sections on RWDT. The super
//! watchdog beside it is plain storage.

use super::watchdog::UNLOCK_KEY;
use super::{Action, ClockDomain, Device, InterruptRegisters, Watchdog};
use crate::time::Instant;

const CONFIG0: u32 = 0x00;
const TIMEOUTS: u32 = 0x04;
const FEED: u32 = 0x14;
const WPROTECT: u32 = 0x18;
const INT_RAW: u32 = 0x24;
const INT_ST: u32 = 0x28;
const INT_ENA: u32 = 0x2c;
const INT_CLR: u32 = 0x30;

const WDT_INT: u32 = 1 << 31;

/// The watchdog; interrupt output 0 is `LP_WDT`.
#[derive(Clone, Debug)]
pub struct LpWdt {
    watchdog: Watchdog,
    config0: u32,
    timeouts: [u32; 4],
    protect: u32,
    interrupts: InterruptRegisters,
    reset: Option<Action>,
}

impl LpWdt {
    /// A watchdog that counts the slow clock of `hertz`. The boot loader has disabled it.
    pub fn new(slow_hertz: u64) -> Self {
        let timeouts = [200_000; 4];
        let counts = [400_000, 200_000, 200_000, 200_000];
        Self {
            watchdog: Watchdog::new(ClockDomain::new(slow_hertz), counts),
            config0: 0x13214,
            timeouts,
            protect: 0,
            interrupts: InterruptRegisters::default(),
            reset: None,
        }
    }
}

impl Device for LpWdt {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        Some(match offset {
            CONFIG0 => self.config0,
            TIMEOUTS..FEED => self.timeouts[(offset - TIMEOUTS) as usize / 4],
            FEED | INT_CLR => 0,
            WPROTECT => self.protect,
            INT_RAW => self.interrupts.raw,
            INT_ST => self.interrupts.status(),
            INT_ENA => self.interrupts.enable,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        let unlocked = self.protect == UNLOCK_KEY;
        match offset {
            CONFIG0 if unlocked => {
                self.config0 = value;
                let actions = [28, 25, 22, 19].map(|bit| Action::from_field(value >> bit & 7));
                self.watchdog.configure(value >> 31 != 0, actions, now);
            }
            TIMEOUTS..FEED if unlocked => {
                let stage = (offset - TIMEOUTS) as usize / 4;
                self.timeouts[stage] = value;
                // Stage 0 counts twice as long (eFuse WDT_DELAY_SEL = 0).
                let factor = if stage == 0 { 2 } else { 1 };
                self.watchdog.set_timeout(stage, u64::from(value) * factor);
            }
            FEED if unlocked => self.watchdog.feed(now),
            // Locked, or read-only.
            CONFIG0..WPROTECT | INT_RAW | INT_ST => {}
            WPROTECT => self.protect = value,
            INT_ENA => self.interrupts.enable = value,
            INT_CLR => self.interrupts.clear(value),
            _ => return false,
        }
        true
    }

    fn next_event(&self) -> Instant {
        self.watchdog.next_event()
    }

    fn advance(&mut self, now: Instant) {
        while let Some(action) = self.watchdog.expire(now) {
            match action {
                Action::Interrupt => self.interrupts.raw |= WDT_INT,
                Action::Off => {}
                reset => self.reset = Some(reset),
            }
        }
    }

    fn interrupts(&self) -> u32 {
        self.interrupts.level()
    }

    fn take_reset(&mut self) -> Option<Action> {
        self.reset.take()
    }
}
