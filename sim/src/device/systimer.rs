//! System timer: two 52-bit counters of 16 MHz and three comparators.
//!
//! ESP32-C6 Technical Reference Manual, chapter "System Timer".

use super::{ClockDomain, Device, InterruptRegisters};
use crate::time::Instant;

/// Frequency of the counters in hertz: the crystal's 40 MHz divided by 2.5.
pub const HERTZ: u64 = 16_000_000;

const CONF: u32 = 0x00;
const UNIT_OP: u32 = 0x04;
const UNIT_LOAD_VALUE: u32 = 0x0c;
const TARGET: u32 = 0x1c;
const TARGET_CONF: u32 = 0x34;
const UNIT_VALUE: u32 = 0x40;
const COMP_LOAD: u32 = 0x50;
const UNIT_LOAD: u32 = 0x5c;
const INT_ENA: u32 = 0x64;
const INT_RAW: u32 = 0x68;
const INT_CLR: u32 = 0x6c;
const INT_ST: u32 = 0x70;
const REAL_TARGET: u32 = 0x74;
const END: u32 = 0x8c;

/// `UNIT_OP`: latch the counter; the latched value is valid.
const UPDATE: u32 = 1 << 30;
const VALID: u32 = 1 << 29;
/// `TARGET_CONF`: periodic alarm; unit to compare with.
const PERIOD_MODE: u32 = 1 << 30;
const UNIT_SELECT: u32 = 1 << 31;
const COUNTER_MASK: u64 = (1 << 52) - 1;

#[derive(Clone, Copy, Debug, Default)]
struct Comparator {
    /// `TARGETn_HI`, `TARGETn_LO` and `TARGETn_CONF` as written.
    target: [u32; 2],
    conf: u32,
    /// The count loaded by `COMPn_LOAD`; `None` when it has passed.
    armed: Option<u64>,
}

impl Comparator {
    fn unit(&self) -> usize {
        usize::from(self.conf & UNIT_SELECT != 0)
    }

    fn target(&self) -> u64 {
        u64::from(self.target[0] & 0xf_ffff) << 32 | u64::from(self.target[1])
    }

    fn period(&self) -> u64 {
        u64::from(self.conf & 0x3ff_ffff)
    }
}

/// The timer; interrupt output `n` is that of comparator `n`.
#[derive(Clone, Debug)]
pub struct SysTimer {
    conf: u32,
    units: [ClockDomain; 2],
    load: [[u32; 2]; 2],
    latched: [u64; 2],
    comparators: [Comparator; 3],
    interrupts: InterruptRegisters,
}

impl Default for SysTimer {
    fn default() -> Self {
        Self {
            conf: 0x4600_0000,
            units: [ClockDomain::new(HERTZ), ClockDomain::new(0)],
            load: [[0; 2]; 2],
            latched: [0; 2],
            comparators: [Comparator::default(); 3],
            interrupts: InterruptRegisters::default(),
        }
    }
}

impl SysTimer {
    fn count(&self, unit: usize, now: Instant) -> u64 {
        self.units[unit].count(now) & COUNTER_MASK
    }

    fn is_enabled(&self, comparator: usize) -> bool {
        self.conf >> (24 - comparator) & 1 != 0
    }

    fn load_comparator(&mut self, index: usize, now: Instant) {
        let comparator = self.comparators[index];
        self.comparators[index].armed = Some(if comparator.conf & PERIOD_MODE == 0 {
            comparator.target()
        } else {
            self.count(comparator.unit(), now) + comparator.period().max(1)
        });
    }

    fn alarm_at(&self, index: usize) -> Instant {
        let comparator = &self.comparators[index];
        match comparator.armed {
            Some(count) if self.is_enabled(index) => self.units[comparator.unit()].instant(count),
            _ => Instant::NEVER,
        }
    }
}

