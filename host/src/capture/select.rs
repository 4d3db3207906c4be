//! Selects the frames that belong to a peer.

use std::net::IpAddr;

const IPV4: u16 = 0x0800;
const ARP: u16 = 0x0806;
const IPV6: u16 = 0x86DD;
/// MAC control: pause frames.
const MAC_CONTROL: u16 = 0x8808;
const TAGS: [u16; 2] = [0x8100, 0x88A8];

/// True if a frame belongs to the transfers with `peer`, or to Ethernet itself: ARP, pause, broadcast.
pub(super) fn is_of_peer(frame: &[u8], peer: IpAddr) -> bool {
    if frame.first_chunk() == Some(&[0xFF_u8; 6]) {
        return true;
    }
    let word = |at: usize| {
        let octets = frame.get(at..at + 2)?;
        Some(u16::from_be_bytes([octets[0], octets[1]]))
    };
    let mut at = 12;
    while word(at).is_some_and(|kind| TAGS.contains(&kind)) {
        at += 4;
    }
    let packet = frame.get(at + 2..).unwrap_or_default();
    let has = |places: [usize; 2], address: &[u8]| {
        let found = |place: usize| packet.get(place..place + address.len()) == Some(address);
        places.into_iter().any(found)
    };
    match (word(at), peer) {
        (Some(ARP | MAC_CONTROL), _) => true,
        (Some(IPV4), IpAddr::V4(peer)) => has([12, 16], &peer.octets()),
        (Some(IPV6), IpAddr::V6(peer)) => has([8, 24], &peer.octets()),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(tag: &[u8], kind: u16, packet: &[u8]) -> Vec<u8> {
        let mut frame = vec![2; 12];
        frame.extend(tag);
        frame.extend(kind.to_be_bytes());
        frame.extend(packet);
        frame
    }

    fn ipv4(source: [u8; 4], destination: [u8; 4]) -> Vec<u8> {
        let mut packet = vec![0; 12];
        packet.extend(source);
        packet.extend(destination);
        packet
    }

    #[test]
    fn packets_of_the_peer_are_selected_in_both_directions() {
        let peer = IpAddr::from([10, 0, 0, 2]);
        let (own, device, other) = ([10, 0, 0, 1], [10, 0, 0, 2], [10, 0, 0, 3]);
        for packet in [ipv4(own, device), ipv4(device, own)] {
            assert!(is_of_peer(&frame(&[], IPV4, &packet), peer));
            assert!(is_of_peer(&frame(&[0x81, 0, 0, 5], IPV4, &packet), peer));
        }
        assert!(!is_of_peer(&frame(&[], IPV4, &ipv4(own, other)), peer));
        assert!(!is_of_peer(&frame(&[], IPV6, &ipv4(own, device)), peer));
    }

    #[test]
    fn frames_of_ethernet_itself_are_selected() {
        let peer = IpAddr::from([10, 0, 0, 2]);
        assert!(is_of_peer(&frame(&[], ARP, &[]), peer));
        assert!(is_of_peer(&frame(&[], MAC_CONTROL, &[]), peer));
        assert!(is_of_peer(&[0xFF; 60], peer));
        assert!(!is_of_peer(&[], peer));
        assert!(!is_of_peer(&[0x81, 0, 0x81], peer));
    }

    #[test]
    fn ipv6_addresses_are_compared() {
        let peer: IpAddr = "fd00::2".parse().expect("an address");
        let IpAddr::V6(address) = peer else {
            panic!("an IPv6 address")
        };
        let mut packet = vec![0; 8];
        packet.extend(address.octets());
        assert!(is_of_peer(&frame(&[], IPV6, &packet), peer));
        assert!(!is_of_peer(&frame(&[], IPV6, &[0; 40]), peer));
    }
}
