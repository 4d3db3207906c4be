//! Reception from the device: converts edges into half-bits, up to the silence that ends a burst.

use std::collections::VecDeque;

use linerate_ether::phy10::{HalfBits, TP_IDL_HALF_BITS};

use super::signal::HALF_BIT_TICKS;
use crate::time::{Instant, Span};

/// Silence that ends a burst: longer than any level within a frame, and no longer than the part of
/// `TP_IDL` that a receiver needs to detect it.
pub const SILENCE: Span = Span::from_ns(200);
/// Number of edges that distinguish a frame from a link pulse, and so indicate carrier.
const CARRIER_EDGES: u32 = 3;
/// Maximum number of half-bits stored: more than twice the longest frame.
const LIMIT: usize = 1 << 16;

/// Kind of a burst.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BurstKind {
    /// One positive pulse of this width.
    Pulse(Span),
    /// More than one pulse.
    Frame,
}

/// A complete period of activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Burst {
    /// The first edge.
    pub start: Instant,
    /// The last edge before the silence, or the end of the last bit if `TP_IDL` follows it.
    pub end: Instant,
    /// Pulse or frame.
    pub kind: BurstKind,
    /// Maximum distance of an edge from the position expected from the previous edge.
    pub edge_error: Span,
    /// The activity lasted longer than any frame: only its start was stored.
    pub jabber: bool,
    words: Vec<u64>,
    len: usize,
}

impl Burst {
    /// The burst as half-bits from its first edge on.
    #[must_use]
    pub fn half_bits(&self) -> HalfBits<'_> {
        HalfBits::new(&self.words).slice(0, self.len)
    }
}

/// Tracks the device's transmit pad.
#[derive(Debug, Clone, Default)]
pub struct EdgeTracker {
    level: bool,
    active: Option<Active>,
    /// Bursts that ended and were not taken yet.
    ended: VecDeque<Burst>,
    /// The pad stayed high after a burst that was taken: its falling edge starts no new burst.
    trailing: bool,
}

#[derive(Debug, Clone)]
struct Active {
    start: Instant,
    last_edge: Instant,
    /// Expected position of the last edge, from all edges so far.
    expected_edge: Instant,
    carrier_at: Option<Instant>,
    edges: u32,
    edge_error: u64,
    words: Vec<u64>,
    len: usize,
}

impl EdgeTracker {
    /// The pad is driven to `level` at `at`. True if this edge starts a burst.
    #[inline]
    pub fn drive(&mut self, level: bool, at: Instant) -> bool {
        if level == self.level {
            return false;
        }
        if level && self.active_ends_at().is_some_and(|end| end <= at) {
            // The last burst was not taken before this edge.
            self.end_burst(at);
        }
        self.level = level;
        match &mut self.active {
            Some(active) => {
                active.edge(!level, at);
                false
            }
            None if self.trailing && !level => {
                self.trailing = false;
                false
            }
            None => {
                self.trailing = false;
                self.active = Some(Active {
                    start: at,
                    last_edge: at,
                    expected_edge: at,
                    carrier_at: None,
                    edges: 1,
                    edge_error: 0,
                    words: Vec::with_capacity(512),
                    len: 0,
                });
                true
            }
        }
    }

    /// Start of the carrier, if there is carrier.
    #[inline]
    #[must_use]
    pub fn carrier_since(&self) -> Option<Instant> {
        self.active.as_ref().and_then(|active| active.carrier_at)
    }

    /// End of the current burst if no further edge arrives.
    #[inline]
    fn active_ends_at(&self) -> Option<Instant> {
        let active = self.active.as_ref()?;
        // A lone pulse may last longer than the silence that ends a frame.
        let silence = if active.edges == 1 {
            Span::from_us(1)
        } else {
            SILENCE
        };
        Some(active.last_edge + silence)
    }

    /// Time at which [`Self::take`] returns a burst if no further edge arrives; `None` while the line is
    /// idle.
    #[must_use]
    pub fn ends_at(&self) -> Option<Instant> {
        let ended = self.ended.front().map(|burst| burst.end);
        ended.or_else(|| self.active_ends_at())
    }

    /// Takes the oldest burst that has ended by `now`.
    pub fn take(&mut self, now: Instant) -> Option<Burst> {
        if self.ended.is_empty() && self.active_ends_at().is_some_and(|end| end <= now) {
            self.end_burst(now);
        }
        self.ended.pop_front()
    }

    fn end_burst(&mut self, now: Instant) {
        let Some(mut active) = self.active.take() else {
            return;
        };
        self.trailing = self.level;
        let kind = if active.edges <= 2 {
            let end = if active.edges == 2 {
                active.last_edge
            } else {
                now
            };
            BurstKind::Pulse(end.since(active.start))
        } else {
            BurstKind::Frame
        };
        // The level of the silence, long enough to be TP_IDL if it is high.
        active.push(self.level, TP_IDL_HALF_BITS);
        self.ended.push_back(Burst {
            start: active.start,
            end: active.last_edge,
            kind,
            edge_error: Span::from_ticks(active.edge_error),
            jabber: active.len > LIMIT,
            words: active.words,
            len: active.len.min(LIMIT),
        });
    }
}

