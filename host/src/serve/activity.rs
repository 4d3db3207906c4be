//! Octets that a client has moved lately.

use linerate_agent::Instant;
use std::time::Duration;

/// Interval in which octets are counted.
const INTERVAL: Duration = Duration::from_secs(1);
/// A client that moves less in an interval is stalled: the rate of a slow serial link.
const MIN_OCTETS: u64 = 1_000;

/// Counter of the octets that a client has moved in this interval and in the last one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Activity {
    began: Instant,
    octets: u64,
    last_octets: u64,
}

impl Activity {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            began: now,
            octets: 0,
            last_octets: 0,
        }
    }

    pub(super) fn add(&mut self, octets: usize, now: Instant) {
        let elapsed = now.since(self.began);
        if elapsed >= INTERVAL {
            *self = Self {
                last_octets: self.recent_octets(now),
                ..Self::new(now)
            };
        }
        self.octets += octets as u64;
    }

    /// Octets of the last interval that was completed, or of the current one if they are more.
    pub(super) fn recent_octets(&self, now: Instant) -> u64 {
        let elapsed = now.since(self.began);
        if elapsed >= 2 * INTERVAL {
            0
        } else if elapsed >= INTERVAL {
            self.octets
        } else {
            self.octets.max(self.last_octets)
        }
    }

    /// True if it has moved little.
    pub(super) fn is_stalled(&self, now: Instant) -> bool {
        self.recent_octets(now) < MIN_OCTETS
    }
}

#[cfg(test)]
mod tests {
    use super::Activity;
    use linerate_agent::Instant;

    #[test]
    fn a_client_is_stalled_a_second_after_its_last_kilobyte() {
        let at = |ms: u64| Instant::from_ns(ms * 1_000_000);
        let mut activity = Activity::new(at(0));
        assert!(activity.is_stalled(at(0)));
        activity.add(999, at(10));
        assert!(activity.is_stalled(at(900)));
        activity.add(1, at(900));
        for ms in [900, 1_900] {
            assert!(!activity.is_stalled(at(ms)), "{ms}");
        }
        activity.add(1, at(1_950));
        assert!(!activity.is_stalled(at(2_900)));
        // A drip.
        for ms in (2_950..20_000).step_by(50) {
            activity.add(1, at(ms));
            assert!(activity.is_stalled(at(ms)), "{ms}");
        }
    }
}
