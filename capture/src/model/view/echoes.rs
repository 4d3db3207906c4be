//! Which time stamps a sender echoes.

use crate::tcp::{End, LoggedPacket, Segment};
use foldhash::HashSet;

/// So many acknowledgments without payload show whether their stamps are echoed: whoever sends goes on, so they arrive.
const MIN_BARE: usize = 20;
/// Fewer segments may all belong to the first flights, which wait for no acknowledgment (RFC 6928 section 2: 10 segments).
const MIN_SENT: usize = 40;

/// True if `sender` echoes the stamps of payload only, and not those of acknowledgments without any: RFC 1323 section 3.4 asks for segments that
/// cover the last acknowledgment sent, which an empty one does not (RFC 7323 section 4.3 includes it). Such an echo does not show which
/// acknowledgments have arrived.
pub(super) fn are_of_payload(packets: &[LoggedPacket], sender: End) -> bool {
    let (mut carried, mut bare) = (HashSet::default(), HashSet::default());
    let mut sent = 0;
    for it in packets.iter().filter(|it| it.timestamps.0 != 0) {
        let (stamp, echo) = it.timestamps;
        if it.from() == sender {
            if bare.contains(&echo) {
                return false;
            }
            sent += usize::from(it.len > 0);
        } else if it.len > 0 || it.has_any(Segment::SYN | Segment::FIN) {
            // An acknowledgment of the same tick cannot be told from it.
            bare.remove(&stamp);
            carried.insert(stamp);
        } else if !carried.contains(&stamp) {
            bare.insert(stamp);
        }
    }
    bare.len() >= MIN_BARE && sent >= MIN_SENT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::PacketClass;

    /// A host that sends 60 segments, each of which the other one acknowledges a millisecond later, after `asked` messages; what it echoes.
    fn transfer(asked: u32, echoes: impl Fn(u32) -> u32) -> bool {
        let packet = |is_from_second, stamp, echo, len| LoggedPacket {
            timestamps: (stamp, echo),
            len,
            flags: Segment::ACK,
            class: PacketClass::NewData,
            is_from_second,
            ..LoggedPacket::default()
        };
        let mut packets: Vec<LoggedPacket> = (0..asked)
            .map(|at| packet(true, 500 + at, 1, 100))
            .collect();
        for at in 0..60 {
            packets.push(packet(false, 100 + at, echoes(at), 1_000));
            packets.push(packet(true, 1_000 + at, 100 + at, 0));
        }
        are_of_payload(&packets, End::First)
    }

    #[test]
    fn who_never_echoes_an_acknowledgment_without_payload_echoes_payload_only() {
        assert!(transfer(1, |_| 500), "the stamp of the request");
        assert!(transfer(3, |at| 500 + at.min(2)), "those of three requests");
        // A way back that is full delays all acknowledgments, and then they are echoed.
        assert!(!transfer(1, |at| 500.max(970 + at)), "late ones");
        assert!(!transfer(1, |at| if at == 0 { 500 } else { 999 + at }));
        // As many messages as acknowledgments hide none of these.
        assert!(!transfer(100, |at| if at == 0 { 500 } else { 999 + at }));
    }
}
