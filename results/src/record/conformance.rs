//! The `conformance` measurement: a driver tested against the requirements for every driver.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Ledger, Setting};
use crate::format;

/// A conformance case of a driver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Conformance {
    /// Parameters of the request.
    pub params: ConformanceParams,
    /// Results.
    pub metrics: ConformanceMetrics,
    /// The fate of each frame of the trials; left out for a target that does not observe it.
    #[serde(default, skip_serializing_if = "Ledger::is_empty")]
    pub ledger: Ledger,
}

/// Parameters of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConformanceParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Its name.
    pub case: String,
    /// Short description.
    pub about: String,
}

/// Metrics of a case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConformanceMetrics {
    /// The driver met the requirement.
    pub passed: bool,
    /// Frames exchanged.
    pub frames: u64,
    /// The failure, in a sentence; empty if it passed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub failure: String,
}

impl Conformance {
    /// The outcome, in a few words.
    pub fn verdict(&self) -> String {
        if self.metrics.passed {
            format!("passed, {} frames", format::count(self.metrics.frames))
        } else {
            format!("FAILED: {}", self.metrics.failure)
        }
    }
}

impl Describe for Conformance {
    fn detail(&self) -> String {
        self.params.case.clone()
    }

    fn one_line(&self) -> String {
        format!("{:<14} {}", self.params.case, self.verdict())
    }

    fn failures(&self) -> Vec<String> {
        if self.metrics.passed {
            return Vec::new();
        }
        vec![format!("{}: {}", self.params.case, self.metrics.failure)]
    }
}
