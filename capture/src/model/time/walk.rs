//! The first pass: a walk through the transmissions of a direction.

use super::{Conditions, Span};
use crate::model::limit::Limit;
use crate::model::view::{DirectionView, Transmission};
use crate::tcp::PacketClass;

/// A sender reacts within this time, beside what the path adds, unless its host is known to be slower.
const REACTION_NS: u64 = 600_000;
/// The shortest retransmission timeout of common stacks, less the resolution of their timers.
pub(super) const MIN_TIMEOUT_NS: u64 = 180_000_000;

/// State while walking through a direction.
pub(super) struct Walk<'a> {
    pub(super) view: &'a DirectionView,
    pub(super) conditions: &'a Conditions,
    pub(super) spans: Vec<Span>,
    pub(super) next_ack: usize,
    /// After the highest octet sent.
    pub(super) sent: u64,
    pub(super) acknowledged: u64,
    pub(super) edge: Option<u64>,
    pub(super) is_closed: bool,
    /// Losses are repaired until this octet is acknowledged.
    pub(super) recovery: Option<(u64, Limit)>,
    pub(super) has_lost: bool,
    /// First octet of the last words before the FIN.
    pub(super) farewell: Option<u64>,
    /// Largest flight so far.
    pub(super) largest_flight: u64,
    pub(super) last_is_small: bool,
    pub(super) last_sent_ns: u64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(view: &'a DirectionView, conditions: &'a Conditions) -> Self {
        let start = view.sent.first().map_or(0, |it| it.start);
        Self {
            view,
            conditions,
            spans: Vec::new(),
            next_ack: 0,
            sent: start,
            acknowledged: start,
            edge: None,
            is_closed: false,
            recovery: None,
            has_lost: false,
            farewell: None,
            largest_flight: 0,
            last_is_small: false,
            last_sent_ns: conditions.opened_ns,
        }
    }

    /// The limit of each interval.
    pub(super) fn spans(mut self) -> Vec<Span> {
        let view = self.view;
        let full = view.full_segment();
        self.push(0, self.conditions.opened_ns, Limit::Handshake, 0);
        for (at, sent) in view.sent.iter().enumerate() {
            self.step(sent, view.sent.get(at + 1), full);
        }
        self.finish();
        self.spans
    }

    pub(super) fn push(&mut self, start_ns: u64, end_ns: u64, limit: Limit, number: u32) {
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

    /// A wait until `to_ns` for an acknowledgment that is late by `late_ns`.
    pub(super) fn push_wait(
        &mut self,
        from_ns: u64,
        to_ns: u64,
        late_ns: u64,
        limit: Limit,
        number: u32,
    ) {
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

    /// Time within which the host alone reacts: half more than it usually takes.
    pub(super) fn host_ns(&self) -> u64 {
        let usual_ns = self.conditions.host_ns;
        REACTION_NS.max(usual_ns + usual_ns / 2)
    }

    /// Time within which a sender sends what an acknowledgment permits, as the capture shows it.
    pub(super) fn reaction_ns(&self) -> u64 {
        self.host_ns() + self.conditions.to_sender_ns / 4 + 2 * self.conditions.segment_ns
    }
}
