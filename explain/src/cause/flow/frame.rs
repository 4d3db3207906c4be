//! Octets of payload in a frame, and of the frame for each of them.

/// Payload of segments that fill the MTU of Ethernet: 1,500 octets less headers of IPv4 or IPv6 and TCP with options.
const MTU_PAYLOAD: (u64, u64) = (1_400, 1_460);

/// Octets of a frame on the wire besides its payload and TCP options: preamble, gap, FCS (IEEE 802.3 clauses 3.1 and 4.4.2), and
/// the headers of Ethernet, IPv4 and TCP.
pub(super) const FRAME_OCTETS: u64 = 78;
/// A frame without payload takes 64 octets at least, with preamble and gap (IEEE 802.3 clause 4.4.2).
pub(super) const BARE_FRAME_OCTETS: u64 = 84;

pub(super) fn wire_factor(frame_payload: u64) -> f64 {
    let payload = frame_payload.max(1) as f64;
    if (MTU_PAYLOAD.0..=MTU_PAYLOAD.1).contains(&frame_payload) {
        1538.0 / payload
    } else {
        (payload + 78.0) / payload
    }
}

/// Timestamps with their padding (RFC 7323 appendix A), which the MSS does not count (RFC 6691).
pub(super) const STAMP_OCTETS: u64 = 12;
/// Payload of the largest frames in use, of 9,000 octets.
const JUMBO_PAYLOAD: u64 = 8_960;

pub(super) fn frame_payload(full: u64, mss: Option<u64>, is_stamped: bool) -> u64 {
    let options = if is_stamped { STAMP_OCTETS } else { 0 };
    let of_mss = |mss: u64| mss.saturating_sub(options).max(1);
    match mss {
        Some(mss) if full > mss => of_mss(mss),
        // Without the handshake: multiples of a full frame's payload, or more than any frame carries.
        None if full > MTU_PAYLOAD.1 => {
            let ethernet = of_mss(MTU_PAYLOAD.1);
            let is_multiple = full.is_multiple_of(ethernet);
            if is_multiple || full > JUMBO_PAYLOAD {
                ethernet
            } else {
                full
            }
        }
        _ => full,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_merged_segments_have_the_payload_of_the_mss() {
        // TSO and GRO: up to 64 kB in a segment of the capture, 1,448 octets in a frame with timestamps.
        assert_eq!(frame_payload(65_160, Some(1_460), true), 1_448);
        assert_eq!(frame_payload(2_920, Some(1_460), false), 1_460);
        assert_eq!(frame_payload(43_440, None, true), 1_448);
        assert!(
            (wire_factor(frame_payload(65_160, Some(1_460), true)) - 1538.0 / 1448.0).abs() < 1e-9
        );
    }

    #[test]
    fn frames_of_other_segments_carry_a_full_segment() {
        assert_eq!(frame_payload(1_448, Some(1_460), true), 1_448);
        assert_eq!(frame_payload(536, Some(1_460), false), 536);
        assert_eq!(frame_payload(8_948, Some(8_960), true), 8_948);
        assert_eq!(frame_payload(8_948, None, true), 8_948);
    }
}
