//! Counters of a stream of numbered datagrams.

use core::time::Duration;
use linerate_agent::Instant;
use linerate_agent::count::Sink;

use super::MIN_DATAGRAMS;
use super::header::{DatagramHeader, Tool};
use super::regularity::LossWindows;
use crate::tcp::{BURST_POSITIONS, Histogram, Occurrences};
use linerate_results::stats;

/// A larger step of the number excludes an unconfirmed stream.
const MAX_NUMBER_STEP: u64 = 64;
/// One of so many datagrams follows the one before it at least, in a stream that is of any use.
const MAX_STEP: u64 = 3;
/// Numbers of RTP further ahead, or further back, than by loss and reordering: those of a stray datagram, or of a sender that restarts
/// if the next one follows (RFC 3550 appendix A.1).
const MAX_DROPOUT: u64 = 3000;
const MAX_MISORDER: u64 = 100;
/// A source of RTP that sends so many datagrams alone has replaced the other one.
const MAX_OF_OTHER: u64 = 16;
/// Shorter datagrams carry hardly more than a number (an RTP header has 12 octets).
const MIN_BYTES: u32 = 24;
/// Interval at which iperf 2 repeats the end marker until it is answered.
const END_INTERVAL: Duration = Duration::from_millis(250);
/// Fewer gaps may be chance.
const MIN_GAPS: u64 = 3;
/// Where bursts cause loss, gaps after the first position of a burst are at least this much more frequent, or gaps are
/// that much longer than by chance.
const MIN_BURST_LOSS_RATIO: f64 = 3.0;
const MIN_GAP_LENGTH_RATIO: f64 = 2.0;

/// Intervals of an even stream differ by this factor at most.
const MOST_JITTER: f64 = 1.5;

/// The shortest tick of Linux (`CONFIG_HZ`).
const SKIP_NS: u64 = 1_000_000;

/// What a datagram is to the stream between the same ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// One of its datagrams.
    Within,
    /// The first of another stream that takes its place.
    Restart,
    /// None of its datagrams.
    Elsewhere,
}

/// A stream of numbered datagrams.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Tool that sent it.
    pub tool: Tool,
    /// Packet number of its first datagram in the capture.
    pub first_packet: u64,
    /// Packet number of its last datagram.
    pub last_packet: u64,
    /// Time of its first datagram.
    pub start_ns: u64,
    /// Octets of payload in its largest datagram.
    pub largest_bytes: u32,
    /// Interarrival times.
    pub gaps: Histogram,
    /// Times between transmissions, on the sender's clock.
    pub sent_gaps: Histogram,
    /// Those interarrival times in which datagrams are missing, and those in which none is.
    pub gaps_by_loss: [Histogram; 2],
    /// Number of gaps in the numbering.
    pub gap_count: u64,
    /// The most datagrams missing in one gap.
    pub longest_gap: u64,
    /// The packets after gaps, weighted by the datagrams missing.
    pub loss_gaps_at: Occurrences,
    /// Datagrams by their position in the sender's burst, the last entry for all further ones.
    pub received_by_position: [u64; BURST_POSITIONS],
    /// Gaps by the burst position of the datagram before them.
    pub gaps_by_position: [u64; BURST_POSITIONS],
    /// The packets out of order, weighted by the datagrams that overtook them.
    pub out_of_order_at: Occurrences,
    sink: Sink,
    first_number: u64,
    next_number: u64,
    /// Synchronization source of RTP.
    source: u32,
    /// The number behind one of RTP that is far from the others.
    behind_far: Option<u64>,
    /// Another source of RTP, with its datagrams since the last one of this source.
    other: Option<(u32, u64)>,
    has_ended: bool,
    /// True if its numbers have proved to be a counter: from then on, any of its datagrams may be lost.
    is_counter: bool,
    /// Gaps that last as long as the datagrams take that are missing.
    timed_gaps: u64,
    /// Gaps of no more numbers than ticks of [`SKIP_NS`] passed.
    skippable_gaps: u64,
    first_sent_ns: u64,
    last_sent_ns: u64,
    last_ns: u64,
    /// Burst position of the last datagram, from 0.
    burst_position: usize,
    windows: LossWindows,
}

