//! Signal at the device's receiver: half-bits that begin at known times on an otherwise low line.
//!
//! The line is read in chunks of 64 half-bits, each converted into the times at which the level
//! changes: reading the level at a time is a step along these.

use std::collections::VecDeque;
use std::ops::Range;

use linerate_ether::phy10::HalfBits;

use super::config::Impairments;
pub use super::timing::HALF_BIT_TICKS;
use super::timing::{Displacement, FRACTION, LineClock, NoisePulses};
use crate::time::{Instant, Span};

/// Half-bits converted into edges at a time.
const CHUNK: u64 = 64;
/// Edges stored for a chunk: of its half-bits, of noise, and its ends. A power of two, so that
/// reducing an index to it is free.
const EDGES: usize = 128;
/// Maximum number of edges of either kind: further noise edges are dropped.
const MAX_EDGES: usize = EDGES - 4;

/// Half-bits with a start time. An empty one has no half-bits.
#[derive(Debug, Clone, Default)]
struct SignalSegment {
    start: u64,
    /// Ticks of a half-bit with [`FRACTION`] fraction bits.
    period: u64,
    /// The line displaces its edges, as for frames.
    displaced: bool,
    words: Vec<u64>,
    len: usize,
}

impl SignalSegment {
    fn view(&self) -> HalfBits<'_> {
        HalfBits::new(&self.words).slice(0, self.len)
    }

    /// Nominal start of half-bit `index`.
    const fn place(&self, index: u64) -> u64 {
        self.start + ((index * self.period) >> FRACTION)
    }

    /// A time before the first edge.
    const fn begins(&self) -> u64 {
        self.start.saturating_sub(HALF_BIT_TICKS / 2)
    }

    /// A time after the last edge.
    const fn ends(&self) -> u64 {
        if self.len == 0 {
            return self.start;
        }
        self.place(self.len as u64) + HALF_BIT_TICKS / 2
    }

    /// The half-bit at `at`, without displacement.
    const fn index(&self, at: u64) -> u64 {
        (at.saturating_sub(self.start) << FRACTION) / self.period
    }

    /// Start and end of chunk `number`: every edge is closer to its nominal position than to these.
    const fn chunk(&self, number: u64) -> Range<u64> {
        let from = self
            .place(number * CHUNK)
            .saturating_sub(HALF_BIT_TICKS / 2);
        let last = (number + 1) * CHUNK > self.len as u64;
        let to = if last {
            self.ends()
        } else {
            self.place((number + 1) * CHUNK) - HALF_BIT_TICKS / 2
        };
        from..to
    }

    /// The 64 half-bits of chunk `index`, and the one before them; low outside.
    fn word(&self, index: u64) -> (u64, u64) {
        let at = (index * CHUNK) as usize;
        let view = self.view();
        let before = at.checked_sub(1).and_then(|before| view.get(before));
        (view.window(at), u64::from(before == Some(true)))
    }

    /// Half-bits from `from` on at whose start the level changes, and the new level.
    fn edges(&self, from: usize) -> impl Iterator<Item = (u64, bool)> + '_ {
        let view = self.view();
        let before = from.checked_sub(1).and_then(|before| view.get(before));
        let mut level = before == Some(true);
        let mut at = from;
        core::iter::from_fn(move || {
            let edge = match view.find(at, !level) {
                Some(edge) => edge,
                // It ends low.
                None if level => self.len,
                None => return None,
            };
            level = !level;
            at = edge;
            Some((edge as u64, level))
        })
    }
}

/// The line towards the device. Most reads are in the order of time.
#[derive(Debug, Clone)]
pub struct Signal {
    clock: LineClock,
    displacement: Displacement,
    noise: Option<NoisePulses>,
    /// The segment read last, and those that follow.
    current: SignalSegment,
    following: VecDeque<SignalSegment>,
    /// The time range that `edges` describes.
    chunk: Range<u64>,
    /// Times at which the level changes, then the chunk's end twice. From `edges[n - 1]` until before
    /// `edges[n]` the level is high if `n` is odd; a chunk that begins high has its start first.
    edges: [u64; EDGES],
    /// Number of edges before the chunk's end.
    count: usize,
    /// Index of the next edge.
    next: usize,
    /// The line is unchanged from `from` until before `until`.
    from: u64,
    until: u64,
    /// Number of transmissions so far.
    sent: u64,
}

