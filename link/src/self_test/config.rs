//! Settings of a self-test.

use crate::measure::Message;
use crate::wire::{ACKNOWLEDGMENT, PROBE, frame_octets};

/// Longest test message: up to here each frame has the same overhead.
const LONGEST: usize = 240;
/// Octets of a probe on the wire.
const PROBE_FRAME: usize = frame_octets(PROBE);
/// What a user's message may wait for besides a test message: a probe, an answer, an acknowledgment of tests.
pub(super) const OTHERS: usize = 2 * PROBE_FRAME + ACKNOWLEDGMENT;

/// Settings of a [`SelfTest`](super::SelfTest).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SelfTestConfig {
    /// Channel of the tests: the last of both ends, unreliable, with memory for five of its longest messages
    /// each way, as its longest messages are a fifth of it: 1000 octets are enough.
    pub channel: usize,
    /// Rate of the line, octets a second: a tenth of the baud rate of a UART.
    pub octets_per_s: u32,
    /// Octets of this end's hardware receive FIFO; 0 without one.
    pub hardware_fifo: u16,
    /// Time from report to report, microseconds.
    pub period_us: u32,
    /// Most that the tests of this end may take of its direction, per mille.
    pub share_permille: u16,
    /// Longest time that they may add to a message of the user, microseconds.
    pub max_delay_us: u32,
    /// Bit rates that this end has, ascending: empty if it takes no part in a search.
    pub rates: &'static [u32],
    /// Time in which a message goes out and arrives, at most, microseconds: the pause before and behind a trial.
    pub guard_us: u32,
    /// Time for which each rate is tried, microseconds.
    pub window_us: u32,
}

impl SelfTestConfig {
    /// A report every 10 s, 5% of the line, at most 5 ms of delay, and no search for a rate.
    #[must_use]
    pub const fn new(channel: usize, octets_per_s: u32) -> Self {
        Self {
            channel,
            octets_per_s,
            hardware_fifo: 0,
            period_us: 10_000_000,
            share_permille: 50,
            max_delay_us: 5_000,
            rates: &[],
            guard_us: 10_000,
            window_us: 100_000,
        }
    }

    /// Octets of the longest test message that keeps the delay; `None` if none does.
    pub(super) fn longest(&self) -> Option<usize> {
        let octets = u64::from(self.max_delay_us) * u64::from(self.octets_per_s) / 1_000_000;
        let fits = |len: &usize| (frame_octets(*len) + OTHERS) as u64 <= octets;
        (Message::MAX..=LONGEST).rev().find(fits)
    }
}

/// The delay is too short even for the shortest report: at least this many microseconds are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct DelayTooShort(pub u32);

#[cfg(test)]
mod tests {
    use super::{DelayTooShort, OTHERS, SelfTestConfig};
    use crate::self_test::SelfTest;
    use crate::wire::frame_octets;

    fn longest(max_delay_us: u32) -> Result<usize, DelayTooShort> {
        let config = SelfTestConfig {
            max_delay_us,
            ..SelfTestConfig::new(2, 100_000)
        };
        SelfTest::new(config).map(|it| it.longest_message())
    }

    #[test]
    fn the_longest_message_and_what_comes_with_it_keep_the_delay() {
        for max_delay_us in [1_500, 2_000, 3_000] {
            let longest = longest(max_delay_us).expect("long enough");
            let us = |len: usize| (frame_octets(len) + OTHERS) * 10;
            assert!(
                us(longest) <= max_delay_us as usize,
                "{max_delay_us}: {longest}"
            );
            assert!(
                us(longest + 1) > max_delay_us as usize,
                "{max_delay_us}: {longest}"
            );
        }
        assert_eq!(longest(100_000), Ok(240));
        let Err(DelayTooShort(least)) = longest(100) else {
            panic!("a report does not fit");
        };
        assert!(longest(least).is_ok() && longest(least - 10).is_err());
    }
}
