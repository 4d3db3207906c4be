//! What is counted of a stream of numbered datagrams.

use core::time::Duration;
use linerate_agent::Instant;
use linerate_agent::count::Sink;

use super::ENOUGH;
use super::header::{Numbered, Tool};
use crate::tcp::{Buckets, Marks, POSITIONS};
use linerate_results::stats;

/// A number that is further away than this is not one of the stream that may be.
const NEAR: u64 = 64;
/// How often iperf 2 says the end until it is answered.
const END_EVERY: Duration = Duration::from_millis(250);
/// Fewer holes are chance.
const FEWEST_HOLES: u64 = 3;
/// Holes behind the first place of a burst are this much more frequent where bursts are their cause; or so much
/// longer than chance makes them.
const BURSTS_MATTER: f64 = 3.0;
const LONGER_THAN_CHANCE: f64 = 2.0;

/// A stream of numbered datagrams.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Whose it is.
    pub tool: Tool,
    /// Number of its first datagram's packet in the capture.
    pub first_packet: u64,
    /// Of its last one's.
    pub last_packet: u64,
    /// When its first one was captured.
    pub start_ns: u64,
    /// Octets of payload in its largest datagram.
    pub largest_bytes: u32,
    /// Between two arrivals.
    pub gaps: Buckets,
    /// Between two sendings, on the sender's clock.
    pub sent_gaps: Buckets,
    /// How often some were missing.
    pub holes: u64,
    /// The most that were missing at once.
    pub longest_hole: u64,
    /// The packets behind holes, by how many were missing.
    pub behind_holes: Marks,
    /// Datagrams by their place in a burst of the sender, the last place for all behind.
    pub arrived_at: [u64; POSITIONS],
    /// Holes by the place of the datagram before them.
    pub holes_behind: [u64; POSITIONS],
    /// The packets that came out of order, by how many had overtaken them.
    pub overtaken: Marks,
    sink: Sink,
    first_number: u64,
    next_number: u64,
    has_ended: bool,
    first_sent_ns: u64,
    last_sent_ns: u64,
    last_ns: u64,
    /// Of the last one in its burst, from 0.
    place: usize,
}

impl Stream {
    pub(super) fn new(tool: Tool, said: &Numbered, length: u32, time_ns: u64, packet: u64) -> Self {
        // Both count from 1, iperf before 2.1 from 0; unless its beginning is missing.
        let first_number = if said.number < NEAR {
            said.number.min(1)
        } else {
            said.number
        };
        let mut stream = Self {
            tool,
            first_packet: packet,
            last_packet: packet,
            start_ns: time_ns,
            largest_bytes: 0,
            gaps: Buckets::default(),
            sent_gaps: Buckets::default(),
            holes: 0,
            longest_hole: 0,
            behind_holes: Marks::default(),
            arrived_at: [0; POSITIONS],
            holes_behind: [0; POSITIONS],
            overtaken: Marks::default(),
            sink: Sink::new(first_number),
            first_number,
            next_number: said.number,
            has_ended: false,
            first_sent_ns: said.sent_ns,
            last_sent_ns: said.sent_ns,
            last_ns: time_ns,
            place: 0,
        };
        stream.add(said, length, time_ns, packet);
        stream
    }

    /// Whether enough datagrams fit to believe that it is one.
    #[inline]
    pub(super) fn is_sure(&self) -> bool {
        self.datagrams() >= ENOUGH
    }

    /// Whether a datagram may be its next one: another number near by, or the very same again.
    pub(super) fn may_go_on(&self, said: &Numbered) -> bool {
        let last = self.next_number.saturating_sub(1);
        said.number.abs_diff(last) <= NEAR
            && (said.number != last || said.sent_ns == self.last_sent_ns)
    }

    /// Whether a datagram begins another stream between the same ports.
    #[inline]
    pub(super) fn begins_anew(&self, said: &Numbered) -> bool {
        !said.ends && said.number <= 1 && self.next_number > 1024
    }

