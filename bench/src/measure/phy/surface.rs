//! The points of the loss surface that a scenario requests.

use std::sync::Arc;

use serde::Deserialize;

use super::super::Section;
use super::super::plan::check_frame_octets;
use super::{Plan, TestKind, warm_up_ms};

/// A grid of clock offsets and jitters.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Surface {
    /// Jitters, nanoseconds to either side.
    pub jitter_ns: Vec<f64>,
    /// Clock offsets of the peer, parts per million.
    pub clock_ppm: Vec<f64>,
    /// Frames at each point.
    pub frames: u64,
    /// Octets of each with FCS.
    #[serde(default = "full")]
    pub octets: u16,
    /// From power-on to the first frame, milliseconds.
    #[serde(default = "warm_up_ms")]
    pub warm_up_ms: u64,
}

const fn full() -> u16 {
    1518
}

impl Section for Surface {
    fn plans(self) -> Result<Vec<Arc<dyn super::super::Plan>>, String> {
        if self.frames == 0 || self.jitter_ns.is_empty() || self.clock_ppm.is_empty() {
            return Err(
                "`jitter_ns` and `clock_ppm` list the grid's points, `frames` is at least 1".into(),
            );
        }
        check_frame_octets(self.octets)?;
        let mut plans: Vec<Arc<dyn super::super::Plan>> = Vec::new();
        for &clock_ppm in &self.clock_ppm {
            for &jitter_ns in &self.jitter_ns {
                plans.push(Arc::new(Plan {
                    kind: TestKind::Point {
                        clock_ppm,
                        jitter_ns,
                        octets: self.octets,
                    },
                    frames: self.frames,
                    warm_up_ms: self.warm_up_ms,
                }));
            }
        }
        Ok(plans)
    }
}
