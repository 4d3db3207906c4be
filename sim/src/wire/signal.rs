//! What the device's receiver sees: half-bits that begin at known times on an otherwise low line.

use std::collections::VecDeque;

use linerate_ether::phy10::HalfBits;

use crate::random::mix;
use crate::time::{Instant, Span};

/// Ticks of a nominal half-bit (50 ns).
pub const HALF_BIT_TICKS: u64 = 600;
/// Fraction bits of a period.
const FRACTION: u32 = 20;

/// The clock of a transmitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LineClock {
    /// Ticks of a half-bit with [`FRACTION`] fraction bits.
    period: u64,
    jitter: u64,
    seed: u64,
}

impl LineClock {
    /// A clock that runs `ppm` parts per million fast, whose edges lie within `jitter` of where
    /// they belong.
    #[must_use]
    pub fn new(ppm: i32, jitter: Span, seed: u64) -> Self {
        let nominal = HALF_BIT_TICKS << FRACTION;
        // Limits that keep edges in order, far beyond what a standard allows.
        let ppm = i64::from(ppm.clamp(-100_000, 100_000));
        let period = (nominal as i64 - nominal as i64 * ppm / 1_000_000) as u64;
        Self {
            period,
            jitter: jitter.ticks().min(HALF_BIT_TICKS / 4),
            seed,
        }
    }

    /// How long `count` half-bits take.
    #[must_use]
    pub const fn half_bits(&self, count: u64) -> Span {
        Span::from_ticks((count * self.period) >> FRACTION)
    }

    /// Where half-bit `index` of a transmission begins.
    fn boundary(&self, start: u64, index: u64) -> u64 {
        let exact = start + ((index * self.period) >> FRACTION);
        if self.jitter == 0 || index == 0 {
            return exact;
        }
        exact + mix(self.seed ^ start ^ index << 48) % (2 * self.jitter + 1) - self.jitter
    }

    /// The half-bit that is on the line `since` ticks after the start, jitter apart.
    const fn index(&self, since: u64) -> u64 {
        (since << FRACTION) / self.period
    }
}

/// Half-bits from a time on. Nothing at all is a transmission without half-bits.
#[derive(Debug, Clone, Default)]
struct Transmission {
    start: u64,
    end: u64,
    words: Vec<u64>,
    len: usize,
}

impl Transmission {
    fn view(&self) -> HalfBits<'_> {
        HalfBits::new(&self.words).slice(0, self.len)
    }
}

/// The line towards the device. Reads go forward in time.
#[derive(Debug, Clone)]
pub struct Signal {
    clock: LineClock,
    /// The transmission that was last read, and those that follow.
    current: Transmission,
    following: VecDeque<Transmission>,
    /// The half-bit of `current` that begins at `until`.
    next_index: u64,
    /// The line is at `level` from `from` until before `until`.
    from: u64,
    until: u64,
    level: bool,
}

impl Signal {
    /// A line that has been low for ever.
    #[must_use]
    pub fn new(clock: LineClock) -> Self {
        Self {
            clock,
            current: Transmission::default(),
            following: VecDeque::new(),
            next_index: 0,
            from: 0,
            until: 0,
            level: false,
        }
    }

    /// The transmitter's clock.
    #[must_use]
    pub const fn clock(&self) -> &LineClock {
        &self.clock
    }

    /// The first `len` half-bits of `words` arrive from `start` on, after all that was sent before.
    pub fn send(&mut self, start: Instant, words: Vec<u64>, len: usize) {
        let start = start.ticks();
        let len = len.min(words.len() * 64);
        let end = self.clock.boundary(start, len as u64);
        self.following.push_back(Transmission {
            start,
            end,
            words,
            len,
        });
        self.forget();
    }

    /// Replaces what the last transmission sends from half-bit `keep` on.
    pub fn replace_tail(&mut self, keep: usize, tail: HalfBits<'_>) {
        let last = self.following.back_mut().unwrap_or(&mut self.current);
        last.len = keep.min(last.len);
        for level in tail {
            let (word, bit) = (last.len / 64, last.len % 64);
            if word == last.words.len() {
                last.words.push(0);
            }
            last.words[word] = last.words[word] & !(1 << bit) | u64::from(level) << bit;
            last.len += 1;
        }
        last.end = self.clock.boundary(last.start, last.len as u64);
        self.forget();
    }

