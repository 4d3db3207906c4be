//! A TCP connection that a test writes packet by packet, at one capture point.

use super::PathFinding;
use linerate_capture::reader::Address;
use linerate_capture::tcp::{Connection, End, Segment};
use linerate_capture::traffic::{Analysis, Counts, Flow, Traffic};
use linerate_results::record::{Cause, Finding};
use std::collections::{BTreeMap, VecDeque};

pub(crate) const US: u64 = 1_000;
pub(crate) const MS: u64 = 1_000_000;
/// Octets of a full segment.
pub(crate) const MSS: u32 = 1_460;
/// MSS, selective acknowledgments, window scale 0.
const OPTIONS: [u8; 9] = [2, 4, 5, 0xB4, 4, 2, 3, 3, 0];

/// The timestamps option (RFC 7323 section 3) of a clock of 1 ms that shows 1 s at the beginning, with what it echoes.
pub(crate) fn stamps(ns: u64, echo_ns: u64) -> [u8; 12] {
    let mut options = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0];
    let ticks = |ns: u64| ((ns / MS) as u32 + 1_000).to_be_bytes();
    options[4..8].copy_from_slice(&ticks(ns));
    options[8..].copy_from_slice(&ticks(echo_ns));
    options
}

/// A connection, opened by the first end, and the clock of its capture point. One end sends most of the payload, the other
/// one acknowledges it; in a dialogue both send.
pub(crate) struct Script {
    connection: Connection,
    sender: End,
    packets: u64,
    pub(super) now_ns: u64,
    /// Window in all packets that follow.
    pub(super) window: u16,
    /// Next sequence number of each end.
    pub(super) next: [u32; 2],
    /// Identification of the last IPv4 packet of each end, if they number their packets.
    pub(super) numbers: Option<[u16; 2]>,
    /// Hop limits of the packets of both ends; 0 for unknown ones.
    pub(super) hop_limits: [u8; 2],
    /// After the data that the receiver acknowledged.
    acked: u32,
}

impl Script {
    /// Data from `sender`; the SYN is answered after `to_second_ns`, and the answer is acknowledged after `to_first_ns`.
    pub(crate) fn open(sender: End, to_second_ns: u64, to_first_ns: u64, window: u16) -> Self {
        Self::open_with(sender, [to_second_ns, to_first_ns], window, &OPTIONS)
    }

    /// The same without selective acknowledgments.
    pub(crate) fn open_without_sack(sender: End, legs_ns: [u64; 2], window: u16) -> Self {
        Self::open_with(sender, legs_ns, window, &[2, 4, 5, 0xB4, 3, 3, 0])
    }

    /// The same with these options in both SYNs.
    pub(crate) fn open_with(sender: End, legs_ns: [u64; 2], window: u16, options: &[u8]) -> Self {
        Self::late(sender, window).opened(legs_ns, options)
    }

    /// One of several connections, whose SYN passes at `start_ns`.
    pub(crate) fn open_at(start_ns: u64, sender: End, legs_ns: [u64; 2], window: u16) -> Self {
        Self::late_at(start_ns, sender, window).opened(legs_ns, &OPTIONS)
    }

    /// The same, captured without the handshake.
    pub(crate) fn late_at(start_ns: u64, sender: End, window: u16) -> Self {
        let mut own = Self::late(sender, window);
        own.connection = Connection::new(1, start_ns);
        own.now_ns = start_ns;
        own
    }

    fn opened(mut self, [to_second_ns, to_first_ns]: [u64; 2], options: &[u8]) -> Self {
        let own = &mut self;
        own.packet(End::First, Segment::SYN, [0, 0], 0, options);
        own.now_ns += to_second_ns;
        let answer = Segment::SYN | Segment::ACK;
        own.packet(End::Second, answer, [0, 1], 0, options);
        own.now_ns += to_first_ns;
        own.packet(End::First, Segment::ACK, [1, 1], 0, &[]);
        self
    }

    /// Data from `sender`, captured without the handshake.
    pub(crate) fn late(sender: End, window: u16) -> Self {
        Self {
            connection: Connection::new(1, 0),
            sender,
            packets: 0,
            now_ns: 0,
            window,
            next: [1, 1],
            numbers: None,
            hop_limits: [0; 2],
            acked: 1,
        }
    }

    /// An upload over a round trip of 40 ms, captured at its sender, with two segments in flight at first and up to ten. The n-th of 600
    /// takes a link `service_ns(n)`.
    pub(crate) fn behind_link(window: u16, service_ns: impl Fn(u64) -> u64) -> Self {
        let mut upload = Self::open(End::First, 40 * MS, 20 * US, window);
        let (mut free_ns, mut arrivals) = (0, VecDeque::new());
        let (mut now_ns, mut sent, mut acked, mut most) = (50 * MS, 0_u32, 0_u32, 2);
        while acked < 600 {
            while sent < acked + most {
                upload.at(now_ns).send(1, MSS, 0);
                free_ns = now_ns.max(free_ns) + service_ns(u64::from(sent));
                arrivals.push_back(free_ns + 40 * MS);
                sent += 1;
            }
            now_ns = arrivals.pop_front().expect("in flight");
            acked += 1;
            most = (2 + acked / 4).min(10);
            upload.at(now_ns).ack(1 + acked * MSS);
        }
        upload
    }

