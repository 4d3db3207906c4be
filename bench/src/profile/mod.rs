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

pub use display::{Tables, tables};

use linerate_results::record::{
    Direction, Duplex, InstructionProfile, InstructionProfileMetrics, InstructionProfileParams,
    Ledger, Setting, Workload,
};

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

/// Sums up the counts of `board`, which received and sent `frames` in the direction of the request and back.
#[must_use]
pub fn total(
    request: &ProfileRequest,
    board: &str,
    variant: &str,
    frames: (u64, u64),
    locations: impl IntoIterator<Item = (symbols::Location, counts::Count)>,
) -> InstructionProfile {
    let sum = cost::Totals::of(locations);
    let mut metrics = InstructionProfileMetrics {
        frames: frames.0,
        frames_back: frames.1,
        instructions: sum.executed,
        instructions_per_frame: 0.0,
        layers: sum.layers,
        functions: sum.functions,
    };
    metrics.instructions_per_frame = metrics.per_frame(sum.executed);
    InstructionProfile {
        params: InstructionProfileParams {
            setting: Setting {
                variant: variant.to_owned(),
                duplex: Duplex::Unknown,
                ..Setting::default()
            },
            board: board.to_owned(),
            workload: request.program,
            direction: request.direction,
            bytes: request.octets,
            is_without_network: request.null,
        },
        metrics,
        ledger: Ledger::default(),
    }
}
