//! The receiving half of a connection: reassembly, offered window, timing of acknowledgments.

use std::collections::{BTreeMap, VecDeque};

use crate::time::{Instant, Span};

/// Maximum delay of an acknowledgment that waits for a second segment (Linux's minimum).
const DELAYED_ACK: Span = Span::from_ms(40);
/// Number of immediate acknowledgments on a new connection, so that the peer's window opens fast.
const QUICK_ACKS: u32 = 16;

/// The receiving half of one connection. Positions are in the peer's stream.
#[derive(Debug, Clone)]
pub struct Receiver {
    capacity: usize,
    mss: usize,
    /// The next position expected.
    next: u64,
    /// In-order octets that the program has not read.
    in_order: VecDeque<u8>,
    /// Octets beyond a hole, by position; ranges neither overlap nor touch.
    out_of_order: BTreeMap<u64, Vec<u8>>,
    /// Starts of ranges in `out_of_order`, the most recently changed first.
    recent_ranges: VecDeque<u64>,
    /// A range received twice, to be reported once by DSACK (RFC 2883).
    duplicate: Option<(u64, u64)>,
    fin: Option<u64>,
    /// First position beyond the window last offered.
    offered_end: u64,
    acknowledged: u64,
    quick_acks_left: u32,
    ack_immediately: bool,
    ack_deadline: Option<Instant>,
}

impl Receiver {
    /// A receiver for a peer whose SYN was processed. `capacity` is the receive buffer in octets,
    /// `mss` the largest segment expected from the peer.
    #[must_use]
    pub fn new(capacity: usize, mss: usize) -> Self {
        Self {
            capacity,
            mss,
            next: 1,
            in_order: VecDeque::new(),
            out_of_order: BTreeMap::new(),
            recent_ranges: VecDeque::new(),
            duplicate: None,
            fin: None,
            offered_end: 1 + capacity as u64,
            acknowledged: 1,
            quick_acks_left: QUICK_ACKS,
            ack_immediately: false,
            ack_deadline: None,
        }
    }

    /// Processes a segment's octets and FIN, from `start` on.
    pub fn receive(&mut self, start: u64, payload: &[u8], fin: bool, now: Instant) {
        let end = start + payload.len() as u64;
        if payload.is_empty() && !fin {
            return;
        }
        if end + u64::from(fin) <= self.next {
            // All of it is old: the acknowledgment was lost, or the sender retransmitted too early.
            self.duplicate = Some((start, end));
            self.ack_immediately = true;
            return;
        }
        if fin && end <= self.offered_end {
            self.fin = Some(end);
        }
        let from = start.max(self.next);
        let to = end.min(self.offered_end);
        let had_holes = !self.out_of_order.is_empty();
        if from < to {
            let octets = &payload[(from - start) as usize..(to - start) as usize];
            self.insert(from, octets);
        }
        self.deliver();
        if had_holes || !self.out_of_order.is_empty() || fin || to < end {
            self.ack_immediately = true;
        } else {
            self.schedule_ack(now);
        }
    }

    /// Adds octets that may overlap stored ranges.
    fn insert(&mut self, from: u64, octets: &[u8]) {
        let (mut start, mut end) = (from, from + octets.len() as u64);
        let touching: Vec<u64> = self
            .out_of_order
            .range(..=end)
            .filter(|&(&at, old)| at + old.len() as u64 >= start)
            .map(|(&at, _)| at)
            .collect();
        for &at in &touching {
            let old_end = at + self.out_of_order[&at].len() as u64;
            if at <= from && old_end >= from + octets.len() as u64 {
                self.duplicate = Some((from, from + octets.len() as u64));
            }
            start = start.min(at);
            end = end.max(old_end);
        }
        let mut merged = vec![0; (end - start) as usize];
        merged[(from - start) as usize..][..octets.len()].copy_from_slice(octets);
        for at in touching {
            let old = self.out_of_order.remove(&at).unwrap_or_default();
            merged[(at - start) as usize..][..old.len()].copy_from_slice(&old);
            self.recent_ranges.retain(|&range| range != at);
        }
        self.out_of_order.insert(start, merged);
        self.recent_ranges.push_front(start);
    }

    /// Moves octets that are now in order to the program's buffer.
    fn deliver(&mut self) {
        if let Some(octets) = self.out_of_order.remove(&self.next) {
            self.recent_ranges.retain(|&range| range != self.next);
            self.next += octets.len() as u64;
            self.in_order.extend(octets);
        }
        if self.fin == Some(self.next) {
            self.next += 1;
        }
    }

    fn schedule_ack(&mut self, now: Instant) {
        if self.quick_acks_left > 0 || self.next - self.acknowledged > self.mss as u64 {
            self.ack_immediately = true;
        } else {
            self.ack_deadline.get_or_insert(now + DELAYED_ACK);
        }
    }

    /// A segment of `len` octets from `start` on is not acceptable. If all of it was received before,
    /// it is reported as a duplicate (RFC 2883 section 4).
    pub fn reject(&mut self, start: u64, len: usize) {
        let end = start + len as u64;
        if len > 0 && end <= self.next {
            self.duplicate = Some((start, end));
        }
        self.ack_immediately = true;
    }

    /// Requests an immediate acknowledgment, as for a segment that is not acceptable.
    pub fn request_ack(&mut self) {
        self.ack_immediately = true;
    }

    /// True if an acknowledgment is due at `now`.
    #[must_use]
    pub fn is_ack_due(&self, now: Instant) -> bool {
        self.ack_immediately || self.ack_deadline.is_some_and(|by| by <= now)
    }

