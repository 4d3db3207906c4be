//! Counters of one direction.

use std::ops::{Deref, DerefMut};

use serde::Serialize;

use crate::tcp::histogram::Histogram;
use crate::tcp::occurrences::Occurrences;
use crate::tcp::spacing::LossBySpacing;

/// Burst positions that are counted separately.
pub const BURST_POSITIONS: usize = 16;
/// First bound of [`SenderStats::retransmit_delays`]; the others double from there.
pub const FIRST_DELAY_BOUND_NS: u64 = 150_000_000;
/// Number of ranges of retransmission delays.
pub const DELAY_RANGES: usize = 12;

/// Numbers of segments in flight that are counted separately.
pub const FLIGHT_BINS: usize = 32;

/// Counts of one direction, as in the JSON report: of the packets of its sender and of the acknowledgments for them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SenderCounts {
    /// Packets of the sender.
    pub packets: u64,
    /// Of them, those with payload or FIN.
    pub segments: u64,
    /// Octets of payload, retransmissions included.
    pub payload_bytes: u64,
    /// Octets of payload, each once.
    pub unique_bytes: u64,
    /// Retransmitted segments with payload or FIN, or SYN.
    pub retransmitted_segments: u64,
    /// Octets of payload in them.
    pub retransmitted_bytes: u64,
    /// Of them, tail-loss probes.
    pub tail_loss_probes: u64,
    /// Of the retransmissions, fast retransmits.
    #[serde(rename = "fast_retransmissions")]
    pub fast_retransmits: u64,
    /// Of the retransmissions, those caused by an RTO.
    pub time_outs: u64,
    /// The most RTOs in a row.
    #[serde(rename = "most_back_off")]
    pub max_backoff: u8,
    /// Of the retransmissions, further lost data after a fast retransmit or an RTO.
    #[serde(rename = "recovered_segments")]
    pub recovery_retransmits: u64,
    /// Of the retransmissions, those of acknowledged data.
    pub spurious_retransmissions: u64,
    /// Segments that arrived after later ones.
    pub out_of_order: u64,
    /// Duplicate ACKs by the receiver while data is unacknowledged.
    pub duplicate_acks: u64,
    /// Packets of the receiver that change nothing but the window.
    pub window_updates: u64,
    /// Packets of the receiver that close the window.
    pub zero_windows: u64,
    /// Packets that filled the window.
    pub window_full: u64,
    /// Of the receiver's acknowledgments, those that granted less than a segment.
    pub small_windows: u64,
    /// Of the receiver's acknowledgments, those with SACK blocks.
    pub selective_acks: u64,
    /// The smallest window that the receiver granted outside SYN and RST, in octets.
    #[serde(rename = "least_window_bytes")]
    pub min_window: Option<u32>,
    /// The largest window.
    #[serde(rename = "most_window_bytes")]
    pub max_window: u32,
    /// The largest flight size, in octets.
    #[serde(rename = "most_in_flight_bytes")]
    pub max_in_flight: u32,
    /// Octets of payload in the largest segment.
    #[serde(rename = "largest_segment_bytes")]
    pub largest_segment: u32,
    /// Segments larger than the receiver's MSS: segmented after the capture point.
    pub super_segments: u64,
    /// Octets that were acknowledged and never captured.
    pub unseen_bytes: u64,
    /// Keep-alives.
    pub keep_alives: u64,
    /// Packets with RST.
    pub resets: u64,
    /// Delayed ACKs for which the sender waited before sending a small segment.
    #[serde(rename = "held_back_acks")]
    pub delayed_acks: u64,
    /// The longest time with unacknowledged data and no acknowledgment.
    pub longest_stall_ns: u64,
}

/// Counts of one direction, and what else the analysis uses.
#[derive(Clone, Debug, Default)]
pub struct SenderStats {
    /// The counts of the report.
    pub counts: SenderCounts,
    /// Time from the previous transmission to the probe.
    pub probe_delays: Histogram,
    /// Packets of the first and last retransmission, spurious ones excluded; 0 for none.
    pub first_retransmit: u64,
    /// See `first_retransmit`.
    pub last_retransmit: u64,
    /// Retransmissions with payload by the time since the previous transmission: below [`FIRST_DELAY_BOUND_NS`], below
    /// twice that, and so on.
    pub retransmit_delays: [u64; DELAY_RANGES],
    /// Retransmissions whose original was lost before the capture point.
    pub lost_before_capture: u64,
    /// These segments, weighted by their delay.
    pub out_of_order_at: Occurrences,
    /// The acknowledgments of such octets, weighted by their number.
    pub unseen_at: Occurrences,
    /// Segments with payload by burst position, the last entry for all further ones.
    pub sent_by_position: [u64; BURST_POSITIONS],
    /// Of them, those that had to be retransmitted.
    pub lost_by_position: [u64; BURST_POSITIONS],
    /// Loss by distance to the sender's previous packet.
    pub spacing: LossBySpacing,
    /// Segments with payload by the number of full segments in flight when sent, the last entry for all further ones.
    pub sent_by_flight: [u64; FLIGHT_BINS],
    /// Of them, those that had to be retransmitted.
    pub lost_by_flight: [u64; FLIGHT_BINS],
    /// From a segment to its acknowledgment, for segments sent once.
    pub rtt: Histogram,
    /// From a segment to its acknowledgment if no other segment was sent in between.
    pub isolated_rtt: Histogram,
    /// Start of that time.
    pub longest_stall_start_ns: u64,
    /// Time of the acknowledgment of the last octet of payload; 0 for never.
    pub last_acked_ns: u64,
    /// Number of times that duplicate ACKs or SACK reported later segments first and the missing ones were then
    /// acknowledged without retransmission: reordered after the capture point.
    pub reordered_after_capture: u64,
}

impl Deref for SenderStats {
    type Target = SenderCounts;

    #[inline]
    fn deref(&self) -> &SenderCounts {
        &self.counts
    }
}

impl DerefMut for SenderStats {
    #[inline]
    fn deref_mut(&mut self) -> &mut SenderCounts {
        &mut self.counts
    }
}
