//! What a connection's time went to: each interval between two of its packets is one [`Limit`]'s, so the
//! shares add up to the time of the connection.

use super::sender::{Again, Heard, Mends, Sender, Sent};

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
    /// The sender had nothing to send, or did not send it.
    Sender,
    /// Acknowledgments came later than the path makes them.
    Receiver,
    /// What had been lost was sent again on request.
    Mending,
    /// Nothing moved until a timer of the sender ran out.
    TimeOut,
    /// Segments followed each other as fast as the path takes them.
    PathRate,
    /// After the last payload.
    Tail,
}

impl Limit {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Handshake,
        Self::SlowStart,
        Self::ReceiveWindow,
        Self::CongestionWindow,
        Self::Sender,
        Self::Receiver,
        Self::Mending,
        Self::TimeOut,
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
            Self::Sender => "sender",
            Self::Receiver => "receiver",
            Self::Mending => "mending",
            Self::TimeOut => "time_out",
            Self::PathRate => "path_rate",
            Self::Tail => "tail",
        }
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
    /// Segments this far apart follow each other as fast as the path takes them.
    at_once_ns: u64,
    /// The round trip between the place of capture and the sender, if that is farther than the receiver.
    far_ns: u64,
}

impl Before {
    #[inline]
    pub(super) fn of(sender: &Sender, far_ns: u64) -> Self {
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
            at_once_ns: gap_ns.map_or(AT_ONCE_NS, |gap| (gap + gap / LATE).max(AT_ONCE_NS)),
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

/// The shares so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Attribution {
    ns: Shares,
    /// Since something last moved: a time-out takes it all.
    pending: Shares,
    is_pending: bool,
    /// Since everything was acknowledged: the sender's if it goes on, the tail if it does not.
    quiet_ns: u64,
}

impl Attribution {
    /// The shares, at the end of the connection.
    pub(super) fn shares(&self) -> Shares {
        let mut shares = self.ns;
        for (share, pending) in shares.iter_mut().zip(self.pending) {
            *share += pending;
        }
        shares[Limit::Tail as usize] += self.quiet_ns;
        shares
    }

    /// Attributes the `ns` before a packet.
    #[inline]
    pub(super) fn passes(&mut self, ns: u64, open: bool, before: &Before, event: Event) {
        if !open {
            let limit = match event {
                Event::Sent(Sent::Again(_)) => Limit::TimeOut,
                _ => Limit::Handshake,
            };
            self.ns[limit as usize] += ns;
            return;
        }
        match event {
            Event::Sent(Sent::Again(Again::TimeOut { .. } | Again::TailLossProbe)) => {
                self.timer_ran_out(ns);
            }
            Event::Sent(Sent::Again(_)) => self.wait(Limit::Mending, ns),
            Event::Sent(Sent::New | Sent::Overtaken) => self.sent(ns, before),
            Event::Heard(heard) if heard.advanced => self.acknowledged(ns, before, &heard),
            Event::Sent(Sent::Bare) | Event::Heard(_) => self.nothing_moved(ns, before),
        }
    }

    fn timer_ran_out(&mut self, ns: u64) {
        self.ns[Limit::TimeOut as usize] += self.pending.iter().sum::<u64>() + self.quiet_ns + ns;
        self.pending = Shares::default();
        self.is_pending = false;
        self.quiet_ns = 0;
    }

    fn sent(&mut self, ns: u64, before: &Before) {
        let limit = match before.mends {
            Mends::Requested => Limit::Mending,
            Mends::TimeOut => Limit::TimeOut,
            Mends::Nothing if before.window_full => Limit::ReceiveWindow,
            Mends::Nothing if ns < before.at_once_ns && before.waits => Limit::PathRate,
            // What the receiver acknowledged is still on its way to the sender, or what that sent on its way here.
            Mends::Nothing if ns <= before.far_ns + before.far_ns / LATE => Limit::CongestionWindow,
            Mends::Nothing => Limit::Sender,
        };
        self.ns[limit as usize] += ns;
        self.ns[Limit::Sender as usize] += self.quiet_ns;
        self.quiet_ns = 0;
        self.moved();
    }

    fn acknowledged(&mut self, ns: u64, before: &Before, heard: &Heard) {
        match before.mends {
            Mends::TimeOut => return self.timer_ran_out(ns),
            Mends::Requested => self.wait(Limit::Mending, ns),
            Mends::Nothing => {
                let late_ns = heard.rtt_ns.map_or(0, |rtt_ns| {
                    let least = before.least_rtt_ns;
                    rtt_ns
                        .saturating_sub(least.saturating_add(least / LATE))
                        .min(ns)
                });
                let late = if before.in_flight <= 2 * before.segment {
                    Limit::Receiver
                } else if before.window_full {
                    Limit::ReceiveWindow
                } else {
                    Limit::PathRate
                };
                self.wait(late, late_ns);
                self.wait(Self::waiting(before), ns - late_ns);
            }
        }
        self.moved();
    }

    fn nothing_moved(&mut self, ns: u64, before: &Before) {
        if before.waits {
            self.wait(Self::waiting(before), ns);
        } else if before.window_full {
            self.wait(Limit::ReceiveWindow, ns);
        } else {
            self.quiet_ns += ns;
        }
    }

    /// Why the sender waits for an acknowledgment and does not send.
    fn waiting(before: &Before) -> Limit {
        match before.mends {
            Mends::Requested => Limit::Mending,
            Mends::TimeOut => Limit::TimeOut,
            Mends::Nothing if before.window_full => Limit::ReceiveWindow,
            // A small segment was the last that it had.
            Mends::Nothing if before.small => Limit::Sender,
            Mends::Nothing if before.growing && !before.lost => Limit::SlowStart,
            Mends::Nothing => Limit::CongestionWindow,
        }
    }

    fn wait(&mut self, limit: Limit, ns: u64) {
        self.pending[limit as usize] += ns;
        self.is_pending = true;
    }

    fn moved(&mut self) {
        if self.is_pending {
            for (share, pending) in self.ns.iter_mut().zip(&mut self.pending) {
                *share += std::mem::take(pending);
            }
            self.is_pending = false;
        }
    }
}
