//! Requests of a user, turned into procedures: their defaults, ranges and directions.

mod rfc2544;
mod rfc6349;
mod sweep;
mod transfer;

pub use rfc2544::Rfc2544Request;
pub use rfc6349::Rfc6349Request;
pub use sweep::{SweepQuantity, SweepRequest, SweepValues};
pub use transfer::{LatencyRequest, TransferRequest};

use linerate_results::record::Direction;

/// A request that cannot be carried out, in a sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RequestError(pub(crate) String);

/// Directions that a user names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamedDirections {
    /// To the target only.
    pub forward: bool,
    /// From the target only.
    pub reverse: bool,
}

impl NamedDirections {
    /// The directions to measure, and whether the user named them. A target may skip an unsupported direction that
    /// was not named.
    fn resolve(self) -> (Vec<Direction>, bool) {
        match (self.forward, self.reverse) {
            (true, _) => (vec![Direction::ToDevice], true),
            (_, true) => (vec![Direction::FromDevice], true),
            _ => (vec![Direction::ToDevice, Direction::FromDevice], false),
        }
    }
}
