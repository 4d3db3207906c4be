//! What the packets of a connection show about its path, its ends and its time: each figure known, bounded or unknown.
//!
//! The connection is judged as a whole after its last packet, because most of it depends on figures that only the whole
//! connection shows: where it was captured, the base round trip, the fastest rate.
//!
//! | module | contents |
//! |---|---|
//! | `view` | one direction with sequence numbers that do not wrap |
//! | `round_trip` | round trips from the capture point to each end |
//! | `stamp` | delays by the clocks that stamp packets |
//! | `rate` | the fastest rate, and when it was reached |
//! | `bucket` | whether losses depend on what passed before |
//! | `gap_repair` | whether the receiver keeps what arrives behind a gap |
//! | `edge` | the round trip to a sender that always fills the window |
//! | `window` | the scale of the receiver's window |
//! | `limit` | what limits the speed |
//! | `time` | the limit of each interval between transmissions |
//! | `override_limit` | times with another limit than the wait of the sender |
//! | `timeline` | the same in bounded memory |
//! | `queue` | time that packets wait in queues |
//! | `ack_interval` | the interval that a narrow way back sets between acknowledgments |
//! | `numbers` | the order of packets, and missing ones, by their identifications |
//! | `release` | how long the sender takes to react |
//! | `standing` | times in which a queue stands, whatever the rate of its link |
//! | `standstill` | silences of the receiver |
//! | `train` | the rate of the slowest link |
//! | `reaction` | times that the stack of an end takes to react |
//! | `turns` | requests and answers |

mod ack_interval;
mod bucket;
mod edge;
mod gap_repair;
mod limit;
mod numbers;
mod override_limit;
mod queue;
mod rate;
mod reaction;
mod release;
mod round_trip;
mod stamp;
mod standing;
mod standstill;
#[cfg(test)]
mod tests;
mod time;
mod timeline;
mod train;
mod turns;
mod view;
mod window;

use crate::tcp::{Connection, End, LoggedPacket};
use std::ops::Range;

pub use ack_interval::AckInterval;
pub use bucket::LossBucket;
use edge::EdgeDelay;
use gap_repair::GapRepairs;
pub use limit::{Limit, Shares};
pub use rate::{FastestRate, Progress, Window};
use rate::{average, passed, total_ns};
pub use reaction::Reaction;
pub use round_trip::{RoundTrips, percentile};
pub use stamp::stamp_delays_ns;
pub use standing::WaitsAtLosses;
pub use standstill::Standstill;
pub use time::Span;
pub use timeline::LimitSpan;
use timeline::Timeline;
pub use train::TrainRate;
pub use turns::{Turns, Wait};
pub use view::{Acknowledgment, DirectionView, SACK_OCTETS, Transmission};
pub use window::WindowScale;

/// Model of a connection, for the end that sends most of the payload.
#[derive(Clone, Debug)]
pub struct FlowModel {
    /// The end that sends most of the payload.
    pub data_sender: End,
    /// Its data and the acknowledgments for it.
    pub view: DirectionView,
    /// The other direction.
    pub back: DirectionView,
    /// Time from the first packet to the last that was logged.
    pub span_ns: u64,
    /// True if the connection has more packets than were logged.
    pub is_truncated: bool,
    /// Round trips to the receiver.
    pub to_receiver: RoundTrips,
    /// Round trips to the sender.
    pub to_sender: RoundTrips,
    /// Time to the first data of a server that sends first, from the acknowledgment of its SYN-ACK: no less than a round trip.
    pub greeting_ns: Option<u64>,
    /// Time to the sender's answer to the receiver's FIN: no less than a round trip.
    pub closed_ns: Option<u64>,
    /// Time from an acknowledgment at the capture point to the data that it releases.
    pub reaction_ns: u64,
    /// Median time from an acknowledgment to the data that follows it, if that shows that the capture point is near the
    /// sender.
    pub release_ns: Option<u64>,
    /// Scale of the receiver's window.
    pub scale: WindowScale,
    /// The fastest rate at which payload passed.
    pub fastest: Option<FastestRate>,
    /// Rate of the slowest link, if the distance between segments shows it.
    pub train: Option<TrainRate>,
    /// Average rate of the payload sent, retransmissions included, as a share of the fastest rate.
    pub utilization: f64,
    /// Average rate while the path was busy, octets of payload per second.
    pub busy_rate: Option<f64>,
    /// True if a queue stands nearly all the time before a link whose rate varies.
    pub is_varying: bool,
    /// True if segments queued on the path: round trips grew with the data in flight.
    pub is_queued: bool,
    /// Median and 90th percentile of the time in queues.
    pub queue_ns: Option<(u64, u64)>,
    /// Median time that acknowledgments wait on their way back, by the clocks that stamp packets.
    pub ack_queue_ns: Option<u64>,
    /// Median time that data waits before the capture point, by the clock that stamps it.
    pub data_delay_ns: Option<u64>,
    /// Interval of acknowledgments that the way back spaces.
    pub ack_interval: Option<AckInterval>,
    /// The time by limit.
    pub spans: Vec<Span>,
    /// True if the receiver keeps what arrives behind a gap, false if all of it is repeated; `None` if that does not show.
    pub keeps_behind_gap: Option<bool>,
    /// Times in which the receiver answers nothing, and then everything.
    pub standstills: Vec<Standstill>,
    /// Requests and answers.
    pub turns: Turns,
    conditions: time::Conditions,
}