impl Active {
    /// The line was at `level` from the last edge until `at`.
    #[inline]
    fn edge(&mut self, level: bool, at: Instant) {
        // Measured from the expected position of the last edge, so that the errors of a late edge and
        // an early one do not add up.
        let since_expected = at.since(self.expected_edge).ticks();
        let half_bits = ((since_expected + HALF_BIT_TICKS / 2) / HALF_BIT_TICKS).clamp(1, 64);
        let span = half_bits * HALF_BIT_TICKS;
        let ticks = at.since(self.last_edge).ticks();
        self.edge_error = self.edge_error.max(ticks.abs_diff(span));
        self.push(level, half_bits as usize);
        // A quarter of the remaining error is treated as a change of phase.
        let off = since_expected as i64 - span as i64;
        self.expected_edge += Span::from_ticks(span.saturating_add_signed(off / 4));
        self.last_edge = at;
        self.edges = self.edges.saturating_add(1);
        if self.edges == CARRIER_EDGES {
            self.carrier_at = Some(at);
        }
    }

    #[inline]
    fn push(&mut self, level: bool, count: usize) {
        if self.len > LIMIT {
            return;
        }
        for _ in 0..count {
            let bit = self.len % 64;
            if bit == 0 {
                self.words.push(0);
            }
            if let Some(word) = self.words.last_mut() {
                *word |= u64::from(level) << bit;
            }
            self.len += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use linerate_ether::phy10::{HalfBitWriter, decode, encode};

    /// Drives `half_bits` from `start` on, half-bits lasting `period` ticks.
    fn send(tracker: &mut EdgeTracker, half_bits: HalfBits<'_>, start: u64, period: u64) -> u64 {
        for (index, level) in (0..).zip(half_bits) {
            tracker.drive(level, Instant::from_ticks(start + index * period));
        }
        let end = start + half_bits.len() as u64 * period;
        tracker.drive(false, Instant::from_ticks(end));
        end
    }

    fn received(burst: &Burst) -> Vec<u8> {
        let mut octets = [0; 200];
        let decoded = decode(burst.half_bits(), &mut octets).expect("a frame");
        octets[..decoded.len].to_vec()
    }

    #[test]
    fn frames_survive_a_clock_that_is_one_percent_off() {
        let frame: Vec<u8> = (0..100).map(|index| index as u8 ^ 0x5A).collect();
        let mut words = [0; 40];
        let mut writer = HalfBitWriter::new(&mut words);
        encode(&frame, &mut writer).unwrap();
        let half_bits = writer.finish();
        for period in [594, 600, 606] {
            let mut tracker = EdgeTracker::default();
            let end = send(&mut tracker, half_bits, 5000, period);
            assert_eq!(tracker.take(Instant::from_ticks(end)), None, "too early");
            let burst = tracker
                .take(Instant::from_ticks(end + 2400))
                .expect("a burst");
            assert_eq!(burst.kind, BurstKind::Frame);
            assert_eq!(received(&burst), frame);
            assert_eq!(burst.start, Instant::from_ticks(5000 + period));
            assert!(
                burst.edge_error <= Span::from_ns(3),
                "{:?}",
                burst.edge_error
            );
        }
    }

    #[test]
    fn bursts_not_taken_yet_are_kept_separate() {
        let mut tracker = EdgeTracker::default();
        let mut words = [0; 40];
        let mut at = 0;
        for octet in [1, 2, 3] {
            let mut writer = HalfBitWriter::new(&mut words);
            encode(&[octet; 64], &mut writer).unwrap();
            at = send(&mut tracker, writer.finish(), at, 600) + 12_000;
        }
        let now = Instant::from_ticks(at);
        for octet in [1, 2, 3] {
            assert_eq!(received(&tracker.take(now).expect("a burst")), [octet; 64]);
        }
        assert_eq!(tracker.take(now), None);
    }

    #[test]
    fn lone_pulses_are_measured_and_a_stuck_line_ends_only_one_burst() {
        let mut tracker = EdgeTracker::default();
        let at = Instant::from_ns;
        tracker.drive(true, at(1000));
        tracker.drive(false, at(1063));
        assert_eq!(tracker.carrier_since(), None);
        let pulse = tracker.take(at(2000)).expect("a pulse");
        assert_eq!(pulse.kind, BurstKind::Pulse(Span::from_ns(63)));
        tracker.drive(true, at(3000));
        let stuck = tracker.take(at(9000)).expect("a pulse");
        assert_eq!(stuck.kind, BurstKind::Pulse(Span::from_us(6)));
        tracker.drive(false, at(10_000));
        assert_eq!(tracker.take(at(20_000)), None);
    }

    #[test]
    fn a_line_that_toggles_forever_uses_bounded_memory() {
        let mut tracker = EdgeTracker::default();
        for index in 0..200_000 {
            tracker.drive(index % 2 == 0, Instant::from_ticks(index * 600));
        }
        let burst = tracker
            .take(Instant::from_ticks(200_010 * 600))
            .expect("a burst");
        assert!(burst.jabber);
        assert!(burst.half_bits().len() <= LIMIT);
    }
}