impl Stream {
    pub(super) fn new(
        tool: Tool,
        header: &DatagramHeader,
        length: u32,
        time_ns: u64,
        packet: u64,
    ) -> Self {
        // Both iperfs count from 1, iperf before 2.1 from 0; unless the start was not captured. Others begin anywhere.
        let first_number = if tool.is_iperf() && header.number < MAX_NUMBER_STEP {
            header.number.min(1)
        } else {
            header.number
        };
        let mut stream = Self {
            tool,
            first_packet: packet,
            last_packet: packet,
            start_ns: time_ns,
            largest_bytes: 0,
            gaps: Histogram::default(),
            sent_gaps: Histogram::default(),
            gaps_by_loss: Default::default(),
            gap_count: 0,
            longest_gap: 0,
            loss_gaps_at: Occurrences::default(),
            received_by_position: [0; BURST_POSITIONS],
            gaps_by_position: [0; BURST_POSITIONS],
            out_of_order_at: Occurrences::default(),
            sink: Sink::new(first_number),
            first_number,
            next_number: header.number,
            source: header.source,
            behind_far: None,
            other: None,
            has_ended: false,
            is_counter: false,
            timed_gaps: 0,
            skippable_gaps: 0,
            first_sent_ns: header.sent_ns,
            last_sent_ns: header.sent_ns,
            last_ns: time_ns,
            burst_position: 0,
            windows: LossWindows::default(),
        };
        stream.add(header, length, time_ns, packet);
        stream
    }

    /// True if enough datagrams match. A counter of data often has the number after the last one; a time, a random number
    /// that grows, and the number of what is acknowledged have not. The header of iperf with one number again and again is another's.
    #[inline]
    pub(super) fn is_confirmed(&self) -> bool {
        let follow = self.gaps_by_loss[1].count() + 1;
        let counts = || {
            self.duplicates() == 0
                && follow * MAX_STEP >= self.datagrams()
                && self.largest_bytes >= MIN_BYTES
        };
        let is_known = if self.tool.is_iperf() {
            // Its clock goes on, unless a program like it leaves the time out.
            self.has_clock() || self.first_sent_ns == 0
        } else {
            self.is_counter || counts()
        };
        self.datagrams().saturating_sub(self.duplicates()) >= MIN_DATAGRAMS && is_known
    }

    /// Notes that it is confirmed.
    pub(super) fn confirm(&mut self) {
        self.is_counter = true;
    }

    /// The number of the next datagram, if it follows the last one.
    #[inline]
    pub(super) fn expected(&self) -> u64 {
        self.next_number
    }

    /// True if a datagram may be the next one: another number nearby, or a duplicate.
    pub(super) fn can_continue(&self, header: &DatagramHeader) -> bool {
        let last = self.next_number.saturating_sub(1);
        if header.source != self.source {
            return false;
        }
        if !self.tool.is_iperf() && header.number == last {
            return false;
        }
        header.number.abs_diff(last) <= MAX_NUMBER_STEP
            && (header.number != last || header.sent_ns == self.last_sent_ns)
    }

    /// What a datagram between the same ports is to it.
    #[inline]
    pub(super) fn place(&mut self, header: &DatagramHeader, time_ns: u64) -> Place {
        if self.tool == Tool::Rtp {
            return self.place_of_rtp(header, time_ns);
        }
        if !header.is_end && header.number <= 1 && self.next_number > 1024 {
            Place::Restart
        } else {
            Place::Within
        }
    }

