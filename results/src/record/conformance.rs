//! The `conformance` measurement: a driver against what every driver has to do.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ledger, Setting, Told};
use crate::format;

/// A case that a driver was put through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conformance {
    /// What was asked for.
    pub params: ConformanceParams,
    /// What came out.
    pub metrics: ConformanceMetrics,
    /// Frames are not followed here: empty.
    #[serde(default)]
    pub ledger: Ledger,
}

/// Which case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConformanceParams {
    /// Variant of the firmware, where there is one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Its name.
    pub case: String,
    /// What it tries, in a few words.
    pub about: String,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConformanceMetrics {
    /// The driver did what it has to.
    pub passed: bool,
    /// Frames that went to and fro.
    pub frames: u64,
    /// What it did otherwise, in a sentence; empty where it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl Conformance {
    /// What came of it, in a few words.
    pub fn verdict(&self) -> String {
        if self.metrics.passed {
            format!("passed, {} frames", format::count(self.metrics.frames))
        } else {
            format!("FAILED: {}", self.metrics.failure)
        }
    }
}

impl Told for Conformance {
    fn detail(&self) -> String {
        self.params.case.clone()
    }

    fn line(&self) -> String {
        format!("{:<14} {}", self.params.case, self.verdict())
    }

    fn failures(&self) -> Vec<String> {
        if self.metrics.passed {
            return Vec::new();
        }
        vec![format!("{}: {}", self.params.case, self.metrics.failure)]
    }
}
