//! The measurements of a station among others: `storm`, `hub_share` and `negotiation`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Ledger, Setting};

/// A storm of frames, and what the device can still do during and after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Storm {
    /// What was asked for.
    pub params: StormParams,
    /// What came out.
    pub metrics: StormMetrics,
    /// Where each frame of the peer went, those of the storm included.
    pub ledger: Ledger,
}

/// Parameters of a storm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormParams {
    /// Variant of the firmware.
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// How long it lasts.
    pub storm_ms: u64,
    /// Octets of each frame with FCS.
    pub frame_octets: u64,
    /// Whom its frames are for: `device`, `foreign`, `broadcast` or `multicast`.
    pub destination: String,
}

/// Metrics of a storm. Times are counted from its last frame's end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StormMetrics {
    /// Frames of the storm.
    pub storm_frames: u64,
    /// Of these, those that the device's stack accepted.
    pub storm_frames_received: u64,
    /// The longest time in the storm in which the stack accepted no frame at all: an upper bound
    /// for how long the main thread stood still. The storm's length when it accepted none.
    pub longest_standstill_ms: f64,
    /// Share of the storm's time that the receive interrupt left free, seen on the debug pin.
    pub free_share: f64,
    /// Until the reply to a ping was on the wire; nothing when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ping_after_ms: Option<f64>,
    /// Until a download over a new connection was complete, begun at the storm's end; nothing when
    /// it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_connection_after_ms: Option<f64>,
    /// Until the connection that was open before brought new data; nothing when it never did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_connection_after_ms: Option<f64>,
    /// Whether that connection's download was complete in the end.
    pub old_connection_completed: bool,
    /// Frames that the peer sent and that are neither accepted nor counted as lost.
    pub uncounted_frames: i64,
    /// Whether the device's counters tell the same as the wire: frames accepted and lost, each cause.
    pub counters_exact: bool,
}

/// A device that always has something to send, on a hub with others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HubShare {
    /// What was asked for.
    pub params: HubShareParams,
    /// What came out.
    pub metrics: HubShareMetrics,
    /// Where each frame toward the device went.
    pub ledger: Ledger,
}

/// Parameters of a hub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HubShareParams {
    /// Variant of the firmware.
    pub variant: String,
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// How long it is measured.
    pub measured_ms: u64,
    /// Stations that send: the device and the others.
    pub stations: u64,
    /// What they offer together, as a share of the line rate.
    pub offered_load: f64,
    /// Octets of each frame with FCS.
    pub frame_octets: u64,
}

/// Metrics of a hub.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HubShareMetrics {
    /// Each station's share of the octets that got through, the device first.
    pub shares: Vec<f64>,
    /// The device's.
    pub device_share: f64,
    /// 1 / stations.
    pub fair_share: f64,
    /// `device_share` / `fair_share` - 1.
    pub deviation: f64,
    /// Octets of good frames, all stations, over what the line carries in that time.
    pub utilisation: f64,
    /// Frames of the device that got through.
    pub device_frames: u64,
    /// Transmissions of the device that collided.
    pub device_collisions: u64,
    /// Frames that the device gave up, counted by itself.
    pub device_frames_given_up: u64,
    /// Frames toward the device that it lost without counting a cause.
    pub uncounted_frames: i64,
}

/// What a device and a link partner come to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Negotiation {
    /// What was asked for.
    pub params: NegotiationParams,
    /// What came out.
    pub metrics: NegotiationMetrics,
    /// Where each frame of the peer went.
    pub ledger: Ledger,
}

/// Parameters of a negotiation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NegotiationParams {
    /// Variant of the firmware.
    pub variant: String,
    /// Run and conditions; `duplex` is what it came to.
    #[serde(flatten)]
    pub setting: Setting,
    /// `up`, or `down` where the two have nothing in common.
    pub expected_link: String,
    /// The duplex that must come out, if the link comes up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_duplex: Option<String>,
}

/// Metrics of a negotiation.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NegotiationMetrics {
    /// What the device said last: `up` or `down`; empty when it said nothing.
    pub link: String,
    /// How it came to that: "auto-negotiation", "parallel detection", "forced".
    pub by: String,
    /// What it says of its partner.
    pub partner: String,
    /// The duplex that the device says.
    pub device_duplex: String,
    /// When it first said that the link is up, from power-on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up_after_ms: Option<f64>,
    /// Remote faults that the device counted.
    pub remote_faults: u64,
    /// Pings sent to the device, after the link should be up.
    pub pings_sent: u64,
    /// Pings that it answered.
    pub pings_answered: u64,
    /// Link, duplex and pings are what was expected.
    pub passed: bool,
}
