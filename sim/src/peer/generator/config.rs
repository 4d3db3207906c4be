//! What a generator sends, in the words of a scenario.

use serde::{Deserialize, Serialize};

use crate::peer::conformance;
use crate::wire::config::{Destination, OutOfRange, within};

/// Traffic that answers nobody: storms, frames for others, conformance cases, babbling.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// When it begins, ms.
    pub from_ms: u64,
    /// How long it goes on, ms; 0 for ever.
    pub for_ms: u64,
    /// How many frames it sends; 0 for no limit.
    pub frames: u64,
    /// Octets of each frame with FCS, 64 to 1518.
    pub frame_octets: u16,
    /// Idle line before each frame, bit times; 96 by the standard, of which 47 may be left at a
    /// receiver.
    pub gap_bits: u32,
    /// How much of the line rate is used, gaps and preambles included, 0 to 1; the frames are
    /// spread evenly. At 1 they follow each other at the gap.
    pub load: f64,
    /// Whom the frames are for.
    pub destination: Destination,
    /// A conformance case by its name in [`conformance::CASES`]: it says what the frames are like,
    /// and of the above only the first three count.
    pub case: Option<String>,
    /// Sends, in place of each frame, one transmission of this length, ms; 0 for frames. A station
    /// is cut off after 20 to 150 ms of it (clause 14.2.1.6, jabber); this one is not.
    pub babble_ms: u64,
}

impl Default for Config {
    /// Minimum broadcast frames at line rate, for ever.
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

/// Why a generator cannot be made.
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
    /// Says whether every field is within its limits.
    ///
    /// # Errors
    /// [`ConfigError`] names the first that is not.
    pub fn check(&self) -> Result<(), ConfigError> {
        within("frame_octets", self.frame_octets.into(), 64.0, 1518.0)?;
        within("gap_bits", self.gap_bits.into(), 10.0, 1e6)?;
        within("load", self.load, 0.0, 1.0)?;
        within("babble_ms", self.babble_ms as f64, 0.0, 1000.0)?;
        match &self.case {
            Some(name) if conformance::case(name).is_none() => {
                Err(ConfigError::UnknownCase(name.clone()))
            }
            _ => Ok(()),
        }
    }
}
