//! The link integrity test function (IEEE 802.3 clause 14.2.1.7, state diagram in clause 14.2.3).

use super::{from_ms, from_ns, passed};
use crate::device::LinkState;
use crate::mac::BitTimes;
use linerate_ether::phy10::link;

/// Without pulse or frame for this long the link is down (`link_loss_timer`).
const LOSS: BitTimes = from_ms(100);
/// A pulse sooner after another starts the count anew (`link_test_min_timer`).
const MIN: BitTimes = from_ms(4);
/// And so does one later after another (`link_test_max_timer`).
const MAX: BitTimes = from_ms(60);
/// Pulses in a row that bring the link up (`lc_max`).
const COUNT: u32 = 3;

const _: () = {
    assert!(within(
        LOSS,
        *link::LINK_LOSS_NS.start(),
        *link::LINK_LOSS_NS.end()
    ));
    assert!(within(
        MIN,
        *link::LINK_TEST_MIN_NS.start(),
        *link::LINK_TEST_MIN_NS.end()
    ));
    assert!(within(
        MAX,
        *link::LINK_TEST_MAX_NS.start(),
        *link::LINK_TEST_MAX_NS.end()
    ));
    assert!(COUNT >= *link::LINK_COUNT.start() && COUNT <= *link::LINK_COUNT.end());
};

const fn within(time: BitTimes, least_ns: u64, most_ns: u64) -> bool {
    time.0 >= from_ns(least_ns).0 && time.0 <= from_ns(most_ns).0
}

/// Whether the partner is there, told from its pulses and frames.
///
/// The pulses of a burst come too soon after one another to bring the link up, but they keep it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integrity {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Down; so many pulses in a row, the last of them at that time.
    Fail { count: u32, last: BitTimes },
    /// Up; the last sign of life.
    Pass { last: BitTimes },
}

impl Integrity {
    /// A link that is down.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: State::Fail {
                count: 0,
                last: BitTimes(0),
            },
        }
    }

    /// A link pulse was heard at `at`.
    pub fn pulse(&mut self, at: BitTimes) {
        self.look(at);
        self.state = match self.state {
            State::Pass { last } if passed(last, at).0 == 0 => State::Pass { last },
            State::Pass { .. } => State::Pass { last: at },
            State::Fail { count, last } if count > 0 && passed(last, at).0 < MIN.0 => {
                State::Fail { count: 1, last: at }
            }
            State::Fail { count, .. } if count + 1 >= COUNT => State::Pass { last: at },
            State::Fail { count, .. } => State::Fail {
                count: count + 1,
                last: at,
            },
        };
    }

    /// A transmission was heard up to `at`: it brings the link up at once.
    pub fn active(&mut self, at: BitTimes) {
        self.state = State::Pass { last: at };
    }

    /// Something was heard up to `at`, a pulse or a frame: it keeps a link up, and brings none up.
    pub fn stirred(&mut self, at: BitTimes) {
        if let State::Pass { last } = &mut self.state {
            *last = at;
        }
    }

    /// Lets the time pass up to `now`.
    pub fn look(&mut self, now: BitTimes) {
        let (last, limit) = match self.state {
            State::Pass { last } => (last, LOSS),
            State::Fail { last, count: 1.. } => (last, MAX),
            State::Fail { .. } => return,
        };
        if passed(last, now).0 > limit.0 {
            *self = Self::new();
        }
    }

    /// Whether the partner is there.
    #[must_use]
    pub const fn state(&self) -> LinkState {
        match self.state {
            State::Pass { .. } => LinkState::Up,
            State::Fail { .. } => LinkState::Down,
        }
    }
}

impl Default for Integrity {
    fn default() -> Self {
        Self::new()
    }
}
