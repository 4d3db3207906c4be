//! The conformance cases that a scenario requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use linerate_sim::peer::conformance;
use serde::Deserialize;

use super::super::Section;
use super::{Plan, TestKind, warm_up_ms};

/// Conformance cases, as requested by a scenario.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Conformance {
    /// Their names; all cases if the list is empty.
    #[serde(default)]
    pub cases: Vec<String>,
    /// Frames of each.
    pub frames: u64,
    /// Cases that may lose frames, each with the reason; not in a short version.
    #[serde(default, alias = "excused")]
    pub known_failures: BTreeMap<String, String>,
    /// From power-on to the first frame, milliseconds.
    #[serde(default = "warm_up_ms")]
    pub warm_up_ms: u64,
}

impl Section for Conformance {
    fn plans(self) -> Result<Vec<Arc<dyn super::super::Plan>>, String> {
        let known = |name: &str| {
            conformance::case(name).ok_or_else(|| {
                let names = conformance::CASES.iter().map(|case| case.name);
                let hint = crate::board::hint(linerate_host::nearest(name, names));
                format!("there is no conformance case `{name}`{hint}")
            })
        };
        if let Some(name) = self.known_failures.keys().find(|name| known(name).is_err()) {
            return Err(known(name).err().unwrap_or_default());
        }
        let cases = if self.cases.is_empty() {
            conformance::CASES.iter().collect()
        } else {
            let listed = self.cases.iter().map(|name| known(name));
            listed.collect::<Result<Vec<_>, String>>()?
        };
        // With fewer frames, a case would pass without any of its own.
        let short = |case: &&&conformance::Case| self.frames < case.min_frames();
        if let Some(case) = cases
            .iter()
            .filter(short)
            .max_by_key(|case| case.min_frames())
        {
            return Err(format!(
                "`frames` must be at least {} for the case `{}`",
                case.min_frames(),
                case.name
            ));
        }
        let plan = |case: &'static conformance::Case| -> Arc<dyn super::super::Plan> {
            Arc::new(Plan {
                kind: TestKind::Case {
                    case,
                    known_failure: self.known_failures.get(case.name).cloned(),
                },
                frames: self.frames,
                warm_up_ms: self.warm_up_ms,
            })
        };
        Ok(cases.into_iter().map(plan).collect())
    }
}
