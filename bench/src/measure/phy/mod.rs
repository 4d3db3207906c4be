//! Tolerance of the receiver; its program is `station`.
//!
//! A generator sends the frames of a conformance case, or full frames at one clock offset and one
//! jitter; the device's ledger and its check of their content give the fate of each.

mod conformance;
mod surface;

use std::collections::BTreeMap;
use std::sync::Arc;

use linerate_capture::wire::{Frame, Side};
use linerate_results::record::{
    Ledger, LossSurface, LossSurfaceMetrics, LossSurfaceParams, Measurement, PhyConformance,
    PhyConformanceMetrics, PhyConformanceParams, Setting,
};
use linerate_results::stats;
use linerate_sim::peer::conformance::{Case, Expect};
use linerate_sim::peer::generator;
use linerate_sim::wire::config::{Destination, Impairments};
use serde::Deserialize;

pub use self::conformance::Conformance;
pub use self::surface::Surface;
use super::plan::scaled;
use super::{MeasureError, Observer, console};
use crate::machine::{Event, MachineConfig};
use crate::scenario::Environment;

/// Time to boot and to auto-negotiate.
const fn warm_up_ms() -> u64 {
    2_500
}

/// One case or one point.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The kind of test.
    pub kind: TestKind,
    /// Number of frames.
    pub frames: u64,
    /// From power-on to the first of them, milliseconds.
    pub warm_up_ms: u64,
}

/// The test: a conformance case or a point of the loss surface.
#[derive(Clone, Debug)]
pub enum TestKind {
    /// A conformance case.
    Case {
        /// The case.
        case: &'static Case,
        /// The reason why it may lose frames, if it may.
        known_failure: Option<String>,
    },
    /// A point of the loss surface.
    Point {
        /// Clock offset of the peer.
        clock_ppm: f64,
        /// Jitter to either side.
        jitter_ns: f64,
        /// Octets of each frame with FCS.
        octets: u16,
    },
}

impl TestKind {
    /// The same for fewer frames: what a case loses, it loses in the long run.
    fn without_excuse(&self) -> Self {
        match self {
            Self::Case { case, .. } => Self::Case {
                case,
                known_failure: None,
            },
            Self::Point { .. } => self.clone(),
        }
    }
}

impl super::Plan for Plan {
    fn program(&self) -> &'static str {
        "station"
    }

    fn label(&self) -> String {
        match &self.kind {
            TestKind::Case { case, .. } => format!("phy_conformance-{}", case.name),
            TestKind::Point {
                clock_ppm,
                jitter_ns,
                ..
            } => format!("loss_surface-{clock_ppm}ppm-{jitter_ns}ns"),
        }
    }

    /// Twice the time of maximum-length frames.
    fn limit_s(&self) -> u64 {
        20 + self.warm_up_ms / 1_000 + self.frames / 50
    }

    /// The wire would clamp values to its limits, and the result would be of other values.
    fn check(&self, environment: &Environment) -> Result<(), String> {
        let mut wire = environment.wire;
        self.impair(&mut wire);
        wire.check().map_err(|error| error.to_string())
    }

    /// Configures the generator as the peer, and the impairments.
    fn arrange(&self, config: &mut MachineConfig) {
        let environment = &mut config.environment;
        "generator".clone_into(&mut environment.peer.kind);
        let mut traffic = generator::Config {
            from_ms: self.warm_up_ms,
            frames: self.frames,
            ..environment.traffic.clone().unwrap_or_default()
        };
        match &self.kind {
            TestKind::Case { case, .. } => traffic.case = Some(case.name.to_owned()),
            TestKind::Point { octets, .. } => {
                traffic.frame_octets = *octets;
                traffic.destination = Destination::Device;
            }
        }
        self.impair(&mut environment.wire);
        environment.traffic = Some(traffic);
    }

    fn observer(&self, _: &MachineConfig) -> Box<dyn Observer> {
        Box::new(observer(self))
    }

    fn scaled(&self, factor: f64) -> Option<Arc<dyn super::Plan>> {
        let least = match &self.kind {
            // Some rounds of the case's frames, after the settling frames.
            TestKind::Case { case, .. } => case.settling_frames + 4 * case.steps.len() as u64,
            TestKind::Point { .. } => 20,
        };
        Some(Arc::new(Self {
            kind: if factor < 1.0 {
                self.kind.without_excuse()
            } else {
                self.kind.clone()
            },
            frames: scaled(self.frames, factor, least.max(20)),
            ..self.clone()
        }))
    }
}

impl Plan {
    fn impair(&self, wire: &mut Impairments) {
        match &self.kind {
            TestKind::Case { case, .. } => (case.impair)(wire),
            TestKind::Point {
                clock_ppm,
                jitter_ns,
                ..
            } => {
                wire.clock_ppm = *clock_ppm;
                wire.jitter_ns = *jitter_ns;
            }
        }
    }

    fn expected(&self, tag: u32) -> Expect {
        match &self.kind {
            TestKind::Case { case, .. } => case.expected(tag),
            TestKind::Point { .. } => Expect::Received,
        }
    }