    /// Time at which a delayed acknowledgment is due.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.ack_deadline.unwrap_or(Instant::NEVER)
    }

    /// An acknowledgment is being sent: returns the position to acknowledge and the window to offer.
    pub fn on_ack_sent(&mut self) -> (u64, u64) {
        let had_reason = self.ack_immediately || self.ack_deadline.is_some();
        self.quick_acks_left = self.quick_acks_left.saturating_sub(u32::from(had_reason));
        self.ack_immediately = false;
        self.ack_deadline = None;
        self.acknowledged = self.next;
        self.offered_end = self.window_end();
        (self.next, self.offered_end - self.next)
    }

    /// The end of the window to offer: never moved back, and not advanced by only a few octets.
    fn window_end(&self) -> u64 {
        let read = self.next - u64::from(self.fin.is_some_and(|fin| fin < self.next));
        let free = self.capacity.saturating_sub(self.in_order.len()) as u64;
        let end = read + free;
        let worth = (self.mss.min(self.capacity / 2)) as u64;
        if end >= self.offered_end + worth {
            end
        } else {
            self.offered_end.max(self.next)
        }
    }

    /// SACK blocks for the acknowledgment being sent (RFC 2018 section 4): a duplicate, then the most
    /// recent ranges.
    pub fn sack(&mut self) -> Vec<(u64, u64)> {
        let ranges = self.recent_ranges.iter().filter_map(|start| {
            self.out_of_order
                .get(start)
                .map(|octets| (*start, start + octets.len() as u64))
        });
        self.duplicate
            .take()
            .into_iter()
            .chain(ranges)
            .take(3)
            .collect()
    }

    /// Reads up to `limit` octets for the program. If this opens the window, it is offered immediately.
    pub fn read(&mut self, limit: usize) -> Vec<u8> {
        let was_closed = self.offered_end <= self.next;
        let octets = self
            .in_order
            .drain(..limit.min(self.in_order.len()))
            .collect::<Vec<_>>();
        if !octets.is_empty() && self.window_end() > self.offered_end {
            let gain = self.window_end() - self.offered_end;
            self.ack_immediately |= was_closed || gain >= 2 * self.mss as u64;
        }
        octets
    }

    /// Octets that [`Self::read`] can return.
    #[must_use]
    pub fn readable(&self) -> usize {
        self.in_order.len()
    }

    /// The next position expected.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// The first position beyond the window offered.
    #[must_use]
    pub const fn offered_end(&self) -> u64 {
        self.offered_end
    }

    /// True if everything up to the peer's FIN has arrived.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| fin < self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranges_beyond_a_hole_are_reported_most_recent_first() {
        let mut receiver = Receiver::new(1000, 100);
        let now = Instant::ZERO;
        receiver.receive(11, &[0; 10], false, now);
        receiver.receive(31, &[0; 10], false, now);
        assert_eq!(receiver.sack(), [(31, 41), (11, 21)]);
        receiver.receive(21, &[0; 5], false, now);
        assert_eq!(receiver.sack(), [(11, 26), (31, 41)]);
        receiver.receive(1, &[0; 30], false, now);
        assert_eq!((receiver.next(), receiver.readable()), (41, 40));
        assert!(receiver.sack().is_empty());
        receiver.receive(1, &[0; 30], false, now);
        assert_eq!(receiver.sack(), [(1, 31)], "a duplicate is reported once");
        assert!(receiver.sack().is_empty());
    }

    #[test]
    fn after_the_first_segments_acknowledgments_wait_for_a_second_segment() {
        let mut receiver = Receiver::new(100_000, 100);
        let mut now = Instant::ZERO;
        let mut position = 1;
        for _ in 0..QUICK_ACKS {
            receiver.receive(position, &[0; 100], false, now);
            position += 100;
            assert!(receiver.is_ack_due(now));
            receiver.on_ack_sent();
        }
        receiver.receive(position, &[0; 100], false, now);
        assert!(!receiver.is_ack_due(now));
        assert_eq!(receiver.deadline(), now + DELAYED_ACK);
        receiver.receive(position + 100, &[0; 100], false, now);
        assert!(receiver.is_ack_due(now));
        receiver.on_ack_sent();
        receiver.receive(position + 200, &[0; 10], false, now);
        now += DELAYED_ACK;
        assert!(receiver.is_ack_due(now));
    }

    #[test]
    fn a_full_buffer_closes_the_window_and_reading_opens_it() {
        let mut receiver = Receiver::new(200, 100);
        receiver.receive(1, &[7; 250], false, Instant::ZERO);
        assert_eq!(receiver.on_ack_sent(), (201, 0));
        assert_eq!(receiver.read(usize::MAX).len(), 200);
        assert!(receiver.is_ack_due(Instant::ZERO));
        assert_eq!(receiver.on_ack_sent(), (201, 200));
    }

    proptest! {
        #[test]
        fn any_order_of_pieces_gives_the_stream(
            mut pieces in proptest::collection::vec((0..200_usize, 1..60_usize), 0..40),
            seed in any::<u64>(),
        ) {
            let stream: Vec<u8> = (0..300).map(|index| (index * 7 % 251) as u8).collect();
            // Cover the stream once, then shuffle with the random pieces.
            pieces.extend((0..10).map(|index| (index * 30, 30)));
            let mut random = crate::random::Random::new(seed);
            let mut receiver = Receiver::new(1000, 100);
            while !pieces.is_empty() {
                let (at, len) = pieces.swap_remove(random.below(pieces.len() as u64) as usize);
                let end = (at + len).min(300);
                let fin = end == 300;
                receiver.receive(1 + at as u64, &stream[at..end], fin, Instant::ZERO);
                for (start, end) in receiver.sack() {
                    prop_assert!(start < end);
                }
            }
            prop_assert!(receiver.is_finished());
            prop_assert_eq!(receiver.read(usize::MAX), stream);
        }
    }
}
