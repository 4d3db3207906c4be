//! Systems without the rings.

use std::time::Duration;

use linerate_agent::frame::Mac;
use linerate_ring::RingError;

use super::{Captured, Counted, Plan};
use crate::load::{LoadError, Sent};

/// Not here.
///
/// # Errors
/// Always.
pub fn blast(_plan: &Plan) -> Result<Sent, LoadError> {
    Err(RingError::Unsupported.into())
}

/// Not here.
///
/// # Errors
/// Always.
pub fn count(
    _interface: &str,
    _own: Mac,
    _stream: u8,
    _at_most: Duration,
    _ready: impl FnOnce(),
    _stop: &dyn Fn() -> bool,
) -> Result<Counted, LoadError> {
    Err(RingError::Unsupported.into())
}

/// Not here.
///
/// # Errors
/// Always.
pub fn capture(
    _interface: &str,
    _per_s: Option<u64>,
    _at_most: Duration,
    _is_wanted: impl FnMut(&[u8]) -> bool,
    _ready: impl FnOnce(),
    _stop: &dyn Fn() -> bool,
) -> Result<Captured, LoadError> {
    Err(RingError::Unsupported.into())
}
