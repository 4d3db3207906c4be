//! LP timer: 48 bits of the slow clock, running through resets.
//!
//! ESP32-C6 Technical Reference Manual, chapter "Low-power Management", section "RTC Timer".

use super::{ClockDomain, Device, InterruptRegisters};
use crate::time::Instant;

const TAR0_LOW: u32 = 0x00;
const TAR0_HIGH: u32 = 0x04;
const UPDATE: u32 = 0x10;
const BUF0_LOW: u32 = 0x14;
const BUF0_HIGH: u32 = 0x18;
const BUF1_LOW: u32 = 0x1c;
const BUF1_HIGH: u32 = 0x20;
const INT_RAW: u32 = 0x28;
const INT_ST: u32 = 0x2c;
const INT_ENA: u32 = 0x30;
const INT_CLR: u32 = 0x34;

/// `UPDATE`: latch the counter.
const MAIN_TIMER_UPDATE: u32 = 1 << 28;
/// `TAR0_HIGH`: the target is armed.
const TARGET_ENABLE: u32 = 1 << 31;
/// `INT_*`: the target was reached.
const ALARM: u32 = 1 << 31;

/// The timer; interrupt output 0 is `LP_RTC_TIMER`.
#[derive(Clone, Debug)]
pub struct LpTimer {
    clock: ClockDomain,
    latched: [u64; 2],
    target: [u32; 2],
    interrupts: InterruptRegisters,
}

impl LpTimer {
    /// A timer on the slow clock of `hertz`, 0 at power-on.
    pub fn new(slow_hertz: u64) -> Self {
        Self {
            clock: ClockDomain::new(slow_hertz),
            latched: [0; 2],
            target: [0; 2],
            interrupts: InterruptRegisters::default(),
        }
    }
}

impl Device for LpTimer {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        Some(match offset {
            TAR0_LOW => self.target[0],
            TAR0_HIGH => self.target[1],
            UPDATE | INT_CLR => 0,
            BUF0_LOW => self.latched[0] as u32,
            BUF0_HIGH => (self.latched[0] >> 32) as u32 & 0xffff,
            BUF1_LOW => self.latched[1] as u32,
            BUF1_HIGH => (self.latched[1] >> 32) as u32 & 0xffff,
            INT_RAW => self.interrupts.raw,
            INT_ST => self.interrupts.status(),
            INT_ENA => self.interrupts.enable,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        match offset {
            TAR0_LOW => self.target[0] = value,
            TAR0_HIGH => self.target[1] = value,
            UPDATE => {
                if value & MAIN_TIMER_UPDATE != 0 {
                    self.latched = [self.clock.count(now), self.latched[0]];
                }
            }
            BUF0_LOW..=BUF1_HIGH | INT_RAW | INT_ST => {}
            INT_ENA => self.interrupts.enable = value,
            INT_CLR => self.interrupts.clear(value),
            _ => return false,
        }
        true
    }

    fn next_event(&self) -> Instant {
        if self.target[1] & TARGET_ENABLE == 0 {
            return Instant::NEVER;
        }
        let high = u64::from(self.target[1] & 0xffff);
        self.clock.instant(high << 32 | u64::from(self.target[0]))
    }

    fn advance(&mut self, now: Instant) {
        if self.next_event() <= now {
            self.target[1] &= !TARGET_ENABLE;
            self.interrupts.raw |= ALARM;
        }
    }

    fn interrupts(&self) -> u32 {
        self.interrupts.level()
    }
}