/// The rate is reached while at least this share of it passes.
const BUSY_SHARE: f64 = 0.8;
/// A link that is full and passes its fastest rate for a larger share of the time does not vary.
const MOST_VARYING: f64 = 0.8;
/// Windows for the rate: at least and at most this many full segments.
const WINDOW_SEGMENTS: (u64, u64) = (4, 24);
/// Segments in flight without which nothing queues: an acknowledgment is late for other reasons.
const MIN_QUEUED: u64 = 3;
/// A queue is longer than this, because hosts take time, too.
const MIN_QUEUE_NS: u64 = 400_000;
/// A receiver beside the capture point acknowledges within this time.
const BESIDE_NS: u64 = 1_000_000;

impl FlowModel {
    /// Model of `connection`, whose logged packets are `packets`. `None` without payload.
    pub fn of(
        connection: &Connection,
        packets: &[LoggedPacket],
        is_truncated: bool,
    ) -> Option<Self> {
        let data_sender = connection.data_sender();
        let mut view = DirectionView::of(packets, data_sender);
        let full = u64::from(view.full_segment());
        let first = view.sent.first()?;
        if full == 0 {
            return None;
        }
        let opened_ns = first.time_ns;
        let span_ns = packets.iter().map(|it| it.time_ns).max()?;
        let legs = connection.handshake().legs_ns();
        let leg = |end: End| legs.map(|legs| legs[end as usize]);
        // Who accepts the connection sends nothing before it is acknowledged. Its SYN-ACK may be late (address resolution, a
        // full queue of connections), which its first data is not.
        let greeting_ns = (data_sender == End::Second)
            .then(|| {
                let ack_ns = connection.handshake().ack_ns?;
                opened_ns.checked_sub(ack_ns.checked_sub(connection.start_ns)?)
            })
            .flatten();
        let turns = Turns::of(packets, connection.handshake().nearer_end());
        // No answer is faster than the path; a SYN may have been answered late.
        let back = DirectionView::of(packets, data_sender.other());
        // All that a capture of a receiver that began late may show of the path to the sender; a handshake may have waited for
        // address resolution.
        let closed_ns = release::closed_ns(&view, &back);
        let released_ns = release::after_late_acks_ns(&view);
        let least = |end: End| {
            let waits = turns.waits[end as usize].iter();
            // Payload that does not acknowledge the request crossed it.
            let answers = waits.filter(|it| !it.has_loss && it.acked_ns.is_some());
            let answers = answers.map(|wait| wait.ns);
            let acknowledged = (end == data_sender)
                .then(|| release::acknowledged_ns(&back))
                .flatten();
            let greeting = greeting_ns.filter(|_| end == data_sender && leg(end).is_some());
            let reopened = (end == data_sender)
                .then(|| release::reopened_ns(&view))
                .flatten();
            let closed = closed_ns.filter(|_| end == data_sender);
            let released = released_ns.filter(|_| end == data_sender);
            answers
                .chain(leg(end))
                .chain(closed)
                .chain(acknowledged)
                .chain(greeting)
                .chain(reopened)
                .chain(released)
                .min()
        };
        let to_receiver = RoundTrips::to_receiver(&view, least(data_sender.other()));
        let to_sender = RoundTrips::to_sender(&view, least(data_sender));
        view.reclassify(
            to_receiver.base_ns().unwrap_or(0),
            to_sender.base_ns().unwrap_or(0),
        );
        let standstills = standstill::standstills(
            &mut view,
            to_receiver.base_ns().unwrap_or(0),
            to_receiver.percentile(90).unwrap_or(0),
        );
        let repairs = GapRepairs::of(&view);
        let keeps_behind_gap = repairs.keeps_behind_gap();
        if keeps_behind_gap == Some(false) {
            for at in repairs.followers() {
                view.sent[*at].is_discarded = true;
            }
        }
        let offered = connection.window_shift(data_sender.other());
        let mut reaction_ns = release::reaction_ns(&to_receiver, &to_sender);
        // A full segment takes longer to pass than what a handshake consists of.
        if let Some(ns) = released_ns.filter(|_| is_near_receiver(&to_receiver, &to_sender)) {
            reaction_ns = reaction_ns.max(ns - ns / 32);
        }
        // A window that is always full shows the round trip better than a handshake does.
        let release_ns = release::release_ns(&view, &to_receiver);
        let is_plausible = |ns: u64| {
            let base_ns = to_sender.base_ns();
            base_ns.is_none_or(|base_ns| ns <= base_ns + base_ns / 8)
        };
        let edge = EdgeDelay::of(&view, offered)
            .filter(|edge| release_ns.is_none() && is_plausible(edge.short_ns));
        if to_sender.count() < 8
            && let Some(edge) = edge
        {
            reaction_ns = edge.short_ns - edge.short_ns / 32;
        }
        let edge_ns = edge.map(|edge| edge.median_ns);
        let edge_ns = edge_ns.or(closed_ns.filter(|_| view.is_late && release_ns.is_none()));
        let scale = WindowScale::of(&view, offered, reaction_ns, edge_ns);
        let window_bytes = rate_window(&view, connection.logged_stats(data_sender).max_in_flight);
        let progress = [Progress::sent(&view), Progress::acknowledged(&view)];
        // The bottleneck spaces what passes it: the evener of the two is behind it.
        let max_in_flight = u64::from(connection.logged_stats(data_sender).max_in_flight);
        let fastest = |progress: &Progress| progress.fastest(window_bytes, max_in_flight);
        let (sent_rate, acked_rate) = (fastest(&progress[0]), fastest(&progress[1]));
        let (behind, fastest) = match (sent_rate, acked_rate) {
            (Some(sent), Some(acked)) if acked.bytes_per_s <= sent.bytes_per_s => {
                (&progress[1], Some(acked))
            }
            (Some(sent), _) => (&progress[0], Some(sent)),
            (None, acked) => (&progress[1], acked),
        };
        let segment_ns = fastest.map_or(0, |rate| (full as f64 * 1e9 / rate.bytes_per_s) as u64);
        let is_near_receiver = is_near_receiver(&to_receiver, &to_sender);
        // What leaves in bursts is held back by its sender, not by a queue.
        let is_near =
            is_near_receiver && to_receiver.base_ns().is_some_and(|ns| ns < queue::NEAR_NS);
        let could_queue = [
            max_in_flight >= MIN_QUEUED * full && !is_near,
            sent_rate.is_some() && !queue::is_pace(&view, &to_sender),
        ];
        let sides = [&to_receiver, &to_sender];
        let queue_ns = queue::queue_ns(sides, could_queue);
        let base_ns = to_receiver.base_ns().unwrap_or(0) + to_sender.base_ns().unwrap_or(0);
        let is_queued = queue_ns
            .is_some_and(|(_, p90)| p90 >= MIN_QUEUE_NS.max(2 * segment_ns).max(base_ns / 8));
        let mut busy = Vec::new();
        if let Some(rate) = fastest.filter(|_| is_queued) {
            busy = behind.windows(rate.window_bytes);
            busy.retain(|window| window.rate() >= BUSY_SHARE * rate.bytes_per_s);
        }
        // Stamps show what packets wait longer than the fastest of them, which may have waited, too, unless the capture has
        // the first one.
        let least_trip_ns = to_sender.percentile(0).zip(to_sender.percentile(50));
        let waited_ns = match least_trip_ns {
            Some((least_ns, median_ns)) if is_near_receiver && view.is_late => {
                queue_ns.map(|_| median_ns - least_ns)
            }
            _ => queue_ns.map(|(p50, _)| p50),
        };
        let is_before_queue = is_near_receiver && !queue::waits_before_receiver(sides, could_queue);
        let data_delay_ns = queue::data_delay_ns(&view);
        let ack_queue_ns = queue::ack_queue_ns(
            &view,
            &to_receiver,
            data_delay_ns,
            is_before_queue,
            waited_ns,
        );
        let trips = [&to_receiver, &to_sender][usize::from(is_near_receiver)];
        let may_vary = is_queued
            && could_queue[usize::from(is_near_receiver)]
            && total_ns(&busy) as f64 <= MOST_VARYING * span_ns as f64
            && ack_queue_ns.is_none_or(|ns| trips.queue_ns(50) >= Some(2 * ns));
        let standing = if may_vary {
            standing::standing_queue(&view, trips, is_near_receiver)
        } else {
            Vec::new()
        };
        let is_varying = !standing.is_empty();
        if is_varying {
            busy = standing.iter().map(|it| passed(&view, it)).collect();
        }
        let busy_rate = average(&busy);
        let gaps = view
            .sent
            .windows(2)
            .map(|pair| pair[1].time_ns - pair[0].time_ns);
        let conditions = time::Conditions {
            gap_ns: percentile(gaps.collect(), 25).unwrap_or(0),
            // A stack answers a SYN more slowly than an acknowledgment.
            to_sender_ns: reaction_ns,
            host_ns: release_ns
                .filter(|ns| release::is_far_below_bursts(&view, *ns))
                .unwrap_or(0),
            to_receiver_ns: to_receiver.base_ns().unwrap_or(0),
            shift: scale.shift(),
            segment_ns: if is_queued { segment_ns } else { 0 },
            opened_ns,
            end_ns: span_ns,
            busy,
            round_trips: if queue::acks_are_held(&to_receiver, &progress[1], max_in_flight, full) {
                to_receiver.samples().to_vec()
            } else {
                Vec::new()
            },
            is_near_receiver,
            is_behind_loss: connection.stats(data_sender).lost_before_capture > 0,
        };
        let ends = [data_sender, data_sender.other()];
        let is_selective = ends.into_iter().all(|end| connection.sack_permitted(end));
        let ack_interval = AckInterval::of(&view, is_selective);
        let train = TrainRate::of(&view, &progress[1], is_near_receiver);
        let spans = time::attribute(&view, &conditions, &standstills);
        let utilization = fastest.map_or(0.0, |rate| {
            progress[0].bytes() as f64 * 1e9
                / (progress[0].span_ns().max(1) as f64 * rate.bytes_per_s)
        });
        Some(Self {
            data_sender,
            view,
            back,
            span_ns,
            is_truncated,
            to_receiver,
            to_sender,
            greeting_ns,
            closed_ns,
            reaction_ns,
            release_ns,
            scale,
            fastest,
            train,
            utilization,
            busy_rate,
            is_varying,
            is_queued,
            queue_ns,
            ack_queue_ns,
            data_delay_ns,
            ack_interval,
            spans,
            keeps_behind_gap,
            standstills,
            turns,
            conditions,
        })
    }

