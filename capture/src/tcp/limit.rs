//! Attribution of a connection's time: each interval between two of its packets belongs to one [`Limit`], so the shares
//! add up to the time of the connection.

use serde::{Serialize, Serializer};

use super::occurrences::Occurrences;
use super::sender::{AckOutcome, RecoveryKind, RetransmitReason, SendClass, Sender};
use super::timeline::{LimitSpan, Timeline};

/// Limit of a connection's speed during an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Opening the connection.
    Handshake,
    /// The sender was still increasing its congestion window (RFC 5681 section 3.1).
    SlowStart,
    /// The receiver's window was full.
    ReceiveWindow,
    /// The congestion window was full, though the receiver would have accepted more.
    CongestionWindow,
    /// The sending program had no data, or did not send it.
    SenderApplication,
    /// The receiver acknowledged later than the path accounts for.
    ReceiverProcessing,
    /// Fast recovery of back-to-back losses: the receiver was overrun.
    LossInBursts,
    /// Fast recovery of losses at any position.
    RandomLoss,
    /// Waiting for the sender's retransmission timer.
    RtoStall,
    /// Acknowledgments were late or lost while much data was in flight, though no data was lost.
    AckStarvation,
    /// Segments followed each other at the rate of the path.
    PathRate,
    /// After the last payload.
    Tail,
}

impl Limit {
    /// All limits.
    pub const ALL: [Self; 12] = [
        Self::Handshake,
        Self::SlowStart,
        Self::ReceiveWindow,
        Self::CongestionWindow,
        Self::SenderApplication,
        Self::ReceiverProcessing,
        Self::LossInBursts,
        Self::RandomLoss,
        Self::RtoStall,
        Self::AckStarvation,
        Self::PathRate,
        Self::Tail,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Handshake => "handshake",
            Self::SlowStart => "slow_start",
            Self::ReceiveWindow => "receive_window",
            Self::CongestionWindow => "congestion_window",
            Self::SenderApplication => "sender_application",
            Self::ReceiverProcessing => "receiver_processing",
            Self::LossInBursts => "loss_in_bursts",
            Self::RandomLoss => "random_loss",
            Self::RtoStall => "time_out_stall",
            Self::AckStarvation => "ack_starvation",
            Self::PathRate => "path_rate",
            Self::Tail => "tail",
        }
    }
}

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Nanoseconds by [`Limit`].
pub type Shares = [u64; Limit::ALL.len()];

/// Segments closer together than this were sent at once.
const BACK_TO_BACK_NS: u64 = 500_000;
/// Longest serialization time of a full segment on a path worth explaining: 1 Mbit/s.
const SLOWEST_PATH_NS: u64 = 13_000_000;
/// An acknowledgment was late if it took more than 1 / this longer than the shortest round trip.
const LATE_DIVISOR: u64 = 4;

/// Candidate limits of the interval before a packet, from the state of the payload's sender before it; the effect of
/// the packet selects one.
#[derive(Clone, Copy, Debug)]
pub(super) enum IntervalCause {
    /// The sender sends the packet.
    Sent {
        /// If it is new data.
        new_data: Limit,
        /// If it carries no data.
        no_data: Limit,
    },
    /// The receiver sends the packet.
    Received {
        /// If it acknowledges new data.
        base: Limit,
        /// For the part by which that is late.
        late: Limit,
        /// A round trip up to this is not late.
        on_time_ns: u64,
        /// If it acknowledges nothing new.
        no_new_ack: Limit,
    },
}

impl IntervalCause {
    /// Candidates before a packet of `sender` at `time_ns`, `ns` after the previous packet. `far_rtt_ns` is the round
    /// trip between the capture point and the sender, if that is farther away than the receiver.
    #[inline]
    pub(super) fn before_sent(sender: &Sender, time_ns: u64, ns: u64, far_rtt_ns: u64) -> Self {
        let gap_ns = sender.min_gap_ns();
        // Segments no farther apart than this follow each other at the rate of the path.
        let back_to_back = || {
            ns < BACK_TO_BACK_NS || gap_ns <= SLOWEST_PATH_NS && ns < gap_ns + gap_ns / LATE_DIVISOR
        };
        let waiting = wait_limit(sender, is_path_busy(sender, time_ns));
        let new_data = match waiting {
            Limit::RandomLoss | Limit::RtoStall | Limit::ReceiveWindow => waiting,
            _ if sender.has_unacked() && back_to_back() => Limit::PathRate,
            // Acknowledgments are still on their way to the sender, or its segments on their way to the capture point.
            _ if ns <= far_rtt_ns + far_rtt_ns / LATE_DIVISOR => Limit::CongestionWindow,
            _ => Limit::SenderApplication,
        };
        let no_data = idle_limit(sender, waiting);
        Self::Sent { new_data, no_data }
    }

