//! What the acknowledgments between two transmissions do.

use super::walk::Walk;
use crate::model::view::Acknowledgment;

/// An acknowledgment that takes this much longer than the path is late.
const LATE_ACK_NS: u64 = 5_000_000;

/// What the acknowledgments between two transmissions did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Answers {
    /// When the window admitted the next segment; none if it did before.
    pub(super) opened_ns: Option<u64>,
    /// When everything was acknowledged.
    pub(super) all_acked_ns: Option<u64>,
    /// The last one that acknowledged new data.
    pub(super) last_ns: Option<u64>,
    pub(super) was_closed: bool,
    /// By how much the last one was later than the path accounts for.
    pub(super) late_ns: u64,
    /// Octets that the last one added.
    pub(super) acked: u64,
}

impl Walk<'_> {
    /// Time at which the sender sees the acknowledgment, as far as its data shows at the capture point.
    pub(super) fn effect_ns(&self, ack: &Acknowledgment) -> u64 {
        ack.time_ns + self.conditions.to_sender_ns
    }

    /// Applies the acknowledgments up to `until_ns`; `end` is the end of the segment that is sent then.
    pub(super) fn apply_acks(&mut self, until_ns: u64, end: u64) -> Answers {
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

    /// True if a late acknowledgment released what is sent `to_ns`, and no timer.
    pub(super) fn follows_ack(&self, answers: Answers, to_ns: u64) -> bool {
        answers
            .last_ns
            .is_some_and(|acked_ns| to_ns - acked_ns <= self.reaction_ns())
    }
}
