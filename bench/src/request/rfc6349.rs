//! RFC 6349 as a user requests it.

use std::time::Duration;

use linerate_results::record::Direction;

use super::NamedDirections;
use crate::endpoint::Target;
use crate::procedure::rfc6349::Rfc6349;
use crate::procedure::{Procedure, RequestedProcedure};

/// Pause between transfers, for queues to drain.
const SETTLE: Duration = Duration::from_millis(500);

/// TCP with windows around the bandwidth-delay product.
#[derive(Clone, Copy, Debug)]
pub struct Rfc6349Request {
    /// Directions.
    pub directions: NamedDirections,
    /// Duration of each transfer.
    pub span: Duration,
    /// Parallel connections that measure the bottleneck bandwidth.
    pub streams: u8,
}

impl Rfc6349Request {
    /// The procedure in the directions that `target` supports; in all of them if it supports none, so that the user
    /// gets the reason.
    pub fn procedures(&self, target: &dyn Target) -> Vec<RequestedProcedure> {
        let (directions, is_required) = self.directions.resolve();
        let procedure = |directions| Rfc6349 {
            directions,
            span: self.span,
            streams: self.streams,
            settle: SETTLE,
        };
        let can = |direction: &Direction| {
            is_required || procedure(vec![*direction]).check_support(target).is_ok()
        };
        let mut possible: Vec<Direction> = directions.iter().copied().filter(can).collect();
        if possible.is_empty() {
            possible = directions;
        }
        vec![RequestedProcedure {
            procedure: Box::new(procedure(possible)),
            is_required: true,
        }]
    }
}
