//! Attribution of a direction's time: each interval between two transmissions has one reason, so the reasons add up to
//! the whole time.
//!
//! All is judged as the sender saw it: an acknowledgment takes effect after the round trip from the capture point to the
//! sender. The first pass attributes each wait. The second overrides the waits during which the path was busy at its
//! fastest rate, since no other change would have made that time shorter, and the third those during which the receiver
//! stood still: with any window and any sender, it would have acknowledged as late.

use super::limit::Limit;
use super::override_limit::override_limit;
use super::rate::Window;
use super::standstill::Standstill;
use super::view::{Acknowledgment, DirectionView, Transmission};
use crate::tcp::PacketClass;

/// An interval with one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start, nanoseconds since the first packet of the connection.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Limit of the connection's speed.
    pub limit: Limit,
    /// The packet that ended it.
    pub number: u32,
}

impl Span {
    /// Its duration.
    pub fn ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// What the attribution needs to know of the connection.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    /// Round trip from the capture point to the sender.
    pub(super) to_sender_ns: u64,
    /// Time that the sender's host takes to send what an acknowledgment permits, if the capture point is near it.
    pub(super) host_ns: u64,
    /// Base round trip to the receiver.
    pub(super) to_receiver_ns: u64,
    /// Window scale, if known.
    pub(super) shift: Option<u8>,
    /// Time that a full segment occupies the slowest link.
    pub(super) segment_ns: u64,
    /// Time of the first payload; before that is the handshake.
    pub(super) opened_ns: u64,
    /// End of the connection.
    pub(super) end_ns: u64,
    /// Windows in which the path carried its fastest rate.
    pub(super) busy: Vec<Window>,
    /// Times of acknowledgments with their round trips to the receiver.
    pub(super) round_trips: Vec<(u64, u64)>,
    /// A quarter of the segments follow the one before sooner.
    pub(super) gap_ns: u64,
    /// True if the capture point is near the receiver.
    pub(super) is_near_receiver: bool,
    /// True if segments were lost before the capture point.
    pub(super) is_behind_loss: bool,
}

/// A sender reacts within this time, beside what the path adds, unless its host is known to be slower.
const REACTION_NS: u64 = 600_000;
/// An acknowledgment that takes this much longer than the path is late.
const LATE_ACK_NS: u64 = 5_000_000;
/// The shortest retransmission timeout of common stacks, less the resolution of their timers.
const MIN_TIMEOUT_NS: u64 = 180_000_000;
/// Smaller segments are messages, which follow each other at intervals of their own.
const MIN_FULL: u32 = 200;
/// A receiver owes an acknowledgment for this many full segments.
const OWED_SEGMENTS: u64 = 2;
/// Time that a host's stack takes.
const STACK_NS: u64 = 500_000;
/// Who closes an idle connection says so in so many octets at most, and sends the FIN at once.
const FAREWELL_OCTETS: u32 = 128;
const CLOSING_NS: u64 = 10_000_000;
/// Silence before it: a shorter one may be that before an answer.
const IDLE_NS: u64 = 1_000_000_000;

/// State while walking through a direction.
struct Walk<'a> {
    view: &'a DirectionView,
    conditions: &'a Conditions,
    spans: Vec<Span>,
    next_ack: usize,
    /// After the highest octet sent.
    sent: u64,
    acknowledged: u64,
    edge: Option<u64>,
    is_closed: bool,
    /// Losses are repaired until this octet is acknowledged.
    recovery: Option<(u64, Limit)>,
    has_lost: bool,
    /// First octet of the last words before the FIN.
    farewell: Option<u64>,
    /// Largest flight so far, and of the round before.
    largest_flight: u64,
    last_is_small: bool,
    last_sent_ns: u64,
}

/// What the acknowledgments between two transmissions did.
#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    /// When the window admitted the next segment; none if it did before.
    opened_ns: Option<u64>,
    /// When everything was acknowledged.
    all_acked_ns: Option<u64>,
    /// The last one that acknowledged new data.
    last_ns: Option<u64>,
    was_closed: bool,
    /// By how much the last one was later than the path accounts for.
    late_ns: u64,
    /// Octets that the last one added.
    acked: u64,
}

