//! When packets are due, and waiting for that.

use super::LoadError;
use super::cpu;
use crate::quantity;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// How fast.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// As fast as it goes.
    Max,
    /// So many packets a second, one at each deadline.
    PerSecond(u64),
}

impl Rate {
    /// What it asks for, packets/s; `None`: as many as go.
    pub const fn per_s(self) -> Option<u64> {
        match self {
            Self::Max => None,
            Self::PerSecond(per_s) => Some(per_s),
        }
    }

    pub(super) const fn check(self) -> Result<(), LoadError> {
        match self {
            Self::PerSecond(0) => Err(LoadError::NoRate),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Max => f.write_str("max"),
            Self::PerSecond(per_s) => write!(f, "{per_s}/s"),
        }
    }
}

/// `max`, or packets a second: `50000`, `50k`, `1.5M`.
impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Max);
        }
        match quantity::number(text) {
            Some(per_s @ 1..=1_000_000_000) => Ok(Self::PerSecond(per_s)),
            _ => Err(format!(
                "`{text}` is no rate: packets a second from 1 to 1000M (50000, 50k), or max"
            )),
        }
    }
}

/// The deadlines of a constant rate: the n-th packet is due n intervals after the start, to the nanosecond
/// below. What is sent late moves none of those that follow, and no rounding adds up.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    due_ns: u64,
    /// What of `due_ns` lies behind whole nanoseconds, in 1 / rate of one.
    rest: u64,
    per_s: u64,
    /// When the last packet went.
    last_ns: Option<u64>,
}

impl Deadlines {
    /// So many a second, the first at `start_ns`. A rate of 0 counts as 1.
    pub fn new(start_ns: u64, per_s: u64) -> Self {
        Self {
            due_ns: start_ns,
            rest: 0,
            per_s: per_s.max(1),
            last_ns: None,
        }
    }

    /// When the next packet is due.
    pub const fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// When the next packet is to go, where all of them are to have gone by `end_ns`: when it is due; or,
    /// where the sender was kept from sending, after a gap that is shorter than it should be only by as much
    /// as making up for the delay takes. A burst of all that is overdue would make each of its gaps wrong by
    /// the whole interval.
    pub fn send_at(&self, end_ns: u64) -> u64 {
        let Some(last) = self.last_ns else {
            return self.due_ns;
        };
        let interval = 1_000_000_000 / self.per_s;
        // The last one was late by this.
        let late = (last + interval).saturating_sub(self.due_ns);
        let spread = SPREAD_NS.min(end_ns.saturating_sub(last) / 2);
        let part = u128::from(interval) * u128::from(late) / u128::from((late + spread).max(1));
        // A little is made up for at once, or the least delays would add up.
        let shorter = (part as u64).max(interval / 16);
        (last + interval).saturating_sub(shorter).max(self.due_ns)
    }

    /// It went at `now_ns`: the one after it. Says whether it was later than that one is due.
    pub const fn advance(&mut self, now_ns: u64) -> bool {
        let is_late = now_ns.saturating_sub(self.due_ns) > 1_000_000_000 / self.per_s;
        self.last_ns = Some(now_ns);
        self.due_ns += 1_000_000_000 / self.per_s;
        self.rest += 1_000_000_000 % self.per_s;
        if self.rest >= self.per_s {
            self.rest -= self.per_s;
            self.due_ns += 1;
        }
        is_late
    }
}

/// What was late is made up for within about so long.
const SPREAD_NS: u64 = 100_000_000;

/// Nearer to a deadline than this, nothing is left to a timer of the system.
const ALWAYS_SPIN: Duration = Duration::from_millis(2);
/// Further from one than this, the time is slept away.
const SLEEP_BEYOND: Duration = Duration::from_millis(5);

/// A clock that is waited on without giving the core away.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Instant,
    /// Spinning would keep from the core who is to receive.
    alone: bool,
}

impl Clock {
    /// Begins at 0.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            alone: cpu::cores() == 1,
        }
    }

    /// Nanoseconds since it began, on the monotonic clock.
    pub fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    /// Waits until `due_ns` and says how late it is then.
    pub fn wait_until(&self, due_ns: u64) -> u64 {
        loop {
            let now = self.now_ns();
            if now >= due_ns {
                return now;
            }
            let left = Duration::from_nanos(due_ns - now);
            let beyond = if self.alone {
                Duration::from_micros(100)
            } else {
                SLEEP_BEYOND
            };
            if left > beyond {
                std::thread::sleep(left.saturating_sub(ALWAYS_SPIN.min(beyond / 2)));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
