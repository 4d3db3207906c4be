//! Observations of this machine during a transfer: its link, its sockets and a capture of the headers.
//!
//! They are what the findings of a transfer are derived from. All fields are optional in a file: an observation
//! depends on the system and on the target.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Direction, Duplex, Finding};

/// Observations of this machine during a transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Observation {
    /// The interface on the route to the target; left out if the route is unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<HostLink>,
    /// Changes of the interface's counters during the transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface_counters: Option<InterfaceCounters>,
    /// Shortest round trip without load, measured by a probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_round_trip_ns: Option<u64>,
    /// Median round trip during the transfer, measured by a probe.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loaded_round_trip_ns: Option<u64>,
    /// TCP connections, the ones that carried most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connections: Vec<TcpConnection>,
    /// The capture of the transfer's headers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<TransferCapture>,
}

impl Observation {
    /// True if nothing was observed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The interface of this machine on the route to the target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HostLink {
    /// Its name.
    pub interface: String,
    /// Line rate that its driver reports; left out if it reports none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line_bits_per_s: Option<u64>,
    /// Duplex mode that its driver reports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplex: Option<Duplex>,
    /// Its MTU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u64>,
    /// True if no adapter belongs to it (veth, TAP, loopback): the reported rate is nominal.
    pub is_virtual: bool,
}

/// Changes of an interface's counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct InterfaceCounters {
    /// Frames sent.
    pub sent_frames: u64,
    /// Frames received.
    pub received_frames: u64,
    /// Frames that could not be sent because of an error.
    pub send_errors: u64,
    /// Frames received with an error.
    pub receive_errors: u64,
    /// Frames not sent for lack of a buffer.
    pub send_drops: u64,
    /// Frames received but dropped for lack of a buffer.
    pub receive_drops: u64,
    /// Collisions.
    pub collisions: u64,
}

/// A TCP connection of this machine, as its socket reports it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpConnection {
    /// Direction of most of its payload.
    pub direction: Direction,
    /// Time from the request to the established connection; left out if the other end opened it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connect_ns: Option<u64>,
    /// First write to the socket, since the start of the test.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_write_ns: Option<u64>,
    /// Last write to the socket before the first octet was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_end_ns: Option<u64>,
    /// First read from the socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_read_ns: Option<u64>,
    /// Time when it was established, since the start of the test.
    pub opened_ns: u64,
    /// End, since the start of the test.
    pub ended_ns: u64,
    /// Timestamps are in use (RFC 7323 section 3).
    pub has_timestamps: bool,
    /// Selective acknowledgments are in use (RFC 2018).
    pub has_sack: bool,
    /// Windows are scaled (RFC 7323 section 2).
    pub has_window_scaling: bool,
    /// Algorithm of congestion control of this machine (`cubic`, `reno`, `bbr`); empty if unknown.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub congestion_control: String,
    /// Largest segment that this machine sends.
    pub send_mss_bytes: u64,
    /// Largest segment received.
    pub receive_mss_bytes: u64,
    /// The series.
    pub samples: Vec<TcpSample>,
}

/// State of a connection at one time (Linux's `TCP_INFO`). Counts and times are totals since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TcpSample {
    /// Time since the start of the test.
    pub at_ns: u64,
    /// Payload that the other end acknowledged.
    pub acked_bytes: u64,
    /// Payload received.
    pub received_bytes: u64,
    /// Smoothed round trip of the data sent (RFC 6298).
    pub rtt_ns: u64,
    /// Shortest round trip of the last minutes; includes that of the handshake.
    pub min_rtt_ns: u64,
    /// Round trip estimated by the receiver; 0 if unknown.
    pub receive_rtt_ns: u64,
    /// Congestion window.
    pub congestion_window_segments: u64,
    /// Slow-start threshold; left out before the first reduction of the congestion window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_start_threshold_segments: Option<u64>,
    /// Window that the other end grants; left out if the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_window_bytes: Option<u64>,
    /// Window that this machine grants; left out if the system does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_window_bytes: Option<u64>,
    /// Segments in flight.
    pub in_flight_segments: u64,
    /// Payload in the socket's buffer that was not yet sent.
    pub unsent_bytes: u64,
    /// Time with data to send.
    pub busy_ns: u64,
    /// Time in which the other end's window stopped the sender.
    pub window_limited_ns: u64,
    /// Time in which the socket's send buffer stopped the sender.
    pub buffer_limited_ns: u64,
    /// Data segments sent, retransmissions included.
    pub sent_segments: u64,
    /// Retransmissions.
    pub retransmitted_segments: u64,
    /// Data segments received.
    pub received_segments: u64,
    /// Segments received before an earlier one.
    pub out_of_order_segments: u64,
    /// Duplicates that the other end reported (RFC 2883).
    pub duplicate_segments: u64,
    /// Rate at which the network delivered the last flight.
    pub delivery_bytes_per_s: u64,
    /// True if the program, not the network, limited that rate.
    pub is_app_limited: bool,
}

/// A capture of the headers during a transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TransferCapture {
    /// The file, relative to the results.
    pub file: String,
    /// The picture of the connections, relative to the results; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub picture: String,
    /// Frames captured.
    pub frames: u64,
    /// Frames that the capture missed.
    pub dropped_frames: u64,
    /// Findings by direction, most important first.
    pub findings: Vec<CaptureFinding>,
}

/// A finding of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureFinding {
    /// Direction of the payload; left out if it applies to none alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// The finding.
    pub finding: Finding,
}
