//! Where the instructions of a frame go, on a board that QEMU emulates: by layer and by function.
//!
//! QEMU counts each instruction by its address (`bench/plugin`, with `-icount shift=0`). What is counted between
//! two looks at the counts belongs to the frames that came and went meanwhile, as the device's own ledger has
//! them. An address is somebody's by the debug data of the firmware, inlined functions included: a line of smoltcp
//! is the stack's even where the compiler has put it into a function of the driver. What belongs to the language
//! (`memcpy`, a division) counts for whoever called it.
//!
//! - [`layer`]: whose a source file is.
//! - [`symbols`]: from an address to a source file.
//! - [`counts`]: the file that QEMU counts in.
//! - [`cost`]: what it adds up to.

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

/// What is to go on meanwhile.
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
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Frames];

    /// As it is written.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Frames => "frames",
        }
    }
}

/// What is to be profiled.
#[derive(Clone, Debug)]
pub struct ProfileRequest {
    /// The board: `qemu://BOARD`.
    pub target: String,
    /// Its firmware's variant; `None`: the default one.
    pub variant: Option<String>,
    /// What goes on.
    pub program: Workload,
    /// Which way: one.
    pub direction: Direction,
    /// Octets of payload.
    pub octets: u64,
    /// Without the network, which only [`Workload::Udp`] knows, with as many datagrams as the firmware has.
    pub null: bool,
}

/// Where the instructions went.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// The board.
    pub board: String,
    /// The firmware's variant.
    pub variant: String,
    /// What went on, and which way.
    pub program: Workload,
    /// See `program`.
    pub direction: Direction,
    /// Without the network.
    pub null: bool,
    /// Frames that went that way, as the device counted them.
    pub frames: u64,
    /// Frames that went the other way meanwhile: acknowledgements.
    pub frames_back: u64,
    /// All instructions: what the layers sum up to.
    pub instructions: u64,
    /// Them by layer.
    pub layers: Vec<LayerCost>,
    /// Them by function, the most first.
    pub functions: Vec<Function>,
}

impl Profile {
    /// Sums up what was counted on `board`.
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

    /// So many a frame.
    #[must_use]
    pub fn per_frame(&self, count: u64) -> f64 {
        count as f64 / self.frames.max(1) as f64
    }

    /// What a layer took.
    #[must_use]
    pub fn layer(&self, layer: Layer) -> Cost {
        let found = self.layers.iter().find(|it| it.layer == layer);
        found.map_or_else(Cost::default, |it| it.cost)
    }
}
