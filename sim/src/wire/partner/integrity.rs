//! The link integrity test (IEEE 802.3 clause 14.2.1.7).

use crate::time::{Instant, Span};

/// Pulses closer together than this count once (`link_test_min_timer`: 2 to 7 ms).
const LINK_TEST_MIN: Span = Span::from_us(4500);
/// Pulses farther apart than this restart the count (`link_test_max_timer`: 25 to 150 ms).
const LINK_TEST_MAX: Span = Span::from_ms(90);
/// Silence that ends the link (`link_loss_timer`: 50 to 150 ms).
const LINK_LOSS: Span = Span::from_ms(100);
/// Consecutive pulses that establish the link (`lc_max`: 2 to 10).
const LINK_COUNT: u32 = 4;

/// The link integrity test.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkIntegrityTest {
    last: Option<Instant>,
    count: u32,
    passing: bool,
}

impl LinkIntegrityTest {
    /// True if the test is passed: frames may be exchanged.
    pub const fn is_passing(&self) -> bool {
        self.passing
    }

    /// A pulse arrives.
    pub fn pulse(&mut self, at: Instant) {
        let since = self.last.map(|last| at.since(last));
        if since.is_some_and(|since| since < LINK_TEST_MIN) {
            return;
        }
        let continues = since.is_some_and(|since| since <= LINK_TEST_MAX);
        self.count = if continues { self.count + 1 } else { 1 };
        self.passing |= self.count >= LINK_COUNT;
        self.last = Some(at);
    }

    /// A frame arrives.
    pub const fn frame(&mut self, at: Instant) {
        *self = Self {
            last: Some(at),
            count: 0,
            passing: true,
        };
    }

    /// Time at which the test fails if nothing arrives.
    pub fn fails_at(&self) -> Instant {
        match self.last {
            Some(last) if self.passing => last + LINK_LOSS,
            _ => Instant::NEVER,
        }
    }
}
