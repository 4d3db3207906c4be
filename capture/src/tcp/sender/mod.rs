//! One direction of a connection: what its sender sends, and what comes back for it.
//!
//! | module | what a person finds there |
//! |---|---|
//! | `figures` | what is counted |
//! | `retransmission` | what is sent again, and why |
//! | `acknowledgment` | what comes back: acknowledgments and windows |
//! | `round_trip` | how long that takes |

mod acknowledgment;
mod figures;
mod retransmission;
mod round_trip;

use super::outstanding::{Outstanding, Piece};
use super::segment::{Segment, before};
use retransmission::Mending;
use round_trip::{Alone, RoundTrip};

pub(super) use acknowledgment::Heard;
pub use figures::{AHEAD, DELAYS, FIRST_DELAY_NS, Figures, POSITIONS};
pub use retransmission::Again;
pub(super) use retransmission::Mends;

/// Segments of one burst follow each other at most this far apart.
const WITHIN_BURST_NS: u64 = 500_000;
/// What is answered sooner was asked for by what came just before; a timer is slower.
const PROMPT_NS: u64 = 1_500_000;
/// A full frame at 10 Mbit/s takes no longer.
const SLOW_WIRE_NS: u64 = 1_300_000;
/// A shorter silence is not worth counting.
const SILENCE_NS: u64 = 1_000_000;

/// What a packet did for its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Nothing that takes sequence space.
    Bare,
    /// Something new.
    New,
    /// A part that others had overtaken.
    Overtaken,
    /// Something again.
    Again(Again),
}

/// What is known of how far a sender is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Nothing,
    /// What was acknowledged.
    Acked,
    /// And what was sent.
    Sent,
}

/// One direction of a connection.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    pub(super) figures: Figures,
    outstanding: Outstanding,
    /// Behind the highest octet sent; the same as `acked` until one is.
    high: u32,
    /// Behind the last octet of payload.
    payload_end: Option<u32>,
    /// Behind the highest octet acknowledged; the first one sent until one is.
    acked: u32,
    /// Which of the two is known.
    known: Known,
    /// The last acknowledgment as it came, for repetitions of it.
    last_ack: Option<(u32, u16)>,
    /// Where the window ends that the other end grants.
    edge: Option<u32>,
    /// Largest segment that the other end takes, if its SYN was captured.
    mss: Option<u16>,
    /// Octets of a full segment: what the other end takes, or the largest that was sent.
    pub(super) segment_size: u32,
    /// Shift of this end's own windows.
    pub(super) shift: Option<u8>,
    pub(super) permits_sack: bool,
    pub(super) syn_seen: bool,
    pub(super) fin_sent: bool,
    duplicates: u32,
    /// The other end answered to what is outstanding and did not acknowledge it: some of that has arrived.
    answered: bool,
    sacked: u32,
    mending: Mending,
    step: u8,
    position: u8,
    /// Whether what it sends now comes right behind another packet of it.
    close: bool,
    /// How long before what it sends now that was.
    gap_ns: u64,
    last_packet_ns: u64,
    last_sent_ns: u64,
    last_heard_ns: u64,
    waiting_since_ns: u64,
    round_trip: RoundTrip,
    /// A small segment's acknowledgment came late, just now: if a segment follows at once, it waited for it.
    late_ack: Option<(u64, u64)>,
    last_was_small: bool,
    /// The shortest time between two of the largest segments that did not wait for each other's acknowledgments: what
    /// the path takes, or nothing.
    least_gap_ns: u64,
    last_was_largest: bool,
    alone: Alone,
}

impl Default for Sender {
    fn default() -> Self {
        Self {
            figures: Figures::default(),
            outstanding: Outstanding::default(),
            high: 0,
            payload_end: None,
            acked: 0,
            known: Known::Nothing,
            last_ack: None,
            edge: None,
            mss: None,
            segment_size: 1,
            shift: None,
            permits_sack: false,
            syn_seen: false,
            fin_sent: false,
            duplicates: 0,
            answered: false,
            sacked: 0,
            mending: Mending::Nothing,
            step: 0,
            position: 0,
            close: false,
            gap_ns: 0,
            last_packet_ns: 0,
            last_sent_ns: 0,
            last_heard_ns: 0,
            waiting_since_ns: 0,
            round_trip: RoundTrip::default(),
            late_ack: None,
            last_was_small: false,
            least_gap_ns: u64::MAX,
            last_was_largest: false,
            alone: Alone::None,
        }
    }
}

