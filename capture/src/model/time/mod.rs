//! Attribution of a direction's time: each interval between two transmissions has one reason, so the reasons add up to
//! the whole time.
//!
//! All is judged as the sender saw it: an acknowledgment takes effect after the round trip from the capture point to the
//! sender. The first pass attributes each wait. The second overrides the waits during which the path was busy at its
//! fastest rate, since no other change would have made that time shorter, and the third those during which the receiver
//! stood still: with any window and any sender, it would have acknowledged as late.
//!
//! | module | contents |
//! |---|---|
//! | `walk` | the first pass, from one transmission to the next |
//! | `answers` | what the acknowledgments between two of them do |
//! | `new_data` | what a sender waited for before it sent new data |
//! | `repeated` | what it waited for before it repeated data, and the end |
//! | `override_limit` | times with another limit than the wait of the sender |

mod answers;
mod new_data;
mod override_limit;
mod repeated;
mod walk;

use super::limit::Limit;
use super::rate::Window;
use super::standstill::Standstill;
use super::view::DirectionView;
use override_limit::override_limit;
use walk::Walk;

/// An interval with one limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start, nanoseconds since the first packet of the connection.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Limit of the connection's speed.
    pub limit: Limit,
    /// The packet that ended it.
    pub number: u32,
}

impl Span {
    /// Its duration.
    pub fn ns(&self) -> u64 {
        self.end_ns - self.start_ns
    }
}

/// What the attribution needs to know of the connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    /// Round trip from the capture point to the sender.
    pub(super) to_sender_ns: u64,
    /// Time that the sender's host takes to send what an acknowledgment permits, if the capture point is near it.
    pub(super) host_ns: u64,
    /// Base round trip to the receiver.
    pub(super) to_receiver_ns: u64,
    /// Window scale, if known.
    pub(super) shift: Option<u8>,
    /// Time that a full segment occupies the slowest link.
    pub(super) segment_ns: u64,
    /// Time of the first payload; before that is the handshake.
    pub(super) opened_ns: u64,
    /// End of the connection.
    pub(super) end_ns: u64,
    /// Windows in which the path carried its fastest rate.
    pub(super) busy: Vec<Window>,
    /// Times of acknowledgments with their round trips to the receiver.
    pub(super) round_trips: Vec<(u64, u64)>,
    /// A quarter of the segments follow the one before sooner.
    pub(super) gap_ns: u64,
    /// True if the capture point is near the receiver.
    pub(super) is_near_receiver: bool,
    /// True if segments were lost before the capture point.
    pub(super) is_behind_loss: bool,
}

/// Attributes the time of a direction.
pub(super) fn attribute(
    view: &DirectionView,
    conditions: &Conditions,
    standstills: &[Standstill],
) -> Vec<Span> {
    let waits = Walk::new(view, conditions).spans();
    // A receiver that closes its window sets the pace itself.
    let closes = waits
        .iter()
        .filter(|span| span.limit == Limit::ClosedWindow);
    let closes = closes.count() >= 3;
    let busy = conditions.busy.iter().map(|it| (it.start_ns, it.end_ns));
    let is_around = |limit| matches!(limit, Limit::Handshake | Limit::Tail | Limit::ClosedWindow);
    let spans = override_limit(
        &waits,
        &busy.collect::<Vec<_>>(),
        Limit::PathRate,
        |limit| is_around(limit) || closes && limit == Limit::ReceiveWindow,
    );
    let silent = standstills.iter().map(|it| (it.start_ns, it.end_ns));
    override_limit(
        &spans,
        &silent.collect::<Vec<_>>(),
        Limit::LateAck,
        is_around,
    )
}
