//! Timer group: one 54-bit timer with an alarm, one watchdog, and the calibration of the slow
//! clock.
//!
//! ESP32-C6 Technical Reference Manual, chapters "Timer Group" and "Watchdog Timers".

use super::clock::{RC_FAST_HZ, XTAL_HZ};
use super::watchdog::UNLOCK_KEY;
use super::{Action, ClockDomain, Device, InterruptRegisters, Watchdog};
use crate::time::Instant;

const CONFIG: u32 = 0x00;
const LOW: u32 = 0x04;
const HIGH: u32 = 0x08;
const UPDATE: u32 = 0x0c;
const ALARM_LOW: u32 = 0x10;
const ALARM_HIGH: u32 = 0x14;
const LOAD_LOW: u32 = 0x18;
const LOAD_HIGH: u32 = 0x1c;
const LOAD: u32 = 0x20;
const WDT_CONFIG0: u32 = 0x48;
const WDT_CONFIG1: u32 = 0x4c;
const WDT_FEED: u32 = 0x60;
const WDT_PROTECT: u32 = 0x64;
const RTC_CALI_CFG: u32 = 0x68;
const RTC_CALI_CFG1: u32 = 0x6c;
const INT_ENA: u32 = 0x70;
const INT_RAW: u32 = 0x74;
const INT_ST: u32 = 0x78;
const INT_CLR: u32 = 0x7c;
const RTC_CALI_CFG2: u32 = 0x80;

const ENABLE: u32 = 1 << 31;
const INCREASE: u32 = 1 << 30;
const AUTORELOAD: u32 = 1 << 29;
const DIVIDER_RESET: u32 = 1 << 12;
const ALARM_ENABLE: u32 = 1 << 10;

const CALI_START: u32 = 1 << 31;
const CALI_READY: u32 = 1 << 15;
const CALI_CYCLING: u32 = 1 << 12;
/// `RTC_CALI_CFG1`: in cycling mode the value is valid.
const CALI_CYCLING_VALID: u32 = 1;

/// `RTC_CALI_CFG2`: the time limit passed before there was a result.
const CALI_TIMEOUT: u32 = 1;

const TIMER_INT: u32 = 1;
const WDT_INT: u32 = 2;
const COUNTER_MASK: u64 = (1 << 54) - 1;

/// A timer group. Interrupt output 0 is the timer, 1 the watchdog.
#[derive(Clone, Debug)]
pub struct TimerGroup {
    config: u32,
    /// Source clock of the timer and of the watchdog in hertz.
    timer_hertz: u64,
    watchdog_hertz: u64,
    slow_hertz: u64,
    /// Counts since the counter held `base`.
    clock: ClockDomain,
    base: u64,
    latched: u64,
    alarm: u64,
    load: u64,
    watchdog: Watchdog,
    wdt_config: [u32; 6],
    protect: u32,
    calibration: u32,
    calibration_start: Instant,
    /// `RTC_CALI_CFG2`: the time limit, in periods of the crystal.
    calibration_limit: u32,
    interrupts: InterruptRegisters,
    reset: Option<Action>,
}

fn with_low(value: u64, low: u32) -> u64 {
    value & !0xffff_ffff | u64::from(low)
}

fn with_high(value: u64, high: u32) -> u64 {
    (value & 0xffff_ffff | u64::from(high) << 32) & COUNTER_MASK
}

impl TimerGroup {
    /// A timer group beside a slow clock of `slow_hertz`, initially clocked by the crystal. The
    /// boot loader has disabled the watchdog.
    pub fn new(slow_hertz: u64) -> Self {
        Self {
            config: 0x6000_2000,
            timer_hertz: XTAL_HZ,
            watchdog_hertz: XTAL_HZ,
            slow_hertz,
            clock: ClockDomain::new(0),
            base: 0,
            latched: 0,
            alarm: 0,
            load: 0,
            watchdog: Watchdog::new(ClockDomain::new(XTAL_HZ), [26_000_000; 4]),
            wdt_config: [
                0x4_c000, 0x1_0000, 26_000_000, 26_000_000, 26_000_000, 26_000_000,
            ],
            protect: UNLOCK_KEY,
            calibration: 0x1_1000,
            calibration_start: Instant::ZERO,
            calibration_limit: 0xffff_ff98,
            interrupts: InterruptRegisters::default(),
            reset: None,
        }
    }