impl Sender {
    /// Octets sent and not acknowledged.
    #[inline]
    pub(super) fn in_flight(&self) -> u32 {
        if before(self.acked, self.high) {
            self.high.wrapping_sub(self.acked)
        } else {
            0
        }
    }

    /// Behind what was acknowledged, and behind the window that was granted.
    pub(super) fn reach(&self) -> Option<(u32, u32)> {
        let edge = self.edge.filter(|_| self.known != Known::Nothing)?;
        Some((self.acked, edge))
    }

    #[inline]
    pub(super) fn waits(&self) -> bool {
        !self.outstanding.is_empty()
    }

    /// Whether another full segment would not fit the window.
    #[inline]
    pub(super) fn is_window_full(&self) -> bool {
        let end = self.high.wrapping_add(self.segment_size);
        self.known == Known::Sent && self.edge.is_some_and(|edge| before(edge, end))
    }

    fn sizes_segments(&mut self) {
        let largest = self.figures.largest_segment.max(1);
        // With timestamps in each segment there is less room than the handshake says.
        self.segment_size = self.mss.map_or(largest, |mss| u32::from(mss).min(largest));
    }

    /// Largest segment that the other end takes, if its SYN was captured.
    pub(super) fn mss(&self) -> Option<u16> {
        self.mss
    }

    /// The other end's SYN says the largest segment that it takes, or does not.
    pub(super) fn may_send(&mut self, mss: Option<u16>) {
        self.mss = mss;
        self.sizes_segments();
    }

    /// Whether its last new segment was less than a full one.
    pub(super) fn last_was_small(&self) -> bool {
        self.last_was_small
    }

    /// The shortest time between two of its largest segments, the second sent before the first was acknowledged.
    pub(super) fn least_gap_ns(&self) -> u64 {
        self.least_gap_ns
    }

    /// When it last sent something that takes sequence space.
    pub(super) fn last_sent_ns(&self) -> u64 {
        self.last_sent_ns
    }

    /// Whether an acknowledgment was to be expected sooner than so long behind what was sent last.
    #[inline]
    pub(super) fn is_overdue(&self, ns: u64) -> bool {
        self.round_trip.is_overdue(ns)
    }

    /// Whether anything had to be sent again.
    pub(super) fn has_lost(&self) -> bool {
        self.figures.retransmitted > self.figures.spurious
    }

    /// Takes note of a packet that the sender sent.
    #[inline]
    pub(super) fn sends(&mut self, segment: &Segment<'_>, time_ns: u64, number: u64) -> Sent {
        self.figures.packets += 1;
        self.gap_ns = time_ns.saturating_sub(std::mem::replace(&mut self.last_packet_ns, time_ns));
        if segment.any(Segment::RST) {
            self.figures.resets += 1;
            return Sent::Bare;
        }
        let (seq, end) = (segment.seq, segment.end());
        if seq == end {
            if self.known == Known::Sent && seq == self.high.wrapping_sub(1) {
                self.figures.keep_alives += 1;
            }
            return Sent::Bare;
        }
        if segment.len > 0 || segment.any(Segment::FIN) {
            self.figures.segments += 1;
            self.figures.payload_bytes += u64::from(segment.len);
        }
        self.fin_sent |= segment.any(Segment::FIN);
        if self.known != Known::Sent {
            self.begins(seq);
        }
        let high = self.high;
        let sent = if before(seq, high) {
            // One octet before the next asks whether the other end is there.
            if segment.len == 1 && seq == high.wrapping_sub(1) && !self.waits() {
                self.figures.keep_alives += 1;
                return Sent::Bare;
            }
            self.repeats(segment, high, time_ns, number)
        } else {
            if seq != high {
                self.skips(high, seq, time_ns);
            }
            Sent::New
        };
        if before(high, end) {
            let from = if before(seq, high) { high } else { seq };
            self.advances(segment, from, time_ns, number);
        }
        if segment.len > 0 {
            self.alone = match self.alone {
                Alone::None => Alone::One {
                    end,
                    sent_ns: time_ns,
                },
                _ => Alone::Several,
            };
        }
        self.last_sent_ns = time_ns;
        sent
    }

    #[cold]
    fn begins(&mut self, seq: u32) {
        self.high = seq;
        if self.known == Known::Nothing {
            self.acked = seq;
        }
        self.known = Known::Sent;
    }

