//! The second stage: how soon the sender reacts to acknowledgments, and the scale of the window that this implies.

use super::trips::Trips;
use crate::model::edge::EdgeDelay;
use crate::model::release;
use crate::model::view::DirectionView;
use crate::model::window::WindowScale;
use crate::tcp::Connection;

/// Fewer round trips to the sender show its reaction less well than a window that is always full.
const MIN_ROUND_TRIPS: usize = 8;

/// What the capture shows of the sender's reactions.
pub(super) struct SenderReactions {
    /// See [`FlowModel::reaction_ns`](crate::model::FlowModel::reaction_ns).
    pub(super) reaction_ns: u64,
    /// See [`FlowModel::release_ns`](crate::model::FlowModel::release_ns).
    pub(super) release_ns: Option<u64>,
    pub(super) scale: WindowScale,
}

impl SenderReactions {
    pub(super) fn of(connection: &Connection, view: &DirectionView, trips: &Trips) -> Self {
        let offered = connection.window_shift(connection.data_sender().other());
        let release_ns = release::release_ns(view, &trips.to_receiver);
        // A window that is always full shows the round trip better than a handshake does.
        let is_plausible = |ns: u64| {
            let base_ns = trips.to_sender.base_ns();
            base_ns.is_none_or(|base_ns| ns <= base_ns + base_ns / 8)
        };
        let edge = EdgeDelay::of(view, offered)
            .filter(|edge| release_ns.is_none() && is_plausible(edge.short_ns));
        let edge_ns = edge.as_ref().map(|edge| edge.median_ns);
        let edge_ns = edge_ns.or(trips
            .closed_ns
            .filter(|_| view.is_late && release_ns.is_none()));
        let reaction_ns = match edge {
            Some(edge) if trips.to_sender.count() < MIN_ROUND_TRIPS => {
                edge.short_ns - edge.short_ns / 32
            }
            _ => shown_reaction_ns(trips),
        };
        Self {
            reaction_ns,
            release_ns,
            scale: WindowScale::of(view, offered, reaction_ns, edge_ns),
        }
    }
}

/// The reaction that round trips show. A full segment takes longer to pass than what a handshake consists of.
fn shown_reaction_ns(trips: &Trips) -> u64 {
    let reaction_ns = release::reaction_ns(&trips.to_receiver, &trips.to_sender);
    match trips.released_ns.filter(|_| trips.are_near_receiver()) {
        Some(ns) => reaction_ns.max(ns - ns / 32),
        None => reaction_ns,
    }
}
