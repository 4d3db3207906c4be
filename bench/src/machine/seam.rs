//! The seam between a machine and whatever drives it.

use std::collections::BTreeMap;

use linerate_capture::wire::Busy;
use linerate_results::record::{Duplex, Edges, Profile, TimingEntry};

use super::event::{Event, StationTraffic};

/// What a machine is made of, for the provenance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// The board, named for what it is.
    pub board: String,
    /// The timing table's name.
    pub timing_table: String,
    /// Its entries.
    pub timing: Vec<TimingEntry>,
}

/// The link partner's end of the cable, when the machine was switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPartnerStatus {
    /// Frames pass.
    pub up: bool,
    /// Who may send when.
    pub duplex: Duplex,
    /// How it came to that: "auto-negotiation", "parallel detection" or "no negotiation".
    pub resolution: &'static str,
    /// Frames sent to the device.
    pub frames_sent: u64,
    /// Frames heard of the device.
    pub frames_received: u64,
    /// Transmissions to the device that collided.
    pub collisions: u64,
    /// Frames for the device that came while the link was down: never on the line.
    pub frames_withheld: u64,
}

/// What a machine leaves behind.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunArtifacts {
    /// Hash over every wire event, in hexadecimal; empty when the machine knows none.
    pub trace_hash: String,
    /// Where the processor's cycles went, if that was recorded.
    pub profile: Option<Profile>,
    /// Files to be written: extension and content.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// The far end of its cable; `None` when the machine cannot know.
    pub link: Option<LinkPartnerStatus>,
    /// What the machine could not model and what it did instead, each once.
    pub warnings: Vec<String>,
}

/// A machine that is switched on.
pub trait Machine {
    /// What it is made of.
    fn identity(&self) -> Identity;

    /// Its time, nanoseconds since it was switched on.
    fn now_ns(&self) -> u64;

    /// Lets it run until `until_ns` (or a little longer) and hands what happened to `sink`.
    ///
    /// # Errors
    /// [`MachineError`] when it cannot go on.
    fn advance(&mut self, until_ns: u64, sink: &mut dyn FnMut(Event)) -> Result<(), MachineError>;

    /// What the processor was busy with since the last call, where that is recorded.
    fn busy(&mut self) -> Vec<Busy> {
        Vec::new()
    }

    /// The line's level around the beginnings and ends of some frames since the last call, where
    /// the machine can tell.
    fn edges(&mut self) -> Vec<Edges> {
        Vec::new()
    }

    /// How long the processor has waited for flash so far; `None` when the machine cannot know.
    fn flash_wait_ns(&self) -> Option<u64> {
        None
    }

    /// Types `line` and a new line on its console.
    fn type_line(&mut self, _line: &str) {}

    /// What the two ends of the link have come to; `None` when the machine cannot know.
    fn duplex(&self) -> Option<Duplex> {
        None
    }

    /// The device's counters by name, zeros left out; `None` when the machine cannot know.
    fn counters(&self) -> Option<BTreeMap<String, u64>> {
        None
    }

    /// What further stations on the hub have sent.
    fn stations(&self) -> Vec<StationTraffic> {
        Vec::new()
    }

    /// Switches it off: frames whose fate was open are handed to `sink` as lost.
    fn finish(self: Box<Self>, sink: &mut dyn FnMut(Event)) -> RunArtifacts;
}

/// Why a machine cannot be used, or cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum MachineError {
    /// The firmware cannot be loaded.
    #[error("{0}")]
    Firmware(String),
    /// The board's description cannot be used.
    #[error("{0}")]
    Board(String),
    /// The network interface cannot be used.
    #[error(transparent)]
    Tap(#[from] linerate_host::tap::TapError),
    /// The processor stopped.
    #[error("at {}: {what}", linerate_results::format::time(*at_ns))]
    Fault {
        /// When.
        at_ns: u64,
        /// What happened, with the address.
        what: String,
    },
}

impl MachineError {
    /// Whether the input was wrong, rather than the machine failing.
    pub const fn is_input(&self) -> bool {
        matches!(self, Self::Firmware(_) | Self::Board(_) | Self::Tap(_))
    }
}
