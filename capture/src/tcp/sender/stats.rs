//! What is counted of a direction.

use crate::tcp::histogram::Histogram;
use crate::tcp::occurrences::Occurrences;
use crate::tcp::spacing::LossBySpacing;

/// Positions in a burst that are told apart.
pub const BURST_POSITIONS: usize = 16;
/// The shortest delay that [`SenderStats::retransmit_delays`] tells apart; its bounds double from there.
pub const FIRST_DELAY_BOUND_NS: u64 = 150_000_000;
/// Ranges of retransmission delays that are told apart.
pub const DELAY_RANGES: usize = 12;

/// Numbers of outstanding segments that are told apart.
pub const FLIGHT_BINS: usize = 32;

/// What was counted of a direction.
#[derive(Clone, Debug, Default)]
pub struct SenderStats {
    /// Packets of the sender.
    pub packets: u64,
    /// Of them, those with payload or FIN.
    pub segments: u64,
    /// Octets of payload, those that were sent again among them.
    pub payload_bytes: u64,
    /// Octets of payload, each once.
    pub unique_bytes: u64,
    /// Segments with payload or FIN, or a SYN, that were sent again.
    pub retransmitted: u64,
    /// Octets of payload in them.
    pub retransmitted_bytes: u64,
    /// Of them, tail-loss probes.
    pub tail_loss_probes: u64,
    /// How long after the one before these came.
    pub probe_delays: Histogram,
    /// Of them, fast retransmissions.
    pub fast_retransmits: u64,
    /// Of them, those that a time-out brought.
    pub time_outs: u64,
    /// The most time-outs in a row.
    pub max_backoff: u8,
    /// Of them, the rest of what was lost behind a fast one or a time-out.
    pub recovery_retransmits: u64,
    /// Of them, those of what had been acknowledged.
    pub spurious: u64,
    /// Packet of the first and of the last that were sent again, spurious ones left out; 0 for none.
    pub first_retransmit: u64,
    /// See `first_retransmit`.
    pub last_retransmit: u64,
    /// How long after the one before those with payload came: below [`FIRST_DELAY_BOUND_NS`], below twice that, and so on.
    pub retransmit_delays: [u64; DELAY_RANGES],
    /// Segments that came so late that they had been lost before the place of capture and sent again.
    pub lost_before_capture: u64,
    /// Segments that came behind what was sent after them.
    pub out_of_order: u64,
    /// Them, by how much later than what is behind them they came.
    pub out_of_order_at: Occurrences,
    /// Octets that were acknowledged and never captured.
    pub unseen_bytes: u64,
    /// The acknowledgments of such octets, by how many they were.
    pub unseen_at: Occurrences,
    /// Segments larger than the other end takes: cut up behind the place of capture.
    pub super_segments: u64,
    /// Octets of payload in the largest segment.
    pub largest_segment: u32,
    /// Keep-alives.
    pub keep_alives: u64,
    /// Packets with RST.
    pub resets: u64,
    /// Segments with payload by their place in a burst, the last place for all behind.
    pub sent_by_position: [u64; BURST_POSITIONS],
    /// Of them, those that had to be sent again.
    pub lost_by_position: [u64; BURST_POSITIONS],
    /// What became of all that was sent, by how closely it followed other packets.
    pub spacing: LossBySpacing,
    /// Segments with payload by how many full ones were outstanding when they were sent, the last place for all more.
    pub sent_by_flight: [u64; FLIGHT_BINS],
    /// Of them, those that had to be sent again.
    pub lost_by_flight: [u64; FLIGHT_BINS],
    /// The most octets outstanding.
    pub max_in_flight: u32,
    /// Acknowledgments by the other end that repeat the one before while something is outstanding.
    pub duplicate_acks: u64,
    /// Packets by which the other end told a window and nothing else.
    pub window_updates: u64,
    /// Packets by which the other end closed the window.
    pub zero_windows: u64,
    /// Packets that filled the window.
    pub window_full: u64,
    /// The smallest window that the other end granted outside SYN and RST, in octets.
    pub min_window: Option<u32>,
    /// The largest.
    pub max_window: u32,
    /// Of its acknowledgments, those that granted less than a segment.
    pub small_windows: u64,
    /// Of its acknowledgments, those with selective ones.
    pub selective_acks: u64,
    /// Acknowledgments that were held back while the sender waited for them to send a small segment.
    pub delayed_acks: u64,
    /// The time that took.
    pub delayed_ack_ns: u64,
    /// The segments that waited for it.
    pub delayed_at: Occurrences,
    /// From a segment to its acknowledgment, segments sent once only.
    pub rtt: Histogram,
    /// From a segment to its acknowledgment where nothing else was sent between.
    pub isolated_rtt: Histogram,
    /// The longest time that something was outstanding and no acknowledgment came.
    pub longest_stall_ns: u64,
    /// When that began.
    pub longest_stall_start_ns: u64,
    /// When the last octet of payload was acknowledged; 0 for never.
    pub last_acked_ns: u64,
    /// How often later segments were acknowledged first, by repeated or selective acknowledgments, and the missing ones
    /// then without having been sent again: they were overtaken behind the place of capture.
    pub reordered_after_capture: u64,
    /// Segments of less than half the size that the other end takes that were sent while others were outstanding.
    pub small_while_unacked: u64,
    /// How long the sender was quiet between bursts, with nothing outstanding.
    pub send_gaps: Histogram,
}
