//! What a connection's time went to: each interval between two of its packets is one [`Limit`]'s, so the
//! shares add up to the time of the connection.

use serde::{Serialize, Serializer};

use super::marks::Marks;
use super::sender::{Again, Heard, Mends, Sender, Sent};
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
    Sender,
    /// The receiver acknowledged later than the path makes it.
    Receiver,
    /// What was lost right behind other segments was sent again on request: the receiver was overrun.
    LossInBursts,
    /// What was lost wherever it stood was sent again on request.
    RandomLoss,
    /// Nothing moved until a timer of the sender ran out.
    TimeOut,
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
        Self::Sender,
        Self::Receiver,
        Self::LossInBursts,
        Self::RandomLoss,
        Self::TimeOut,
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
            Self::Sender => "sender_application",
            Self::Receiver => "receiver_processing",
            Self::LossInBursts => "loss_in_bursts",
            Self::RandomLoss => "random_loss",
            Self::TimeOut => "time_out_stall",
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
const AT_ONCE_NS: u64 = 500_000;
/// A full segment takes no longer on any path that is worth explaining: 1 Mbit/s.
const SLOWEST_PATH_NS: u64 = 13_000_000;
/// An acknowledgment later than the shortest round trip by more than this part of it was kept waiting.
const LATE: u64 = 4;

/// What the time before a packet goes to, by what the packet does. How the direction that carries the payload stood
/// before it tells.
#[derive(Clone, Copy, Debug)]
pub(super) enum Before {
    /// Its sender sends the packet.
    Sent {
        /// If that is something new.
        new: Limit,
        /// If that is nothing.
        still: Limit,
    },
    /// The packet comes back.
    Heard {
        /// If it acknowledges something.
        waiting: Limit,
        /// The part of it by which that came late.
        late: Limit,
        /// What came sooner did not come late.
        in_time_ns: u64,
        /// If it acknowledges nothing new.
        still: Limit,
    },
}

impl Before {
    /// Before a packet of `sender` at `time_ns`, when nothing had passed for `ns`. `far_ns` is the round trip between
    /// the place of capture and the sender, if that is farther than the receiver.
    #[inline]
    pub(super) fn sent(sender: &Sender, time_ns: u64, ns: u64, far_ns: u64) -> Self {
        let gap_ns = sender.least_gap_ns();
        // Segments that are no farther apart follow each other as fast as the path takes them.
        let at_once =
            || ns < AT_ONCE_NS || gap_ns <= SLOWEST_PATH_NS && ns < gap_ns + gap_ns / LATE;
        let waiting = waiting(sender, is_busy(sender, time_ns));
        let new = match waiting {
            Limit::RandomLoss | Limit::TimeOut | Limit::ReceiveWindow => waiting,
            _ if sender.waits() && at_once() => Limit::PathRate,
            // What the receiver acknowledged is still on its way to the sender, or what that sent on its way here.
            _ if ns <= far_ns + far_ns / LATE => Limit::CongestionWindow,
            _ => Limit::Sender,
        };
        let still = still(sender, waiting);
        Self::Sent { new, still }
    }

    /// Before a packet that comes back to `sender` at `time_ns`, when nothing had passed for `ns`.
    #[inline]
    pub(super) fn heard(sender: &Sender, time_ns: u64, ns: u64) -> Self {
        let busy = is_busy(sender, time_ns);
        let waiting = waiting(sender, busy);
        let least_rtt_ns = sender.figures.rtt.min().filter(|_| !busy);
        Self::Heard {
            waiting,
            late: if sender.in_flight() <= 2 * sender.segment_size {
                Limit::Receiver
            } else if sender.is_overdue(ns) {
                Limit::AckStarvation
            } else if sender.is_window_full() {
                Limit::ReceiveWindow
            } else {
                Limit::PathRate
            },
            in_time_ns: least_rtt_ns.map_or(u64::MAX, |least_ns| least_ns + least_ns / LATE),
            still: still(sender, waiting),
        }
    }
}

/// Whether the path may still be busy with the last segment: the next one could hardly have come yet.
#[inline]
fn is_busy(sender: &Sender, time_ns: u64) -> bool {
    let gap_ns = sender.least_gap_ns();
    let since_ns = time_ns.saturating_sub(sender.last_sent_ns());
    gap_ns <= SLOWEST_PATH_NS && since_ns <= gap_ns + gap_ns / LATE
}

/// Why the sender waits for an acknowledgment and does not send.
#[inline]
fn waiting(sender: &Sender, busy: bool) -> Limit {
    let grows = || sender.in_flight() >= sender.figures.most_in_flight && !sender.has_lost();
    match sender.mends() {
        Mends::Requested => Limit::RandomLoss,
        Mends::TimeOut => Limit::TimeOut,
        Mends::Nothing if sender.is_window_full() => Limit::ReceiveWindow,
        Mends::Nothing if busy => Limit::PathRate,
        // A small segment was the last that it had.
        Mends::Nothing if sender.last_was_small() => Limit::Sender,
        Mends::Nothing if grows() => Limit::SlowStart,
        Mends::Nothing => Limit::CongestionWindow,
    }
}

