//! Routers between an end and the capture point, by what they have taken from the hop limit of its packets (RFC 791 section 3.2, RFC 8200
//! section 3).

use crate::tcp::{End, LoggedPacket};

/// Hop limits with which hosts send: those of old stacks, of most, of Windows, of lwIP and network equipment.
const INITIAL: [u8; 4] = [32, 64, 128, 255];
/// No path has more routers; a host that begins with another limit seems to be farther away.
const MAX_ROUTERS: u8 = 24;

/// Number of routers that the packets of `end` have passed at the capture point, as most of them show it; `None` if that is unknown.
pub(super) fn before_capture(packets: &[LoggedPacket], end: End) -> Option<u8> {
    let mut counts = [0_u32; 256];
    for it in packets.iter().filter(|it| it.from() == end) {
        counts[usize::from(it.hop_limit)] += 1;
    }
    // 0 is that of a packet whose header was not captured.
    let (usual, count) = (1..=255_u8)
        .map(|limit| (limit, counts[usize::from(limit)]))
        .max_by_key(|(_, count)| *count)?;
    let initial = INITIAL.into_iter().find(|it| *it >= usual)?;
    (count > 0)
        .then_some(initial - usual)
        .filter(|routers| *routers <= MAX_ROUTERS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn routers(limits: &[u8]) -> Option<u8> {
        let packet = |hop_limit: &u8| LoggedPacket {
            hop_limit: *hop_limit,
            ..LoggedPacket::default()
        };
        let packets: Vec<_> = limits.iter().map(packet).collect();
        before_capture(&packets, End::First)
    }

    #[test]
    fn the_usual_hop_limit_shows_the_routers_before_the_capture_point() {
        assert_eq!(routers(&[64, 64, 64]), Some(0));
        assert_eq!(routers(&[63, 63, 255]), Some(1), "an answer of a firewall");
        assert_eq!(routers(&[117]), Some(11));
        assert_eq!(routers(&[255]), Some(0));
        assert_eq!(
            routers(&[100]),
            None,
            "a stack with an initial limit of its own"
        );
        assert_eq!(routers(&[0, 0]), None, "the header was not captured");
        assert_eq!(before_capture(&[], End::First), None);
    }
}
