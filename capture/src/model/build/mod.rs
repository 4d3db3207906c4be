//! Builds up the model of a connection in stages; each needs figures of those before.
//!
//! | module | stage |
//! |---|---|
//! | `trips` | round trips to both ends |
//! | `sender` | how soon the sender reacts |
//! | `queueing` | rates, queues, and when the path is busy |

mod queueing;
mod sender;
mod trips;

use super::gap_repair::GapRepairs;
use super::round_trip::percentile;
use super::train::TrainRate;
use super::turns::Turns;
use super::view::DirectionView;
use super::{AckInterval, FlowModel, queue, release, standstill, time};
use crate::tcp::{Connection, LoggedPacket};
use queueing::{Queueing, Rates};
use sender::SenderReactions;
use trips::Trips;

impl FlowModel {
    /// Model of `connection`, whose logged packets are `packets`. `None` without payload.
    pub fn of(
        connection: &Connection,
        packets: &[LoggedPacket],
        is_truncated: bool,
    ) -> Option<Self> {
        let data_sender = connection.data_sender();
        let mut view = DirectionView::of(packets, data_sender);
        let back = DirectionView::of(packets, data_sender.other());
        let span_ns = packets.iter().map(|it| it.time_ns).max()?;
        if view.sent.is_empty() || view.full_segment() == 0 {
            return None;
        }
        let turns = Turns::of(packets, connection.handshake().nearer_end());
        let trips = Trips::of(connection, packets, &view, &back, &turns);
        view.reclassify(
            trips.to_receiver.base_ns().unwrap_or(0),
            trips.to_sender.base_ns().unwrap_or(0),
        );
        let standstills = standstill::standstills(
            &mut view,
            trips.to_receiver.base_ns().unwrap_or(0),
            trips.to_receiver.percentile(90).unwrap_or(0),
        );
        let keeps_behind_gap = mark_discarded(&mut view);
        let sender = SenderReactions::of(connection, &view, &trips);
        let rates = Rates::of(connection, &view);
        let queueing = Queueing::of(&view, &trips, &rates, span_ns);
        let utilization = rates.fastest.map_or(0.0, |rate| {
            rates.sent.bytes() as f64 * 1e9
                / (rates.sent.span_ns().max(1) as f64 * rate.bytes_per_s)
        });
        let is_selective = [data_sender, data_sender.other()]
            .into_iter()
            .all(|end| connection.sack_permitted(end));
        let conditions = time::Conditions {
            end_ns: span_ns,
            is_behind_loss: connection.stats(data_sender).lost_before_capture > 0,
            segment_ns: queueing.segment_ns,
            busy: queueing.busy,
            ..conditions(&view, &trips, &sender, &rates)
        };
        Some(Self {
            data_sender,
            span_ns,
            is_truncated,
            ack_interval: AckInterval::of(&view, is_selective),
            train: TrainRate::of(&view, &rates.acknowledged, trips.are_near_receiver()),
            spans: time::attribute(&view, &conditions, &standstills),
            view,
            back,
            to_receiver: trips.to_receiver,
            to_sender: trips.to_sender,
            routers_to_sender: trips.routers_to_sender,
            greeting_ns: trips.greeting_ns,
            closed_ns: trips.closed_ns,
            reaction_ns: sender.reaction_ns,
            release_ns: sender.release_ns,
            scale: sender.scale,
            fastest: rates.fastest,
            utilization,
            busy_rate: queueing.busy_rate,
            is_varying: queueing.is_varying,
            is_queued: queueing.is_queued,
            queue_ns: queueing.queue_ns,
            ack_queue_ns: queueing.ack_queue_ns,
            data_delay_ns: queueing.data_delay_ns,
            keeps_behind_gap,
            standstills,
            turns,
            conditions,
        })
    }
}

/// Whether the receiver keeps what arrives behind a gap. If not, marks it as discarded.
fn mark_discarded(view: &mut DirectionView) -> Option<bool> {
    let repairs = GapRepairs::of(view);
    let keeps_behind_gap = repairs.keeps_behind_gap();
    if keeps_behind_gap == Some(false) {
        for at in repairs.followers() {
            view.sent[*at].is_discarded = true;
        }
    }
    keeps_behind_gap
}

/// What the attribution of the time needs of these stages.
fn conditions(
    view: &DirectionView,
    trips: &Trips,
    sender: &SenderReactions,
    rates: &Rates,
) -> time::Conditions {
    let full = u64::from(view.full_segment());
    let gaps = view
        .sent
        .windows(2)
        .map(|pair| pair[1].time_ns - pair[0].time_ns);
    let are_held = queue::acks_are_held(
        &trips.to_receiver,
        &rates.acknowledged,
        rates.max_in_flight,
        full,
    );
    time::Conditions {
        gap_ns: percentile(gaps.collect(), 25).unwrap_or(0),
        // A stack answers a SYN more slowly than an acknowledgment.
        to_sender_ns: sender.reaction_ns,
        host_ns: sender
            .release_ns
            .filter(|ns| release::is_far_below_bursts(view, *ns))
            .unwrap_or(0),
        to_receiver_ns: trips.to_receiver.base_ns().unwrap_or(0),
        shift: sender.scale.shift(),
        opened_ns: view.sent.first().map_or(0, |it| it.time_ns),
        round_trips: if are_held {
            trips.to_receiver.samples().to_vec()
        } else {
            Vec::new()
        },
        is_near_receiver: trips.are_near_receiver(),
        ..time::Conditions::default()
    }
}
