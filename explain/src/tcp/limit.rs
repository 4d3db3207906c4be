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

/// How the direction that carries the payload stood before a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    waits: bool,
    window_full: bool,
    in_flight: u32,
    segment: u32,
    small: bool,
    lost: bool,
    growing: bool,
    mends: Mends,
    least_rtt_ns: u64,
    /// An acknowledgment is expected sooner than this.
    expected_ns: u64,
    /// Segments this far apart follow each other as fast as the path takes them.
    at_once_ns: u64,
    /// The path may still be busy with the last segment: the next one could hardly have come yet.
    busy: bool,
    /// The round trip between the place of capture and the sender, if that is farther than the receiver.
    far_ns: u64,
}

impl Before {
    #[inline]
    pub(super) fn of(sender: &Sender, far_ns: u64, time_ns: u64) -> Self {
        let in_flight = sender.in_flight();
        let gap_ns = Some(sender.least_gap_ns()).filter(|gap| *gap <= SLOWEST_PATH_NS);
        Self {
            waits: sender.waits(),
            window_full: sender.is_window_full(),
            in_flight,
            segment: sender.segment_size(),
            small: sender.last_was_small(),
            lost: sender.has_lost(),
            growing: in_flight >= sender.figures.most_in_flight,
            mends: sender.mends(),
            least_rtt_ns: sender.figures.rtt.min().unwrap_or(u64::MAX),
            expected_ns: sender.expected_ns(),
            at_once_ns: gap_ns.map_or(AT_ONCE_NS, |gap| (gap + gap / LATE).max(AT_ONCE_NS)),
            busy: gap_ns.is_some_and(|gap| {
                time_ns.saturating_sub(sender.last_sent_ns()) <= gap + gap / LATE
            }),
            far_ns,
        }
    }
}

/// What a packet was for the direction that carries the payload.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// Its sender sent it.
    Sent(Sent),
    /// It came back.
    Heard(Heard),
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

    /// Attributes the `ns` before packet number `packet`.
    #[inline]
    pub(super) fn passes(
        &mut self,
        ns: u64,
        open: bool,
        before: &Before,
        event: Event,
        packet: u64,
    ) {
        if !open {
            let limit = match event {
                Event::Sent(Sent::Again(_)) => Limit::TimeOut,
                _ => Limit::Handshake,
            };
            self.moved();
            self.settle(Wait { limit, ns, packet });
            return;
        }
        match event {
            Event::Sent(Sent::Again(Again::TimeOut { .. } | Again::TailLossProbe)) => {
                self.wait(Limit::TimeOut, ns, packet);
                self.all_was(Limit::TimeOut);
            }
            Event::Sent(Sent::Again(_)) => self.wait(Limit::RandomLoss, ns, packet),
            Event::Sent(Sent::New | Sent::Overtaken) => self.sent(ns, before, packet),
            Event::Heard(heard) if heard.advanced => self.acknowledged(ns, before, &heard, packet),
            Event::Sent(Sent::Bare) | Event::Heard(_) => self.nothing_moved(ns, before, packet),
        }
    }

    /// One limit takes all the time since something last moved.
    fn all_was(&mut self, limit: Limit) {
        let ns = self.pending.iter().map(|wait| wait.ns).sum();
        let packet = self.pending.last().map_or(0, |wait| wait.packet);
        self.pending.clear();
        self.pending.push(Wait { limit, ns, packet });
    }

    fn sent(&mut self, ns: u64, before: &Before, packet: u64) {
        let limit = match before.mends {
            Mends::Requested => Limit::RandomLoss,
            Mends::TimeOut => Limit::TimeOut,
            Mends::Nothing if before.window_full => Limit::ReceiveWindow,
            Mends::Nothing if ns < before.at_once_ns && before.waits => Limit::PathRate,
            // What the receiver acknowledged is still on its way to the sender, or what that sent on its way here.
            Mends::Nothing if ns <= before.far_ns + before.far_ns / LATE => Limit::CongestionWindow,
            Mends::Nothing => Limit::Sender,
        };
        if before.mends == Mends::TimeOut {
            self.wait(limit, ns, packet);
        } else {
            self.moves(limit, ns, packet);
        }
    }

    fn acknowledged(&mut self, ns: u64, before: &Before, heard: &Heard, packet: u64) {
        match before.mends {
            Mends::TimeOut => {
                self.wait(Limit::TimeOut, ns, packet);
                self.all_was(if heard.had_arrived {
                    Limit::AckStarvation
                } else {
                    Limit::TimeOut
                });
            }
            Mends::Requested => return self.moves(Limit::RandomLoss, ns, packet),
            Mends::Nothing if before.busy => {
                return self.moves(Self::waiting(before), ns, packet);
            }
            Mends::Nothing => {
                let late_ns = heard.rtt_ns.map_or(0, |rtt_ns| {
                    let least = before.least_rtt_ns;
                    rtt_ns
                        .saturating_sub(least.saturating_add(least / LATE))
                        .min(ns)
                });
                let waiting = Self::waiting(before);
                if late_ns == 0 {
                    return self.moves(waiting, ns, packet);
                }
                self.wait(waiting, ns - late_ns, packet);
                let late = if before.in_flight <= 2 * before.segment {
                    Limit::Receiver
                } else if ns > before.expected_ns {
                    Limit::AckStarvation
                } else if before.window_full {
                    Limit::ReceiveWindow
                } else {
                    Limit::PathRate
                };
                self.wait(late, late_ns, packet);
            }
        }
        self.moved();
    }

    fn nothing_moved(&mut self, ns: u64, before: &Before, packet: u64) {
        if before.waits {
            self.wait(Self::waiting(before), ns, packet);
        } else if before.window_full {
            self.wait(Limit::ReceiveWindow, ns, packet);
        } else {
            self.wait(Limit::Tail, ns, packet);
        }
    }

    /// Why the sender waits for an acknowledgment and does not send.
    fn waiting(before: &Before) -> Limit {
        match before.mends {
            Mends::Requested => Limit::RandomLoss,
            Mends::TimeOut => Limit::TimeOut,
            Mends::Nothing if before.window_full => Limit::ReceiveWindow,
            Mends::Nothing if before.busy => Limit::PathRate,
            // A small segment was the last that it had.
            Mends::Nothing if before.small => Limit::Sender,
            Mends::Nothing if before.growing && !before.lost => Limit::SlowStart,
            Mends::Nothing => Limit::CongestionWindow,
        }
    }

    fn wait(&mut self, limit: Limit, ns: u64, packet: u64) {
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

    fn settle(&mut self, wait: Wait) {
        if wait.ns > 0 {
            self.timeline.push(wait.limit, wait.ns);
            self.marks[wait.limit as usize].note(wait.packet, wait.ns);
        }
    }
}
