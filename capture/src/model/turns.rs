//! Whose turn it is: requests and answers of a connection, and who kept the other waiting.

use super::numbers::PacketNumbers;
use super::reaction::{Reaction, Reactions};
use crate::tcp::{End, LoggedPacket, PacketClass, Segment, seq_lt};

/// Times in which one end waits for the other's program.
#[derive(Clone, Debug, Default)]
pub struct Turns {
    /// Changes of direction: from the last payload of one end to the first of the other, by the end that answers
    /// (first, second).
    pub waits: [Vec<Wait>; 2],
    /// Silences within a turn of each end, with all of its data acknowledged.
    pub pauses: [Vec<Wait>; 2],
    /// Payload of each end's turns.
    pub turn_bytes: [Vec<u64>; 2],
    /// Reactions of each end's stack.
    pub reactions: [Vec<Reaction>; 2],
}

/// The time before an end begins its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Start: the last payload of the other end; of a pause, the last of this end.
    pub start_ns: u64,
    /// Time to the first payload of this end.
    pub ns: u64,
    /// The packet that ends it.
    pub number: u32,
    /// Payload of the turn before, that of the other end; of a pause, what this end sent before in the same turn.
    pub bytes_before: u64,
    /// Payload of this end after it.
    pub bytes: u64,
    /// Time from the first payload of the turn before to the first packet of this end that acknowledges a part of it.
    pub first_ack_ns: Option<u64>,
    /// Time from the start to the packet of this end that acknowledges all of the turn before.
    pub acked_ns: Option<u64>,
    /// True if a segment was retransmitted in it, or a packet that was sent is not captured: then it shows a loss, and not the program.
    pub has_loss: bool,
    /// Time from the start to the last packet that shows the loss: whatever follows later waits for something else. 0 without a loss.
    pub loss_ns: u64,
}

/// The longest first timeout of common stacks, with a round trip (RFC 6298 section 2.1: 1 s).
const MAX_TIMEOUT_NS: u64 = 1_500_000_000;
/// A silence within a turn that is shorter is the host's scheduling.
const MIN_PAUSE_NS: u64 = 50_000_000;

/// The longest time in which so many lost packets are repeated: each waits twice as long as the one before (RFC 6298 section 5.5). Where it
/// took longer, the numbers were used for something else.
fn longest_repair_ns(lost: u16) -> u64 {
    MAX_TIMEOUT_NS.saturating_mul((1 << lost.min(16)) - 1)
}

/// The least timeout of common stacks (Linux: `TCP_RTO_MIN`).
const MIN_TIMEOUT_NS: u64 = 200_000_000;
/// Packets that are lost before any is repeated: an acknowledgment, and the message behind it.
const FIRST_LOST: u16 = 2;

/// The shortest time in which a message comes again after so many packets were lost: more than the first ones are repetitions.
fn shortest_repair_ns(lost: u16) -> u64 {
    let timeouts = (lost + 1).saturating_sub(FIRST_LOST).min(16);
    MIN_TIMEOUT_NS * ((1 << timeouts) - 1)
}

/// State while walking through the packets.
#[derive(Debug, Default)]
struct Walk {
    turns: Turns,
    current: Option<Turn>,
    /// After the highest octet sent by each end.
    sent: [Option<u32>; 2],
    /// Highest acknowledgment by each end.
    acked: [Option<u32>; 2],
}

/// The turn of an end.
#[derive(Clone, Copy, Debug)]
struct Turn {
    end: End,
    bytes: u64,
    /// First octet.
    seq: u32,
    first_ns: u64,
    last_ns: u64,
    first_ack_ns: Option<u64>,
    acked_ns: Option<u64>,
    /// When a packet showed a loss in the wait behind it.
    lost_ns: Option<u64>,
}