    /// Where the level changes in what was sent last, as the receiver sees it.
    pub fn last_edges(&self) -> impl Iterator<Item = (Instant, bool)> + '_ {
        let last = self.following.back().unwrap_or(&self.current);
        let levels = last.view().iter().chain([false]).enumerate();
        let place = |index| Instant::from_ticks(self.clock.boundary(last.start, index as u64));
        let mut before = false;
        let edges = levels.map(move |(index, level)| (place(index), level));
        edges.filter(move |&(_, level)| core::mem::replace(&mut before, level) != level)
    }

    /// What was read ahead may not hold any more.
    fn forget(&mut self) {
        self.until = self.from;
    }

    /// The level at `at`.
    #[inline]
    pub fn level(&mut self, at: Instant) -> bool {
        let at = at.ticks();
        // A receiver that samples every half-bit finds what it wants in the next one.
        if at >= self.until && self.until > self.from && self.until < self.current.end {
            self.next_half_bit();
        }
        // One comparison for both ends.
        if at.wrapping_sub(self.from) >= self.until - self.from {
            self.seek(at);
        }
        self.level
    }

    /// Goes on to the next half-bit of the current transmission. Taking runs of equal ones together
    /// costs more in mispredicted branches than it saves in calls.
    #[inline]
    fn next_half_bit(&mut self) {
        let index = self.next_index;
        self.level = self.current.words[(index / 64) as usize] >> (index % 64) & 1 != 0;
        self.from = self.until;
        self.next_index = index + 1;
        self.until = self.clock.boundary(self.current.start, self.next_index);
    }

    /// The first time after `after` at which the level changes, as far as it is known.
    pub fn next_edge(&mut self, after: Instant) -> Instant {
        let level = self.level(after);
        let mut from = self.next_index as usize;
        for transmission in core::iter::once(&self.current).chain(&self.following) {
            if transmission.end > after.ticks() {
                if let Some(index) = transmission.view().find(from, !level) {
                    let edge = self.clock.boundary(transmission.start, index as u64);
                    return Instant::from_ticks(edge);
                }
                if level {
                    return Instant::from_ticks(transmission.end);
                }
            }
            from = 0;
        }
        Instant::NEVER
    }

    /// Finds the half-bit at `at`.
    #[cold]
    fn seek(&mut self, at: u64) {
        while at >= self.current.end
            && let Some(next) = self.following.pop_front_if(|next| next.start <= at)
        {
            self.current = next;
        }
        let Transmission { start, end, .. } = self.current;
        if at < start || at >= end {
            // Idle until the next transmission.
            self.level = false;
            self.next_index = if at < start {
                0
            } else {
                self.current.len as u64
            };
            self.from = if at < start { self.from.min(at) } else { end };
            self.until = self.following.front().map_or(u64::MAX, |next| next.start);
            return;
        }
        // Jitter may put `at` into the half-bit before or after.
        self.next_index = self.clock.index(at - start).saturating_sub(1);
        self.until = self.clock.boundary(start, self.next_index);
        while self.until <= at {
            self.next_half_bit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn clock(ppm: i32, jitter_ns: u64) -> LineClock {
        LineClock::new(ppm, Span::from_ns(jitter_ns), 5)
    }

    #[test]
    fn half_bits_last_50_ns_and_the_line_is_low_outside() {
        let mut signal = Signal::new(clock(0, 0));
        signal.send(Instant::from_ns(1000), vec![0b1011], 4);
        let levels: Vec<_> = (0..6)
            .map(|index| signal.level(Instant::from_ns(950 + 50 * index)))
            .collect();
        assert_eq!(levels, [false, true, true, false, true, false]);
        assert!(!signal.level(Instant::from_ns(999_999)));
    }

    #[test]
    fn the_edges_of_the_last_transmission_are_known() {
        let mut signal = Signal::new(clock(0, 0));
        assert_eq!(signal.last_edges().count(), 0);
        signal.send(Instant::from_ns(1000), vec![0b1101], 4);
        let edges: Vec<_> = signal
            .last_edges()
            .map(|(at, level)| (at.as_ns(), level))
            .collect();
        assert_eq!(
            edges,
            [(1000, true), (1050, false), (1100, true), (1200, false)]
        );
    }

    #[test]
    fn edges_are_found_ahead() {
        let mut signal = Signal::new(clock(0, 0));
        assert_eq!(signal.next_edge(Instant::ZERO), Instant::NEVER);
        signal.send(Instant::from_ns(1000), vec![0b1100], 4);
        signal.send(Instant::from_ns(5000), vec![0b1], 1);
        let mut at = Instant::ZERO;
        let mut edges = Vec::new();
        while at != Instant::NEVER {
            at = signal.next_edge(at);
            edges.push(at);
        }
        let expected = [1100, 1200, 5000, 5050].map(Instant::from_ns);
        assert_eq!(edges, [&expected[..], &[Instant::NEVER]].concat());
    }

    #[test]
    fn a_tail_can_be_replaced_while_it_is_sent() {
        let mut signal = Signal::new(clock(0, 0));
        signal.send(Instant::ZERO, vec![u64::MAX], 64);
        assert!(signal.level(Instant::from_ns(120)));
        signal.replace_tail(4, HalfBits::new(&[0b010]).slice(0, 3));
        let levels: Vec<_> = (3..8)
            .map(|index| signal.level(Instant::from_ns(50 * index)))
            .collect();
        assert_eq!(levels, [true, false, true, false, false]);
    }

    proptest! {
        /// Reading at any pace gives the level that the half-bits say, and edges are where the
        /// level changes.
        #[test]
        fn samples_and_edges_agree_with_the_half_bits(
            words in proptest::collection::vec(any::<u64>(), 1..4),
            ppm in -200..200_i32,
            jitter_ns in 0..8_u64,
            steps in proptest::collection::vec(1..3000_u64, 1..400),
        ) {
            let clock = clock(ppm, jitter_ns);
            let len = words.len() * 64 - 3;
            let start = 7777;
            let mut signal = Signal::new(clock);
            signal.send(Instant::from_ticks(start), words.clone(), len);
            let expected = |at: u64| {
                let index = (0..len as u64).rfind(|&index| clock.boundary(start, index) <= at);
                let ended = at >= clock.boundary(start, len as u64);
                index.is_some_and(|index| !ended && words[(index / 64) as usize] >> (index % 64) & 1 != 0)
            };
            let mut at = 7000;
            for step in steps {
                at += step;
                let level = signal.level(Instant::from_ticks(at));
                prop_assert_eq!(level, expected(at), "at {}", at);
                let edge = signal.next_edge(Instant::from_ticks(at));
                if edge == Instant::NEVER {
                    prop_assert!(!level);
                } else {
                    prop_assert!(edge.ticks() > at);
                    prop_assert_eq!(expected(edge.ticks() - 1), level);
                    prop_assert_eq!(expected(edge.ticks()), !level);
                }
            }
        }
    }
}