    /// Divider 0 divides by 65536; 1 and 2 both divide by 2.
    fn divider(&self) -> u64 {
        match self.config >> 13 & 0xffff {
            0 => 65536,
            1 | 2 => 2,
            n => u64::from(n),
        }
    }

    fn update_clocks(&mut self, now: Instant) {
        let hertz = if self.config & ENABLE == 0 {
            0
        } else {
            self.timer_hertz
        };
        self.clock.set_ratio(hertz, self.divider(), now);
        let prescale = u64::from(self.wdt_config[1] >> 16).max(1);
        self.watchdog
            .clock
            .set_ratio(self.watchdog_hertz, prescale, now);
    }

    fn count(&self, now: Instant) -> u64 {
        let passed = self.clock.count(now);
        let count = if self.config & INCREASE == 0 {
            self.base.wrapping_sub(passed)
        } else {
            self.base.wrapping_add(passed)
        };
        count & COUNTER_MASK
    }

    fn set_count(&mut self, count: u64, now: Instant) {
        self.base = count;
        self.clock.load(0, now);
    }

    fn alarm_at(&self) -> Instant {
        if self.config & ALARM_ENABLE == 0 {
            return Instant::NEVER;
        }
        let ahead = if self.config & INCREASE == 0 {
            self.base.saturating_sub(self.alarm)
        } else {
            self.alarm.saturating_sub(self.base)
        };
        self.clock.instant(ahead)
    }

    /// Counts of the crystal in the selected number of periods of the clock under test.
    fn calibration_result(&self) -> u32 {
        let hertz = self.calibrated_hertz();
        let periods = u64::from(self.calibration >> 16 & 0x7fff);
        (periods * XTAL_HZ / hertz) as u32
    }

    fn calibrated_hertz(&self) -> u64 {
        match self.calibration >> 13 & 3 {
            // The fast oscillator is divided by 32 before it is measured.
            1 => RC_FAST_HZ / 32,
            2 => 32_768,
            _ => self.slow_hertz,
        }
    }

    /// End of the calibration; never in cycling mode, which has no end.
    fn calibration_end(&self) -> Instant {
        if self.calibration & CALI_START == 0 {
            return Instant::NEVER;
        }
        let clock = ClockDomain::new(self.calibrated_hertz());
        self.calibration_start + clock.span(u64::from(self.calibration >> 16 & 0x7fff))
    }

    fn calibration_timed_out(&self, now: Instant) -> bool {
        let limit = ClockDomain::new(XTAL_HZ).span(u64::from(self.calibration_limit >> 7));
        let end = self.calibration_start + limit;
        let running = self.calibration & (CALI_START | CALI_CYCLING) != 0;
        running && end <= now && end < self.calibration_end()
    }

    fn write_watchdog(&mut self, offset: u32, value: u32, now: Instant) {
        if self.protect != UNLOCK_KEY {
            return;
        }
        if offset == WDT_FEED {
            self.watchdog.feed(now);
            return;
        }
        let index = (offset - WDT_CONFIG0) as usize / 4;
        self.wdt_config[index] = value;
        match offset {
            WDT_CONFIG0 => {
                let actions = [29, 27, 25, 23].map(|bit| Action::from_field(value >> bit & 3));
                self.watchdog.configure(value & ENABLE != 0, actions, now);
            }
            WDT_CONFIG1 => self.update_clocks(now),
            _ => self.watchdog.set_timeout(index - 2, u64::from(value)),
        }
    }
}