    fn place_of_rtp(&mut self, header: &DatagramHeader, time_ns: u64) -> Place {
        if header.source != self.source {
            return self.place_of_other(header.source);
        }
        self.other = None;
        let number = header.number;
        let is_ahead = number >= self.next_number.saturating_add(MAX_DROPOUT);
        let is_back = number.saturating_add(MAX_MISORDER) < self.next_number;
        if !is_ahead && !is_back || is_ahead && self.accounts_for(number, time_ns) {
            Place::Within
        } else if self.behind_far.replace(number.saturating_add(1)) == Some(number) {
            Place::Restart
        } else {
            Place::Elsewhere
        }
    }

    /// Another source replaces this one if that is silent meanwhile (RFC 3550 section 8.2); else both send.
    fn place_of_other(&mut self, source: u32) -> Place {
        let before = self.other.filter(|(other, _)| *other == source);
        let count = before.map_or(1, |(_, count)| count + 1);
        self.other = Some((source, count));
        if count > MAX_OF_OTHER {
            Place::Restart
        } else {
            Place::Elsewhere
        }
    }

    /// True if the silence before a datagram is about as long as the datagrams take that are missing: an outage, and no restart.
    fn accounts_for(&self, number: u64, time_ns: u64) -> bool {
        let sent_ns = self.last_ns.saturating_sub(self.start_ns) as f64;
        let sent = (self.next_number - self.first_number).max(1) as f64;
        let missing = number.saturating_sub(self.next_number) as f64;
        let silent_ns = time_ns.saturating_sub(self.last_ns) as f64;
        let expected = silent_ns * sent / sent_ns.max(1.0);
        (expected / 2.0..=expected * 2.0).contains(&missing)
    }

    #[inline]
    pub(super) fn add(&mut self, header: &DatagramHeader, length: u32, time_ns: u64, packet: u64) {
        self.last_packet = packet;
        let number = header.number;
        let now = Instant::from_ns(time_ns);
        if header.is_end {
            // The first end marker counts as a datagram; the others only repeat it until it is answered.
            if !std::mem::replace(&mut self.has_ended, true) {
                self.sink
                    .ended(number, header.sent_ns, length as usize, now, END_INTERVAL);
            }
            return;
        }
        let (began, late) = (self.datagrams() > 0, number < self.next_number);
        let duplicates = self.duplicates();
        self.sink
            .arrived(number, header.sent_ns, length as usize, now);
        if late && self.duplicates() == duplicates {
            self.out_of_order_at
                .record(packet, self.next_number - number);
        }
        if !late {
            if began {
                self.record_in_order(header, time_ns, packet);
            }
            self.received_by_position[self.burst_position.min(BURST_POSITIONS - 1)] += 1;
            self.next_number = number.saturating_add(1);
            self.last_sent_ns = header.sent_ns;
            self.last_ns = time_ns;
        }
        self.largest_bytes = self.largest_bytes.max(length);
    }