    /// Candidates before a packet to `sender` at `time_ns`, `ns` after the previous packet.
    #[inline]
    pub(super) fn before_received(sender: &Sender, time_ns: u64, ns: u64) -> Self {
        let busy = is_path_busy(sender, time_ns);
        let waiting = wait_limit(sender, busy);
        let min_rtt_ns = sender.stats.rtt.min().filter(|_| !busy);
        Self::Received {
            base: waiting,
            late: if sender.in_flight() <= 2 * sender.segment_size {
                Limit::ReceiverProcessing
            } else if sender.is_overdue(ns) {
                Limit::AckStarvation
            } else if sender.is_window_full() {
                Limit::ReceiveWindow
            } else {
                Limit::PathRate
            },
            on_time_ns: min_rtt_ns.map_or(u64::MAX, |min_ns| min_ns + min_ns / LATE_DIVISOR),
            no_new_ack: idle_limit(sender, waiting),
        }
    }
}

/// True if the path may still be busy with the last segment: the next one could hardly have arrived yet.
#[inline]
fn is_path_busy(sender: &Sender, time_ns: u64) -> bool {
    let gap_ns = sender.min_gap_ns();
    let since_ns = time_ns.saturating_sub(sender.last_sent_ns());
    gap_ns <= SLOWEST_PATH_NS && since_ns <= gap_ns + gap_ns / LATE_DIVISOR
}

/// Limit while the sender waits for an acknowledgment.
#[inline]
fn wait_limit(sender: &Sender, busy: bool) -> Limit {
    let is_growing = || sender.in_flight() >= sender.stats.max_in_flight && !sender.has_lost();
    match sender.recovery_kind() {
        RecoveryKind::Fast => Limit::RandomLoss,
        RecoveryKind::Rto => Limit::RtoStall,
        RecoveryKind::None if sender.is_window_full() => Limit::ReceiveWindow,
        RecoveryKind::None if busy => Limit::PathRate,
        // A small segment was the last data available.
        RecoveryKind::None if sender.last_was_small() => Limit::SenderApplication,
        RecoveryKind::None if is_growing() => Limit::SlowStart,
        RecoveryKind::None => Limit::CongestionWindow,
    }
}

/// Limit while nothing moves; `waiting` is the one of a sender with unacknowledged data.
#[inline]
fn idle_limit(sender: &Sender, waiting: Limit) -> Limit {
    if sender.has_unacked() {
        waiting
    } else if sender.is_window_full() {
        Limit::ReceiveWindow
    } else {
        Limit::Tail
    }
}

/// Attribution so far. The kind of loss is known only at the end, from all losses: until then it is
/// [`Limit::RandomLoss`].
#[derive(Clone, Debug, Default)]
pub(super) struct Attribution {
    timeline: Timeline,
    /// Intervals since the last progress: an RTO takes them all. [`Limit::Tail`] is the time since everything was
    /// acknowledged: it becomes the sender's if more data follows.
    pending: Vec<Interval>,
    occurrences: [Occurrences; Limit::ALL.len()],
}

/// An interval that ended with a packet.
#[derive(Clone, Copy, Debug)]
struct Interval {
    limit: Limit,
    ns: u64,
    packet: u64,
}

/// Pending intervals that are kept apart; further ones are merged with one of the same limit.
const MAX_PENDING: usize = 32;

impl Attribution {
    /// Nanoseconds by limit, at the end of the connection.
    pub(super) fn shares(&self, in_bursts: bool) -> Shares {
        let mut shares = self.timeline.shares();
        for interval in &self.pending {
            shares[interval.limit as usize] += interval.ns;
        }
        if in_bursts {
            shares.swap(Limit::LossInBursts as usize, Limit::RandomLoss as usize);
        }
        shares
    }

    /// The same in chronological order from `start_ns` on, and the time below which spans were merged.
    pub(super) fn spans(&self, start_ns: u64, in_bursts: bool) -> (Vec<LimitSpan>, u64) {
        let mut timeline = self.timeline.clone();
        for interval in &self.pending {
            timeline.push(interval.limit, interval.ns);
        }
        let mut spans = timeline.spans(start_ns);
        for span in spans.iter_mut().filter(|_| in_bursts) {
            if span.limit == Limit::RandomLoss {
                span.limit = Limit::LossInBursts;
            }
        }
        (spans, timeline.grain_ns())
    }