impl Signal {
    /// A line that is low, with the edge impairments and the clock of `impairments`.
    #[must_use]
    pub fn new(impairments: &Impairments, seed: u64) -> Self {
        Self {
            clock: LineClock::new(impairments),
            displacement: Displacement::new(impairments, seed),
            noise: NoisePulses::new(impairments, seed.rotate_left(17)),
            current: SignalSegment::default(),
            following: VecDeque::new(),
            chunk: 0..0,
            edges: [0; EDGES],
            count: 0,
            next: 0,
            from: u64::MAX,
            until: u64::MAX,
            sent: 0,
        }
    }

    /// Ticks of a half-bit of what is sent from `at` on, with [`FRACTION`] fraction bits.
    #[must_use]
    pub fn period(&self, at: Instant) -> u64 {
        self.clock.period(at)
    }

    /// True if noise was on the line between `from` and `to`.
    #[must_use]
    pub fn is_noisy(&self, from: Instant, to: Instant) -> bool {
        self.noise.is_some_and(|noise| noise.overlaps(from, to))
    }

    /// Sends the first `len` half-bits of `words` from `start` on, after everything sent before.
    /// Returns the start of the first, which is slightly later than `start` if the line displaces
    /// edges.
    pub fn send(&mut self, start: Instant, words: Vec<u64>, len: usize) -> Instant {
        let id = self.sent;
        self.sent += 1;
        let displacement = &self.displacement;
        let segment = SignalSegment {
            start: start.ticks() + displacement.delay(start.ticks(), id),
            period: self.clock.period(start),
            displaced: !displacement.is_zero(),
            len: len.min(words.len() * 64),
            words,
        };
        let begins = Instant::from_ticks(segment.start);
        self.push(segment);
        begins
    }

    /// Sends a pulse of `width` at `start`, after everything sent before.
    pub fn pulse(&mut self, start: Instant, width: Span) {
        self.push(SignalSegment {
            start: start.ticks(),
            period: width.ticks().max(1) << FRACTION,
            displaced: false,
            words: vec![1],
            len: 1,
        });
    }

    fn push(&mut self, segment: SignalSegment) {
        self.following.push_back(segment);
        self.invalidate();
    }

