//! The `instruction_profile` measurement: instructions per frame, by layer and by function.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Direction, Ledger, ReportRow, Setting};
use crate::format;
use crate::stats;

/// Functions that the report lists.
const LISTED_FUNCTIONS: usize = 5;

/// Instructions of a board between two readings of its counts. It has no call stacks and no cycles: those are in the
/// [`Profile`](super::Profile) of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionProfile {
    /// Parameters of the request.
    pub params: InstructionProfileParams,
    /// Results.
    pub metrics: InstructionProfileMetrics,
    /// Not in the file: the board's own counters give the frames.
    #[serde(skip)]
    pub ledger: Ledger,
}

/// Parameters of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionProfileParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// The board.
    pub board: String,
    /// The workload.
    pub workload: Workload,
    /// Its direction, not both.
    pub direction: Direction,
    /// Octets of payload that were requested.
    pub bytes: u64,
    /// True if the firmware ran without its network, with its own number of datagrams.
    pub is_without_network: bool,
}

/// The workload while instructions are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// A TCP stream (iperf 2).
    #[default]
    Tcp,
    /// UDP datagrams that fill frames (iperf 2).
    Udp,
    /// Raw frames of full length, past the stack.
    Frames,
}

impl Workload {
    /// All values.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Frames];

    /// Its name on the command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Frames => "frames",
        }
    }
}

/// Metrics of a profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionProfileMetrics {
    /// Frames in the direction, as counted by the device.
    pub frames: u64,
    /// Frames in the other direction: acknowledgments.
    pub frames_back: u64,
    /// All instructions: the sum of the layers.
    pub instructions: u64,
    /// Instructions divided by frames in the direction.
    pub instructions_per_frame: f64,
    /// Costs by layer; layers without any are left out.
    pub layers: BTreeMap<Layer, InstructionCost>,
    /// Costs by function, highest first.
    pub functions: Vec<FunctionCost>,
}

/// A layer of the firmware that a frame passes through.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Layer {
    /// The services of `linerate-agent`, raw frames, the console's words.
    Application,
    /// smoltcp or lwIP, and what connects it to services and driver.
    Stack,
    /// The driver: rings, registers, the ledger.
    Driver,
    /// The firmware's main loop, the board's clock, sleep and console.
    MainLoop,
    /// The layer is unknown.
    Unknown,
}

impl Layer {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::Stack => "stack",
            Self::Driver => "driver",
            Self::MainLoop => "main loop",
            Self::Unknown => "unknown",
        }
    }
}

/// Instructions and register accesses of a layer or a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstructionCost {
    /// Its own instructions.
    pub own: u64,
    /// Those of the language's library that it called: divisions, comparisons, bounds.
    pub library: u64,
    /// Those that moved, set or compared octets for it.
    pub copies: u64,
    /// Reads of devices' registers.
    pub reads: u64,
    /// Writes to them.
    pub writes: u64,
}

impl InstructionCost {
    /// All instructions.
    #[must_use]
    pub const fn all(&self) -> u64 {
        self.own + self.library + self.copies
    }
}

/// Cost of a function, wherever it was inlined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FunctionCost {
    /// Its name.
    pub name: String,
    /// Its source file.
    pub file: String,
    /// Its layer.
    pub layer: Layer,
    /// Its cost.
    #[serde(flatten)]
    pub cost: InstructionCost,
}

impl InstructionProfileMetrics {
    /// `count` per frame.
    #[must_use]
    pub fn per_frame(&self, count: u64) -> f64 {
        stats::ratio(count as f64, self.frames as f64)
    }

    /// The cost of a layer.
    #[must_use]
    pub fn layer(&self, layer: Layer) -> InstructionCost {
        self.layers.get(&layer).copied().unwrap_or_default()
    }

    /// Instructions of a layer per frame.
    #[must_use]
    pub fn layer_per_frame(&self, layer: Layer) -> f64 {
        self.per_frame(self.layer(layer).all())
    }

    /// All instructions of the layers.
    fn layers_sum(&self) -> u64 {
        self.layers.values().map(InstructionCost::all).sum()
    }
}

impl InstructionProfileParams {
    /// The workload and its direction.
    #[must_use]
    pub fn title(&self) -> String {
        let network = if self.is_without_network {
            ", without a network"
        } else {
            ""
        };
        format!(
            "{} {}{network}",
            self.workload.name(),
            self.direction.label()
        )
    }
}