/// Attributes the time of a direction.
pub(super) fn attribute(
    view: &DirectionView,
    conditions: &Conditions,
    standstills: &[Standstill],
) -> Vec<Span> {
    let mut walk = Walk {
        view,
        conditions,
        spans: Vec::new(),
        next_ack: 0,
        sent: view.sent.first().map_or(0, |it| it.start),
        acknowledged: view.sent.first().map_or(0, |it| it.start),
        edge: None,
        is_closed: false,
        recovery: None,
        has_lost: false,
        farewell: None,
        largest_flight: 0,
        last_is_small: false,
        last_sent_ns: conditions.opened_ns,
    };
    let full = view.full_segment();
    walk.push(0, conditions.opened_ns, Limit::Handshake, 0);
    for (at, sent) in view.sent.iter().enumerate() {
        walk.step(sent, view.sent.get(at + 1), full);
    }
    walk.finish();
    // A receiver that closes its window sets the pace itself.
    let closes = walk
        .spans
        .iter()
        .filter(|span| span.limit == Limit::ClosedWindow);
    let closes = closes.count() >= 3;
    let busy = conditions.busy.iter().map(|it| (it.start_ns, it.end_ns));
    let is_around = |limit| matches!(limit, Limit::Handshake | Limit::Tail | Limit::ClosedWindow);
    let spans = override_limit(
        &walk.spans,
        &busy.collect::<Vec<_>>(),
        Limit::PathRate,
        |limit| is_around(limit) || closes && limit == Limit::ReceiveWindow,
    );
    let silent = standstills.iter().map(|it| (it.start_ns, it.end_ns));
    override_limit(
        &spans,
        &silent.collect::<Vec<_>>(),
        Limit::LateAck,
        is_around,
    )
}

/// Segments that are searched at most, which bounds the time for any capture.
const MAX_LOOK_AHEAD: usize = 512;