    /// Replaces the half-bits of the last transmission from `keep` on.
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
        self.invalidate();
    }

    /// Edges of the last transmission at the receiver, without noise.
    pub fn last_edges(&self) -> impl Iterator<Item = (Instant, bool)> + '_ {
        let last = self.following.back().unwrap_or(&self.current);
        last.edges(0)
            .map(move |(index, level)| (Instant::from_ticks(self.edge(last, index, level)), level))
    }

    fn edge(&self, segment: &SignalSegment, index: u64, level: bool) -> u64 {
        let place = segment.place(index);
        if !segment.displaced {
            return place;
        }
        let start = segment.start;
        self.displacement.edge(start, index, place, level)
    }

    /// Discards edges read ahead, which may have become invalid.
    fn invalidate(&mut self) {
        self.chunk = 0..0;
        (self.from, self.until) = (u64::MAX, u64::MAX);
    }

    /// The level at `at`.
    #[inline]
    pub fn level(&mut self, at: Instant) -> bool {
        let at = at.ticks();
        // A receiver that samples every half-bit reads before or after the next edge, depending on
        // the data, so a branch would be unpredictable.
        let step = at >= self.until;
        self.from = if step { self.until } else { self.from };
        self.next += usize::from(step);
        self.until = if step {
            self.edges[self.next % EDGES]
        } else {
            self.until
        };
        // One comparison checks both ends.
        if at.wrapping_sub(self.from) >= self.until.wrapping_sub(self.from) {
            self.seek(at);
        }
        self.next & 1 != 0
    }

    /// First time after `after` at which the level changes, as far as known.
    pub fn next_edge(&mut self, after: Instant) -> Instant {
        self.level(after);
        if self.until < self.chunk.end {
            return Instant::from_ticks(self.until);
        }
        let after = after.ticks();
        let noise = self.noise.map_or(u64::MAX, |noise| noise.next_edge(after));
        let sent = core::iter::once(&self.current)
            .chain(&self.following)
            .filter(|segment| segment.ends() > after)
            .find_map(|segment| {
                let from = segment.index(after).saturating_sub(1) as usize;
                // A pulse may be shorter than a half-bit.
                let from = if from < 64 { 0 } else { from };
                let edges = segment.edges(from);
                edges
                    .map(|(index, level)| self.edge(segment, index, level))
                    .find(|&edge| edge > after)
            });
        Instant::from_ticks(noise.min(sent.unwrap_or(u64::MAX)))
    }

    /// Finds the position of `at` among the edges.
    #[cold]
    fn seek(&mut self, at: u64) {
        if !self.chunk.contains(&at) {
            self.load(at);
        }
        self.next = self.edges[..self.count].partition_point(|&edge| edge <= at);
        let before = self.next.checked_sub(1);
        self.from = before.map_or(self.chunk.start, |before| self.edges[before]);
        self.until = self.edges[self.next];
    }

    /// Reads the chunk that contains `at`.
    fn load(&mut self, at: u64) {
        while at >= self.current.ends()
            && let Some(next) = self.following.pop_front_if(|next| next.begins() <= at)
        {
            self.current = next;
        }
        let current = &self.current;
        // Half-bits with an edge before them, and their levels.
        let (mut changes, mut word, mut high) = (0, 0, false);
        let mut number = 0;
        self.chunk = if at < current.begins() {
            0..current.begins()
        } else if at >= current.ends() {
            let next = self.following.front();
            current.ends()..next.map_or(u64::MAX, SignalSegment::begins)
        } else {
            number = current.index(at + HALF_BIT_TICKS / 2) / CHUNK;
            let before;
            (word, before) = current.word(number);
            changes = word ^ (word << 1 | before);
            high = before != 0;
            current.chunk(number)
        };
        if let Some(noise) = self.noise {
            if changes == 0 && !high {
                // As much of an idle line as there is space for.
                self.chunk.start = self.chunk.start.max(at.saturating_sub(noise.interval()));
                let most = (MAX_EDGES as u64 - CHUNK) / 4 * noise.interval();
                self.chunk.end = self.chunk.end.min(at.saturating_add(most));
            }
            high ^= noise.is_on(self.chunk.start);
        }
        self.edges[0] = self.chunk.start;
        let first = usize::from(high);
        self.count = first;
        let mut random = 0;
        let mut four = u64::MAX;
        while changes != 0 {
            let bit = changes.trailing_zeros();
            changes &= changes - 1;
            let index = number * CHUNK + u64::from(bit);
            let mut edge = current.place(index);
            if current.displaced {
                if four != index / 4 {
                    four = index / 4;
                    random = self.displacement.random(current.start, four);
                }
                let rising = word >> bit & 1 != 0;
                edge = self
                    .displacement
                    .displace(edge, rising, random >> (index % 4 * 16));
            }
            self.edges[self.count] = edge;
            self.count += 1;
        }
        if let Some(noise) = self.noise {
            let mut edge = noise.next_edge(self.chunk.start);
            while edge < self.chunk.end && self.count < MAX_EDGES {
                self.edges[self.count] = edge;
                self.count += 1;
                edge = noise.next_edge(edge);
            }
            self.edges[first..self.count].sort_unstable();
        }
        self.edges[self.count] = self.chunk.end;
        self.edges[self.count + 1] = self.chunk.end;
    }
}

#[cfg(test)]
mod tests;