/// Why nothing moves, if a sender that waits does so for this reason.
#[inline]
fn still(sender: &Sender, waiting: Limit) -> Limit {
    if sender.waits() {
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
    pending: Vec<Wait>,
    marks: [Marks; Limit::ALL.len()],
}

/// Some time that ended with a packet.
#[derive(Clone, Copy, Debug)]
struct Wait {
    limit: Limit,
    ns: u64,
    packet: u64,
}

/// Waits that are told apart before something moves; behind them equal ones are put together.
const MOST_PENDING: usize = 32;

impl Attribution {
    /// Nanoseconds by limit, at the end of the connection.
    pub(super) fn shares(&self, in_bursts: bool) -> Shares {
        let mut shares = self.timeline.shares();
        for wait in &self.pending {
            shares[wait.limit as usize] += wait.ns;
        }
        if in_bursts {
            shares.swap(Limit::LossInBursts as usize, Limit::RandomLoss as usize);
        }
        shares
    }

    /// The same in the order of time from `start_ns` on; and the time below which spans were put together.
    pub(super) fn spans(&self, start_ns: u64, in_bursts: bool) -> (Vec<LimitSpan>, u64) {
        let mut timeline = self.timeline.clone();
        for wait in &self.pending {
            timeline.push(wait.limit, wait.ns);
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
    pub(super) fn marks(&self, limit: Limit, in_bursts: bool) -> Marks {
        let limit = match limit {
            Limit::LossInBursts if in_bursts => Limit::RandomLoss,
            Limit::RandomLoss if in_bursts => Limit::LossInBursts,
            limit => limit,
        };
        let mut marks = self.marks[limit as usize];
        for wait in self.pending.iter().filter(|wait| wait.limit == limit) {
            marks.note(wait.packet, wait.ns);
        }
        marks
    }

    /// Attributes the `ns` before packet number `packet`, by which the connection is still not open. `again` if the
    /// end that carries the payload sent it again.
    #[cold]
    pub(super) fn opens(&mut self, ns: u64, again: bool, packet: u64) {
        let limit = if again {
            Limit::TimeOut
        } else {
            Limit::Handshake
        };
        self.moved();
        self.settle(Wait { limit, ns, packet });
    }

    /// Attributes the `ns` before packet number `packet`, which was sent.
    #[inline]
    pub(super) fn sent(&mut self, ns: u64, (new, still): (Limit, Limit), sent: Sent, packet: u64) {
        match sent {
            Sent::New | Sent::Overtaken if new == Limit::TimeOut => self.wait(new, ns, packet),
            Sent::New | Sent::Overtaken => self.moves(new, ns, packet),
            Sent::Again(Again::TimeOut { .. } | Again::TailLossProbe) => {
                self.wait(Limit::TimeOut, ns, packet);
                self.all_was(Limit::TimeOut);
            }
            Sent::Again(_) => self.wait(Limit::RandomLoss, ns, packet),
            Sent::Bare => self.wait(still, ns, packet),
        }
    }

    /// One limit takes all the time since something last moved.
    fn all_was(&mut self, limit: Limit) {
        let ns = self.pending.iter().map(|wait| wait.ns).sum();
        let packet = self.pending.last().map_or(0, |wait| wait.packet);
        self.pending.clear();
        self.pending.push(Wait { limit, ns, packet });
    }

    /// Attributes the `ns` before packet number `packet`, which acknowledged something new.
    #[inline]
    pub(super) fn acknowledged(
        &mut self,
        ns: u64,
        (waiting, late): (Limit, Limit),
        in_time_ns: u64,
        heard: &Heard,
        packet: u64,
    ) {
        match waiting {
            Limit::TimeOut => {
                self.wait(waiting, ns, packet);
                self.all_was(if heard.had_arrived {
                    Limit::AckStarvation
                } else {
                    Limit::TimeOut
                });
                self.moved();
            }
            Limit::RandomLoss => self.moves(waiting, ns, packet),
            _ => {
                let late_ns = heard
                    .rtt_ns
                    .map_or(0, |rtt_ns| rtt_ns.saturating_sub(in_time_ns).min(ns));
                if late_ns > 0 {
                    self.wait(waiting, ns - late_ns, packet);
                    self.moves(late, late_ns, packet);
                } else {
                    self.moves(waiting, ns, packet);
                }
            }
        }
    }

    /// Attributes the `ns` before packet number `packet`.
    #[inline]
    pub(super) fn wait(&mut self, limit: Limit, ns: u64, packet: u64) {
        let pending = self.pending.len();
        match self.pending.iter().rposition(|wait| wait.limit == limit) {
            Some(at) if at + 1 == pending || pending >= MOST_PENDING => {
                self.pending[at].ns += ns;
                self.pending[at].packet = packet;
            }
            _ => self.pending.push(Wait { limit, ns, packet }),
        }
    }

    /// Something moves after so much time more.
    #[inline]
    fn moves(&mut self, limit: Limit, ns: u64, packet: u64) {
        // By far the most often nothing is pending.
        if self.pending.is_empty() {
            self.settle(Wait { limit, ns, packet });
        } else {
            self.wait(limit, ns, packet);
            self.moved();
        }
    }

    /// What was pending is settled: it was not the end.
    fn moved(&mut self) {
        for at in 0..self.pending.len() {
            let mut wait = self.pending[at];
            if wait.limit == Limit::Tail {
                wait.limit = Limit::Sender;
            }
            self.settle(wait);
        }
        self.pending.clear();
    }

    #[inline]
    fn settle(&mut self, wait: Wait) {
        if wait.ns > 0 {
            self.timeline.push(wait.limit, wait.ns);
            self.marks[wait.limit as usize].note(wait.packet, wait.ns);
        }
    }
}
