//! Fills in the TCP checksum of a frame that the stack wrote, by words: about one cycle per octet,
//! where a stack that sums octet by octet or pair by pair takes three to four.

use core::ops::Range;
use linerate_ether::checksum::{Sum, TCP};
use linerate_ether::frame::{ADDRESSES_LEN, EtherType, HEADER_LEN};

/// Offset of the checksum in a TCP header.
const CHECKSUM: usize = 16;
/// Octets of an IPv4 header without options, and of an IPv6 header.
const IPV4_HEADER_LEN: usize = 20;
const IPV6_HEADER_LEN: usize = 40;

/// A TCP segment in a frame, by offsets into the frame.
struct Segment {
    octets: Range<usize>,
    /// Offset of the IP addresses, directly before the segment.
    addresses: usize,
}

/// Fills in the checksum of the TCP segment (RFC 9293 section 3.1) in the frame that begins at
/// `words`. The field must be zero, as stacks leave it for a device with checksum offload. Does not
/// modify a frame unless it holds a complete TCP segment directly after its IP header.
#[inline]
pub(super) fn tcp_checksum(words: &mut [u32], len: usize) {
    let Some(segment) = find(words, len) else {
        return;
    };
    let Range { start, end } = segment.octets;
    let mut sum = Sum::new();
    // Headers end in the middle of a word, so the words of addresses and segment begin two octets
    // earlier: these are subtracted again.
    let (from, whole) = ((segment.addresses - 2) / 4, end / 4);
    let Some(covered) = words.get(from..whole) else {
        return;
    };
    sum.add_words_unrolled(covered);
    sum.add_u16(!half(words, segment.addresses - 2));
    if !end.is_multiple_of(4) {
        let Some(last) = words.get(whole) else {
            return;
        };
        sum.add(&last.to_ne_bytes()[..end % 4]);
    }
    let mut pseudo = Sum::new();
    pseudo.add_u16((end - start) as u16).add_u16(u16::from(TCP));
    let checksum = pseudo.append(sum).checksum();
    set_half(words, start + CHECKSUM, checksum);
}

#[inline]
fn find(words: &[u32], len: usize) -> Option<Segment> {
    let ip = HEADER_LEN;
    let segment = match EtherType(half(words, ADDRESSES_LEN)) {
        EtherType::IPV4 => {
            let first = half(words, ip);
            let fragment = half(words, ip + 6) & 0x3FFF != 0;
            let protocol = half(words, ip + 8) as u8;
            if first >> 8 != 0x45 || fragment || protocol != TCP {
                return None;
            }
            Segment {
                octets: ip + IPV4_HEADER_LEN..ip + usize::from(half(words, ip + 2)),
                addresses: ip + 12,
            }
        }
        EtherType::IPV6 => {
            if half(words, ip) >> 12 != 6 || (half(words, ip + 6) >> 8) as u8 != TCP {
                return None;
            }
            let octets = usize::from(half(words, ip + 4));
            Segment {
                octets: ip + IPV6_HEADER_LEN..ip + IPV6_HEADER_LEN + octets,
                addresses: ip + 8,
            }
        }
        _ => return None,
    };
    let fits = segment.octets.end <= len && segment.octets.len() >= CHECKSUM + 4;
    fits.then_some(segment)
}

/// The field at `at`, which is even, in network byte order.
#[inline]
fn half(words: &[u32], at: usize) -> u16 {
    let word = words.get(at / 4).map_or(0, |word| word.to_le());
    ((word >> (at % 4 * 8)) as u16).swap_bytes()
}

#[inline]
fn set_half(words: &mut [u32], at: usize, value: u16) {
    if let Some(word) = words.get_mut(at / 4) {
        let place = at % 4 * 8;
        let others = word.to_le() & !(0xFFFF << place);
        *word = (others | u32::from(value.swap_bytes()) << place).to_le();
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;
    use linerate_ether::checksum::is_good;
    use std::vec::Vec;

    /// A frame with a segment of `len` octets, and its length.
    fn frame(ipv6: bool, len: usize) -> (Vec<u8>, usize) {
        let header = if ipv6 { 40 } else { 20 };
        let mut frame: Vec<u8> = (0..14 + header + len + 9)
            .map(|at| (at * 37 % 251) as u8)
            .collect();
        let ip = &mut frame[14..];
        if ipv6 {
            ip[0] = 0x60;
            ip[4..6].copy_from_slice(&(len as u16).to_be_bytes());
            ip[6] = TCP;
        } else {
            ip[0] = 0x45;
            ip[2..4].copy_from_slice(&(20 + len as u16).to_be_bytes());
            ip[6..8].fill(0);
            ip[9] = TCP;
        }
        frame[12..14].copy_from_slice(if ipv6 { &[0x86, 0xDD] } else { &[8, 0] });
        let start = 14 + header;
        frame[start + CHECKSUM..start + CHECKSUM + 2].fill(0);
        (frame, start + len)
    }

    fn fill(frame: &[u8], len: usize) -> Vec<u8> {
        let mut words: Vec<u32> = frame
            .chunks(4)
            .map(|chunk| {
                let mut word = [0; 4];
                word[..chunk.len()].copy_from_slice(chunk);
                u32::from_ne_bytes(word)
            })
            .collect();
        tcp_checksum(&mut words, len);
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    #[test]
    fn segments_of_any_length_get_their_checksum() {
        for ipv6 in [false, true] {
            for octets in (20..90).chain([1457, 1458, 1459, 1460]) {
                let (frame, len) = frame(ipv6, octets);
                let filled = fill(&frame, len);
                let start = len - octets;
                let addresses = if ipv6 { 22 } else { 26 };
                let mut covered = filled[addresses..len].to_vec();
                covered.resize(covered.len().next_multiple_of(2), 0);
                covered.extend_from_slice(&(octets as u16).to_be_bytes());
                covered.extend_from_slice(&[0, TCP]);
                assert!(is_good(&covered), "{octets}");
                // Nothing else changed.
                let mut restored = filled[..frame.len()].to_vec();
                restored[start + CHECKSUM..start + CHECKSUM + 2].fill(0);
                assert_eq!(restored, frame);
            }
        }
    }

    #[test]
    fn other_frames_are_not_modified() {
        let (plain, len) = frame(false, 60);
        let changed = |at: usize, value: u8| {
            let mut other = plain.clone();
            other[at] = value;
            other
        };
        for (other, len) in [
            (changed(12, 9), len),
            (changed(14, 0x46), len),
            (changed(20, 0x20), len),
            (changed(21, 1), len),
            (changed(23, 17), len),
            (changed(17, 30), len),
            (plain.clone(), len - 1),
            (plain[..20].to_vec(), 20),
        ] {
            assert_eq!(fill(&other, len)[..other.len()], other);
        }
        assert_ne!(fill(&plain, len)[..plain.len()], plain);
    }
}
