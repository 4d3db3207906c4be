//! Packet deadlines, and waiting for them.

use super::LoadError;
use super::cpu;
use crate::quantity;
use std::fmt;
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Packet rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// As fast as possible.
    Max,
    /// Packets per second, one at each deadline.
    PerSecond(u64),
}

impl Rate {
    /// Requested rate, packets/s; `None`: maximum.
    pub const fn per_s(self) -> Option<u64> {
        match self {
            Self::Max => None,
            Self::PerSecond(per_s) => Some(per_s),
        }
    }

    pub(super) const fn check(self) -> Result<(), LoadError> {
        match self {
            Self::PerSecond(0) => Err(LoadError::ZeroRate),
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

/// `max`, or packets per second: `50000`, `50k`, `1.5M`.
impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Max);
        }
        match quantity::parse_number(text) {
            Some(per_s @ 1..=1_000_000_000) => Ok(Self::PerSecond(per_s)),
            _ => Err(format!(
                "invalid rate `{text}`: use packets per second from 1 to 1000M (50000, 50k), or max"
            )),
        }
    }
}

/// Deadlines of a constant rate: packet n is due n intervals after the start, rounded down to nanoseconds. A
/// late packet does not shift later deadlines, and rounding errors do not accumulate.
#[derive(Debug, Clone, Copy)]
pub struct Deadlines {
    due_ns: u64,
    /// Fraction of a nanosecond of `due_ns`, in units of 1 / rate.
    rest: u64,
    per_s: u64,
    /// Send time of the last packet.
    last_ns: Option<u64>,
}

impl Deadlines {
    /// Deadlines at `per_s`, the first at `start_ns`. A rate of 0 counts as 1.
    pub fn new(start_ns: u64, per_s: u64) -> Self {
        Self {
            due_ns: start_ns,
            rest: 0,
            per_s: per_s.max(1),
            last_ns: None,
        }
    }

    /// Deadline of the next packet.
    pub const fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Time at which to send the next packet so that all are sent by `end_ns`: its deadline or, if the sender
    /// was delayed, a time after a slightly shortened gap. A burst of all overdue packets would make each of
    /// its gaps wrong by the whole interval.
    pub fn send_at(&self, end_ns: u64) -> u64 {
        let Some(last) = self.last_ns else {
            return self.due_ns;
        };
        let interval = 1_000_000_000 / self.per_s;
        // Lateness of the last packet.
        let late = (last + interval).saturating_sub(self.due_ns);
        let catch_up = CATCH_UP_NS.min(end_ns.saturating_sub(last) / 2);
        let part = u128::from(interval) * u128::from(late) / u128::from((late + catch_up).max(1));
        // A minimum, or very small delays would accumulate.
        let shorter = (part as u64).max(interval / 16);
        (last + interval).saturating_sub(shorter).max(self.due_ns)
    }

    /// Advances to the next packet after one was sent at `now_ns`. Returns true if it was sent after the
    /// deadline of the next one.
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

/// Approximate time in which a delay is caught up.
const CATCH_UP_NS: u64 = 100_000_000;

/// Time before a deadline in which system timers are not used.
const MIN_SPIN: Duration = Duration::from_millis(2);
/// Time before a deadline beyond which the thread sleeps.
const SLEEP_BEYOND: Duration = Duration::from_millis(5);

/// Clock that is waited on by polling.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    started: Instant,
    /// There is one core only: polling would starve the receiver.
    single_core: bool,
}

impl Clock {
    /// Starts at 0.
    pub fn start() -> Self {
        Self {
            started: Instant::now(),
            single_core: cpu::cores() == 1,
        }
    }

    /// Nanoseconds since the start, on the monotonic clock.
    pub fn now_ns(&self) -> u64 {
        self.started.elapsed().as_nanos() as u64
    }

    /// Waits until `due_ns` and returns the time then.
    pub fn wait_until(&self, due_ns: u64) -> u64 {
        loop {
            let now = self.now_ns();
            if now >= due_ns {
                return now;
            }
            let left = Duration::from_nanos(due_ns - now);
            let beyond = if self.single_core {
                Duration::from_micros(100)
            } else {
                SLEEP_BEYOND
            };
            if left > beyond {
                std::thread::sleep(left.saturating_sub(MIN_SPIN.min(beyond / 2)));
            } else {
                std::hint::spin_loop();
            }
        }
    }
}
