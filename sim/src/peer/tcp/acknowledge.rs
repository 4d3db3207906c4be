//! Processing of an acknowledgment: window, scoreboard, round trip; then [`super::recovery`] reacts.

use super::retransmission::Delivery;
use super::sender::{CongestionState, Sender};
use crate::time::{Instant, Span};

/// The acknowledgment information of a received segment. Positions are in the sender's own stream,
/// except `segment_position`.
#[derive(Debug, Clone, Default)]
pub struct Acknowledgment {
    /// The cumulative acknowledgment.
    pub position: u64,
    /// SACK blocks, in the order of the option.
    pub sack: Vec<(u64, u64)>,
    /// The peer's window in octets, after scaling.
    pub window: u64,
    /// Position of the segment in the peer's stream.
    pub segment_position: u64,
    /// The segment carries data, SYN or FIN.
    pub occupies_sequence_space: bool,
    /// Round trip by timestamps, used if there is no better measurement.
    pub timestamp_round_trip: Option<Span>,
}

/// Error: the segment acknowledges data that was never sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnsentDataAcked;

impl Sender {
    /// Processes an acknowledgment that arrived at `now`.
    ///
    /// # Errors
    /// [`UnsentDataAcked`] if it is beyond SND.NXT; the state is unchanged.
    pub fn on_ack(&mut self, ack: &Acknowledgment, now: Instant) -> Result<(), UnsentDataAcked> {
        if ack.position > self.next {
            return Err(UnsentDataAcked);
        }
        let before = self.unacknowledged;
        let outstanding = !self.queue.is_empty();
        let window_changed = self.update_window(ack);

        let mut delivery = Delivery::default();
        let blocks = self.split_dsack(ack, &mut delivery);
        let point = if self.congestion_state == CongestionState::Loss {
            self.recovery.point
        } else {
            0
        };
        let least = self.round_trip.min();
        let rack = &mut self.rack;
        self.queue
            .apply_sack(blocks, point, now, &mut delivery, |sent| {
                rack.on_delivered(sent, now, least);
            });
        self.queue
            .apply_cumulative_ack(ack.position, point, now, &mut delivery, |sent| {
                rack.on_delivered(sent, now, least);
            });
        if delivery.reordered {
            rack.on_reordering();
        }

        delivery.advanced = ack.position.saturating_sub(before);
        if delivery.advanced > 0 {
            self.unacknowledged = ack.position;
            self.release_acknowledged();
        }
        let nothing_new = delivery.advanced == 0 && !ack.occupies_sequence_space && !window_changed;
        let duplicate = nothing_new && ack.position == before && outstanding;
        if duplicate {
            self.statistics.duplicate_acks += 1;
        }
        self.sample_round_trip(ack, &delivery);
        if delivery.acknowledged > 0 || self.sack_shows_progress(&delivery, now) {
            self.restart_timer(now);
        }
        self.react_to_ack(&delivery, duplicate, ack.position, now);
        self.on_window_update();
        Ok(())
    }

    /// Updates the peer's window, unless the segment is older than the last update (RFC 9293
    /// section 3.10.7.4). True if the window changed.
    fn update_window(&mut self, ack: &Acknowledgment) -> bool {
        let newer = ack.position > self.unacknowledged
            || ack.segment_position > self.window_from
            || (ack.segment_position == self.window_from && ack.window > self.window);
        if ack.position < self.unacknowledged || !newer {
            return false;
        }
        self.window_from = ack.segment_position;
        let changed = self.window != ack.window;
        self.window = ack.window;
        self.max_window = self.max_window.max(ack.window);
        changed
    }

    /// The SACK blocks that report holes; a DSACK block (RFC 2883 section 4) is stored in
    /// `delivery` instead.
    fn split_dsack<'a>(
        &self,
        ack: &'a Acknowledgment,
        delivery: &mut Delivery,
    ) -> &'a [(u64, u64)] {
        let blocks: &[_] = if self.parameters.sack { &ack.sack } else { &[] };
        let Some((&first, rest)) = blocks.split_first() else {
            return blocks;
        };
        let inside = |outer: &(u64, u64)| outer.0 <= first.0 && first.1 <= outer.1;
        if first.1 <= ack.position || rest.first().is_some_and(inside) {
            delivery.dsack = Some(first);
            return rest;
        }
        blocks
    }

    fn sample_round_trip(&mut self, ack: &Acknowledgment, delivery: &Delivery) {
        let acknowledged = delivery.first_ack_rtt.filter(|_| !delivery.retransmitted);
        let timestamp_round_trip = ack
            .timestamp_round_trip
            .filter(|_| delivery.acknowledged > 0);
        if let Some(sample) = acknowledged
            .or(delivery.first_sack_rtt)
            .or(timestamp_round_trip)
        {
            self.round_trip
                .update(sample, self.unacknowledged, self.next);
            let last = delivery.last_ack_rtt.filter(|_| !delivery.retransmitted);
            if let Some(last) = delivery.last_sack_rtt.or(last) {
                self.round_trip.update_min(last);
            }
        }
    }

    /// SACK reports data sent before the first segment was last sent. (Data sent after it is no
    /// evidence about it, and must not postpone its timeout.)
    fn sack_shows_progress(&self, delivery: &Delivery, now: Instant) -> bool {
        match (delivery.first_sack_rtt, self.queue.head()) {
            (Some(first_sack_rtt), Some(head)) => first_sack_rtt > now.since(head.sent_at),
            _ => false,
        }
    }

    fn restart_timer(&mut self, now: Instant) {
        if !self.schedule_probe(true, now) {
            self.arm_retransmission_timer(now);
        }
    }
}