impl Describe for InstructionProfile {
    fn detail(&self) -> String {
        format!("{} {}", self.params.board, self.params.title())
    }

    fn one_line(&self) -> String {
        let metrics = &self.metrics;
        format!(
            "{}: {} frames, {} back; a frame takes {} instructions",
            self.params.title(),
            format::count(metrics.frames),
            format::count(metrics.frames_back),
            format::count(metrics.instructions_per_frame.round() as u64),
        )
    }

    fn failures(&self) -> Vec<String> {
        let (all, sum) = (self.metrics.instructions, self.metrics.layers_sum());
        if all == sum {
            return Vec::new();
        }
        vec![format!(
            "{all} instructions were counted, but those of the layers are {sum}"
        )]
    }

    fn row(&self) -> Option<ReportRow> {
        let metrics = &self.metrics;
        let layers = metrics.layers.keys().map(|layer| {
            let instructions = metrics.layer_per_frame(*layer);
            format!("{} {instructions:.1}", layer.name())
        });
        let functions = metrics.functions.iter().take(LISTED_FUNCTIONS).map(|it| {
            let instructions = metrics.per_frame(it.cost.all());
            format!("{} {instructions:.1}", it.name)
        });
        let words = format!(
            "{}: {}; by layer: {}; most expensive functions: {}",
            self.params.board,
            self.one_line(),
            layers.collect::<Vec<_>>().join(", "),
            functions.collect::<Vec<_>>().join(", ")
        );
        let passed = self.failures().is_empty();
        Some(ReportRow::new("instructions", words, passed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{DerivedFigures, Thresholds, compare};
    use crate::record::{Measurement, Provenance, Run};

    fn profile() -> InstructionProfile {
        let driver = InstructionCost {
            own: 3_000,
            library: 500,
            copies: 500,
            reads: 20,
            writes: 10,
        };
        let stack = InstructionCost {
            own: 12_000,
            ..InstructionCost::default()
        };
        InstructionProfile {
            params: InstructionProfileParams {
                board: "qemu-sabrelite".to_owned(),
                direction: Direction::FromDevice,
                bytes: 15_000,
                ..InstructionProfileParams::default()
            },
            metrics: InstructionProfileMetrics {
                frames: 10,
                frames_back: 5,
                instructions: 16_000,
                instructions_per_frame: 1_600.0,
                layers: [(Layer::Stack, stack), (Layer::Driver, driver)].into(),
                functions: vec![FunctionCost {
                    name: "emit".to_owned(),
                    file: "src/wire/ip.rs".to_owned(),
                    layer: Layer::Stack,
                    cost: stack,
                }],
            },
            ledger: Ledger::default(),
        }
    }

    fn run(profile: InstructionProfile) -> Run {
        let mut run = Run::new("profile", String::new(), Provenance::default());
        run.results = vec![Measurement::InstructionProfile(profile)];
        run
    }

    #[test]
    fn a_profile_survives_the_file_and_its_row_has_layers_and_functions() {
        let run = run(profile());
        assert_eq!(Run::from_json(&run.to_json()).expect("readable"), run);
        let row = profile().row().expect("a row");
        assert_eq!(
            row.outcome,
            "qemu-sabrelite: tcp from the device: 10 frames, 5 back; a frame takes 1,600 instructions; by layer: \
             stack 1200.0, driver 400.0; most expensive functions: emit 1200.0"
        );
        assert!(row.passed);
    }

    #[test]
    fn layers_that_are_not_the_sum_are_a_failure() {
        assert_eq!(profile().failures(), [""; 0]);
        let mut lost = profile();
        lost.metrics.instructions += 1;
        let expected = "16001 instructions were counted, but those of the layers are 16000";
        assert_eq!(lost.failures(), [expected]);
        assert!(!lost.row().expect("a row").passed);
    }

    #[test]
    fn more_instructions_per_frame_are_worse() {
        let mut slower = profile();
        slower.metrics.instructions_per_frame = 1_760.0;
        let nothing = |_: &Run| DerivedFigures::new();
        let worse = |before: InstructionProfile, after: InstructionProfile| {
            let thresholds = Thresholds::default();
            compare(&run(before), &run(after), nothing, &thresholds).failures()
        };
        let failures = worse(profile(), slower.clone());
        assert_eq!(failures.len(), 1, "{failures:?}");
        assert!(failures[0].contains("instructions_per_frame was 1,600, is 1,760"));
        assert_eq!(worse(slower, profile()), [""; 0]);
    }
}