impl Device for SysTimer {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        let index = |base: u32, stride: u32| ((offset - base) / stride) as usize;
        let half = |value: u64, high_first: bool| {
            let high = (offset & 4 == 0) == high_first;
            if high {
                (value >> 32) as u32
            } else {
                value as u32
            }
        };
        Some(match offset {
            CONF => self.conf,
            UNIT_OP..UNIT_LOAD_VALUE => VALID,
            UNIT_LOAD_VALUE..TARGET => {
                let i = index(UNIT_LOAD_VALUE, 4);
                self.load[i / 2][i % 2]
            }
            TARGET..TARGET_CONF => {
                let i = index(TARGET, 4);
                self.comparators[i / 2].target[i % 2]
            }
            TARGET_CONF..UNIT_VALUE => self.comparators[index(TARGET_CONF, 4)].conf,
            UNIT_VALUE..COMP_LOAD => half(self.latched[index(UNIT_VALUE, 8)], true),
            COMP_LOAD..INT_ENA | INT_CLR => 0,
            INT_ENA => self.interrupts.enable,
            INT_RAW => self.interrupts.raw,
            INT_ST => self.interrupts.status(),
            REAL_TARGET..END => {
                let i = index(REAL_TARGET, 4);
                let value = self.comparators[i / 2].armed.unwrap_or(0);
                if i % 2 == 0 {
                    value as u32
                } else {
                    (value >> 32) as u32
                }
            }
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        let index = |base: u32| ((offset - base) / 4) as usize;
        match offset {
            CONF => {
                self.conf = value;
                for (unit, clock) in self.units.iter_mut().enumerate() {
                    let running = value >> (30 - unit) & 1 != 0;
                    clock.set_ratio(if running { HERTZ } else { 0 }, 1, now);
                }
            }
            UNIT_OP..UNIT_LOAD_VALUE => {
                if value & UPDATE != 0 {
                    let unit = index(UNIT_OP);
                    self.latched[unit] = self.count(unit, now);
                }
            }
            UNIT_LOAD_VALUE..TARGET => {
                let i = index(UNIT_LOAD_VALUE);
                self.load[i / 2][i % 2] = value;
            }
            TARGET..TARGET_CONF => {
                let i = index(TARGET);
                self.comparators[i / 2].target[i % 2] = value;
            }
            TARGET_CONF..UNIT_VALUE => self.comparators[index(TARGET_CONF)].conf = value,
            COMP_LOAD..UNIT_LOAD => {
                if value & 1 != 0 {
                    self.load_comparator(index(COMP_LOAD), now);
                }
            }
            UNIT_LOAD..INT_ENA => {
                if value & 1 != 0 {
                    let [high, low] = self.load[index(UNIT_LOAD)];
                    let count = u64::from(high & 0xf_ffff) << 32 | u64::from(low);
                    self.units[index(UNIT_LOAD)].load(count, now);
                }
            }
            INT_ENA => self.interrupts.enable = value,
            INT_CLR => self.interrupts.clear(value),
            UNIT_VALUE..END => {}
            _ => return false,
        }
        true
    }

    fn next_event(&self) -> Instant {
        (0..3)
            .map(|index| self.alarm_at(index))
            .min()
            .unwrap_or(Instant::NEVER)
    }

    fn advance(&mut self, now: Instant) {
        for index in 0..3 {
            if self.alarm_at(index) > now {
                continue;
            }
            self.interrupts.raw |= 1 << index;
            let comparator = &mut self.comparators[index];
            let periodic = comparator.conf & PERIOD_MODE != 0;
            let (last, period) = (comparator.armed.unwrap_or(0), comparator.period().max(1));
            comparator.armed = periodic.then_some(last + period);
            if let Some(next) = comparator.armed
                && self.alarm_at(index) <= now
            {
                // Skip whole periods that have passed.
                let unit = self.comparators[index].unit();
                let missed = (self.count(unit, now) - next) / period + 1;
                self.comparators[index].armed = Some(next + missed * period);
            }
        }
    }

    fn interrupts(&self) -> u32 {
        self.interrupts.status()
    }

    /// Both counters begin at 0.
    fn restart(&mut self, now: Instant) {
        for unit in &mut self.units {
            unit.load(0, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_count_is_latched_on_request() {
        let mut timer = SysTimer::default();
        timer.write(UNIT_OP, UPDATE, at(1 << 30));
        assert_eq!(timer.read(UNIT_OP, at(0)), Some(VALID));
        assert_eq!(timer.read(UNIT_VALUE, at(0)), Some(4));
        assert_eq!(timer.read(UNIT_VALUE + 4, at(0)), Some(0));
    }

    #[test]
    fn a_reset_begins_at_zero() {
        let mut timer = SysTimer::default();
        timer.restart(at(1000));
        timer.write(UNIT_OP, UPDATE, at(1010));
        assert_eq!(timer.read(UNIT_VALUE + 4, at(1010)), Some(160));
    }

    #[test]
    fn a_target_fires_once_even_if_it_has_passed() {
        let mut timer = SysTimer::default();
        timer.write(CONF, 0x4700_0000, at(0));
        timer.write(INT_ENA, 1, at(0));
        timer.write(TARGET + 4, 160, at(0));
        timer.write(COMP_LOAD, 1, at(0));
        assert_eq!(timer.next_event(), at(10));
        timer.advance(at(10));
        assert_eq!(timer.interrupts(), 1);
        assert_eq!(timer.next_event(), Instant::NEVER);
        timer.write(INT_CLR, 1, at(11));
        assert_eq!(timer.interrupts(), 0);
        timer.write(COMP_LOAD, 1, at(20));
        timer.advance(at(20));
        assert_eq!(timer.interrupts(), 1);
    }

    #[test]
    fn a_period_keeps_its_phase() {
        let mut timer = SysTimer::default();
        timer.write(CONF, 0x4700_0000, at(0));
        timer.write(TARGET_CONF, PERIOD_MODE | 0x640, at(0));
        timer.write(COMP_LOAD, 1, at(0));
        assert_eq!(timer.next_event(), at(100));
        timer.advance(at(103));
        assert_eq!(timer.next_event(), at(200));
        timer.advance(at(1000));
        assert_eq!(timer.next_event(), at(1100));
    }
}