impl Turn {
    /// Time from the turn's last payload to the last packet that shows a loss.
    fn loss_ns(&self) -> u64 {
        self.lost_ns.map_or(0, |ns| ns.saturating_sub(self.last_ns))
    }
}

impl Turns {
    /// The turns in `packets`, captured at the end `near`. Retransmissions and keep-alives do not begin a turn.
    pub fn of(packets: &[LoggedPacket], near: Option<End>) -> Self {
        let mut walk = Walk::default();
        let mut numbers = [End::First, End::Second].map(|end| PacketNumbers::of(packets, end));
        for packet in packets.iter().filter(|it| !it.has_any(Segment::RST)) {
            let missing = numbers[packet.from() as usize].missing_before(packet);
            // Nothing is lost between an end and a capture beside it: the numbers went to other hosts.
            if let Some(turn) = &mut walk.current
                && missing > 0
                && near != Some(packet.from())
                && (shortest_repair_ns(missing)..=longest_repair_ns(missing))
                    .contains(&(packet.time_ns - turn.last_ns))
            {
                turn.lost_ns = Some(packet.time_ns);
            }
            walk.acknowledge(packet);
            let is_payload = packet.len > 0 && packet.class != PacketClass::NoData;
            if is_payload && packet.is_retransmission() {
                let has_arrived = walk.has_acknowledged(packet);
                if let Some(turn) = walk.current.as_mut().filter(|_| !has_arrived) {
                    turn.lost_ns = Some(packet.time_ns);
                }
            } else if is_payload {
                walk.send(packet);
            }
        }
        walk.end_turn();
        let mut turns = walk.turns;
        turns.reactions = Reactions::of(packets);
        turns
    }

    /// Number of changes of direction.
    pub fn changes(&self) -> usize {
        self.waits.iter().map(Vec::len).sum()
    }

    /// Octets of the longest turn of `end`.
    pub fn longest_turn(&self, end: End) -> u64 {
        self.turn_bytes[end as usize]
            .iter()
            .copied()
            .max()
            .unwrap_or(0)
    }
}

impl Walk {
    /// True if the other end had acknowledged all of a packet before.
    fn has_acknowledged(&self, packet: &LoggedPacket) -> bool {
        let acked = self.acked[packet.from().other() as usize];
        let end = packet.seq.wrapping_add(packet.len);
        acked.is_some_and(|acked| !seq_lt(acked, end))
    }

    /// Applies the acknowledgment of a packet.
    fn acknowledge(&mut self, packet: &LoggedPacket) {
        if !packet.has_any(Segment::ACK) {
            return;
        }
        let end = packet.from();
        let acked = &mut self.acked[end as usize];
        if acked.is_none_or(|before| seq_lt(before, packet.ack)) {
            *acked = Some(packet.ack);
        }
        let Some(turn) = self.current.as_mut().filter(|turn| turn.end != end) else {
            return;
        };
        if seq_lt(turn.seq, packet.ack) && turn.first_ack_ns.is_none() {
            turn.first_ack_ns = Some(packet.time_ns - turn.first_ns);
        }
        let is_all = self.sent[turn.end as usize].is_some_and(|sent| !seq_lt(packet.ack, sent));
        if is_all && turn.acked_ns.is_none() {
            turn.acked_ns = Some(packet.time_ns - turn.last_ns);
        }
    }

