//! Times that the stack of an end takes to react to data: to acknowledge or answer it, whichever comes first.

use crate::tcp::{LoggedPacket, PacketClass, Segment, seq_lt};

/// The first packet of an end after data that arrived when nothing was unacknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reaction {
    /// Time from the data to the packet that acknowledges a part of it.
    pub ns: u64,
    /// Silence before the data: since the last packet to this end was sent, or acknowledged.
    pub silence_ns: u64,
    /// Silence before the data in both directions.
    pub silence_of_both_ns: u64,
    /// True if the packet carries no payload.
    pub is_bare: bool,
    /// True if payload of this end follows it at once: then it was not held back (RFC 9293 section 3.8.6.3), since the
    /// payload would have carried it.
    pub is_answered: bool,
    /// Octets of the data until then: two full segments are acknowledged at once (RFC 9293 section 3.8.6.3).
    pub bytes: u64,
    /// True if what it acknowledges was retransmitted before, and no DSACK (RFC 2883) shows that nothing was lost.
    pub is_after_loss: bool,
    /// Number of the packet.
    pub number: u32,
}

/// Data without an acknowledgment so far.
#[derive(Clone, Copy, Debug)]
struct Pending {
    seq: u32,
    time_ns: u64,
    silence_ns: u64,
    silence_of_both_ns: u64,
    /// First octet that was retransmitted.
    retransmitted: Option<u32>,
}

/// State while walking through the packets.
#[derive(Debug, Default)]
pub(super) struct Reactions {
    found: [Vec<Reaction>; 2],
    /// Data that waits for each end.
    pending: [Option<Pending>; 2],
    /// Time of the last packet of each end.
    last_ns: [Option<u64>; 2],
    /// After the highest octet sent by each end, and acknowledged by it.
    sent: [Option<u32>; 2],
    acked: [Option<u32>; 2],
    /// Time of the last reaction of each end, if it carried no payload and none followed.
    bare_ns: [Option<u64>; 2],
}

/// Time in which a program answers what it waited for, with the work of its host.
const ANSWER_NS: u64 = 2_000_000;

impl Reactions {
    /// The reactions in `packets`, by the end that reacts (first, second).
    pub(super) fn of(packets: &[LoggedPacket]) -> [Vec<Reaction>; 2] {
        let mut own = Self::default();
        for packet in packets {
            if packet.has_any(Segment::RST) {
                break;
            }
            if !packet.has_any(Segment::SYN) {
                own.react(packet);
                own.send(packet);
            }
            own.last_ns[packet.from() as usize] = Some(packet.time_ns);
        }
        own.found
    }

    fn react(&mut self, packet: &LoggedPacket) {
        let at = packet.from() as usize;
        if !packet.has_any(Segment::ACK) {
            return;
        }
        if let Some(pending) = self.pending[at].filter(|it| seq_lt(it.seq, packet.ack)) {
            self.pending[at] = None;
            self.found[at].push(Reaction {
                ns: packet.time_ns - pending.time_ns,
                silence_ns: pending.silence_ns,
                silence_of_both_ns: pending.silence_of_both_ns,
                is_bare: packet.len == 0,
                is_answered: false,
                bytes: self.sent[packet.from().other() as usize]
                    .map_or(0, |sent| sent.wrapping_sub(pending.seq).into()),
                is_after_loss: pending
                    .retransmitted
                    .is_some_and(|seq| seq_lt(seq, packet.ack)),
                number: packet.number,
            });
            self.bare_ns[at] = (packet.len == 0).then_some(packet.time_ns);
        }
        if packet.has_dsack
            && let Some(last) = self.found[at].last_mut()
        {
            last.is_after_loss = false;
        }
        if self.acked[at].is_none_or(|before| seq_lt(before, packet.ack)) {
            self.acked[at] = Some(packet.ack);
            // What was on its way until now arrived just before.
            self.last_ns[packet.from().other() as usize] = Some(packet.time_ns);
        }
    }

