//! Comparison of a recorded host with the simulated one, segment by segment.

use super::flow::SentRange;
use linerate_sim::time::{Instant, Span};

/// Two segments of the same range sent within this time of each other are the same one, ...
pub const MIN_TOLERANCE: Span = Span::from_ms(5);
/// ... or within this part (one in so many) of the time since the recorded host's last segment.
pub const TOLERANCE_SHARE: u64 = 10;

/// A recorded segment and the simulated one that matches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pairing {
    /// The recorded segment.
    pub recorded: SentRange,
    /// The same range sent within the tolerance by the simulated host.
    pub simulated: Option<SentRange>,
}

/// Result of a comparison.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Score {
    /// Every recorded segment, in the order of time.
    pub pairings: Vec<Pairing>,
    /// Simulated segments that match no recorded one.
    pub surplus: Vec<SentRange>,
}

impl Score {
    /// Number of recorded segments that were found.
    #[must_use]
    pub fn found(&self) -> usize {
        let found = self.pairings.iter().filter(|pair| pair.simulated.is_some());
        found.count()
    }

    /// Share of recorded segments that were found; 1 if there were none.
    #[must_use]
    pub fn share(&self) -> f64 {
        if self.pairings.is_empty() {
            return 1.0;
        }
        self.found() as f64 / self.pairings.len() as f64
    }

    /// The same with all times `by` earlier.
    pub(super) fn earlier(mut self, by: Span) -> Self {
        for pairing in &mut self.pairings {
            pairing.recorded = pairing.recorded.earlier(by);
            pairing.simulated = pairing.simulated.map(|sent| sent.earlier(by));
        }
        self.surplus = self.surplus.iter().map(|sent| sent.earlier(by)).collect();
        self
    }

    /// Adds the pairs of another connection.
    pub fn add(&mut self, other: Self) {
        self.pairings.extend(other.pairings);
        self.surplus.extend(other.surplus);
    }
}

/// The device needs at least this long to answer a segment.
const FASTEST_ANSWER: Span = Span::from_ms(1);

/// Number of segments before an answer that are considered: more than a window's.
const RECENT: usize = 16;

/// Finds each recorded segment among the simulated ones, which are added one by one in the order of time. Each matches
/// at most one recorded segment, the first that is possible.
#[derive(Debug, Clone)]
pub struct Matcher {
    pairings: Vec<Pairing>,
    tolerances: Vec<Span>,
    surplus: Vec<SentRange>,
}

impl Matcher {
    /// For segments `recorded` in the order of time.
    #[must_use]
    pub fn new(recorded: &[SentRange]) -> Self {
        let first = recorded.first().map_or(Instant::ZERO, |sent| sent.at);
        let before = std::iter::once(first).chain(recorded.iter().map(|sent| sent.at));
        let tolerances = recorded.iter().zip(before).map(|(sent, before)| {
            let share = sent.at.since(before).ticks() / TOLERANCE_SHARE;
            MIN_TOLERANCE.max(Span::from_ticks(share))
        });
        let unpaired = recorded.iter().map(|&recorded| Pairing {
            recorded,
            simulated: None,
        });
        Self {
            tolerances: tolerances.collect(),
            pairings: unpaired.collect(),
            surplus: Vec::new(),
        }
    }

    /// Adds a simulated segment.
    pub fn simulated(&mut self, sent: SentRange) {
        let mut places = self.pairings.iter_mut().zip(&self.tolerances);
        let place = places.find(|(pairing, tolerance)| {
            let other = pairing.recorded;
            let apart = other.at.since(sent.at).max(sent.at.since(other.at));
            pairing.simulated.is_none()
                && (other.start, other.end) == (sent.start, sent.end)
                && apart <= **tolerance
        });
        match place {
            Some((pairing, _)) => pairing.simulated = Some(sent),
            None => self.surplus.push(sent),
        }
    }

    /// Time at which a segment of the device arrives that was recorded at `at`. An answer does not precede what it
    /// answers: it waits while a segment that the recorded host had sent before may still be sent within the tolerance.
    #[must_use]
    pub fn arrival(&self, at: Instant) -> Instant {
        let known = self
            .pairings
            .partition_point(|pairing| pairing.recorded.at + FASTEST_ANSWER <= at);
        let may_be_missing = (0..known).rev().take(RECENT).map(|place| {
            let pairing = &self.pairings[place];
            match pairing.simulated {
                Some(sent) => sent.at + FASTEST_ANSWER,
                None => pairing.recorded.at + self.tolerances[place],
            }
        });
        may_be_missing.max().map_or(at, |least| least.max(at))
    }

    /// The result.
    #[must_use]
    pub fn finish(self) -> Score {
        Score {
            pairings: self.pairings,
            surplus: self.surplus,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(ms: u64, start: u64) -> SentRange {
        SentRange {
            at: Instant::ZERO + Span::from_ms(ms),
            start,
            end: start + 1460,
            fin: false,
            first: true,
        }
    }

    #[test]
    fn the_same_range_at_about_the_same_time_is_found_once() {
        let mut matcher = Matcher::new(&[sent(0, 1), sent(400, 1), sent(402, 1461)]);
        // The tolerance is 5 ms, or a tenth of the 400 ms since the last.
        for simulated in [sent(4, 1), sent(370, 1), sent(371, 1), sent(408, 1461)] {
            matcher.simulated(simulated);
        }
        let score = matcher.finish();
        let found = score.pairings.iter().map(|pair| pair.simulated.is_some());
        assert!(found.eq([true, true, false]));
        assert_eq!((score.found(), score.surplus.len()), (2, 2));
    }

    #[test]
    fn an_answer_waits_for_what_it_answers() {
        let at = |ms| Instant::ZERO + Span::from_ms(ms);
        let mut matcher = Matcher::new(&[sent(0, 1), sent(200, 1)]);
        matcher.simulated(sent(0, 1));
        assert_eq!(matcher.arrival(at(3)), at(3));
        // What was sent at 200 ms may still come until 220 ms.
        assert_eq!(matcher.arrival(at(203)), at(220));
        matcher.simulated(sent(208, 1));
        assert_eq!(matcher.arrival(at(203)), at(209));
    }
}