    /// Any packet, with these sequence and acknowledgment numbers and octets of payload.
    pub(crate) fn packet(
        &mut self,
        end: End,
        flags: u8,
        [seq, ack]: [u32; 2],
        len: u32,
        options: &[u8],
    ) -> &mut Self {
        self.packets += 1;
        let number = self
            .numbers
            .as_mut()
            .map(|numbers| &mut numbers[end as usize]);
        let identification = number.map_or(0, |number| {
            *number += 1;
            *number
        });
        let segment = Segment {
            identification,
            hop_limit: self.hop_limits[end as usize],
            seq,
            ack,
            flags,
            window: self.window,
            len,
            options,
            ..Segment::default()
        };
        self.connection
            .record_segment(end, &segment, self.now_ns, self.packets);
        self
    }

    /// Sets the clock.
    pub(crate) fn at(&mut self, now_ns: u64) -> &mut Self {
        self.now_ns = now_ns;
        self
    }

    /// Advances the clock.
    pub(crate) fn after(&mut self, ns: u64) -> &mut Self {
        self.now_ns += ns;
        self
    }

    /// After the last octet that the sender sent.
    pub(crate) fn sent(&self) -> u32 {
        self.next[self.sender as usize]
    }

    /// Sends `len` octets at `seq`, again or for the first time; a segment that is not full ends a write.
    pub(crate) fn segment(&mut self, seq: u32, len: u32) -> &mut Self {
        let pushed = if len < MSS { Segment::PSH } else { 0 };
        let ack = self.next[self.sender.other() as usize];
        let next = self.sent().max(seq + len);
        self.next[self.sender as usize] = next;
        self.packet(self.sender, Segment::ACK | pushed, [seq, ack], len, &[])
    }

    /// Sends new segments of `len` octets, `gap_ns` apart. The clock stops at the last one.
    pub(crate) fn send(&mut self, segments: u32, len: u32, gap_ns: u64) -> &mut Self {
        for at in 0..segments {
            self.after(if at > 0 { gap_ns } else { 0 });
            self.segment(self.sent(), len);
        }
        self
    }

    /// The receiver acknowledges what precedes `ack`.
    pub(crate) fn ack(&mut self, ack: u32) -> &mut Self {
        self.acked = self.acked.max(ack);
        let receiver = self.sender.other();
        let seq = self.next[receiver as usize];
        self.packet(receiver, Segment::ACK, [seq, ack], 0, &[])
    }

    /// The receiver acknowledges all data that was sent.
    pub(crate) fn ack_all(&mut self) -> &mut Self {
        self.ack(self.sent())
    }

    /// The receiver acknowledges all data that was sent, and grants this window from now on.
    pub(crate) fn ack_all_with(&mut self, window: u16) -> &mut Self {
        self.window = window;
        self.ack_all()
    }

    /// The receiver acknowledges all data that was sent, two segments at a time.
    pub(crate) fn ack_pairs(&mut self) -> &mut Self {
        while self.acked + 2 * MSS < self.sent() {
            self.ack(self.acked + 2 * MSS);
        }
        self.ack_all()
    }

    /// Duplicate acknowledgments for missing data at `ack`, `gap_ns` apart, the first one after that time.
    pub(crate) fn duplicate_acks(&mut self, number: u32, ack: u32, gap_ns: u64) -> &mut Self {
        for _ in 0..number {
            self.after(gap_ns).ack(ack);
        }
        self
    }

    /// A write of `len` octets by either end, in full segments, that acknowledges all of the other end.
    pub(crate) fn write(&mut self, end: End, len: u32) -> &mut Self {
        let (at, to) = (end as usize, end.other() as usize);
        let mut rest = len;
        while rest > 0 {
            let part = rest.min(MSS);
            let numbers = [self.next[at], self.next[to]];
            self.packet(end, Segment::ACK | Segment::PSH, numbers, part, &[]);
            self.next[at] += part;
            rest -= part;
        }
        self
    }

    /// An acknowledgment of either end for all of the other end.
    pub(crate) fn confirm(&mut self, end: End) -> &mut Self {
        let numbers = [self.next[end as usize], self.next[end.other() as usize]];
        self.packet(end, Segment::ACK, numbers, 0, &[])
    }

    /// The connection, as it was captured.
    pub(crate) fn flow(self) -> Flow {
        let ends = [(1, 40_000), (2, 80)].map(|(host, port)| (Address([host; 16]), port));
        Flow {
            ends,
            connection: Box::new(self.connection),
        }
    }

    /// A capture of this connection alone.
    pub(crate) fn analysis(self) -> Analysis {
        let mut analysis = analysis(Counts::default(), self.now_ns);
        analysis.flows.push(self.flow());
        analysis
    }
}

/// A capture of this duration without connections.
pub(crate) fn analysis(counts: Counts, duration_ns: u64) -> Analysis {
    Analysis {
        counts,
        duration_ns,
        ..Traffic::default().finish()
    }
}

/// A finding about what passes between these hosts, or about the whole capture, that takes this share of the time.
pub(crate) fn path_finding(
    cause: Cause,
    hosts: Option<[&str; 2]>,
    share_of_time: f64,
) -> PathFinding {
    PathFinding {
        sender: hosts.map(|[sender, _]| sender.to_owned()),
        receiver: hosts.map(|[_, receiver]| receiver.to_owned()),
        share_of_time,
        alternative_to: None,
        finding: Finding {
            cause,
            confidence: 0.8,
            summary: "It waits.".to_owned(),
            evidence: BTreeMap::new(),
            advice: "Let it not wait.".to_owned(),
        },
    }
}