    fn send(&mut self, packet: &LoggedPacket) {
        if packet.len == 0 || packet.class == PacketClass::NoData {
            return;
        }
        let (at, to) = (packet.from() as usize, packet.from().other() as usize);
        if let Some((last, bare_ns)) = self.found[at].last_mut().zip(self.bare_ns[at].take()) {
            last.is_answered |= packet.time_ns - bare_ns <= ANSWER_NS;
        }
        if packet.is_retransmission() {
            if let Some(pending) = &mut self.pending[to] {
                let before = pending
                    .retransmitted
                    .filter(|seq| !seq_lt(packet.seq, *seq));
                pending.retransmitted = before.or(Some(packet.seq));
            }
            return;
        }
        let is_idle = match (self.sent[at], self.acked[to]) {
            (Some(sent), Some(acked)) => !seq_lt(acked, sent),
            // What was captured before is not acknowledged yet.
            (Some(_), None) => false,
            (None, _) => true,
        };
        if is_idle && let Some(last_ns) = self.last_ns[at] {
            let silence_ns = packet.time_ns - last_ns;
            let last_of_both_ns = self.last_ns[to].map_or(last_ns, |other| other.max(last_ns));
            self.pending[to] = Some(Pending {
                seq: packet.seq,
                time_ns: packet.time_ns,
                silence_ns,
                silence_of_both_ns: packet.time_ns - last_of_both_ns,
                retransmitted: None,
            });
        }
        let after = packet.seq.wrapping_add(packet.len);
        if self.sent[at].is_none_or(|before| seq_lt(before, after)) {
            self.sent[at] = Some(after);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::End;

    const MS: u64 = 1_000_000;

    /// Data of the first end at 200 ms, with a retransmission of its second segment, and the acknowledgments of the other
    /// end.
    fn reactions(acks: &[(u64, u32, bool)]) -> Vec<Reaction> {
        let packet = |end, at_ms: u64, seq, ack, len, class| LoggedPacket {
            time_ns: at_ms * MS,
            number: 1,
            seq,
            ack,
            len,
            timestamps: (0, 0),
            window: 1_000,
            identification: 0,
            hop_limit: 0,
            flags: Segment::ACK,
            class,
            is_from_second: end == End::Second,
            has_dsack: false,
            options_len: 0,
        };
        let new = PacketClass::NewData;
        let mut packets = vec![
            packet(End::First, 0, 1, 1, 10, new),
            packet(End::Second, 5, 1, 11, 0, PacketClass::NoData),
            packet(End::First, 200, 11, 1, 1_000, new),
            packet(End::First, 200, 1_011, 1, 1_000, new),
            packet(End::First, 240, 1_011, 1, 1_000, PacketClass::Probe),
        ];
        packets.extend(acks.iter().map(|(at_ms, ack, has_dsack)| LoggedPacket {
            has_dsack: *has_dsack,
            ..packet(End::Second, *at_ms, 1, *ack, 0, PacketClass::NoData)
        }));
        Reactions::of(&packets)[1].clone()
    }

    #[test]
    fn a_reaction_has_the_silence_before_its_data() {
        let all = reactions(&[(390, 1_011, false)]);
        let last = all.last().expect("one");
        assert_eq!((last.ns, last.silence_ns), (190 * MS, 195 * MS));
        assert_eq!((last.bytes, last.is_after_loss), (2_000, false));
    }

    #[test]
    fn an_acknowledgment_of_what_was_retransmitted_may_answer_either() {
        let is_after_loss = |acks: &[(u64, u32, bool)]| {
            let all = reactions(acks);
            all.last().expect("one").is_after_loss
        };
        assert!(is_after_loss(&[(390, 2_011, false)]));
        assert!(
            !is_after_loss(&[(390, 2_011, false), (390, 2_011, true)]),
            "DSACK"
        );
    }
}
