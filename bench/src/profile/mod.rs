//! Instructions per frame on an emulated or simulated board, by layer and by function.
//!
//! QEMU counts each instruction by its address (`bench/plugin`, with `-icount shift=0`), or the simulator of a soft SoC
//! does. The difference of two readings belongs to the frames received and sent in between, by the device's own
//! ledger. Addresses are attributed by the firmware's debug data, inlined functions included: a line of smoltcp counts for the stack
//! even if the compiler inlined it into a function of the driver. Code of the language's library (`memcpy`, a
//! division) counts for its caller.
//!
//! - [`layer`]: the layer of a source file.
//! - [`symbols`]: the function and source file of an address.
//! - [`counts`]: the counts: a file shared with QEMU, or those of the simulator.
//! - [`cost`]: the totals by layer and function.

pub mod cost;
pub mod counts;
mod display;
pub mod layer;
pub mod symbols;
#[cfg(test)]
mod tests;

pub use cost::{Cost, Function, LayerCost};
pub use layer::Layer;

use linerate_results::record::Direction;
use serde::Serialize;

/// The workload while instructions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Workload {
    /// A TCP stream (iperf 2).
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

/// A request for a profile.
#[derive(Clone, Debug)]
pub struct ProfileRequest {
    /// The board: `qemu://BOARD` or `sim://BOARD`.
    pub target: String,
    /// Its firmware's variant; `None`: the default one.
    pub variant: Option<String>,
    /// The workload.
    pub program: Workload,
    /// The direction, not both.
    pub direction: Direction,
    /// Octets of payload.
    pub octets: u64,
    /// Without the network, for [`Workload::Udp`] only, with the firmware's number of datagrams.
    pub null: bool,
}

/// A profile of instructions.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// The board.
    pub board: String,
    /// The firmware's variant.
    pub variant: String,
    /// The workload and its direction.
    pub program: Workload,
    /// See `program`.
    pub direction: Direction,
    /// Without the network.
    pub null: bool,
    /// Frames in that direction, as counted by the device.
    pub frames: u64,
    /// Frames in the other direction: acknowledgements.
    pub frames_back: u64,
    /// All instructions: the sum of the layers.
    pub instructions: u64,
    /// Costs by layer.
    pub layers: Vec<LayerCost>,
    /// Costs by function, highest first.
    pub functions: Vec<Function>,
}

impl Profile {
    /// Sums up the counts of `board`.
    #[must_use]
    pub fn new(
        request: &ProfileRequest,
        board: &str,
        variant: &str,
        frames: (u64, u64),
        locations: impl IntoIterator<Item = (symbols::Location, counts::Count)>,
    ) -> Self {
        let sum = cost::Totals::of(locations);
        Self {
            board: board.to_owned(),
            variant: variant.to_owned(),
            program: request.program,
            direction: request.direction,
            null: request.null,
            frames: frames.0,
            frames_back: frames.1,
            instructions: sum.executed,
            layers: sum.layers,
            functions: sum.functions,
        }
    }

    /// `count` per frame.
    #[must_use]
    pub fn per_frame(&self, count: u64) -> f64 {
        count as f64 / self.frames.max(1) as f64
    }

    /// The cost of a layer.
    #[must_use]
    pub fn layer(&self, layer: Layer) -> Cost {
        let found = self.layers.iter().find(|it| it.layer == layer);
        found.map_or_else(Cost::default, |it| it.cost)
    }
}
