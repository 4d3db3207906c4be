//! What a machine is to run, and what surrounds it.

use linerate_sim::chip::TimingTable;
use linerate_sim::peer::generator;
use linerate_sim::wire::config::{Duplex, Hub, Impairments, Partner};
use serde::Deserialize;

use crate::board::Board;

/// Echo requests that the peer sends to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerPings {
    /// When the first is sent, from power-on.
    pub from_ms: u64,
    /// From one to the next.
    pub every_ms: u64,
    /// How many.
    pub count: u16,
}

/// A download of the peer from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerDownload {
    /// When it begins, from power-on.
    pub from_ms: u64,
    /// Size of the file.
    pub bytes: u64,
    /// When the peer gives it up, from its beginning.
    pub patience_ms: u64,
}

/// A firmware on a board with a peer, to be switched on.
#[derive(Clone, Debug)]
pub struct MachineConfig {
    /// The board.
    pub board: Board,
    /// `program-variant`, for messages and file names.
    pub name: String,
    /// The firmware, an ELF image.
    pub elf: Vec<u8>,
    /// Seed of everything random.
    pub seed: u64,
    /// What surrounds the board.
    pub environment: Environment,
    /// What the peer sends to the device on its own, beside its surroundings' traffic.
    pub pings: Option<PeerPings>,
    /// What it downloads from the device, at the same time where they overlap.
    pub downloads: Vec<PeerDownload>,
    /// How long things take, in place of the board's own table.
    pub timing: Option<TimingTable>,
    /// What to record.
    pub record: Record,
}

/// What surrounds a board: a run may replace any field of the scenario's.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Duplex of the link.
    pub duplex: Duplex,
    /// The other end of the cable.
    pub peer: Peer,
    /// What is wrong with the signal.
    pub wire: Impairments,
    /// How the link partner negotiates.
    pub partner: Partner,
    /// Further stations.
    pub hub: Hub,
    /// What the peer sends beside what it is asked for.
    pub traffic: Option<generator::Config>,
}

impl Default for Environment {
    /// Half duplex, a host, nothing wrong, nobody else.
    fn default() -> Self {
        Self {
            duplex: Duplex::Half,
            peer: Peer::default(),
            wire: Impairments::default(),
            partner: Partner::default(),
            hub: Hub::default(),
            traffic: None,
        }
    }
}

/// The other end of the cable.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Peer {
    /// What it is, by its name in `linerate_sim::peer::KINDS`.
    pub kind: String,
    /// From a frame received to the first reaction to it, microseconds.
    pub turnaround_us: u64,
    /// At random up to this much more, microseconds: what a busy host adds.
    pub turnaround_jitter_us: u64,
    /// Broadcasts an ARP request for a stranger this often, milliseconds; 0 for never.
    pub background_arp_ms: u64,
    /// Pays no regard to SACK blocks, as if the device had agreed to SACK and never sent any.
    pub disregard_sack_blocks: bool,
}

impl Default for Peer {
    fn default() -> Self {
        Self {
            kind: "host".to_owned(),
            turnaround_us: 80,
            turnaround_jitter_us: 0,
            background_arp_ms: 0,
            disregard_sack_blocks: false,
        }
    }
}

/// What is recorded beside the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// A capture of every frame on the wire, one file a firmware.
    pub pcapng: bool,
    /// The pins' waveform over this long from the first frame on, milliseconds; 0 for none. A
    /// full-length frame is 24,000 edges.
    pub vcd_ms: u64,
    /// Cycles by function, one table, flame graph and file of folded stacks a firmware. The
    /// simulation is several times slower then.
    pub profile: bool,
}

impl Default for Record {
    fn default() -> Self {
        Self {
            pcapng: true,
            vcd_ms: 50,
            profile: false,
        }
    }
}
