//! The first stage: round trips from the capture point to both ends, and what bounds them.

use crate::model::release;
use crate::model::round_trip::RoundTrips;
use crate::model::routers;
use crate::model::turns::Turns;
use crate::model::view::DirectionView;
use crate::tcp::{Connection, End, LoggedPacket};

/// A receiver beside the capture point acknowledges within this time.
const BESIDE_NS: u64 = 1_000_000;

/// Round trips, and single events that are no sooner than one.
pub(super) struct Trips {
    pub(super) to_receiver: RoundTrips,
    pub(super) to_sender: RoundTrips,
    /// See [`FlowModel::greeting_ns`](crate::model::FlowModel::greeting_ns).
    pub(super) greeting_ns: Option<u64>,
    /// See [`FlowModel::closed_ns`](crate::model::FlowModel::closed_ns).
    pub(super) closed_ns: Option<u64>,
    /// Time from late acknowledgments to what they release.
    pub(super) released_ns: Option<u64>,
    /// Routers between the sender and the capture point.
    pub(super) routers_to_sender: Option<u8>,
    routers_to_receiver: Option<u8>,
}

impl Trips {
    pub(super) fn of(
        connection: &Connection,
        packets: &[LoggedPacket],
        view: &DirectionView,
        back: &DirectionView,
        turns: &Turns,
    ) -> Self {
        let data_sender = connection.data_sender();
        let receiver = data_sender.other();
        let legs = connection.handshake().legs_ns();
        let leg = |end: End| legs.map(|legs| legs[end as usize]);
        // No answer is faster than the path; a SYN may have been answered late. Payload that does not acknowledge the request
        // crossed it.
        let answers = |end: End| {
            let waits = turns.waits[end as usize].iter();
            let answers = waits.filter(|it| !it.has_loss && it.acked_ns.is_some());
            answers.map(|wait| wait.ns)
        };
        let greeting_ns = greeting_ns(connection, view);
        // All that a capture of a receiver that began late may show of the path to the sender; a handshake may have waited for
        // address resolution.
        let closed_ns = release::closed_ns(view, back);
        let released_ns = release::after_late_acks_ns(view);
        let events = [
            leg(data_sender),
            closed_ns,
            release::acknowledged_ns(back),
            greeting_ns.filter(|_| legs.is_some()),
            release::reopened_ns(view),
            released_ns,
        ];
        let least_to_sender = answers(data_sender)
            .chain(events.into_iter().flatten())
            .min();
        let least_to_receiver = answers(receiver).chain(leg(receiver)).min();
        Self {
            to_receiver: RoundTrips::to_receiver(view, least_to_receiver),
            to_sender: RoundTrips::to_sender(view, least_to_sender),
            greeting_ns,
            closed_ns,
            released_ns,
            routers_to_sender: routers::before_capture(packets, data_sender),
            routers_to_receiver: routers::before_capture(packets, receiver),
        }
    }

    /// True if the round trip to the receiver is the shorter one or, where the one to the sender is unknown, if the receiver
    /// acknowledges as fast as a host beside the capture point does.
    pub(super) fn are_near_receiver(&self) -> bool {
        let usual_ns = || self.to_receiver.percentile(50);
        match (self.to_receiver.base_ns(), self.to_sender.base_ns()) {
            (Some(to_receiver_ns), Some(to_sender_ns)) => to_receiver_ns < to_sender_ns,
            _ => usual_ns().is_some_and(|ns| ns < BESIDE_NS) || self.is_receiver_on_link(),
        }
    }

    /// True if no router lies between the receiver and the capture point, but one before the sender, by usual hop limits.
    fn is_receiver_on_link(&self) -> bool {
        self.routers_to_receiver == Some(0) && self.routers_to_sender.is_some_and(|it| it > 0)
    }

    /// Base round trip between the ends; a part that is unknown counts as 0.
    pub(super) fn base_ns(&self) -> u64 {
        self.to_receiver.base_ns().unwrap_or(0) + self.to_sender.base_ns().unwrap_or(0)
    }
}

/// Who accepts the connection sends nothing before it is acknowledged. Its SYN-ACK may be late (address resolution, a full queue of
/// connections), which its first data is not.
fn greeting_ns(connection: &Connection, view: &DirectionView) -> Option<u64> {
    if connection.data_sender() == End::First {
        return None;
    }
    let ack_ns = connection.handshake().ack_ns?;
    let first = view.sent.first()?;
    first
        .time_ns
        .checked_sub(ack_ns.checked_sub(connection.start_ns)?)
}
