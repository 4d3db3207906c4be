//! What a connection's time went to: each interval between two of its packets is one [`Limit`]'s, so the
//! shares add up to the time of the connection.

use serde::{Serialize, Serializer};

use super::occurrences::Occurrences;
use super::sender::{AckOutcome, RecoveryKind, RetransmitReason, SendClass, Sender};
use super::timeline::{LimitSpan, Timeline};

/// What kept a connection from going faster for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Opening the connection.
    Handshake,
    /// The sender was still raising what it dares to send (RFC 5681 section 3.1).
    SlowStart,
    /// The receiver granted no more.
    ReceiveWindow,
    /// The sender dared no more, though the receiver would have taken it.
    CongestionWindow,
    /// The sender's program had nothing to send, or did not send it.
    SenderApplication,
    /// The receiver acknowledged later than the path makes it.
    ReceiverProcessing,
    /// What was lost right behind other segments was sent again on request: the receiver was overrun.
    LossInBursts,
    /// What was lost wherever it stood was sent again on request.
    RandomLoss,
    /// Nothing moved until a timer of the sender ran out.
    RtoStall,
    /// Acknowledgments failed to come or to arrive while much was outstanding, though nothing was lost.
    AckStarvation,
    /// Segments followed each other as fast as the path takes them.
    PathRate,
    /// After the last payload.
    Tail,
}

impl Limit {
    /// All of them.
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

/// Segments that follow within this time were sent as one.
const BACK_TO_BACK_NS: u64 = 500_000;
/// A full segment takes no longer on any path that is worth explaining: 1 Mbit/s.
const SLOWEST_PATH_NS: u64 = 13_000_000;
/// An acknowledgment later than the shortest round trip by more than this part of it was kept waiting.
const LATE_DIVISOR: u64 = 4;

/// What the time before a packet goes to, by what the packet does. How the direction that carries the payload stood
/// before it tells.
#[derive(Clone, Copy, Debug)]
pub(super) enum IntervalCause {
    /// Its sender sends the packet.
    Sent {
        /// If that is something new.
        new_data: Limit,
        /// If that is nothing.
        no_data: Limit,
    },
    /// The packet comes back.
    Received {
        /// If it acknowledges something.
        base: Limit,
        /// The part of it by which that came late.
        late: Limit,
        /// What came sooner did not come late.
        on_time_ns: u64,
        /// If it acknowledges nothing new.
        no_new_ack: Limit,
    },
}

impl IntervalCause {
    /// Before a packet of `sender` at `time_ns`, when nothing had passed for `ns`. `far_rtt_ns` is the round trip between
    /// the place of capture and the sender, if that is farther than the receiver.
    #[inline]
    pub(super) fn before_sent(sender: &Sender, time_ns: u64, ns: u64, far_rtt_ns: u64) -> Self {
        let gap_ns = sender.min_gap_ns();
        // Segments that are no farther apart follow each other as fast as the path takes them.
        let back_to_back = || {
            ns < BACK_TO_BACK_NS || gap_ns <= SLOWEST_PATH_NS && ns < gap_ns + gap_ns / LATE_DIVISOR
        };
        let waiting = wait_limit(sender, is_path_busy(sender, time_ns));
        let new_data = match waiting {
            Limit::RandomLoss | Limit::RtoStall | Limit::ReceiveWindow => waiting,
            _ if sender.has_unacked() && back_to_back() => Limit::PathRate,
            // What the receiver acknowledged is still on its way to the sender, or what that sent on its way here.
            _ if ns <= far_rtt_ns + far_rtt_ns / LATE_DIVISOR => Limit::CongestionWindow,
            _ => Limit::SenderApplication,
        };
        let no_data = idle_limit(sender, waiting);
        Self::Sent { new_data, no_data }
    }

