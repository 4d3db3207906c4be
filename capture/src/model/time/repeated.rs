//! What a sender waited for before it repeated data, and the end of a direction.

use super::walk::{MIN_TIMEOUT_NS, Walk};
use crate::model::limit::Limit;
use crate::model::view::Transmission;

/// Smaller segments are messages, which follow each other at intervals of their own.
const MIN_FULL: u32 = 200;
/// Time that a host's stack takes.
const STACK_NS: u64 = 500_000;
/// Who closes an idle connection says so in so many octets at most, and sends the FIN at once.
const FAREWELL_OCTETS: u32 = 128;
const CLOSING_NS: u64 = 10_000_000;
/// Silence before it: a shorter one may be that before an answer.
const IDLE_NS: u64 = 1_000_000_000;
/// Segments that are searched at most, which bounds the time for any capture.
const MAX_LOOK_AHEAD: usize = 512;

impl Walk<'_> {
    /// True if a few octets come with the FIN, long after all was acknowledged: an idle connection is closed (TLS `close_notify`, RFC 8446
    /// section 6.1; HTTP/2 `GOAWAY`, RFC 9113 section 6.8).
    pub(super) fn is_farewell(&self, sent: &Transmission) -> bool {
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
    pub(super) fn knew_acks(&self, repeated: &Transmission) -> bool {
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
    pub(super) fn is_after_timeout(
        &self,
        sent: &Transmission,
        next: Option<&Transmission>,
    ) -> bool {
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
            && !self.is_numbered_next(sent)
            && next.is_some_and(|next| next.time_ns - sent.time_ns >= alone_ns)
    }

    /// True if the numbers of the packets show that their sender sent nothing between this segment and the one before: nothing was lost there.
    fn is_numbered_next(&self, sent: &Transmission) -> bool {
        let all = &self.view.sent;
        let at = all.partition_point(|it| it.number < sent.number);
        let before = at.checked_sub(1).and_then(|at| all.get(at));
        before.is_some_and(|before| {
            sent.identification != 0 && sent.identification.wrapping_sub(before.identification) == 1
        })
    }

    pub(super) fn finish(&mut self) {
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