    #[inline]
    pub(super) fn add(&mut self, said: &Numbered, length: u32, time_ns: u64, packet: u64) {
        self.last_packet = packet;
        let number = said.number;
        let now = Instant::from_ns(time_ns);
        if said.ends {
            // The first one counts as a datagram; further ones are only there until it is answered.
            if !std::mem::replace(&mut self.has_ended, true) {
                self.sink
                    .ended(number, said.sent_ns, length as usize, now, END_EVERY);
            }
            return;
        }
        let (began, late) = (self.datagrams() > 0, number < self.next_number);
        let duplicates = self.duplicates();
        self.sink
            .arrived(number, said.sent_ns, length as usize, now);
        if late && self.duplicates() == duplicates {
            self.overtaken.note(packet, self.next_number - number);
        }
        if !late {
            if began {
                self.follows(said, time_ns, packet);
            }
            self.arrived_at[self.place.min(POSITIONS - 1)] += 1;
            self.next_number = number.saturating_add(1);
            self.last_sent_ns = said.sent_ns;
            self.last_ns = time_ns;
        }
        self.largest_bytes = self.largest_bytes.max(length);
    }

    fn follows(&mut self, said: &Numbered, time_ns: u64, packet: u64) {
        let missing = said.number - self.next_number;
        if missing > 0 {
            self.holes += 1;
            self.holes_behind[self.place.min(POSITIONS - 1)] += 1;
            self.behind_holes.note(packet, missing);
            self.longest_hole = self.longest_hole.max(missing);
        }
        let gap_ns = time_ns.saturating_sub(self.last_ns);
        self.gaps.add(gap_ns);
        let (since_ns, span_ns) = if self.has_clock() {
            let since_ns = said.sent_ns.saturating_sub(self.last_sent_ns);
            self.sent_gaps.add(since_ns);
            (
                since_ns,
                self.last_sent_ns.saturating_sub(self.first_sent_ns),
            )
        } else {
            (gap_ns, self.last_ns.saturating_sub(self.start_ns))
        };
        let sent_before = (self.next_number - 1).saturating_sub(self.first_number);
        let in_burst = span_ns
            .checked_div(sent_before)
            .is_some_and(|mean_ns| since_ns < mean_ns / 2);
        self.place = if in_burst {
            self.place
                .saturating_add(missing as usize)
                .saturating_add(1)
        } else {
            0
        };
    }

    /// Whether the times in the datagrams are any.
    fn has_clock(&self) -> bool {
        self.last_sent_ns > self.first_sent_ns
    }

    /// Datagrams that arrived, repeated ones among them.
    #[inline]
    pub fn datagrams(&self) -> u64 {
        self.sink.sequence.received()
    }

    /// Datagrams that were sent, as far as those tell that arrived.
    pub fn sent(&self) -> u64 {
        self.sink.sequence.sent()
    }

    /// Of them, those that did not arrive.
    pub fn lost(&self) -> u64 {
        self.sink.sequence.lost(None)
    }

    /// Datagrams that arrived behind later ones.
    pub fn out_of_order(&self) -> u64 {
        self.sink.sequence.out_of_order() + self.sink.sequence.stale()
    }

    /// Datagrams that arrived again.
    pub fn duplicates(&self) -> u64 {
        self.sink.sequence.duplicates()
    }

    /// Octets of payload that arrived.
    pub fn payload_bytes(&self) -> u64 {
        self.sink.octets
    }

    /// From the first arrival to the last.
    pub fn duration(&self) -> Duration {
        self.sink.span()
    }

    /// Interarrival jitter (RFC 3550 section 6.4.1) at the end; `None` if the datagrams have no times.
    pub fn jitter_ns(&self) -> Option<u64> {
        self.has_clock().then(|| self.sink.jitter.ns())
    }

    /// Whether losses come in bursts: longer holes than chance makes, or behind others much more often than behind
    /// the first of a burst.
    pub fn loses_in_bursts(&self) -> bool {
        if self.holes < FEWEST_HOLES {
            return false;
        }
        let hole = self.lost() as f64 / self.holes as f64;
        let by_chance = 1.0 / (1.0 - stats::ratio(self.lost() as f64, self.sent() as f64));
        let rate = |places: std::ops::Range<usize>| {
            let sum = |of: &[u64; POSITIONS]| of[places.clone()].iter().sum::<u64>() as f64;
            stats::ratio(sum(&self.holes_behind), sum(&self.arrived_at))
        };
        let behind: u64 = self.holes_behind[1..].iter().sum();
        hole >= LONGER_THAN_CHANCE * by_chance
            || behind >= FEWEST_HOLES && rate(1..POSITIONS) >= BURSTS_MATTER * rate(0..1)
    }
}