    /// The packets that ended time of `limit`.
    pub(super) fn occurrences(&self, limit: Limit, in_bursts: bool) -> Occurrences {
        let limit = match limit {
            Limit::LossInBursts if in_bursts => Limit::RandomLoss,
            Limit::RandomLoss if in_bursts => Limit::LossInBursts,
            limit => limit,
        };
        let mut occurrences = self.occurrences[limit as usize];
        for interval in self
            .pending
            .iter()
            .filter(|interval| interval.limit == limit)
        {
            occurrences.record(interval.packet, interval.ns);
        }
        occurrences
    }

    /// Attributes the `ns` before packet number `packet` while the connection is not open yet. `retransmitted` if the
    /// data sender retransmitted it.
    #[cold]
    pub(super) fn on_opening(&mut self, ns: u64, retransmitted: bool, packet: u64) {
        let limit = if retransmitted {
            Limit::RtoStall
        } else {
            Limit::Handshake
        };
        self.settle_pending();
        self.settle(Interval { limit, ns, packet });
    }

    /// Attributes the `ns` before packet number `packet` of the sender.
    #[inline]
    pub(super) fn on_sent(
        &mut self,
        ns: u64,
        (new_data, no_data): (Limit, Limit),
        sent: SendClass,
        packet: u64,
    ) {
        match sent {
            SendClass::NewData | SendClass::Reordered if new_data == Limit::RtoStall => {
                self.add_pending(new_data, ns, packet);
            }
            SendClass::NewData | SendClass::Reordered => self.on_progress(new_data, ns, packet),
            SendClass::Retransmission(
                RetransmitReason::Rto { .. } | RetransmitReason::TailLossProbe,
            ) => {
                self.add_pending(Limit::RtoStall, ns, packet);
                self.reassign_pending(Limit::RtoStall);
            }
            SendClass::Retransmission(_) => self.add_pending(Limit::RandomLoss, ns, packet),
            SendClass::NoData => self.add_pending(no_data, ns, packet),
        }
    }

    /// Reassigns all time since the last progress to one limit.
    fn reassign_pending(&mut self, limit: Limit) {
        let ns = self.pending.iter().map(|interval| interval.ns).sum();
        let packet = self.pending.last().map_or(0, |interval| interval.packet);
        self.pending.clear();
        self.pending.push(Interval { limit, ns, packet });
    }

    /// Attributes the `ns` before packet number `packet`, which acknowledged new data.
    #[inline]
    pub(super) fn on_new_ack(
        &mut self,
        ns: u64,
        (base, late): (Limit, Limit),
        on_time_ns: u64,
        outcome: &AckOutcome,
        packet: u64,
    ) {
        match base {
            Limit::RtoStall => {
                self.add_pending(base, ns, packet);
                self.reassign_pending(if outcome.had_arrived {
                    Limit::AckStarvation
                } else {
                    Limit::RtoStall
                });
                self.settle_pending();
            }
            Limit::RandomLoss => self.on_progress(base, ns, packet),
            _ => {
                let late_ns = outcome
                    .rtt_ns
                    .map_or(0, |rtt_ns| rtt_ns.saturating_sub(on_time_ns).min(ns));
                if late_ns > 0 {
                    self.add_pending(base, ns - late_ns, packet);
                    self.on_progress(late, late_ns, packet);
                } else {
                    self.on_progress(base, ns, packet);
                }
            }
        }
    }

    /// Adds the `ns` before packet number `packet` to the pending intervals.
    #[inline]
    pub(super) fn add_pending(&mut self, limit: Limit, ns: u64, packet: u64) {
        let pending = self.pending.len();
        match self
            .pending
            .iter()
            .rposition(|interval| interval.limit == limit)
        {
            Some(at) if at + 1 == pending || pending >= MAX_PENDING => {
                self.pending[at].ns += ns;
                self.pending[at].packet = packet;
            }
            _ => self.pending.push(Interval { limit, ns, packet }),
        }
    }

    /// Attributes an interval that ended with progress.
    #[inline]
    fn on_progress(&mut self, limit: Limit, ns: u64, packet: u64) {
        // Usually nothing is pending.
        if self.pending.is_empty() {
            self.settle(Interval { limit, ns, packet });
        } else {
            self.add_pending(limit, ns, packet);
            self.settle_pending();
        }
    }

    /// Settles the pending intervals: they were not the end.
    fn settle_pending(&mut self) {
        for at in 0..self.pending.len() {
            let mut interval = self.pending[at];
            if interval.limit == Limit::Tail {
                interval.limit = Limit::SenderApplication;
            }
            self.settle(interval);
        }
        self.pending.clear();
    }

    #[inline]
    fn settle(&mut self, interval: Interval) {
        if interval.ns > 0 {
            self.timeline.push(interval.limit, interval.ns);
            self.occurrences[interval.limit as usize].record(interval.packet, interval.ns);
        }
    }
}
