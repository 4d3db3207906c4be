//! What is sent again, and why.

use super::figures::{DELAYS, FIRST_DELAY_NS};
use super::{PROMPT_NS, Sender, Sent};
use crate::tcp::outstanding::Piece;
use crate::tcp::segment::{Segment, before};

/// What fills a gap sooner than this was overtaken on its way, not sent again.
const OVERTAKEN_NS: u64 = 3_000_000;

/// Why a segment was sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// The last one, to provoke an acknowledgment (RFC 8985 section 7).
    TailLossProbe,
    /// Acknowledgments of later segments asked for it (RFC 5681 section 3.2, RFC 6675).
    Fast,
    /// The retransmission timer ran out (RFC 6298), for the n-th time in a row.
    TimeOut {
        /// 1 for the first time, 2 when it had doubled once.
        step: u8,
    },
    /// More of what was lost, behind a fast one or a time-out.
    Recovery,
    /// It had been acknowledged before.
    Spurious,
}

/// How a sender gets over a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mending {
    Nothing,
    Fast { until: u32 },
    TimeOut { until: u32 },
}

/// How a sender gets over a loss, without how far it has to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::tcp) enum Mends {
    Nothing,
    Requested,
    TimeOut,
}

impl Sender {
    /// How it gets over a loss, if it does.
    pub(in crate::tcp) fn mends(&self) -> Mends {
        match self.mending {
            Mending::Nothing => Mends::Nothing,
            Mending::Fast { .. } => Mends::Requested,
            Mending::TimeOut { .. } => Mends::TimeOut,
        }
    }

    /// Sends what it sent before, or what was not captured.
    pub(super) fn repeats(
        &mut self,
        segment: &Segment<'_>,
        high: u32,
        time_ns: u64,
        number: u64,
    ) -> Sent {
        let (seq, end) = (segment.seq, segment.end());
        if !before(self.acked, end) {
            self.figures.spurious += 1;
            self.counts_again(segment, None);
            return Sent::Again(Again::Spurious);
        }
        let mut oldest: Option<Piece> = None;
        for piece in self.outstanding.within(seq, end) {
            oldest.get_or_insert(*piece);
        }
        let Some(before_this) = oldest else {
            return Sent::Bare;
        };
        let delay_ns = time_ns.saturating_sub(before_this.last_ns);
        if before_this.times == 0 {
            let asked_for = self.duplicates >= 3;
            if !asked_for && delay_ns < OVERTAKEN_NS.max(self.round_trip.smooth_ns / 2) {
                self.figures.out_of_order += 1;
                self.figures.overtaken.note(number, delay_ns);
                self.figures.unique_bytes += u64::from(segment.len.min(high.wrapping_sub(seq)));
                self.resent(seq, end, time_ns);
                return Sent::Overtaken;
            }
            self.figures.unique_bytes += u64::from(segment.len.min(high.wrapping_sub(seq)));
            self.figures.lost_before += 1;
        }
        let again = self.reason(seq, end, high, &before_this, delay_ns, time_ns);
        match again {
            Again::TailLossProbe => {
                self.figures.tail_loss_probes += 1;
                self.figures.probe_delays.add(delay_ns);
            }
            Again::Fast => {
                self.figures.fast += 1;
                self.mending = Mending::Fast { until: high };
            }
            Again::TimeOut { step } => {
                self.figures.time_outs += 1;
                self.step = step;
                self.figures.most_back_off = self.figures.most_back_off.max(step);
                self.mending = Mending::TimeOut { until: high };
            }
            Again::Recovery => self.figures.recoveries += 1,
            Again::Spurious => self.figures.spurious += 1,
        }
        if again != Again::Spurious {
            self.figures.first_again = match self.figures.first_again {
                0 => number,
                first => first,
            };
            self.figures.last_again = number;
            if segment.len > 0 && before_this.times == 1 {
                self.figures.lost_at[usize::from(before_this.position)] += 1;
                self.figures.lost_behind[usize::from(before_this.ahead)] += 1;
            }
        }
        self.counts_again(
            segment,
            (before_this.times > 0 && segment.len > 0).then_some(delay_ns),
        );
        self.begin_or_continue_burst(time_ns);
        if again != Again::Spurious && segment.len > 0 {
            if before_this.times > 0 {
                self.figures.spacing.lost(before_this.close);
            }
            self.figures.spacing.sent(self.close);
        }
        self.resent(seq, end, time_ns);
        Sent::Again(again)
    }

    fn counts_again(&mut self, segment: &Segment<'_>, delay_ns: Option<u64>) {
        self.figures.retransmitted += 1;
        self.figures.retransmitted_bytes += u64::from(segment.len);
        if let Some(delay_ns) = delay_ns {
            let doublings = (delay_ns / FIRST_DELAY_NS)
                .checked_ilog2()
                .map_or(0, |log| log + 1);
            self.figures.delays[(doublings as usize).min(DELAYS - 1)] += 1;
        }
    }

    fn resent(&mut self, seq: u32, end: u32, time_ns: u64) {
        let (position, close) = (self.position, self.close);
        for piece in self.outstanding.within(seq, end) {
            piece.times = piece.times.saturating_add(1);
            piece.last_ns = time_ns;
            piece.position = position;
            piece.close = close;
        }
    }

    fn reason(
        &self,
        seq: u32,
        end: u32,
        high: u32,
        piece: &Piece,
        delay_ns: u64,
        time_ns: u64,
    ) -> Again {
        if piece.sacked {
            return Again::Spurious;
        }
        let quiet_ns = time_ns.saturating_sub(self.last_sent_ns.max(self.last_heard_ns));
        let prompted =
            quiet_ns < PROMPT_NS.max(self.round_trip.smooth_ns + self.round_trip.smooth_ns / 4);
        let first = self.acked == seq;
        let asked_for = self.duplicates >= 3 || self.sacked > 0;
        match self.mending {
            _ if prompted && asked_for && self.mending == Mending::Nothing => Again::Fast,
            Mending::Fast { .. } | Mending::TimeOut { .. } if prompted => Again::Recovery,
            _ if end == high && piece.times == 1 && delay_ns < self.round_trip.time_out_ns() => {
                Again::TailLossProbe
            }
            _ if first || !prompted => Again::TimeOut {
                step: self.step.saturating_add(1),
            },
            _ => Again::Recovery,
        }
    }
}