    /// Before a packet that comes back to `sender` at `time_ns`, when nothing had passed for `ns`.
    #[inline]
    pub(super) fn before_received(sender: &Sender, time_ns: u64, ns: u64) -> Self {
        let busy = is_path_busy(sender, time_ns);
        let waiting = wait_limit(sender, busy);
        let least_rtt_ns = sender.stats.rtt.min().filter(|_| !busy);
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
            on_time_ns: least_rtt_ns
                .map_or(u64::MAX, |least_ns| least_ns + least_ns / LATE_DIVISOR),
            no_new_ack: idle_limit(sender, waiting),
        }
    }
}

/// Whether the path may still be busy with the last segment: the next one could hardly have come yet.
#[inline]
fn is_path_busy(sender: &Sender, time_ns: u64) -> bool {
    let gap_ns = sender.min_gap_ns();
    let since_ns = time_ns.saturating_sub(sender.last_sent_ns());
    gap_ns <= SLOWEST_PATH_NS && since_ns <= gap_ns + gap_ns / LATE_DIVISOR
}

/// Why the sender waits for an acknowledgment and does not send.
#[inline]
fn wait_limit(sender: &Sender, busy: bool) -> Limit {
    let is_growing = || sender.in_flight() >= sender.stats.max_in_flight && !sender.has_lost();
    match sender.recovery_kind() {
        RecoveryKind::Fast => Limit::RandomLoss,
        RecoveryKind::Rto => Limit::RtoStall,
        RecoveryKind::None if sender.is_window_full() => Limit::ReceiveWindow,
        RecoveryKind::None if busy => Limit::PathRate,
        // A small segment was the last that it had.
        RecoveryKind::None if sender.last_was_small() => Limit::SenderApplication,
        RecoveryKind::None if is_growing() => Limit::SlowStart,
        RecoveryKind::None => Limit::CongestionWindow,
    }
}

/// Why nothing moves, if a sender that waits does so for this reason.
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

/// What the time went to so far. Which kind of losses was mended, all of them together tell: until the end it is
/// [`Limit::RandomLoss`].
#[derive(Clone, Debug, Default)]
pub(super) struct Attribution {
    timeline: Timeline,
    /// Since something last moved: a time-out takes it all. [`Limit::Tail`] stands for the time since everything
    /// was acknowledged: it is the sender's if that goes on.
    pending: Vec<Interval>,
    occurrences: [Occurrences; Limit::ALL.len()],
}

/// Some time that ended with a packet.
#[derive(Clone, Copy, Debug)]
struct Interval {
    limit: Limit,
    ns: u64,
    packet: u64,
}

/// Waits that are told apart before something moves; behind them equal ones are put together.
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

    /// The same in the order of time from `start_ns` on; and the time below which spans were put together.
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

    /// The packets that ended such time.
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

    /// Attributes the `ns` before packet number `packet`, by which the connection is still not open. `retransmitted` if the
    /// end that carries the payload sent it again.
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

    /// Attributes the `ns` before packet number `packet`, which was sent.
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
                self.add_pending(new_data, ns, packet)
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

    /// One limit takes all the time since something last moved.
    fn reassign_pending(&mut self, limit: Limit) {
        let ns = self.pending.iter().map(|interval| interval.ns).sum();
        let packet = self.pending.last().map_or(0, |interval| interval.packet);
        self.pending.clear();
        self.pending.push(Interval { limit, ns, packet });
    }

    /// Attributes the `ns` before packet number `packet`, which acknowledged something new.
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

    /// Attributes the `ns` before packet number `packet`.
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

    /// Something moves after so much time more.
    #[inline]
    fn on_progress(&mut self, limit: Limit, ns: u64, packet: u64) {
        // By far the most often nothing is pending.
        if self.pending.is_empty() {
            self.settle(Interval { limit, ns, packet });
        } else {
            self.add_pending(limit, ns, packet);
            self.settle_pending();
        }
    }

    /// What was pending is settled: it was not the end.
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
