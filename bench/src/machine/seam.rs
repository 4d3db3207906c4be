//! The seam between a machine and its callers: the measurements of scenarios, and the trials of targets.

use std::collections::BTreeMap;
use std::net::IpAddr;

use linerate_capture::wire::BusyPeriod;
use linerate_results::record::{
    CountedFrames, Duplex, Edges, FrameCounts, Ledger, Profile, TimingEntry,
};
use linerate_sim::peer::host::program::Programs;
use serde::{Deserialize, Serialize};

use super::event::{Event, StationTraffic};

/// The components of a machine, for the provenance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Identity {
    /// The board's name.
    pub board: String,
    /// The address of its firmware, if known.
    pub address: Option<IpAddr>,
    /// The timing table's name.
    pub timing_table: String,
    /// Its entries.
    pub timing: Vec<TimingEntry>,
    /// SHA-256 of each firmware image, by name.
    pub images: BTreeMap<String, String>,
}

/// State of the link partner when the machine was switched off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkPartnerStatus {
    /// The link is up.
    pub up: bool,
    /// The duplex mode.
    pub duplex: Duplex,
    /// How the mode was resolved: "auto-negotiation", "parallel detection" or "no negotiation".
    pub resolution: &'static str,
    /// Frames sent to the device.
    pub frames_sent: u64,
    /// Frames received from the device.
    pub frames_received: u64,
    /// Transmissions to the device that collided.
    pub collisions: u64,
    /// Frames for the device held back while the link was down: never on the line.
    pub frames_withheld: u64,
}

/// Artifacts of a run, available when the machine is switched off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunArtifacts {
    /// Hash over every wire event, in hexadecimal; empty if the machine does not compute one.
    pub trace_hash: String,
    /// Processor cycles by function, if recorded.
    pub profile: Option<Profile>,
    /// Files to be written: extension and content.
    pub files: Vec<(&'static str, Vec<u8>)>,
    /// The link partner's state; `None` if the machine has no access to it.
    pub link: Option<LinkPartnerStatus>,
    /// All frames, counted independently of the fates in its events; `None` if the machine cannot count them.
    pub frames: Option<FrameCounts>,
    /// Behaviour that the machine could not model and its substitute, each once.
    pub warnings: Vec<String>,
    /// Registers without behaviour that the program used: they hold what was written.
    pub plain_registers: Vec<String>,
}

/// Record of a machine from power-on to power-off.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineRecord {
    /// Its time when it was switched off.
    pub virtual_ns: u64,
    /// Duplex of its link; `None` if it has no access to it.
    pub duplex: Option<Duplex>,
    /// The frames in the results and their independent counts, if it has any.
    pub frames: Option<CountedFrames>,
    /// Its artifacts.
    pub artifacts: RunArtifacts,
}

impl MachineRecord {
    /// The fate of each frame to the device, and the device's counters.
    pub fn ledger(&self) -> Ledger {
        let Some(CountedFrames { ledger, counts }) = &self.frames else {
            return Ledger::default();
        };
        Ledger {
            counters: counts.device.clone().unwrap_or_default(),
            ..ledger.clone()
        }
    }
}

/// A machine that is switched on.
pub trait Machine {
    /// Its board and timing table.
    fn identity(&self) -> Identity;

    /// Its time, nanoseconds since it was switched on.
    fn now_ns(&self) -> u64;

    /// Runs it until `until_ns` (or a little longer) and passes its events to `sink`.
    ///
    /// # Errors
    /// [`MachineError`] if it cannot continue.
    fn advance(&mut self, until_ns: u64, sink: &mut dyn FnMut(Event)) -> Result<(), MachineError>;

    /// The processor's activities since the last call, where recorded.
    fn busy(&mut self) -> Vec<BusyPeriod> {
        Vec::new()
    }

    /// The line's level around the start and end of some frames since the last call, where the
    /// machine records it.
    fn edges(&mut self) -> Vec<Edges> {
        Vec::new()
    }

    /// Total time that the processor has waited for flash; `None` if the machine does not measure
    /// it.
    fn flash_wait_ns(&self) -> Option<u64> {
        None
    }

    /// Where the processor is, for messages: an address, and the function if known; `None` if the machine has no
    /// access to it.
    fn position(&self) -> Option<String> {
        None
    }

    /// Types `line` and a newline on its console.
    fn type_line(&mut self, _line: &str) {}

    /// Calls `with` on the programs of the peer, if it runs any.
    fn with_programs(&mut self, _with: &mut dyn FnMut(&mut Programs)) {}

    /// Takes the link down, or up again.
    ///
    /// # Errors
    /// [`MachineError::Failed`] if it can't.
    fn set_link(&mut self, _is_up: bool) -> Result<(), MachineError> {
        Err(MachineError::Failed(
            "its link can't be taken down".to_owned(),
        ))
    }

    /// The duplex mode of the link; `None` if the machine has no access to it.
    fn duplex(&self) -> Option<Duplex> {
        None
    }

    /// The device's counters by name, without zeros; `None` if the machine has no access to them.
    fn counters(&self) -> Option<BTreeMap<String, u64>> {
        None
    }

    /// Traffic sent by the other stations on the hub.
    fn stations(&self) -> Vec<StationTraffic> {
        Vec::new()
    }

    /// Switches it off: frames whose fate is still open are passed to `sink` as lost.
    fn finish(self: Box<Self>, sink: &mut dyn FnMut(Event)) -> RunArtifacts;
}

/// Why a machine cannot be used, or cannot continue.
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
    /// It cannot continue, for a reason to be read after its name.
    #[error("{0}")]
    Failed(String),
    /// The processor stopped.
    #[error("at {}: {what}", linerate_results::format::time(*at_ns))]
    Fault {
        /// When.
        at_ns: u64,
        /// The fault, with its address.
        what: String,
    },
}

impl MachineError {
    /// True if the input was wrong, false if the machine failed.
    pub const fn is_input(&self) -> bool {
        matches!(self, Self::Firmware(_) | Self::Board(_) | Self::Tap(_))
    }
}
