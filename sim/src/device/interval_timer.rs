//! Interval timer with a 32-bit counter (Altera, Embedded Peripherals IP User Guide, "Interval Timer
//! Core"). Its 16-bit registers are a word apart. Output 0 interrupts; clock 0 counts.

use super::Device;
use crate::time::{Instant, Span, TICKS_PER_SECOND};

const STATUS: u32 = 0x00;
const CONTROL: u32 = 0x04;
const PERIODL: u32 = 0x08;
const PERIODH: u32 = 0x0c;
const SNAPL: u32 = 0x10;
const SNAPH: u32 = 0x14;

/// `status`.
const TO: u32 = 1 << 0;
const RUN: u32 = 1 << 1;
/// `control`.
const ITO: u32 = 1 << 0;
const CONT: u32 = 1 << 1;
const START: u32 = 1 << 2;
const STOP: u32 = 1 << 3;

/// The timer. It counts down from its period to zero, which takes one cycle more than the period.
#[derive(Clone, Debug)]
pub struct IntervalTimer {
    ticks_per_cycle: u64,
    period: u32,
    control: u32,
    timed_out: bool,
    /// Counter value while it stands, or at `since` while it runs.
    counter: u32,
    since: Option<Instant>,
    snapshot: u32,
}

impl Default for IntervalTimer {
    fn default() -> Self {
        Self {
            ticks_per_cycle: 1,
            period: u32::MAX,
            control: 0,
            timed_out: false,
            counter: u32::MAX,
            since: None,
            snapshot: 0,
        }
    }
}

impl IntervalTimer {
    /// When the running counter passes zero.
    fn timeout(&self) -> Option<Instant> {
        let cycles = u64::from(self.counter) + 1;
        Some(self.since? + Span::from_ticks(cycles * self.ticks_per_cycle))
    }

    fn counter_at(&self, now: Instant) -> u32 {
        let cycles = self
            .since
            .map_or(0, |since| now.since(since).ticks() / self.ticks_per_cycle);
        self.counter
            .saturating_sub(cycles.min(u64::from(u32::MAX)) as u32)
    }

    fn stop(&mut self, now: Instant) {
        self.counter = self.counter_at(now);
        self.since = None;
    }
}

impl Device for IntervalTimer {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.advance(now);
        Some(match offset {
            STATUS => {
                let run = if self.since.is_some() { RUN } else { 0 };
                run | if self.timed_out { TO } else { 0 }
            }
            CONTROL => self.control & (ITO | CONT),
            PERIODL => self.period & 0xffff,
            PERIODH => self.period >> 16,
            SNAPL => self.snapshot & 0xffff,
            SNAPH => self.snapshot >> 16,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        self.advance(now);
        match offset {
            STATUS => self.timed_out = false,
            CONTROL => {
                self.control = value;
                if value & STOP != 0 {
                    self.stop(now);
                } else if value & START != 0 && self.since.is_none() {
                    self.since = Some(now);
                }
            }
            PERIODL | PERIODH => {
                let value = value & 0xffff;
                self.period = if offset == PERIODL {
                    self.period & !0xffff | value
                } else {
                    self.period & 0xffff | value << 16
                };
                self.counter = self.period;
                self.since = None;
            }
            SNAPL | SNAPH => self.snapshot = self.counter_at(now),
            _ => return false,
        }
        true
    }

    fn next_event(&self) -> Instant {
        self.timeout().unwrap_or(Instant::NEVER)
    }

    fn advance(&mut self, now: Instant) {
        let Some(timeout) = self.timeout().filter(|&timeout| timeout <= now) else {
            return;
        };
        self.timed_out = true;
        self.counter = self.period;
        self.since = (self.control & CONT != 0).then(|| {
            let cycle = (u64::from(self.period) + 1) * self.ticks_per_cycle;
            let passed = now.since(timeout).ticks() / cycle;
            timeout + Span::from_ticks(passed * cycle)
        });
    }

    fn interrupts(&self) -> u32 {
        u32::from(self.timed_out && self.control & ITO != 0)
    }

    fn set_clocks(&mut self, hertz: &[u64], _: Instant) {
        let hertz = hertz.first().copied().unwrap_or(0).max(1);
        self.ticks_per_cycle = ((TICKS_PER_SECOND + hertz / 2) / hertz).max(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(period: u32, control: u32) -> IntervalTimer {
        let mut timer = IntervalTimer::default();
        timer.set_clocks(&[100_000_000], Instant::ZERO);
        timer.write(PERIODL, period & 0xffff, Instant::ZERO);
        timer.write(PERIODH, period >> 16, Instant::ZERO);
        timer.write(CONTROL, control, Instant::ZERO);
        timer
    }

    #[test]
    fn a_period_is_one_cycle_longer_than_its_register() {
        let mut timer = timer(99, START | CONT | ITO);
        assert_eq!(timer.next_event(), Instant::from_ns(1000));
        timer.advance(Instant::from_ns(1000));
        assert_eq!(timer.interrupts(), 1);
        timer.write(STATUS, 0, Instant::from_ns(1500));
        assert_eq!(timer.interrupts(), 0);
        timer.write(SNAPL, 0, Instant::from_ns(1500));
        assert_eq!(timer.read(SNAPL, Instant::from_ns(1500)), Some(49));
        assert_eq!(timer.next_event(), Instant::from_ns(2000));
    }

    #[test]
    fn without_cont_it_stops_at_its_period() {
        let mut timer = timer(9, START);
        assert_eq!(timer.read(STATUS, Instant::from_ns(50)), Some(RUN));
        assert_eq!(timer.read(STATUS, Instant::from_ns(500)), Some(TO));
        assert_eq!(timer.interrupts(), 0);
        assert_eq!(timer.next_event(), Instant::NEVER);
    }
}
