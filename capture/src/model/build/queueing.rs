//! The third stage: the rate of the path, what waits in its queues, and when it is busy.

use super::trips::Trips;
use crate::model::queue;
use crate::model::rate::{FastestRate, Progress, Window, average, passed, total_ns};
use crate::model::standing;
use crate::model::view::DirectionView;
use crate::tcp::Connection;

/// The rate is reached while at least this share of it passes.
const BUSY_SHARE: f64 = 0.8;
/// A link that is full and passes its fastest rate for a larger share of the time does not vary.
const MOST_VARYING: f64 = 0.8;
/// Windows for the rate: at least and at most this many full segments.
const WINDOW_SEGMENTS: (u64, u64) = (4, 24);
/// A segment that waits for a smaller part of what the one before takes has found the path free.
const SELDOM_DIVISOR: u64 = 4;
/// Segments in flight without which nothing queues: an acknowledgment is late for other reasons.
const MIN_QUEUED: u64 = 3;

/// Payload that passes, at the rate at which the bottleneck passes it.
pub(super) struct Rates {
    pub(super) sent: Progress,
    pub(super) acknowledged: Progress,
    pub(super) max_in_flight: u64,
    pub(super) fastest: Option<FastestRate>,
    sent_rate: Option<FastestRate>,
    /// The bottleneck spaces what passes it: acknowledgments are evener than what is sent if it is behind the capture point.
    is_behind: bool,
}

impl Rates {
    pub(super) fn of(connection: &Connection, view: &DirectionView) -> Self {
        let stats = connection.logged_stats(connection.data_sender());
        let max_in_flight = u64::from(stats.max_in_flight);
        let window_bytes = rate_window(view, max_in_flight);
        let (sent, acknowledged) = (Progress::sent(view), Progress::acknowledged(view));
        let sent_rate = sent.fastest(window_bytes, max_in_flight);
        let acked_rate = acknowledged.fastest(window_bytes, max_in_flight);
        let is_behind = match (sent_rate, acked_rate) {
            (Some(sent), Some(acked)) => acked.bytes_per_s <= sent.bytes_per_s,
            (sent, _) => sent.is_none(),
        };
        Self {
            sent,
            acknowledged,
            max_in_flight,
            fastest: if is_behind { acked_rate } else { sent_rate },
            sent_rate,
            is_behind,
        }
    }

    /// Time that a full segment takes at the fastest rate.
    fn segment_ns(&self, full: u64) -> u64 {
        let ns = |rate: FastestRate| (full as f64 * 1e9 / rate.bytes_per_s) as u64;
        self.fastest.map_or(0, ns)
    }

    /// Windows in which the path carries its fastest rate.
    fn busy(&self) -> Vec<Window> {
        let Some(rate) = self.fastest else {
            return Vec::new();
        };
        let progress = [&self.sent, &self.acknowledged][usize::from(self.is_behind)];
        let mut busy = progress.windows(rate.window_bytes);
        busy.retain(|window| window.rate() >= BUSY_SHARE * rate.bytes_per_s);
        busy
    }
}

/// What waits in queues, and when the path is busy. The fields are those of [`FlowModel`](crate::model::FlowModel).
pub(super) struct Queueing {
    pub(super) is_queued: bool,
    pub(super) queue_ns: Option<(u64, u64)>,
    pub(super) ack_queue_ns: Option<u64>,
    pub(super) data_delay_ns: Option<u64>,
    /// Time that a full segment occupies the slowest link, if segments queue before it.
    pub(super) segment_ns: u64,
    pub(super) busy: Vec<Window>,
    pub(super) busy_rate: Option<f64>,
    pub(super) is_varying: bool,
}

impl Queueing {
    pub(super) fn of(view: &DirectionView, trips: &Trips, rates: &Rates, span_ns: u64) -> Self {
        let full = u64::from(view.full_segment());
        let segment_ns = rates.segment_ns(full);
        let is_near_receiver = trips.are_near_receiver();
        let could_queue = could_queue(view, trips, rates);
        let sides = [&trips.to_receiver, &trips.to_sender];
        let queue_ns = queue::queue_ns(sides, could_queue);
        let least_ns = queue::MIN_QUEUE_NS
            .max(2 * segment_ns)
            .max(trips.base_ns() / 8);
        let is_queued = queue_ns.is_some_and(|(_, p90)| p90 >= least_ns);
        let mut busy = if is_queued { rates.busy() } else { Vec::new() };
        // Where the path carries its fastest rate most of the time, most segments wait for one before: if not, that rate is another one's.
        let waits_seldom = queue_ns.is_some_and(|(p50, _)| p50 < segment_ns / SELDOM_DIVISOR);
        let busy_ns = total_ns(&busy);
        if waits_seldom && busy_ns * 2 > span_ns {
            busy.clear();
        }
        let data_delay_ns = queue::data_delay_ns(view);
        let ack_queue_ns = queue::ack_queue_ns(
            view,
            &trips.to_receiver,
            data_delay_ns,
            is_near_receiver && !queue::waits_before_receiver(sides, could_queue),
            waited_ns(view, trips, queue_ns),
        );
        let near = sides[usize::from(is_near_receiver)];
        let may_vary = is_queued
            && could_queue[usize::from(is_near_receiver)]
            && busy_ns as f64 <= MOST_VARYING * span_ns as f64
            && ack_queue_ns.is_none_or(|ns| near.queue_ns(50) >= Some(2 * ns));
        let standing = if may_vary {
            standing::standing_queue(view, near, is_near_receiver)
        } else {
            Vec::new()
        };
        let is_varying = !standing.is_empty();
        if is_varying {
            busy = standing.iter().map(|it| passed(view, it)).collect();
        }
        Self {
            is_queued,
            queue_ns,
            ack_queue_ns,
            data_delay_ns,
            segment_ns: if is_queued { segment_ns } else { 0 },
            busy_rate: average(&busy),
            busy,
            is_varying,
        }
    }
}

/// Whether packets may wait between the capture point and the receiver, and between it and the sender. What leaves in bursts is held
/// back by its sender, not by a queue.
fn could_queue(view: &DirectionView, trips: &Trips, rates: &Rates) -> [bool; 2] {
    let full = u64::from(view.full_segment());
    let to_receiver_ns = trips.to_receiver.base_ns();
    let is_beside =
        trips.are_near_receiver() && to_receiver_ns.is_some_and(|ns| ns < queue::NEAR_NS);
    [
        rates.max_in_flight >= MIN_QUEUED * full && !is_beside,
        rates.sent_rate.is_some() && !queue::is_pace(view, &trips.to_sender),
    ]
}

/// Median time that packets wait on their way to both ends and back. Stamps show what packets wait longer than the fastest of them,
/// which may have waited, too, unless the capture has the first one.
fn waited_ns(view: &DirectionView, trips: &Trips, queue_ns: Option<(u64, u64)>) -> Option<u64> {
    let (median_ns, _) = queue_ns?;
    let of = |percent| trips.to_sender.percentile(percent);
    match of(0).zip(of(50)) {
        Some((least_ns, usual_ns)) if view.is_late && trips.are_near_receiver() => {
            Some(usual_ns - least_ns)
        }
        _ => Some(median_ns),
    }
}

/// Octets over which rates are measured: half of what is typically in flight, so that a window that fits into a round
/// trip shows the gap after each flight.
fn rate_window(view: &DirectionView, max_in_flight: u64) -> u64 {
    let full = u64::from(view.full_segment());
    let (least, most) = WINDOW_SEGMENTS;
    (max_in_flight / 2).clamp(least * full, most * full)
}