    /// New payload.
    fn send(&mut self, packet: &LoggedPacket) {
        let end = packet.from();
        let at = end as usize;
        match self.current {
            Some(turn) if turn.end == end => self.go_on(&turn, packet),
            Some(turn) => {
                self.end_turn();
                self.turns.waits[at].push(Wait {
                    start_ns: turn.last_ns,
                    ns: packet.time_ns - turn.last_ns,
                    number: packet.number,
                    bytes_before: turn.bytes,
                    bytes: 0,
                    first_ack_ns: turn.first_ack_ns,
                    acked_ns: turn.acked_ns,
                    has_loss: turn.lost_ns.is_some(),
                    loss_ns: turn.loss_ns(),
                });
            }
            None => {}
        }
        let turn = self.current.get_or_insert(Turn {
            end,
            bytes: 0,
            seq: packet.seq,
            first_ns: packet.time_ns,
            last_ns: packet.time_ns,
            first_ack_ns: None,
            acked_ns: None,
            lost_ns: None,
        });
        turn.bytes += u64::from(packet.len);
        turn.last_ns = packet.time_ns;
        turn.acked_ns = None;
        turn.lost_ns = None;
        let after = packet.seq.wrapping_add(packet.len);
        let sent = &mut self.sent[at];
        if sent.is_none_or(|before| seq_lt(before, after)) {
            *sent = Some(after);
        }
    }

    /// More payload of the end whose turn it is.
    fn go_on(&mut self, turn: &Turn, packet: &LoggedPacket) {
        let ns = packet.time_ns - turn.last_ns;
        if ns < MIN_PAUSE_NS || turn.acked_ns.is_none() {
            return;
        }
        self.turns.pauses[turn.end as usize].push(Wait {
            start_ns: turn.last_ns,
            ns,
            number: packet.number,
            bytes_before: turn.bytes,
            bytes: 0,
            first_ack_ns: None,
            acked_ns: turn.acked_ns,
            has_loss: turn.lost_ns.is_some(),
            loss_ns: turn.loss_ns(),
        });
    }