    fn settling_frames(&self) -> u64 {
        match &self.kind {
            TestKind::Case { case, .. } => case.settling_frames,
            TestKind::Point { .. } => 0,
        }
    }
}

/// Time from the last frame to the query of the device's counters: all frames are processed.
const SETTLE_NS: u64 = 100_000_000;

/// Events of the program.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ProgramEvent {
    /// Accepted test frames with wrong content.
    Checked { wrong: u64 },
    #[serde(other)]
    Other,
}

/// Counts frames.
struct PhyObserver {
    plan: Plan,
    seen: u64,
    last_ns: u64,
    end_requested: bool,
    metrics: PhyConformanceMetrics,
    ledger: Ledger,
}

/// The observer for `plan`.
pub fn observer(plan: &Plan) -> impl Observer + use<> {
    PhyObserver {
        plan: plan.clone(),
        seen: 0,
        last_ns: 0,
        end_requested: false,
        metrics: PhyConformanceMetrics::default(),
        ledger: Ledger::default(),
    }
}

impl PhyObserver {
    fn count(&mut self, frame: &Frame) {
        self.seen += 1;
        self.last_ns = self.last_ns.max(frame.end_ns);
        self.ledger.count(frame.lost);
        if self.seen <= self.plan.settling_frames() {
            return;
        }
        let metrics = &mut self.metrics;
        match (self.plan.expected(frame.tag), frame.lost) {
            (Expect::Received, lost) => {
                metrics.frames_sent += 1;
                metrics.frames_received += u64::from(lost.is_none());
            }
            (Expect::Discarded(_) | Expect::NotReceived, None) => {
                metrics.frames_to_refuse += 1;
                metrics.frames_wrong += 1;
            }
            (Expect::Discarded(cause), Some(lost)) if lost != cause => {
                metrics.frames_to_refuse += 1;
                let otherwise = &mut metrics.frames_refused_otherwise;
                *otherwise.entry(lost.name().to_owned()).or_default() += 1;
            }
            (Expect::Discarded(_) | Expect::NotReceived, Some(_)) => {
                metrics.frames_to_refuse += 1;
                metrics.frames_refused += 1;
            }
        }
    }
}

impl Observer for PhyObserver {
    fn observe(&mut self, event: Event) -> Result<(), MeasureError> {
        match event {
            Event::Frame(frame) if frame.from == Side::Peer => self.count(&frame),
            Event::Console { line, .. } => {
                if let Some(ProgramEvent::Checked { wrong }) = console::read(&line)? {
                    self.metrics.frames_wrong += wrong;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn command(&mut self, now_ns: u64) -> Option<String> {
        let all = self.seen >= self.plan.frames && now_ns > self.last_ns + SETTLE_NS;
        (all && !std::mem::replace(&mut self.end_requested, all)).then(|| "end".to_owned())
    }

    fn counters(&mut self, counters: BTreeMap<String, u64>) {
        self.ledger.counters = counters;
    }

    fn progress(&self) -> (u64, u64) {
        (self.seen, self.plan.frames)
    }

    fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError> {
        if self.seen < self.plan.frames {
            let what = format!(
                "the program ended after {} of {} frames",
                self.seen, self.plan.frames
            );
            return Err(MeasureError::Unexpected { what });
        }
        let mut metrics = std::mem::take(&mut self.metrics);
        metrics.frame_loss_rate = stats::ratio(
            (metrics.frames_sent - metrics.frames_received) as f64,
            metrics.frames_sent as f64,
        );
        // Without any counted frame it does not pass.
        metrics.passed = metrics.frames_sent + metrics.frames_to_refuse > 0
            && metrics.frames_received == metrics.frames_sent
            && metrics.frames_wrong == 0
            && metrics.frames_refused == metrics.frames_to_refuse;
        let ledger = std::mem::take(&mut self.ledger);
        Ok(vec![match &self.plan.kind {
            TestKind::Case {
                case,
                known_failure,
            } => Measurement::PhyConformance(PhyConformance {
                params: PhyConformanceParams {
                    setting: Setting::default(),
                    case: case.name.to_owned(),
                    about: case.about.to_owned(),
                    source: case.source.to_owned(),
                    settling_frames: case.settling_frames,
                    excuse: known_failure.clone(),
                },
                metrics,
                ledger,
            }),
            TestKind::Point {
                clock_ppm,
                jitter_ns,
                octets,
            } => Measurement::LossSurface(LossSurface {
                params: LossSurfaceParams {
                    setting: Setting::default(),
                    clock_ppm: *clock_ppm,
                    jitter_ns: *jitter_ns,
                    frame_octets: u64::from(*octets),
                },
                metrics: LossSurfaceMetrics {
                    frames_sent: metrics.frames_sent,
                    frames_received: metrics.frames_received,
                    frames_wrong: metrics.frames_wrong,
                    frame_loss_rate: metrics.frame_loss_rate,
                },
                ledger,
            }),
        }])
    }
}
