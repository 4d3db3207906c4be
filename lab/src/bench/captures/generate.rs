//! Generates a reproducible capture of any length: concurrent downloads over many TCP connections, with losses
//! repaired by fast retransmission or a time-out, as captured at the sender's interface.

use linerate_ether::checksum::checksum;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io::{self, Write};

/// Number of concurrent connections.
const CONNECTIONS: u32 = 64;
/// Flights of segments per connection, until it closes and a new one replaces it.
const FLIGHTS: u32 = 40;
/// Maximum number of segments in a flight.
const MAX_SEGMENTS: u64 = 64;
/// Payload of a segment, octets: that of a full Ethernet frame with timestamps.
const SEGMENT: u32 = 1448;
/// Duration of a full frame at 1 Gbit/s.
const FRAME_NS: u64 = 12_304;
const TIME_OUT_NS: u64 = 220_000_000;
const START_NS: u64 = 1_700_000_000_000_000_000;

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// Writes a capture of `packets` packets, headers only: pcap, little endian, in microseconds.
pub fn capture(packets: u64, to: &mut impl Write) -> io::Result<()> {
    // Magic number, version 2.4, time zone and accuracy, snapshot length, Ethernet.
    let header = [0xA1B2_C3D4, 0x0004_0002, 0, 0, 128, 1_u32];
    for word in header {
        to.write_all(&word.to_le_bytes())?;
    }
    let mut random = Random(1);
    let mut open: Vec<Connection> = Vec::new();
    let mut next = BinaryHeap::new();
    for number in 0..CONNECTIONS {
        let connection = Connection::open(number, START_NS, &mut random);
        next.push(Reverse((connection.queue[0].at_ns, number as usize)));
        open.push(connection);
    }
    let mut opened = CONNECTIONS;
    for _ in 0..packets {
        let Some(Reverse((_, at))) = next.pop() else {
            break;
        };
        let connection = &mut open[at];
        if let Some(packet) = connection.queue.pop_front() {
            packet.write(connection, to)?;
        }
        if connection.queue.is_empty() {
            connection.queue_next_flight(&mut random);
        }
        if connection.queue.is_empty() {
            *connection = Connection::open(opened, connection.now_ns, &mut random);
            opened += 1;
        }
        next.push(Reverse((connection.queue[0].at_ns, at)));
    }
    Ok(())
}

/// A download: its packets in the order of their times, one flight at a time.
struct Connection {
    number: u32,
    rtt_ns: u64,
    now_ns: u64,
    /// Next sequence number of the server, relative to its SYN.
    sent: u32,
    flights: u32,
    queue: VecDeque<Packet>,
}

#[derive(Clone, Copy)]
struct Packet {
    at_ns: u64,
    from_server: bool,
    flags: u8,
    seq: u32,
    ack: u32,
    len: u32,
    /// Selective acknowledgment of the client: left and right edge.
    sack: Option<(u32, u32)>,
}

impl Connection {
    fn open(number: u32, at_ns: u64, random: &mut Random) -> Self {
        let rtt_ns = 1_000_000 + random.below(20_000_000);
        let start_ns = at_ns + random.below(30_000_000);
        let mut own = Self {
            number,
            rtt_ns,
            now_ns: start_ns + rtt_ns + 400_000,
            sent: 1,
            flights: 0,
            queue: VecDeque::new(),
        };
        own.client(start_ns, SYN, 0, 0, None);
        own.server(start_ns + 30_000, SYN | ACK, 0, 0);
        own.client(start_ns + rtt_ns, ACK, 1, 1, None);
        own
    }

    fn client(&mut self, at_ns: u64, flags: u8, seq: u32, ack: u32, sack: Option<(u32, u32)>) {
        let packet = Packet {
            at_ns,
            from_server: false,
            flags,
            seq,
            ack,
            len: 0,
            sack,
        };
        self.queue.push_back(packet);
    }

    fn server(&mut self, at_ns: u64, flags: u8, seq: u32, len: u32) {
        let packet = Packet {
            at_ns,
            from_server: true,
            flags,
            seq,
            ack: 1,
            len,
            sack: None,
        };
        self.queue.push_back(packet);
    }

    /// Queues the next flight, or the end of the connection; after that, nothing.
    fn queue_next_flight(&mut self, random: &mut Random) {
        match self.flights {
            0..FLIGHTS => {
                let segments = 2 + random.below(MAX_SEGMENTS - 2);
                let lost = (random.below(5) == 0).then(|| random.below(segments) as u32);
                self.flight(segments as u32, lost);
            }
            FLIGHTS => {
                let (now_ns, sent) = (self.now_ns, self.sent);
                self.server(now_ns, FIN | ACK, sent, 0);
                self.client(now_ns + self.rtt_ns, FIN | ACK, 1, sent + 1, None);
                self.now_ns += self.rtt_ns;
            }
            _ => {}
        }
        self.flights += 1;
    }