    /// Attributes the time again, with `busy` windows of a path that carries other connections, too.
    pub fn set_busy(&mut self, busy: Vec<Window>) {
        let passed = busy.iter().map(|it| passed(&self.view, it));
        self.busy_rate = average(&passed.collect::<Vec<_>>());
        self.conditions.busy = busy;
        self.spans = time::attribute(&self.view, &self.conditions, &self.standstills);
    }

    /// Total time with this limit.
    pub fn time_ns(&self, limit: Limit) -> u64 {
        let spans = self.spans.iter().filter(|span| span.limit == limit);
        spans.map(Span::ns).sum()
    }

    /// Octets in flight at the sender after each new segment.
    pub fn flights(&self) -> Vec<u64> {
        let mut acks = self.view.acks.iter().peekable();
        let mut acked = self.view.sent.first().map_or(0, |it| it.start);
        let mut flights = Vec::new();
        for sent in self.view.sent.iter().filter(|it| !it.is_retransmission()) {
            while let Some(ack) = acks.next_if(|ack| ack.time_ns + self.reaction_ns <= sent.time_ns)
            {
                acked = acked.max(ack.ack);
            }
            flights.push(sent.end.saturating_sub(acked));
        }
        flights
    }

    /// The most octets in flight at the sender in each round trip of `rtt_ns` of a time: from a segment until it can be
    /// acknowledged.
    pub fn peaks(&self, rtt_ns: u64, within_ns: Range<u64>) -> Vec<u64> {
        // The first segment of the next burst follows a round trip later, or somewhat sooner: round trips vary.
        let round_ns = rtt_ns - rtt_ns / 8;
        let new = self.view.sent.iter().filter(|it| !it.is_retransmission());
        let mut peaks: Vec<u64> = Vec::new();
        let mut from_ns = 0;
        let all = new.zip(self.flights());
        for (sent, flight) in all.filter(|(sent, _)| within_ns.contains(&sent.time_ns)) {
            match peaks.last_mut() {
                Some(peak) if sent.time_ns < from_ns + round_ns => *peak = flight.max(*peak),
                _ => {
                    peaks.push(flight);
                    from_ns = sent.time_ns;
                }
            }
        }
        peaks
    }

