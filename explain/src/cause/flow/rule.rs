//! The result of a rule, and kinds of causes.

use std::collections::BTreeMap;

use linerate_capture::model::Limit;
use linerate_results::record::Cause;

/// A cause that a rule found in one connection.
pub(in crate::cause::flow) struct Rule {
    /// Share of the active time that it explains, 0 to 1.
    pub(in crate::cause::flow) share: f64,
    pub(in crate::cause::flow) cause: Cause,
    pub(in crate::cause::flow) confidence: f64,
    pub(in crate::cause::flow) summary: String,
    pub(in crate::cause::flow) evidence: BTreeMap<String, f64>,
    pub(in crate::cause::flow) advice: String,
    /// The time that it explains; a time has one cause.
    pub(in crate::cause::flow) limits: &'static [Limit],
    /// True if the time without it can be estimated.
    pub(in crate::cause::flow) has_gain: bool,
}

/// True for a cause that only states what the sender waited for.
pub(in crate::cause) fn is_generic(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::LateAcks
            | Cause::SenderIdle
            | Cause::CongestionWindow
            | Cause::ClientThinkTime
            | Cause::ServerThinkTime
            | Cause::ReceiveWindow
    )
}

/// True for the limit of a healthy transfer.
pub(in crate::cause::flow) fn is_limit(cause: Cause) -> bool {
    matches!(cause, Cause::AtLineRate | Cause::PathRate)
}

/// True for a cause that only slows down transfers of many segments.
pub(in crate::cause::flow) fn is_of_transfers(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::SendBuffer | Cause::CongestionWindow | Cause::HostPacing
    )
}

/// True for losses of a transfer, which a full path causes, too.
pub(in crate::cause::flow) fn is_loss(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::RandomLoss
            | Cause::LossInBursts
            | Cause::ShallowQueue
            | Cause::QueueOverflow
            | Cause::NoSack
    )
}
