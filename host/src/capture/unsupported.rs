//! Other systems have no packet rings.

use super::{CaptureCounts, CaptureError};
use linerate_ring::RingError;
use std::net::IpAddr;
use std::path::Path;

/// Never exists on this system.
#[derive(Debug)]
pub enum Capture {}

impl Capture {
    /// Fails.
    ///
    /// # Errors
    /// Always [`RingError::Unsupported`].
    pub fn start(_: &str, _: IpAddr, _: &Path) -> Result<Self, CaptureError> {
        Err(RingError::Unsupported.into())
    }

    /// Never called.
    ///
    /// # Errors
    /// None.
    pub fn finish(self) -> Result<CaptureCounts, CaptureError> {
        match self {}
    }
}