    fn end_turn(&mut self) {
        let Some(turn) = self.current.take() else {
            return;
        };
        let at = turn.end as usize;
        self.turns.turn_bytes[at].push(turn.bytes);
        if let Some(wait) = self.turns.waits[at].last_mut() {
            wait.bytes = turn.bytes;
        }
        let pauses = self.turns.pauses[at].iter_mut().rev();
        for pause in pauses.take_while(|it| it.start_ns >= turn.first_ns) {
            pause.bytes = turn.bytes - pause.bytes_before;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A packet of an end at a time in milliseconds.
    fn packet(end: End, at_ms: u64, [seq, ack]: [u32; 2], len: u32) -> LoggedPacket {
        LoggedPacket {
            time_ns: at_ms * MS,
            number: at_ms as u32 + 1,
            seq,
            ack,
            len,
            timestamps: (0, 0),
            window: 1_000,
            identification: 0,
            hop_limit: 0,
            flags: Segment::ACK,
            class: if len == 0 {
                PacketClass::NoData
            } else {
                PacketClass::NewData
            },
            is_from_second: end == End::Second,
            has_dsack: false,
            options_len: 0,
        }
    }

    #[test]
    fn a_wait_has_the_sizes_and_the_acknowledgments_of_its_request() {
        let turns = Turns::of(
            &[
                packet(End::First, 0, [1, 1], 100),
                packet(End::First, 10, [101, 1], 50),
                packet(End::Second, 12, [1, 101], 0),
                packet(End::Second, 40, [1, 151], 0),
                packet(End::Second, 90, [1, 151], 700),
                packet(End::Second, 91, [701, 151], 300),
            ],
            None,
        );
        let wait = turns.waits[1][0];
        assert_eq!((wait.start_ns, wait.ns), (10 * MS, 80 * MS));
        assert_eq!((wait.bytes_before, wait.bytes), (150, 1_000));
        assert_eq!(
            (wait.first_ack_ns, wait.acked_ns),
            (Some(12 * MS), Some(30 * MS))
        );
        assert!(!wait.has_loss);
    }

    #[test]
    fn a_retransmission_marks_the_wait_in_which_it_is_sent() {
        let mut repeated = packet(End::First, 300, [1, 1], 100);
        repeated.class = PacketClass::TimeoutRetransmission;
        let turns = Turns::of(
            &[
                packet(End::First, 0, [1, 1], 100),
                repeated,
                packet(End::Second, 310, [1, 101], 500),
                packet(End::First, 320, [101, 501], 100),
                packet(End::Second, 330, [501, 201], 500),
            ],
            None,
        );
        let marks = turns.waits.map(|waits| {
            let marks = waits.iter().map(|it| it.has_loss);
            marks.collect::<Vec<_>>()
        });
        assert_eq!(marks, [vec![false], vec![true, false]]);
    }

    #[test]
    fn what_has_arrived_and_comes_again_shows_no_loss() {
        let waits = |acked: u32| {
            let mut repeated = packet(End::Second, 250, [1, 101], 40);
            repeated.class = PacketClass::TimeoutRetransmission;
            let turns = Turns::of(
                &[
                    packet(End::First, 0, [1, 1], 100),
                    packet(End::Second, 10, [1, 101], 40),
                    packet(End::First, 20, [101, acked], 0),
                    repeated,
                    packet(End::First, 8_000, [101, 41], 100),
                ],
                None,
            );
            let wait = turns.waits[0][0];
            (wait.has_loss, wait.loss_ns / MS)
        };
        assert_eq!(waits(41), (false, 0));
        // The client's own pause is no part of the time that the loss took.
        assert_eq!(waits(1), (true, 240));
    }

    /// Whether the last answer, after this time and behind a number that is missing, was lost before.
    fn is_lost_before(wait_ms: u64, near: Option<End>) -> bool {
        are_lost_before(1, wait_ms, near)
    }

    /// The same behind so many numbers.
    fn are_lost_before(lost: u16, wait_ms: u64, near: Option<End>) -> bool {
        let mut packets = Vec::new();
        let mut number = 0;
        for at in 0..20 {
            number = 1 + at as u16;
            packets.push(packet(
                End::First,
                at * 10,
                [1 + at as u32, 1 + at as u32],
                1,
            ));
            let mut answer = packet(End::Second, at * 10 + 4, [1 + at as u32, 2 + at as u32], 1);
            answer.identification = number;
            packets.push(answer);
        }
        packets.push(packet(End::First, 200, [21, 21], 1));
        let mut late = packet(End::Second, 200 + wait_ms, [21, 22], 1);
        late.identification = number + 1 + lost;
        packets.push(late);
        Turns::of(&packets, near).waits[1]
            .last()
            .is_some_and(|it| it.has_loss)
    }

    #[test]
    fn one_lost_packet_does_not_take_seconds_to_come_again() {
        let at_client = Some(End::First);
        assert!(is_lost_before(300, None));
        assert!(is_lost_before(1_200, at_client));
        // Its number was used for something else.
        assert!(!is_lost_before(5_000, at_client));
        assert!(!is_lost_before(300, Some(End::Second)));
    }

    #[test]
    fn repetitions_that_are_lost_take_longer_each() {
        let at_client = Some(End::First);
        // An acknowledgment, an answer, and two repetitions: 200 + 400 + 800 ms.
        assert!(are_lost_before(4, 1_450, at_client));
        assert!(!are_lost_before(4, 990, at_client));
        assert!(are_lost_before(2, 210, at_client));
    }

    #[test]
    fn a_silence_behind_acknowledged_data_is_a_pause_of_its_sender() {
        let pauses = |is_acked: bool| {
            let mut packets = vec![
                packet(End::First, 0, [1, 1], 100),
                packet(End::Second, 10, [1, 101], 40),
                packet(End::Second, 900, [41, 101], 1_000),
            ];
            if is_acked {
                packets.insert(2, packet(End::First, 11, [101, 41], 0));
            }
            let pauses = Turns::of(&packets, None).pauses[1].clone();
            pauses
                .iter()
                .map(|it| (it.ns / MS, it.bytes_before, it.bytes))
                .collect::<Vec<_>>()
        };
        assert_eq!(pauses(true), [(890, 40, 1_000)]);
        assert_eq!(pauses(false), []);
    }
}
