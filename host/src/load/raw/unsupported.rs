//! Stubs for systems without packet rings.

use std::time::Duration;

use linerate_agent::frame::Mac;
use linerate_ring::RingError;

use super::{BlastConfig, CaptureReport, CountReport};
use crate::load::{LoadError, SendReport};

/// Unsupported on this system.
///
/// # Errors
/// Always.
pub fn blast(_plan: &BlastConfig) -> Result<SendReport, LoadError> {
    Err(RingError::Unsupported.into())
}

/// Unsupported on this system.
///
/// # Errors
/// Always.
pub fn count(
    _interface: &str,
    _own: Mac,
    _stream: u8,
    _max_duration: Duration,
    _ready: impl FnOnce(),
    _stop: &dyn Fn() -> bool,
) -> Result<CountReport, LoadError> {
    Err(RingError::Unsupported.into())
}

/// Unsupported on this system.
///
/// # Errors
/// Always.
pub fn capture(
    _interface: &str,
    _per_s: Option<u64>,
    _max_duration: Duration,
    _is_wanted: impl FnMut(&[u8]) -> bool,
    _ready: impl FnOnce(),
    _stop: &dyn Fn() -> bool,
) -> Result<CaptureReport, LoadError> {
    Err(RingError::Unsupported.into())
}
