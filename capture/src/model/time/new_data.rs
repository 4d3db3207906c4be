//! What a sender waited for before it sent new data.

use super::answers::Answers;
use super::walk::Walk;
use crate::model::limit::Limit;
use crate::model::view::Transmission;

/// A receiver owes an acknowledgment for this many full segments.
const OWED_SEGMENTS: u64 = 2;
/// A sender waits no longer for more room than for a part of a segment (RFC 9293 section 3.8.6.2.1: 0.1 to 1.0 s).
const OVERRIDE_NS: u64 = 1_000_000_000;

impl Walk<'_> {
    /// Attributes the time before a segment with new data.
    pub(super) fn new_data(
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
        // A part of a segment that fills the window up is sent when its sender has waited for more room long enough (RFC 9293 section
        // 3.8.6.2.1).
        let is_override = |opened_ns: u64| to_ns - opened_ns.max(from_ns) <= OVERRIDE_NS;
        if self.edge == Some(sent.end)
            && sent.len < full
            && answers.opened_ns.is_none_or(is_override)
        {
            let limit = if answers.was_closed {
                Limit::ClosedWindow
            } else {
                Limit::ReceiveWindow
            };
            self.push(from_ns, to_ns, limit, number);
            return;
        }
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
}