    /// Sends something new, from `seq` on.
    #[inline]
    fn advances(&mut self, segment: &Segment<'_>, seq: u32, time_ns: u64, number: u64) {
        let end = segment.end();
        let mut ahead = self.ahead();
        if segment.len > 0 {
            self.keeps_time(segment, time_ns);
            self.figures.sent_behind[usize::from(ahead)] += 1;
            self.begin_or_continue_burst(time_ns);
            self.figures.sent_at[usize::from(self.position)] += 1;
            self.figures.spacing.sent(self.close);
            let controls =
                u32::from(segment.any(Segment::SYN)) + u32::from(segment.any(Segment::FIN));
            self.figures.unique_bytes += u64::from(end.wrapping_sub(seq).saturating_sub(controls));
            self.payload_end = Some(end.wrapping_sub(u32::from(segment.any(Segment::FIN))));
            // Where no full one was sent, the largest is no measure.
            let half = self.mss.map_or(0, |mss| u32::from(mss) / 2);
            self.last_was_small = segment.len < self.segment_size.max(half);
            if segment.len > self.figures.largest_segment {
                self.figures.largest_segment = segment.len;
                self.sizes_segments();
                ahead = self.ahead();
                self.least_gap_ns = u64::MAX;
            } else if segment.len == self.figures.largest_segment
                && self.last_was_largest
                && self.waits()
            {
                let gap_ns = time_ns.saturating_sub(self.last_sent_ns);
                self.least_gap_ns = self.least_gap_ns.min(gap_ns);
            }
            self.last_was_largest = segment.len == self.figures.largest_segment;
            self.figures.super_segments +=
                u64::from(self.mss.is_some_and(|mss| segment.len > u32::from(mss)));
            if self.edge == Some(end) {
                self.figures.window_full += 1;
            }
            if let Some((late_ns, at_ns)) = self.late_ack {
                self.late_ack = None;
                if time_ns.saturating_sub(at_ns) < PROMPT_NS {
                    self.figures.held_back += 1;
                    self.figures.held_back_ns += late_ns;
                    self.figures.held.note(number, late_ns);
                }
            }
        }
        if self.outstanding.is_empty() {
            self.waiting_since_ns = time_ns;
        }
        self.is_outstanding((seq, end), 1, ahead, time_ns);
        self.high = end;
        self.figures.most_in_flight = self.figures.most_in_flight.max(self.in_flight());
    }

    /// How many full segments are outstanding, as [`Figures::sent_behind`] counts.
    #[inline]
    fn ahead(&self) -> u8 {
        (self.in_flight() / self.segment_size.max(1)).min(AHEAD as u32 - 1) as u8
    }

    /// The rhythm in which it sends.
    #[inline]
    fn keeps_time(&mut self, segment: &Segment<'_>, time_ns: u64) {
        if self.waits() {
            let full = self.mss.map_or(self.segment_size, u32::from);
            self.figures.small_behind += u64::from(segment.len < full / 2);
        } else if self.payload_end.is_some() {
            let gap_ns = time_ns.saturating_sub(self.last_sent_ns);
            if gap_ns >= SILENCE_NS {
                self.figures.send_gaps.add(gap_ns);
            }
        }
    }

    /// Something between `from` and `until` was not captured, or not yet.
    fn skips(&mut self, from: u32, until: u32, time_ns: u64) {
        if self.outstanding.is_empty() {
            self.waiting_since_ns = time_ns;
        }
        self.is_outstanding((from, until), 0, self.ahead(), time_ns);
        self.high = until;
    }

    #[inline]
    fn is_outstanding(&mut self, (seq, end): (u32, u32), times: u8, ahead: u8, time_ns: u64) {
        let piece = Piece {
            seq,
            end,
            first_ns: time_ns,
            last_ns: time_ns,
            times,
            position: self.position,
            ahead,
            close: self.close,
            sacked: false,
        };
        self.outstanding.push(piece, self.last_ack.is_some());
    }

    #[inline]
    fn begin_or_continue_burst(&mut self, time_ns: u64) {
        let (least_rtt_ns, least_gap_ns) = (self.figures.rtt.min(), self.least_gap_ns);
        let within_burst = |ns: u64| {
            ns < WITHIN_BURST_NS
                || ns < least_rtt_ns.unwrap_or(0) / 4
                // On a slow wire the frames themselves take longer.
                || least_gap_ns <= SLOW_WIRE_NS && ns < least_gap_ns + least_gap_ns / 4
        };
        self.close = within_burst(self.gap_ns);
        self.position = if within_burst(time_ns.saturating_sub(self.last_sent_ns)) {
            (self.position + 1).min(POSITIONS as u8 - 1)
        } else {
            0
        };
    }
}
