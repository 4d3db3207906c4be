//! Configuration of a machine: its firmware and its environment.

use core::net::SocketAddrV4;
use std::sync::Arc;

use linerate_sim::chip::TimingTable;
use linerate_sim::peer::generator;
use linerate_sim::peer::host::http_server::Answer;
use linerate_sim::wire::config::{Duplex, Hub, Impairments, Partner};
use serde::{Deserialize, Deserializer};

use crate::board::Board;
use crate::firmware::Image;
use crate::profile::counts::SimulatedCounts;

/// Echo requests sent by the peer to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerPings {
    /// Time of the first request, from power-on.
    pub from_ms: u64,
    /// Interval between requests.
    pub every_ms: u64,
    /// Number of requests.
    pub count: u16,
}

/// A download by the peer from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerDownload {
    /// Start time, from power-on.
    pub from_ms: u64,
    /// Size of the file.
    pub bytes: u64,
    /// Time after the start when the peer aborts it.
    pub timeout_ms: u64,
}

/// Datagrams that a host behind a switch sends to a board with an ENET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatagramLoad {
    /// Payload, in bit/s.
    pub bits_per_s: u64,
    /// Payload of a datagram, in octets.
    pub payload_bytes: usize,
    /// Mean number of datagrams that are sent back to back, in thousandths.
    pub burst_millis: u64,
    /// Octets that the switch queues for the board.
    pub queue_bytes: usize,
    /// Time of the first datagram, from power-on.
    pub from_ms: u64,
}

/// Configuration of a machine: a firmware on a board with a peer.
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
    /// Settings of the program, as `name=value` words, which replace those of its build (`BOOT_LINE`).
    pub boot: String,
    /// The board's environment.
    pub environment: Environment,
    /// Echo requests from the peer, in addition to the environment's traffic.
    pub pings: Option<PeerPings>,
    /// The peer's downloads from the device; overlapping ones run in parallel.
    pub downloads: Vec<PeerDownload>,
    /// Datagrams in place of a peer.
    pub datagrams: Option<DatagramLoad>,
    /// Timing table that replaces the board's own.
    pub timing: Option<TimingTable>,
    /// Description of the board's soft SoC in place of its own.
    pub system: Option<Arc<str>>,
    /// The recordings to make.
    pub record: Record,
    /// Each instruction of a soft SoC is counted here.
    pub counts: Option<Arc<SimulatedCounts>>,
}

impl MachineConfig {
    /// `image` on `board`, in the default environment and without recordings.
    #[must_use]
    pub fn new(board: Board, image: Image, seed: u64) -> Self {
        Self {
            board,
            name: image.name,
            elf: image.elf,
            seed,
            boot: String::new(),
            environment: Environment::default(),
            pings: None,
            downloads: Vec::new(),
            datagrams: None,
            timing: None,
            system: None,
            record: Record::NONE,
            counts: None,
        }
    }
}

/// The environment of a board: a run may replace any field of the scenario's.
#[derive(Clone, Debug, PartialEq)]
pub struct Environment {
    /// Duplex of the link.
    pub duplex: Duplex,
    /// The other end of the cable.
    pub peer: Peer,
    /// Impairments of the signal.
    pub wire: Impairments,
    /// Auto-negotiation of the link partner.
    pub partner: Partner,
    /// Other stations on the hub.
    pub hub: Hub,
    /// Additional traffic from the peer.
    pub traffic: Option<generator::Config>,
}

impl Default for Environment {
    /// Half duplex, a host, no impairments, no other stations.
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
    /// Its kind, a name in `linerate_sim::peer::KINDS`.
    pub kind: String,
    /// Time from a received frame to the first response, microseconds.
    #[serde(deserialize_with = "limited::<_, MAX_TURNAROUND_US>")]
    pub turnaround_us: u64,
    /// Maximum random addition to the turnaround, microseconds, as on a busy host.
    #[serde(deserialize_with = "limited::<_, MAX_TURNAROUND_US>")]
    pub turnaround_jitter_us: u64,
    /// Interval of broadcast ARP requests for an unrelated address, milliseconds; 0 for none.
    #[serde(deserialize_with = "limited::<_, MAX_BACKGROUND_MS>")]
    pub background_arp_ms: u64,
    /// Ignores SACK blocks, as if the device had agreed to SACK and never sent any.
    pub disregard_sack_blocks: bool,
    /// Its address and the port of its HTTP server, if not the usual ones.
    #[serde(skip)]
    pub http_server: Option<SocketAddrV4>,
    /// Answers of its HTTP server, before the files `/N`.
    #[serde(skip)]
    pub answers: Vec<Answer>,
}

impl Default for Peer {
    fn default() -> Self {
        Self {
            kind: "host".to_owned(),
            turnaround_us: 80,
            turnaround_jitter_us: 0,
            background_arp_ms: 0,
            disregard_sack_blocks: false,
            http_server: None,
            answers: Vec::new(),
        }
    }
}

/// Longest turnaround, microseconds: a minute.
const MAX_TURNAROUND_US: u64 = 60_000_000;
/// Longest interval of broadcasts, milliseconds: an hour.
const MAX_BACKGROUND_MS: u64 = 3_600_000;

/// Reads a time of at most `MAX`: in nanoseconds, a larger one would not fit.
fn limited<'de, D: Deserializer<'de>, const MAX: u64>(deserializer: D) -> Result<u64, D::Error> {
    let value = u64::deserialize(deserializer)?;
    if value > MAX {
        let message = format!("it is {value}, and must be between 0 and {MAX}");
        return Err(serde::de::Error::custom(message));
    }
    Ok(value)
}

/// Recordings made in addition to the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Record {
    /// A capture of every frame on the wire, one file per firmware.
    pub pcapng: bool,
    /// Duration of the pins' waveform from the first frame on, milliseconds; 0 for none. A
    /// full-length frame has 24,000 edges.
    pub vcd_ms: u64,
    /// Cycles by function: one table, flame graph and file of folded stacks per firmware. This
    /// makes the simulation several times slower.
    pub profile: bool,
}

impl Record {
    /// No recordings.
    pub const NONE: Self = Self {
        pcapng: false,
        vcd_ms: 0,
        profile: false,
    };
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

#[cfg(test)]
mod tests {
    use super::Peer;

    /// Nanoseconds in 64 bits would wrap.
    #[test]
    fn times_of_the_peer_have_a_range() {
        let peer = |us: u64| toml::from_str::<Peer>(&format!("turnaround_us = {us}"));
        assert!(peer(60_000_000).is_ok_and(|peer| peer.turnaround_us == 60_000_000));
        let error = peer(4_611_686_018_427_387_904).expect_err("too long");
        let text = error.to_string();
        assert!(text.contains("must be between 0 and 60000000"), "{text}");
    }
}