impl Walk<'_> {
    fn push(&mut self, start_ns: u64, end_ns: u64, limit: Limit, number: u32) {
        if end_ns <= start_ns {
            return;
        }
        match self.spans.last_mut() {
            Some(last) if last.limit == limit && last.end_ns == start_ns => {
                // The packet that ends most of it.
                if end_ns - start_ns > last.ns() {
                    last.number = number;
                }
                last.end_ns = end_ns;
            }
            _ => self.spans.push(Span {
                start_ns,
                end_ns,
                limit,
                number,
            }),
        }
    }

    /// Time at which the sender sees the acknowledgment, as far as its data shows at the capture point.
    fn effect_ns(&self, ack: &Acknowledgment) -> u64 {
        ack.time_ns + self.conditions.to_sender_ns
    }

    /// Applies the acknowledgments up to `until_ns`; `end` is the end of the segment that is sent then.
    fn apply_acks(&mut self, until_ns: u64, end: u64) -> Answers {
        let mut answers = Answers {
            was_closed: self.is_closed,
            ..Answers::default()
        };
        while let Some(ack) = self.view.acks.get(self.next_ack) {
            let at_ns = self.effect_ns(ack);
            if at_ns > until_ns {
                break;
            }
            self.next_ack += 1;
            if ack.ack > self.acknowledged {
                answers.acked = ack.ack - self.acknowledged;
                self.acknowledged = ack.ack;
                answers.last_ns = Some(at_ns);
                answers.late_ns = self.late_ns(ack);
                if self.acknowledged >= self.sent {
                    answers.all_acked_ns = Some(at_ns);
                }
                if self
                    .recovery
                    .is_some_and(|(until, _)| self.acknowledged >= until)
                {
                    self.recovery = None;
                }
            }
            if let Some(shift) = self.conditions.shift {
                let edge = ack.ack + (u64::from(ack.window) << shift);
                let admitted = self.edge.is_none_or(|edge| edge >= end);
                self.edge = Some(self.edge.map_or(edge, |before| before.max(edge)));
                if !admitted && edge >= end {
                    answers.opened_ns = Some(at_ns);
                }
            }
            // A closed window is closed with any scale.
            if self.is_closed && ack.window > 0 && self.conditions.shift.is_none() {
                answers.opened_ns = Some(at_ns);
            }
            self.is_closed = ack.window == 0;
            answers.was_closed |= self.is_closed;
        }
        answers
    }

    /// By how much the round trip that ends with this acknowledgment is longer than the path's.
    fn late_ns(&self, ack: &Acknowledgment) -> u64 {
        let trips = &self.conditions.round_trips;
        let Ok(at) = trips.binary_search_by_key(&ack.time_ns, |(time_ns, _)| *time_ns) else {
            return 0;
        };
        let base_ns = self.conditions.to_receiver_ns;
        let late_ns = trips[at].1.saturating_sub(base_ns);
        let is_late = late_ns >= LATE_ACK_NS.max(base_ns / 2);
        if is_late { late_ns } else { 0 }
    }

    /// A wait until `to_ns` for an acknowledgment that is late by `late_ns`.
    fn push_wait(&mut self, from_ns: u64, to_ns: u64, late_ns: u64, limit: Limit, number: u32) {
        let due_ns = to_ns.saturating_sub(late_ns).max(from_ns);
        self.push(from_ns, due_ns, limit, number);
        self.push(due_ns, to_ns, Limit::LateAck, number);
    }

    fn step(&mut self, sent: &Transmission, next: Option<&Transmission>, full: u32) {
        let (from_ns, to_ns) = (self.last_sent_ns, sent.time_ns);
        let flight_before = self.sent.saturating_sub(self.acknowledged);
        let recovering = self.recovery;
        let answers = self.apply_acks(to_ns, sent.end);
        if self.is_farewell(sent) {
            self.farewell = Some(sent.start);
        }
        match sent.class {
            // Nobody waits for it, however often it is repeated to an end that is gone.
            _ if self.farewell.is_some_and(|start| sent.start >= start) => {
                self.push(from_ns, to_ns, Limit::Tail, sent.number);
            }
            PacketClass::TimeoutRetransmission | PacketClass::Probe => {
                self.has_lost = true;
                let since_ns = answers.last_ns.unwrap_or(from_ns).max(from_ns);
                let before = recovering.map_or(Limit::InFlight, |(_, reason)| reason);
                self.push(from_ns, since_ns, before, sent.number);
                self.push(since_ns, to_ns, Limit::Timeout, sent.number);
                self.recovery = Some((self.sent, Limit::Timeout));
            }
            PacketClass::FastRetransmission => {
                self.has_lost = true;
                self.push(from_ns, to_ns, Limit::FastRecovery, sent.number);
                let reason = recovering.map_or(Limit::FastRecovery, |(_, reason)| reason);
                self.recovery = Some((self.sent.max(sent.end), reason));
            }
            // It had arrived, and was acknowledged behind the capture point in vain, so that the sender waited for its timer; or
            // the sender stood still, and its timer expired before it looked at the acknowledgments.
            PacketClass::SpuriousRetransmission
                if to_ns.saturating_sub(from_ns) >= MIN_TIMEOUT_NS =>
            {
                self.has_lost = true;
                let acked_ns = answers.all_acked_ns.filter(|_| self.knew_acks(sent));
                let stop_ns = acked_ns.map_or(to_ns, |ns| ns.clamp(from_ns, to_ns));
                if stop_ns < to_ns {
                    self.new_data(sent, from_ns, flight_before, answers, full);
                } else {
                    self.push(from_ns, to_ns, Limit::Timeout, sent.number);
                }
            }
            // A probe, which the receiver took.
            _ if sent.len == 1 && self.is_closed && self.acknowledged >= self.sent => {
                self.push(from_ns, to_ns, Limit::ClosedWindow, sent.number);
            }
            // The program closed the connection when it had no more to send.
            _ if sent.len == 0 => self.push(from_ns, to_ns, Limit::Tail, sent.number),
            _ if recovering.is_some() => {
                let reason = recovering.map_or(Limit::FastRecovery, |(_, reason)| reason);
                // What follows when all is repaired and acknowledged is another wait.
                let repaired_ns = answers.all_acked_ns.filter(|_| self.recovery.is_none());
                let repaired_ns = repaired_ns.filter(|ns| to_ns - ns > self.reaction_ns());
                let until_ns = repaired_ns.map_or(to_ns, |ns| ns.max(from_ns));
                self.push(from_ns, until_ns, reason, sent.number);
                if until_ns < to_ns {
                    self.new_data(sent, until_ns, 0, answers, full);
                }
            }
            _ if !self.follows_ack(answers, to_ns) && self.is_after_timeout(sent, next) => {
                self.has_lost = true;
                self.push(from_ns, to_ns, Limit::Timeout, sent.number);
            }
            _ => self.new_data(sent, from_ns, flight_before, answers, full),
        }
        self.sent = self.sent.max(sent.end);
        self.largest_flight = self
            .largest_flight
            .max(self.sent.saturating_sub(self.acknowledged));
        self.last_is_small = sent.len < full;
        self.last_sent_ns = self.last_sent_ns.max(to_ns);
    }

    /// True if a few octets come with the FIN, long after all was acknowledged: an idle connection is closed (TLS `close_notify`, RFC 8446
    /// section 6.1; HTTP/2 `GOAWAY`, RFC 9113 section 6.8).
    fn is_farewell(&self, sent: &Transmission) -> bool {
        if self.acknowledged < self.sent || sent.time_ns.saturating_sub(self.last_sent_ns) < IDLE_NS
        {
            return false;
        }
        let all = &self.view.sent;
        let last = all[all.partition_point(|it| it.number < sent.number)..].iter();
        let new = last.filter(|it| !it.is_retransmission());
        let last: Vec<&Transmission> = new.take(MAX_LOOK_AHEAD).collect();
        let octets: u32 = last.iter().map(|it| it.len).sum();
        let at_once = |it: &&Transmission| it.time_ns.saturating_sub(sent.time_ns) <= CLOSING_NS;
        let is_closed = last.iter().any(|it| it.end > it.start + u64::from(it.len));
        octets <= FAREWELL_OCTETS && last.iter().all(at_once) && is_closed
    }

    /// True if new data follows what is `repeated` before an acknowledgment of it can have reached the sender: it has received those
    /// before.
    fn knew_acks(&self, repeated: &Transmission) -> bool {
        let sent = &self.view.sent;
        // A receiver may acknowledge at the time of the segment.
        let behind = sent.partition_point(|it| it.number <= repeated.number);
        let mut next = sent[behind..].iter().take(MAX_LOOK_AHEAD);
        let new = next.find(|it| it.end > self.sent);
        let acks = &self.view.acks;
        let answer = acks.get(acks.partition_point(|ack| ack.number <= repeated.number));
        let heard_ns = answer.map_or(u64::MAX, |ack| {
            ack.time_ns + self.conditions.to_sender_ns / 2
        });
        new.is_some_and(|it| it.time_ns < heard_ns)
    }

    /// True if a segment that is new here follows a long silence alone, as after a timeout (RFC 5681 section 3.1: the
    /// window is one segment then): what was sent before did not arrive.
    fn is_after_timeout(&self, sent: &Transmission, next: Option<&Transmission>) -> bool {
        let silence_ns = sent.time_ns.saturating_sub(self.last_sent_ns);
        let to_sender_ns = self.conditions.to_sender_ns;
        // Behind a slow link, the segments of a burst are apart, too.
        let spaced_ns = (2 * self.conditions.gap_ns).min(to_sender_ns / 4 * 3);
        let alone_ns = spaced_ns.max(to_sender_ns / 2 + STACK_NS);
        // What follows a request answers it.
        let seen = self.view.acks[..self.next_ack].iter().rev();
        let mut during = seen.take_while(|ack| ack.time_ns > self.last_sent_ns);
        let is_answer = during.any(|ack| !ack.is_bare);
        (self.conditions.is_near_receiver || self.conditions.is_behind_loss)
            && sent.len >= MIN_FULL
            && !is_answer
            && silence_ns >= MIN_TIMEOUT_NS + to_sender_ns
            && !self.last_is_small
            && next.is_some_and(|next| next.time_ns - sent.time_ns >= alone_ns)
    }

    /// True if a late acknowledgment released what is sent `to_ns`, and no timer.
    fn follows_ack(&self, answers: Answers, to_ns: u64) -> bool {
        answers
            .last_ns
            .is_some_and(|acked_ns| to_ns - acked_ns <= self.reaction_ns())
    }

    /// The same without the path: half of the time more than the host usually takes.
    fn host_ns(&self) -> u64 {
        let usual_ns = self.conditions.host_ns;
        REACTION_NS.max(usual_ns + usual_ns / 2)
    }

    /// Time within which a sender sends what an acknowledgment permits, as the capture shows it.
    fn reaction_ns(&self) -> u64 {
        self.host_ns() + self.conditions.to_sender_ns / 4 + 2 * self.conditions.segment_ns
    }

    /// Attributes the time before a segment with new data.
    fn new_data(
        &mut self,
        sent: &Transmission,
        from_ns: u64,
        flight_before: u64,
        answers: Answers,
        full: u32,
    ) {
        let to_ns = sent.time_ns;
        let reaction_ns = self.reaction_ns();
        let number = sent.number;
        if let Some(opened_ns) = answers.opened_ns {
            let reason = if answers.was_closed {
                Limit::ClosedWindow
            } else {
                Limit::ReceiveWindow
            };
            let opened_ns = if to_ns - opened_ns.max(from_ns) <= reaction_ns {
                to_ns
            } else {
                opened_ns.max(from_ns)
            };
            // A receiver owes an acknowledgment for two segments (RFC 9293 section 3.8.6.3). Where one for more is late, the
            // receiver waited for its program to make room; where not, the acknowledgment itself was late.
            let is_owed = answers.acked > OWED_SEGMENTS * u64::from(full);
            let late_ns = if answers.was_closed || is_owed {
                0
            } else {
                answers.late_ns
            };
            self.push_wait(from_ns, opened_ns, late_ns, reason, number);
            self.push(opened_ns, to_ns, Limit::SenderIdle, number);
            return;
        }
        // A part of a segment that fills the window up is sent when its sender has waited for more room long enough (RFC 9293 section
        // 3.8.6.2.1).
        if self.edge == Some(sent.end) && sent.len < full {
            self.push(from_ns, to_ns, Limit::ReceiveWindow, number);
            return;
        }
        if flight_before == 0 {
            self.push(from_ns, to_ns, Limit::SenderIdle, number);
            return;
        }
        let waited = self.in_flight_reason(flight_before, full);
        match answers.all_acked_ns {
            // A program that had no more when it wrote less than a segment, and does not follow the acknowledgment, waited for
            // none.
            Some(acked_ns) if to_ns - acked_ns > reaction_ns && self.last_is_small => {
                self.push(from_ns, to_ns, Limit::SenderIdle, number);
            }
            Some(acked_ns) if to_ns - acked_ns > reaction_ns => {
                self.push_wait(from_ns, acked_ns, answers.late_ns, waited, number);
                self.push(acked_ns, to_ns, Limit::SenderIdle, number);
            }
            Some(_) => self.push_wait(from_ns, to_ns, answers.late_ns, waited, number),
            None => {
                let follows_ack = answers
                    .last_ns
                    .is_some_and(|acked_ns| to_ns - acked_ns <= reaction_ns);
                let is_burst = to_ns - from_ns <= self.host_ns() + self.conditions.segment_ns;
                if follows_ack || is_burst {
                    let late_ns = if follows_ack { answers.late_ns } else { 0 };
                    self.push_wait(from_ns, to_ns, late_ns, waited, number);
                } else {
                    self.push(from_ns, to_ns, Limit::SenderIdle, number);
                }
            }
        }
    }

    /// Reason for waiting with this much in flight.
    fn in_flight_reason(&self, flight: u64, full: u32) -> Limit {
        if self.last_is_small && flight < 4 * u64::from(full) {
            Limit::SenderIdle
        } else if !self.has_lost && flight + u64::from(full) >= self.largest_flight {
            Limit::SlowStart
        } else {
            Limit::InFlight
        }
    }

    fn finish(&mut self) {
        let end_ns = self.conditions.end_ns;
        let from_ns = self.last_sent_ns;
        let recovering = self.recovery;
        let unacked = self.sent > self.acknowledged;
        let answers = self.apply_acks(u64::MAX, u64::MAX);
        let is_missing = self.sent > self.acknowledged;
        let last_ack_ns = self.view.acks.last().map(|ack| self.effect_ns(ack));
        let until_ns = if is_missing {
            end_ns
        } else if self.is_closed {
            // The answers to probes say so until then.
            last_ack_ns.unwrap_or(from_ns).clamp(from_ns, end_ns)
        } else {
            answers.last_ns.unwrap_or(from_ns).clamp(from_ns, end_ns)
        };
        let reason = match recovering {
            Some((_, reason)) if unacked => reason,
            _ if answers.was_closed => Limit::ClosedWindow,
            // What the receiver misses did not come again, whatever the sender did.
            _ if is_missing
                && self.conditions.is_near_receiver
                && until_ns - from_ns >= MIN_TIMEOUT_NS =>
            {
                Limit::Timeout
            }
            _ => Limit::Tail,
        };
        self.push(from_ns, until_ns, reason, 0);
        self.push(until_ns, end_ns, Limit::Tail, 0);
    }
}
