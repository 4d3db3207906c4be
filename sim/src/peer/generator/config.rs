//! Configuration of a generator, as in a scenario.

use serde::{Deserialize, Serialize};

use crate::peer::conformance;
use crate::wire::config::{Destination, OutOfRange, check_range};

/// Unsolicited traffic: storms, frames for others, conformance cases, babbling.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Start time, ms.
    pub from_ms: u64,
    /// Duration, ms; 0 for no limit.
    pub for_ms: u64,
    /// Number of frames; 0 for no limit.
    pub frames: u64,
    /// Octets of each frame with FCS, 64 to 1518.
    pub frame_octets: u16,
    /// Idle line before each frame, bit times; 96 by the standard, which may shrink to 47 at a
    /// receiver.
    pub gap_bits: u32,
    /// Share of the line rate, gaps and preambles included, 0 to 1; the frames are spaced evenly.
    /// At 1 only `gap_bits` separates them.
    pub load: f64,
    /// Destination of the frames.
    pub destination: Destination,
    /// A conformance case by its name in [`conformance::CASES`]: it defines the frames, and only the
    /// first three fields above apply.
    pub case: Option<String>,
    /// Sends, in place of each frame, one transmission of this length, ms; 0 for frames. The jabber
    /// function cuts a station off after 20 to 150 ms (clause 14.2.1.6); this one is not cut off.
    pub babble_ms: u64,
}

impl Default for Config {
    /// Minimum-length broadcast frames at line rate, without limit.
    fn default() -> Self {
        Self {
            from_ms: 0,
            for_ms: 0,
            frames: 0,
            frame_octets: 64,
            gap_bits: 96,
            load: 1.0,
            destination: Destination::Broadcast,
            case: None,
            babble_ms: 0,
        }
    }
}

/// An invalid configuration of a generator.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ConfigError {
    /// A field is out of range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// There is no such case.
    #[error("there is no conformance case `{0}`")]
    UnknownCase(String),
}

impl Config {
    /// Checks that every field is within its limits.
    ///
    /// # Errors
    /// [`ConfigError`] names the first that is not.
    pub fn check(&self) -> Result<(), ConfigError> {
        check_range("frame_octets", self.frame_octets.into(), 64.0, 1518.0)?;
        check_range("gap_bits", self.gap_bits.into(), 10.0, 1e6)?;
        check_range("load", self.load, 0.0, 1.0)?;
        check_range("babble_ms", self.babble_ms as f64, 0.0, 1000.0)?;
        match &self.case {
            Some(name) if conformance::case(name).is_none() => {
                Err(ConfigError::UnknownCase(name.clone()))
            }
            _ => Ok(()),
        }
    }
}