    /// The largest window granted, with the least scale that is possible.
    pub fn largest_window(&self) -> u64 {
        let windows = self.view.acks.iter().map(|ack| u64::from(ack.window));
        windows.max().unwrap_or(0) << self.scale.least()
    }

    /// Octets that were captured and not acknowledged at each of these times, which ascend.
    pub fn unacknowledged_at(&self, times_ns: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let mut sent = self.view.sent.iter().peekable();
        let mut acks = self.view.acks.iter().peekable();
        let (mut end, mut acked) = (0, 0);
        let open = |time_ns: u64| {
            while let Some(sent) = sent.next_if(|it| it.time_ns <= time_ns) {
                end = end.max(sent.end);
            }
            while let Some(ack) = acks.next_if(|it| it.time_ns <= time_ns) {
                acked = acked.max(ack.ack);
            }
            if acked == 0 {
                0
            } else {
                end.saturating_sub(acked)
            }
        };
        times_ns.into_iter().map(open).collect()
    }

    /// True if the capture point is nearer to the receiver than to the sender. False if that is unknown.
    pub fn is_near_receiver(&self) -> bool {
        self.conditions.is_near_receiver
    }

    /// Base round trip between the ends, if both parts are known.
    pub fn base_rtt_ns(&self) -> Option<u64> {
        Some(self.to_receiver.base_ns()? + self.to_sender.base_ns()?)
    }