    /// Queues a flight of `segments`, of which the network loses none or one; acknowledgments arrive a round trip
    /// later.
    fn flight(&mut self, segments: u32, lost: Option<u32>) {
        let (start_ns, first) = (self.now_ns, self.sent);
        let seq = |segment: u32| first + segment * SEGMENT;
        let rtt_ns = self.rtt_ns;
        let acknowledged_ns = |segment: u32| start_ns + u64::from(segment) * FRAME_NS + rtt_ns;
        let mut resent_ns = None;
        let mut repeated = 0;
        for segment in 0..segments {
            let last = segment + 1 == segments;
            let flags = if last { ACK | PSH } else { ACK };
            let sent_ns = start_ns + u64::from(segment) * FRAME_NS;
            self.server(sent_ns, flags, seq(segment), SEGMENT);
        }
        for segment in 0..segments {
            let at_ns = acknowledged_ns(segment);
            match lost {
                Some(lost) if segment == lost => {}
                Some(lost) if segment > lost => {
                    let sack = Some((seq(lost + 1), seq(segment + 1)));
                    self.client(at_ns, ACK, 1, seq(lost), sack);
                    repeated += 1;
                    if repeated == 3 {
                        resent_ns = Some(at_ns + 20_000);
                    }
                }
                // Every other segment, the last one, and the one before a gap are acknowledged.
                _ if segment % 2 == 1 || segment + 1 == segments || lost == Some(segment + 1) => {
                    self.client(at_ns, ACK, 1, seq(segment + 1), None);
                }
                _ => {}
            }
        }
        let mut end_ns = acknowledged_ns(segments - 1);
        if let Some(lost) = lost {
            let resent_ns = resent_ns.unwrap_or(start_ns + self.rtt_ns + TIME_OUT_NS);
            self.server(resent_ns, ACK, seq(lost), SEGMENT);
            end_ns = end_ns.max(resent_ns + self.rtt_ns);
            self.client(end_ns, ACK, 1, seq(segments), None);
        }
        self.queue
            .make_contiguous()
            .sort_by_key(|packet| packet.at_ns);
        self.now_ns = end_ns + 40_000;
        self.sent = seq(segments);
    }
}

impl Packet {
    /// Writes it as a record: Ethernet, IPv4 and TCP without payload.
    fn write(&self, connection: &Connection, to: &mut impl Write) -> io::Result<()> {
        let number = connection.number;
        let server = ([192, 0, 2, 10], 443_u16, 0x1234_5678_u32);
        let port = 32_768 + (number % 28_000) as u16;
        let client = (
            [198, 51, 100, (number % 200) as u8 + 1],
            port,
            number.wrapping_mul(7919),
        );
        let [(source, from, own), (destination, to_port, other)] = if self.from_server {
            [server, client]
        } else {
            [client, server]
        };
        let mut options = Vec::with_capacity(24);
        let clock = (self.at_ns / 1_000_000) as u32;
        if self.flags & SYN != 0 {
            // Maximum segment size, SACK permitted, timestamps, window scale 128.
            options.extend([2, 4, 0x05, 0xB4, 4, 2, 8, 10]);
        } else {
            options.extend([1, 1, 8, 10]);
        }
        options.extend(clock.to_be_bytes());
        options.extend(clock.wrapping_sub(5).to_be_bytes());
        if self.flags & SYN != 0 {
            options.extend([1, 3, 3, 7]);
        }
        if let Some((left, right)) = self.sack {
            options.extend([1, 1, 5, 10]);
            options.extend(other.wrapping_add(left).to_be_bytes());
            options.extend(other.wrapping_add(right).to_be_bytes());
        }
        let header_len = 20 + options.len();
        let mut frame = Vec::with_capacity(96);
        frame.extend([2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x08, 0x00]);
        let total = (20 + header_len as u32 + self.len) as u16;
        frame.extend([0x45, 0]);
        frame.extend(total.to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame.extend(source);
        frame.extend(destination);
        let sum = checksum(&frame[14..34]);
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend(from.to_be_bytes());
        frame.extend(to_port.to_be_bytes());
        frame.extend(own.wrapping_add(self.seq).to_be_bytes());
        let ack = if self.flags & ACK == 0 {
            0
        } else {
            other.wrapping_add(self.ack.max(1))
        };
        frame.extend(ack.to_be_bytes());
        frame.extend([(header_len as u8 / 4) << 4, self.flags]);
        frame.extend(4096_u16.to_be_bytes());
        // The truncated payload has no checksum that a reader could verify.
        frame.extend([0; 4]);
        frame.extend(options);
        let seconds = (self.at_ns / 1_000_000_000) as u32;
        let micros = (self.at_ns % 1_000_000_000 / 1000) as u32;
        let kept = frame.len() as u32;
        for word in [seconds, micros, kept, kept + self.len] {
            to.write_all(&word.to_le_bytes())?;
        }
        to.write_all(&frame)
    }
}

/// Pseudo-random numbers (Marsaglia's xorshift).
struct Random(u64);

impl Random {
    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % bound
    }
}

#[cfg(test)]
mod tests {
    use super::capture;

    #[test]
    fn a_capture_has_as_many_packets_as_asked_for_and_is_the_same_each_time() {
        let made = || {
            let mut octets = Vec::new();
            capture(5000, &mut octets).expect("room");
            octets
        };
        let octets = made();
        assert_eq!(octets, made());
        let (mut at, mut packets, mut before) = (24, 0, 0);
        while at < octets.len() {
            let word = |at: usize| {
                let word = octets[at..at + 4].try_into().expect("four");
                u64::from(u32::from_le_bytes(word))
            };
            let time = word(at) * 1_000_000 + word(at + 4);
            assert!(time >= before, "packet {packets} steps back");
            before = time;
            packets += 1;
            at += 16 + word(at + 8) as usize;
        }
        assert_eq!((at, packets), (octets.len(), 5000));
    }
}
