//! Limits of 10BASE-T: the time of a frame and the maximum goodput of any stack.
//!
//! Names of lengths state what they include. Times are those of IEEE 802.3 clauses 3, 4 and 14.

use linerate_ether::phy10::INTER_PACKET_GAP_NS;

/// Nanoseconds of a 10BASE-T bit.
pub const BIT_NS: u64 = 100;
/// Octets of preamble and start frame delimiter (IEEE 802.3, 3.2.1 and 3.2.2).
pub const PREAMBLE_OCTETS: u64 = 8;
/// Octets of the frame check sequence.
pub const FCS_OCTETS: u64 = 4;
/// Octets of the MAC header: two addresses and the type.
pub const HEADER_OCTETS: u64 = 14;
/// The shortest frame, with FCS (IEEE 802.3, 4.4.2).
pub const MIN_FRAME_OCTETS: u64 = 64;
/// Octets of an IPv4 and a TCP header without options.
pub const IP_TCP_HEADER_OCTETS: u64 = 40;
/// Octets of an IPv4 and an ICMP echo header.
pub const IP_ICMP_HEADER_OCTETS: u64 = 28;

/// The minimum time between two frames of one station, in nanoseconds (IEEE 802.3, 4.4.2
/// `interPacketGap`).
pub const fn inter_packet_gap_ns() -> u64 {
    INTER_PACKET_GAP_NS
}

/// Time on the wire of a frame with `payload_octets` of Ethernet payload, with preamble and FCS,
/// without the gap, in nanoseconds.
pub const fn frame_ns(payload_octets: u64) -> u64 {
    let frame = HEADER_OCTETS + payload_octets + FCS_OCTETS;
    let frame = if frame < MIN_FRAME_OCTETS {
        MIN_FRAME_OCTETS
    } else {
        frame
    };
    (PREAMBLE_OCTETS + frame) * 8 * BIT_NS
}

/// Time on the wire of one full TCP segment of `mss` octets with the gap that follows it.
pub const fn segment_ns(mss: u64) -> u64 {
    frame_ns(IP_TCP_HEADER_OCTETS + mss) + inter_packet_gap_ns()
}

/// Goodput of endless full segments back to back, in bytes per second: nothing else on the wire,
/// no acknowledgments.
pub fn goodput_bytes_per_s(mss: u64) -> f64 {
    mss as f64 * 1e9 / segment_ns(mss) as f64
}

/// Shortest ping: request and reply back to back, in nanoseconds, from the first preamble bit of
/// the request to the last bit of the reply, with zero turnaround in the answering station.
pub const fn ping_ns(payload_octets: u64) -> u64 {
    2 * frame_ns(IP_ICMP_HEADER_OCTETS + payload_octets) + inter_packet_gap_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_segment_takes_the_known_time() {
        assert_eq!(segment_ns(1460), 1_230_400);
        assert_eq!(goodput_bytes_per_s(1460) as u64, 1_186_605);
    }

    #[test]
    fn short_frames_are_padded() {
        assert_eq!(frame_ns(0), 57_600);
        assert_eq!(frame_ns(46), 57_600);
        assert_eq!(frame_ns(47), 58_400);
        assert_eq!(frame_ns(40) + inter_packet_gap_ns(), 67_200);
    }
}