    fn record_in_order(&mut self, header: &DatagramHeader, time_ns: u64, packet: u64) {
        let missing = header.number - self.next_number;
        if missing > 0 {
            self.gap_count += 1;
            self.gaps_by_position[self.burst_position.min(BURST_POSITIONS - 1)] += 1;
            self.loss_gaps_at.record(packet, missing);
            self.longest_gap = self.longest_gap.max(missing);
        }
        let gap_ns = time_ns.saturating_sub(self.last_ns);
        if missing > 0 {
            let sent = (self.next_number - 1).saturating_sub(self.first_number);
            let spent_ns = self.last_ns.saturating_sub(self.start_ns) as f64;
            let expected_ns = spent_ns * (missing + 1) as f64 / sent.max(1) as f64;
            let fits = expected_ns / MOST_JITTER..=expected_ns * MOST_JITTER;
            self.timed_gaps += u64::from(fits.contains(&(gap_ns as f64)));
            self.skippable_gaps += u64::from(missing <= gap_ns.div_ceil(SKIP_NS));
        }
        self.gaps.add(gap_ns);
        self.gaps_by_loss[usize::from(missing == 0)].add(gap_ns);
        self.windows.record(header.number, missing);
        let (since_ns, span_ns) = if self.has_clock() {
            let since_ns = header.sent_ns.saturating_sub(self.last_sent_ns);
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
        self.burst_position = if in_burst {
            self.burst_position
                .saturating_add(missing as usize)
                .saturating_add(1)
        } else {
            0
        };
    }

    /// True if the datagrams have timestamps.
    fn has_clock(&self) -> bool {
        self.last_sent_ns > self.first_sent_ns
    }

    /// Datagrams that arrived, duplicates included.
    #[inline]
    pub fn datagrams(&self) -> u64 {
        self.sink.sequence.received()
    }

    /// Datagrams sent, derived from the received numbers.
    pub fn sent(&self) -> u64 {
        self.sink.sequence.sent()
    }

    /// Datagrams sent that did not arrive.
    pub fn lost(&self) -> u64 {
        self.sink.sequence.lost(None)
    }

    /// True if a host that skips identifications by chance may have left these gaps: Linux advances its counter by up to one for each tick
    /// since the packet before (`ip_idents_reserve`; at most 1,000 ticks a second).
    pub fn may_skip(&self) -> bool {
        self.skippable_gaps * 10 >= self.gap_count * 9
    }

    /// Datagrams that arrived after later ones.
    pub fn out_of_order(&self) -> u64 {
        self.sink.sequence.out_of_order() + self.sink.sequence.stale()
    }

    /// Duplicate datagrams.
    pub fn duplicates(&self) -> u64 {
        self.sink.sequence.duplicates()
    }

    /// Octets of payload that arrived.
    pub fn payload_bytes(&self) -> u64 {
        self.sink.octets
    }

    /// Time from the first arrival to the last.
    pub fn duration(&self) -> Duration {
        self.sink.span()
    }

    /// True if the numbers that are missing took their time: the stream is even, and where some are missing, nothing came for as long as
    /// they take. Numbers that were used for something else, or chosen at random, are skipped at once.
    pub fn gaps_take_time(&self) -> bool {
        let [with_gap, without] = &self.gaps_by_loss;
        let at = |part: f64| without.percentile(part).map_or(0.0, |ns| ns as f64);
        let is_even = at(75.0) <= MOST_JITTER * at(25.0);
        let is_longer =
            with_gap.percentile(50.0).map_or(0.0, |ns| ns as f64) >= MOST_JITTER * at(50.0);
        is_even && is_longer && self.gap_count > 0 && self.timed_gaps * 4 >= self.gap_count * 3
    }

    /// Interarrival jitter (RFC 3550 section 6.4.1) at the end; `None` without timestamps.
    pub fn jitter_ns(&self) -> Option<u64> {
        self.has_clock().then(|| self.sink.jitter.ns())
    }

    /// Variance of the losses in relation to that of losses by chance: near 0 if a fixed share is lost. `None` if
    /// there are too few datagrams after the first loss.
    pub fn loss_dispersion(&self) -> Option<f64> {
        self.windows.dispersion()
    }

    /// True if losses are in bursts: gaps longer than by chance, or much more frequent after the first position of a
    /// burst.
    pub fn loses_in_bursts(&self) -> bool {
        if self.gap_count < MIN_GAPS {
            return false;
        }
        let hole = self.lost() as f64 / self.gap_count as f64;
        let by_chance = 1.0 / (1.0 - stats::ratio(self.lost() as f64, self.sent() as f64));
        let rate = |places: std::ops::Range<usize>| {
            let sum = |of: &[u64; BURST_POSITIONS]| of[places.clone()].iter().sum::<u64>() as f64;
            stats::ratio(sum(&self.gaps_by_position), sum(&self.received_by_position))
        };
        let behind: u64 = self.gaps_by_position[1..].iter().sum();
        hole >= MIN_GAP_LENGTH_RATIO * by_chance
            || behind >= MIN_GAPS && rate(1..BURST_POSITIONS) >= MIN_BURST_LOSS_RATIO * rate(0..1)
    }
}
