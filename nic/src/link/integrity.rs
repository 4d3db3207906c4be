//! The link integrity test function (IEEE 802.3 clause 14.2.1.7, state diagram in clause 14.2.3).

use super::{from_ms, from_ns, passed};
use crate::device::LinkState;
use crate::mac::BitTimes;
use linerate_ether::phy10::link;

/// Time without pulse or frame after which the link is down (`link_loss_timer`).
const LINK_LOSS: BitTimes = from_ms(100);
/// A pulse that follows another within this time restarts the count (`link_test_min_timer`).
const LINK_TEST_MIN: BitTimes = from_ms(4);
/// So does a pulse that follows after more than this time (`link_test_max_timer`).
const LINK_TEST_MAX: BitTimes = from_ms(60);
/// Consecutive pulses that bring the link up (`lc_max`).
const LC_MAX: u32 = 3;

const _: () = {
    assert!(within(
        LINK_LOSS,
        *link::LINK_LOSS_NS.start(),
        *link::LINK_LOSS_NS.end()
    ));
    assert!(within(
        LINK_TEST_MIN,
        *link::LINK_TEST_MIN_NS.start(),
        *link::LINK_TEST_MIN_NS.end()
    ));
    assert!(within(
        LINK_TEST_MAX,
        *link::LINK_TEST_MAX_NS.start(),
        *link::LINK_TEST_MAX_NS.end()
    ));
    assert!(LC_MAX >= *link::LINK_COUNT.start() && LC_MAX <= *link::LINK_COUNT.end());
};

const fn within(time: BitTimes, min_ns: u64, max_ns: u64) -> bool {
    time.0 >= from_ns(min_ns).0 && time.0 <= from_ns(max_ns).0
}

/// Link integrity test: the link state derived from pulses and frames of the partner.
///
/// The pulses of a burst follow each other too closely to bring the link up, but they keep it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Integrity {
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Down; number of consecutive pulses, and the time of the last one.
    Fail { count: u32, last: BitTimes },
    /// Up; time of the last pulse or frame.
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

    /// Processes a link pulse received at `at`.
    pub fn on_pulse(&mut self, at: BitTimes) {
        self.update(at);
        self.state = match self.state {
            State::Pass { last } if passed(last, at).0 == 0 => State::Pass { last },
            State::Pass { .. } => State::Pass { last: at },
            State::Fail { count, last } if count > 0 && passed(last, at).0 < LINK_TEST_MIN.0 => {
                State::Fail { count: 1, last: at }
            }
            State::Fail { count, .. } if count + 1 >= LC_MAX => State::Pass { last: at },
            State::Fail { count, .. } => State::Fail {
                count: count + 1,
                last: at,
            },
        };
    }

    /// Processes a transmission received until `at`: it brings the link up at once.
    pub fn on_frame(&mut self, at: BitTimes) {
        self.state = State::Pass { last: at };
    }

    /// Processes activity until `at`, a pulse or a frame: it keeps the link up, but does not bring
    /// it up.
    pub fn on_activity(&mut self, at: BitTimes) {
        if let State::Pass { last } = &mut self.state {
            *last = at;
        }
    }

    /// Updates the state to the time `now`.
    pub fn update(&mut self, now: BitTimes) {
        let (last, limit) = match self.state {
            State::Pass { last } => (last, LINK_LOSS),
            State::Fail { last, count: 1.. } => (last, LINK_TEST_MAX),
            State::Fail { .. } => return,
        };
        if passed(last, now).0 > limit.0 {
            *self = Self::new();
        }
    }

    /// State of the link.
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
