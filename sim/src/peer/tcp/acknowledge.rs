//! Processing of an acknowledgment: window, scoreboard, round trip; then [`super::recovery`] reacts.

use super::retransmission::Delivery;
use super::sender::{Phase, Sender};
use crate::time::{Instant, Span};

/// The acknowledgment information of a received segment. Positions are in the sender's own stream,
/// except `from`.
#[derive(Debug, Clone, Default)]
pub struct Acknowledgment {
    /// The cumulative acknowledgment.
    pub position: u64,
    /// SACK blocks, in the order of the option.
    pub sack: Vec<(u64, u64)>,
    /// The peer's window in octets, after scaling.
    pub window: u64,
    /// Position of the segment in the peer's stream.
    pub from: u64,
    /// The segment carries data, SYN or FIN.
    pub occupies: bool,
    /// Round trip by timestamps, used if there is no better measurement.
    pub by_timestamp: Option<Span>,
}

/// Error: the segment acknowledges data that was never sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NeverSent;

impl Sender {
    /// Processes an acknowledgment that arrived at `now`.
    ///
    /// # Errors
    /// [`NeverSent`] if it is beyond SND.NXT; the state is unchanged.
    pub fn acknowledge(&mut self, ack: &Acknowledgment, now: Instant) -> Result<(), NeverSent> {
        if ack.position > self.next {
            return Err(NeverSent);
        }
        let before = self.unacknowledged;
        let outstanding = !self.queue.is_empty();
        let window_changed = self.take_window(ack);

        let mut delivery = Delivery::default();
        let blocks = self.sack_blocks(ack, &mut delivery);
        let point = if self.phase == Phase::Loss {
            self.recovery.point
        } else {
            0
        };
        let least = self.round_trip.min();
        let rack = &mut self.rack;
        self.queue
            .take_sack(blocks, point, now, &mut delivery, |sent| {
                rack.delivered(sent, now, least);
            });
        self.queue
            .take_cumulative(ack.position, point, now, &mut delivery, |sent| {
                rack.delivered(sent, now, least);
            });
        if delivery.reordered {
            rack.reordered();
        }

        delivery.advanced = ack.position.saturating_sub(before);
        if delivery.advanced > 0 {
            self.unacknowledged = ack.position;
            self.release();
        }
        let nothing_new = delivery.advanced == 0 && !ack.occupies && !window_changed;
        let duplicate = nothing_new && ack.position == before && outstanding;
        if duplicate {
            self.statistics.duplicate_acks += 1;
        }
        self.take_round_trip(ack, &delivery);
        if delivery.acknowledged > 0 || self.sack_shows_progress(&delivery, now) {
            self.restart_timer(now);
        }
        self.react(&delivery, duplicate, ack.position, now);
        self.window_moved();
        Ok(())
    }

    /// Updates the peer's window, unless the segment is older than the last update (RFC 9293
    /// section 3.10.7.4). True if the window changed.
    fn take_window(&mut self, ack: &Acknowledgment) -> bool {
        let newer = ack.position > self.unacknowledged
            || ack.from > self.window_from
            || (ack.from == self.window_from && ack.window > self.window);
        if ack.position < self.unacknowledged || !newer {
            return false;
        }
        self.window_from = ack.from;
        let changed = self.window != ack.window;
        self.window = ack.window;
        changed
    }

    /// The SACK blocks that report holes; a DSACK block (RFC 2883 section 4) is stored in
    /// `delivery` instead.
    fn sack_blocks<'a>(
        &self,
        ack: &'a Acknowledgment,
        delivery: &mut Delivery,
    ) -> &'a [(u64, u64)] {
        let blocks: &[_] = if self.path.sack { &ack.sack } else { &[] };
        let Some((&first, rest)) = blocks.split_first() else {
            return blocks;
        };
        let inside = |outer: &(u64, u64)| outer.0 <= first.0 && first.1 <= outer.1;
        if first.1 <= ack.position || rest.first().is_some_and(inside) {
            delivery.duplicate_sack = Some(first);
            return rest;
        }
        blocks
    }

    fn take_round_trip(&mut self, ack: &Acknowledgment, delivery: &Delivery) {
        let acknowledged = delivery
            .acknowledged_after
            .filter(|_| !delivery.retransmitted);
        let by_timestamp = ack.by_timestamp.filter(|_| delivery.acknowledged > 0);
        if let Some(sample) = acknowledged.or(delivery.sacked_after).or(by_timestamp) {
            self.round_trip
                .measure(sample, self.unacknowledged, self.next);
            let last = delivery
                .last_acknowledged_after
                .filter(|_| !delivery.retransmitted);
            if let Some(last) = delivery.last_sacked_after.or(last) {
                self.round_trip.notice(last);
            }
        }
    }

    /// SACK reports data sent before the first segment was last sent. (Data sent after it is no
    /// evidence about it, and must not postpone its timeout.)
    fn sack_shows_progress(&self, delivery: &Delivery, now: Instant) -> bool {
        match (delivery.sacked_after, self.queue.head()) {
            (Some(sacked_after), Some(head)) => sacked_after > now.since(head.sent_at),
            _ => false,
        }
    }

    fn restart_timer(&mut self, now: Instant) {
        if !self.schedule_probe(true, now) {
            self.rearm(now);
        }
    }
}