    /// Typical round trip between the ends, if both parts are known.
    pub fn round_trip_ns(&self) -> Option<u64> {
        let to_receiver_ns = self.to_receiver.percentile(50);
        let to_sender_ns = match self.to_sender.base_ns() {
            Some(ns) => ns,
            None if self.reaction_ns > 0 => self.reaction_ns,
            None => self.release_ns?,
        };
        Some(to_receiver_ns.or(self.to_receiver.base_ns())? + to_sender_ns)
    }
}

/// Time of a connection by limit.
#[derive(Clone, Debug, Default)]
pub struct TimeShares {
    /// Nanoseconds by limit.
    pub shares: Shares,
    /// The limits in chronological order; short ones are merged if there are many.
    pub spans: Vec<LimitSpan>,
    /// Shorter ones were merged; 0 if none were.
    pub coarser_than_ns: u64,
}

impl TimeShares {
    /// The limits of a connection that began at `start_ns`.
    pub fn of(spans: &[Span], start_ns: u64) -> Self {
        let mut timeline = Timeline::default();
        for span in spans {
            timeline.push(span.limit, span.ns());
        }
        Self {
            shares: timeline.shares(),
            spans: timeline.spans(start_ns),
            coarser_than_ns: timeline.grain_ns(),
        }
    }
}

/// True if the round trip to the receiver is the shorter one or, where the one to the sender is unknown, if the receiver
/// acknowledges as fast as a host beside the capture point does.
fn is_near_receiver(to_receiver: &RoundTrips, to_sender: &RoundTrips) -> bool {
    match (to_receiver.base_ns(), to_sender.base_ns()) {
        (Some(to_receiver_ns), Some(to_sender_ns)) => to_receiver_ns < to_sender_ns,
        _ => to_receiver.percentile(50).is_some_and(|ns| ns < BESIDE_NS),
    }
}

/// Octets over which rates are measured: half of what is typically in flight, so that a window that fits into a round
/// trip shows the gap after each flight.
fn rate_window(view: &DirectionView, max_in_flight: u32) -> u64 {
    let full = u64::from(view.full_segment());
    let (least, most) = WINDOW_SEGMENTS;
    (u64::from(max_in_flight) / 2).clamp(least * full, most * full)
}
