//! What comes back: acknowledgments, windows, and what they tell of round trips.

use super::retransmission::Mending;
use super::round_trip::Alone;
use super::{Known, Sender};
use crate::tcp::segment::{Segment, before, until};

/// An acknowledgment later than this was held back (RFC 9293 section 3.8.6.3 allows 500 ms).
const HELD_BACK_NS: u64 = 30_000_000;

/// What an acknowledgment did for the sender that it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::tcp) struct Heard {
    /// It acknowledged something new.
    pub(in crate::tcp) advanced: bool,
    /// How long the last whole segment of that had been on its way, if it was sent once.
    pub(in crate::tcp) rtt_ns: Option<u64>,
    /// What was sent again had arrived before: selective acknowledgments say so (RFC 2883), or nothing asked for
    /// it although what lay behind it had arrived.
    pub(in crate::tcp) had_arrived: bool,
}

impl Sender {
    /// Takes note of a packet that came from the other end, whose windows are shifted by `shift`.
    #[inline]
    pub(in crate::tcp) fn hears(
        &mut self,
        segment: &Segment<'_>,
        shift: u8,
        time_ns: u64,
        number: u64,
    ) -> Heard {
        let mut heard = Heard::default();
        if !segment.any(Segment::ACK) || segment.any(Segment::RST) {
            return heard;
        }
        let (ack, sack) = (segment.ack, segment.sack());
        if self.known == Known::Nothing || before(self.acked, ack) {
            let first_block = sack.blocks().next();
            heard.had_arrived = first_block.is_some_and(|(_, right)| until(right, ack));
            self.advance(ack, time_ns, number, &mut heard);
        } else if self.acked == ack && segment.is_bare() {
            self.answered |= self.waits();
            if let Some((last, window)) = self.last_ack
                && last == ack
            {
                if window != segment.window {
                    self.figures.window_updates += 1;
                } else if self.waits() {
                    self.figures.duplicate_acks += 1;
                    self.duplicates += 1;
                }
            }
        }
        if !sack.is_empty() {
            self.figures.selective_acks += 1;
            for (left, right) in sack.blocks() {
                if self.outstanding.sack(left, right) {
                    self.sacked += 1;
                }
            }
        }
        if !segment.is_bare() {
            // It came with an answer, and waited for that.
            self.late_ack = None;
        }
        self.is_granted(segment, ack, shift);
        self.alone = Alone::None;
        self.last_ack = Some((ack, segment.window));
        self.last_heard_ns = time_ns;
        heard
    }

    #[inline]
    fn advance(&mut self, ack: u32, time_ns: u64, number: u64, heard: &mut Heard) {
        heard.advanced = true;
        let waited = self.waits();
        if self.known != Known::Sent {
            self.known = Known::Acked;
            self.high = ack;
        } else if before(self.high, ack) {
            let unseen = u64::from(ack.wrapping_sub(self.high));
            self.figures.unseen_bytes += unseen;
            self.figures.unseen.note(number, unseen);
            self.high = ack;
        }
        let acknowledged = self.outstanding.acknowledge(ack);
        self.figures.unseen_bytes += u64::from(acknowledged.unseen);
        heard.had_arrived |= acknowledged.behind_again && !self.answered;
        if let Some(sent_ns) = acknowledged.sent_ns {
            let asked_for = self.duplicates > 0 || self.sacked > 0;
            let by_itself = asked_for && self.mending == Mending::Nothing;
            self.figures.overtaken_behind += u64::from(by_itself);
            let rtt_ns = time_ns.saturating_sub(sent_ns);
            heard.rtt_ns = Some(rtt_ns);
            self.figures.rtt.add(rtt_ns);
            self.round_trip.add(rtt_ns);
            self.step = 0;
            let late = rtt_ns >= HELD_BACK_NS.max(3 * self.figures.rtt.min().unwrap_or(0));
            self.late_ack =
                (late && self.last_was_small && !self.waits()).then_some((rtt_ns, time_ns));
        }
        if let Alone::One { end, sent_ns } = self.alone
            && until(end, ack)
        {
            self.figures
                .isolated_rtt
                .add(time_ns.saturating_sub(sent_ns));
        }
        if waited {
            let stall_ns = time_ns.saturating_sub(self.waiting_since_ns);
            if stall_ns > self.figures.longest_stall_ns {
                self.figures.longest_stall_ns = stall_ns;
                self.figures.longest_stall_start_ns = self.waiting_since_ns;
            }
        }
        if self.payload_end.is_some_and(|end| before(self.acked, end)) {
            self.figures.last_acked_ns = time_ns;
        }
        self.waiting_since_ns = time_ns;
        self.acked = ack;
        self.duplicates = 0;
        self.answered = false;
        self.sacked = 0;
        if let Mending::Fast { until: goal } | Mending::TimeOut { until: goal } = self.mending
            && until(goal, ack)
        {
            self.mending = Mending::Nothing;
        }
    }

    #[inline]
    fn is_granted(&mut self, segment: &Segment<'_>, ack: u32, shift: u8) {
        let opens = segment.any(Segment::SYN);
        let window = u32::from(segment.window) << if opens { 0 } else { shift };
        self.edge = Some(ack.wrapping_add(window));
        self.figures.most_window = self.figures.most_window.max(window);
        if opens {
            return;
        }
        if self.figures.least_window.is_none_or(|least| window < least) {
            self.figures.least_window = Some(window);
        }
        if window == 0 && !segment.any(Segment::FIN) {
            self.figures.zero_windows += 1;
        } else if window < self.segment_size && self.figures.segments > 0 {
            self.figures.small_windows += 1;
        }
    }
}