impl Device for TimerGroup {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        Some(match offset {
            CONFIG => self.config,
            LOW => self.latched as u32,
            HIGH => (self.latched >> 32) as u32,
            ALARM_LOW => self.alarm as u32,
            ALARM_HIGH => (self.alarm >> 32) as u32,
            LOAD_LOW => self.load as u32,
            LOAD_HIGH => (self.load >> 32) as u32,
            UPDATE | LOAD | WDT_FEED | INT_CLR => 0,
            WDT_CONFIG0..WDT_FEED => self.wdt_config[(offset - WDT_CONFIG0) as usize / 4],
            WDT_PROTECT => self.protect,
            RTC_CALI_CFG => {
                let ready = self.calibration_end() <= now;
                self.calibration | if ready { CALI_READY } else { 0 }
            }
            RTC_CALI_CFG1 => self.calibration_result() << 7 | CALI_CYCLING_VALID,
            RTC_CALI_CFG2 => self.calibration_limit | u32::from(self.calibration_timed_out(now)),
            INT_ENA => self.interrupts.enable,
            INT_RAW => self.interrupts.raw,
            INT_ST => self.interrupts.status(),
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        match offset {
            CONFIG => {
                let count = self.count(now);
                self.config = value & !DIVIDER_RESET;
                self.update_clocks(now);
                self.set_count(count, now);
            }
            UPDATE => self.latched = self.count(now),
            ALARM_LOW => self.alarm = with_low(self.alarm, value),
            ALARM_HIGH => self.alarm = with_high(self.alarm, value),
            LOAD_LOW => self.load = with_low(self.load, value),
            LOAD_HIGH => self.load = with_high(self.load, value),
            LOAD => self.set_count(self.load, now),
            LOW | HIGH | RTC_CALI_CFG1 | INT_RAW | INT_ST => {}
            WDT_CONFIG0..WDT_PROTECT => self.write_watchdog(offset, value, now),
            WDT_PROTECT => self.protect = value,
            RTC_CALI_CFG => {
                let started = value & !self.calibration & (CALI_START | CALI_CYCLING) != 0;
                self.calibration = value & !CALI_READY;
                if started {
                    self.calibration_start = now;
                }
            }
            RTC_CALI_CFG2 => self.calibration_limit = value & !CALI_TIMEOUT,
            INT_ENA => self.interrupts.enable = value,
            INT_CLR => self.interrupts.clear(value),
            _ => return false,
        }
        true
    }

    fn next_event(&self) -> Instant {
        self.alarm_at().min(self.watchdog.next_event())
    }

    fn advance(&mut self, now: Instant) {
        let due = self.alarm_at();
        if due <= now {
            self.interrupts.raw |= TIMER_INT;
            self.config &= !ALARM_ENABLE;
            if self.config & AUTORELOAD != 0 {
                self.set_count(self.load, due);
            }
        }
        while let Some(action) = self.watchdog.expire(now) {
            match action {
                Action::Interrupt => self.interrupts.raw |= WDT_INT,
                Action::Off => {}
                reset => self.reset = Some(reset),
            }
        }
    }

    fn interrupts(&self) -> u32 {
        self.interrupts.status()
    }

    /// The source clocks of the timer and of the watchdog.
    fn set_clocks(&mut self, hertz: &[u64], now: Instant) {
        (self.timer_hertz, self.watchdog_hertz) = (hertz[0], hertz[1]);
        self.update_clocks(now);
    }

    fn take_reset(&mut self) -> Option<Action> {
        self.reset.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    const WDT_TIMEOUTS: u32 = 0x50;

    fn at(us: u64) -> Instant {
        Instant::ZERO + Span::from_us(us)
    }

    /// A running timer of 1 MHz.
    fn running() -> TimerGroup {
        let mut group = TimerGroup::new(136_000);
        group.write(CONFIG, ENABLE | INCREASE | 40 << 13, at(0));
        group
    }

    fn count(group: &mut TimerGroup, now: Instant) -> u32 {
        group.write(UPDATE, 1, now);
        group.read(LOW, now).unwrap()
    }

    #[test]
    fn it_counts_up_and_down_and_stops() {
        let mut group = running();
        assert_eq!(count(&mut group, at(1500)), 1500);
        group.write(CONFIG, ENABLE | 40 << 13, at(1500));
        assert_eq!(count(&mut group, at(1600)), 1400);
        group.write(CONFIG, INCREASE | 40 << 13, at(1600));
        assert_eq!(count(&mut group, at(9000)), 1400);
    }

    #[test]
    fn an_alarm_disables_itself_and_reloads() {
        let mut group = running();
        group.write(ALARM_LOW, 250, at(0));
        group.write(INT_ENA, TIMER_INT, at(0));
        group.write(
            CONFIG,
            ENABLE | INCREASE | AUTORELOAD | ALARM_ENABLE | 40 << 13,
            at(0),
        );
        assert_eq!(group.next_event(), at(250));
        group.advance(at(255));
        assert_eq!(group.interrupts(), TIMER_INT);
        assert_eq!(group.next_event(), Instant::NEVER);
        assert_eq!(count(&mut group, at(255)), 5);
        assert_eq!(group.read(CONFIG, at(255)).unwrap() & ALARM_ENABLE, 0);
    }

    #[test]
    fn dividers_0_1_and_2_are_special() {
        for (field, counts) in [(0, 40_000_000 / 65536), (1, 20_000_000), (2, 20_000_000)] {
            let mut group = running();
            group.write(LOAD, 1, at(0));
            group.write(CONFIG, ENABLE | INCREASE | field << 13, at(0));
            assert_eq!(count(&mut group, at(1_000_000)), counts, "divider {field}");
        }
    }

    #[test]
    fn calibration_measures_the_slow_clock_in_its_own_time() {
        let mut group = TimerGroup::new(136_000);
        group.write(RTC_CALI_CFG, CALI_START | 136 << 16, at(0));
        assert_eq!(group.read(RTC_CALI_CFG, at(999)).unwrap() & CALI_READY, 0);
        assert_ne!(group.read(RTC_CALI_CFG, at(1000)).unwrap() & CALI_READY, 0);
        assert_eq!(group.read(RTC_CALI_CFG1, at(1000)).unwrap() >> 7, 40_000);
    }

    #[test]
    fn calibration_gives_up_after_its_limit() {
        let mut group = TimerGroup::new(136_000);
        // The cycling calibration that runs after reset ends only at the limit.
        assert_eq!(group.read(RTC_CALI_CFG2, at(1)).unwrap() & CALI_TIMEOUT, 0);
        group.write(RTC_CALI_CFG2, 1 << 7, at(1));
        assert_eq!(
            group.read(RTC_CALI_CFG2, at(2)).unwrap() & CALI_TIMEOUT,
            CALI_TIMEOUT
        );
        group.write(RTC_CALI_CFG, CALI_START | 136 << 16, at(10));
        group.write(RTC_CALI_CFG2, 50_000 << 7, at(10));
        assert_eq!(
            group.read(RTC_CALI_CFG2, at(2000)).unwrap() & CALI_TIMEOUT,
            0
        );
        assert_ne!(group.read(RTC_CALI_CFG, at(2000)).unwrap() & CALI_READY, 0);
    }

    #[test]
    fn a_locked_watchdog_ignores_its_program() {
        let mut group = TimerGroup::new(136_000);
        group.write(WDT_PROTECT, 0, at(0));
        group.write(WDT_CONFIG0, ENABLE | 3 << 29, at(0));
        assert_eq!(group.next_event(), Instant::NEVER);
        group.write(WDT_PROTECT, UNLOCK_KEY, at(0));
        group.write(WDT_CONFIG1, 40 << 16, at(0));
        group.write(WDT_TIMEOUTS, 700, at(0));
        group.write(WDT_CONFIG0, ENABLE | 3 << 29, at(0));
        assert_eq!(group.next_event(), at(700));
        group.write(WDT_FEED, 1, at(600));
        group.advance(at(1299));
        assert_eq!(group.take_reset(), None);
        group.advance(at(1300));
        assert_eq!(group.take_reset(), Some(Action::ResetCore));
    }
}
