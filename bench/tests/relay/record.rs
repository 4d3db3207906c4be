//! Record of the frames that passed the relay.

use linerate_host::relay::{Delivered, Direction, Fate, FrameFates, FrameObserver, Transmission};
use std::collections::BTreeMap;

/// Octets of a frame that are kept: up to the start of a UDP payload.
const KEPT: usize = 14 + 20 + 8 + 16;
const ETHERNET: usize = 14;
const UDP: u8 = 17;
const TCP: u8 = 6;
const SYN: u8 = 2;

/// A UDP datagram: its ports and the beginning of its payload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    pub from: u16,
    pub to: u16,
    pub octets: u64,
    pub head: [u8; 16],
    /// Departure time, if it departed: between these times of the relay's clock.
    pub went_ns: (u64, u64),
    /// Time from its arrival until it was due.
    pub delay_ns: u64,
}

/// The payload of an IPv4 packet without options of `protocol`, as far as the frame was kept.
fn payload(frame: &[u8], protocol: u8) -> Option<&[u8]> {
    let (ethernet, packet) = frame.split_at_checked(ETHERNET)?;
    let is_it = ethernet[12..] == [8, 0] && *packet.first()? == 0x45 && *packet.get(9)? == protocol;
    packet.get(20..).filter(|_| is_it)
}

fn word16(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*octets.get(at..)?.first_chunk()?))
}

fn word32(octets: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*octets.get(at..)?.first_chunk()?))
}

impl Datagram {
    fn of(frame: &[u8]) -> Option<Self> {
        let udp = payload(&frame[..frame.len().min(KEPT)], UDP)?;
        let mut head = [0; 16];
        let payload = udp.get(8..)?;
        head[..payload.len()].copy_from_slice(payload);
        Some(Self {
            from: word16(udp, 0)?,
            to: word16(udp, 2)?,
            octets: u64::from(word16(udp, 4)?) - 8,
            head,
            went_ns: (0, 0),
            delay_ns: 0,
        })
    }

    /// The 32 bits at `at` of its payload.
    pub fn word(&self, at: usize) -> u32 {
        word32(&self.head, at).expect("four octets")
    }
}

/// Data of a TCP connection that passed in one direction.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    pub from: u16,
    pub to: u16,
    first: u32,
    /// Payload from the start to the last octet that passed.
    pub octets: u64,
}

/// All datagrams in the order of arrival and of departure, and the connections in the order of
/// opening.
#[derive(Debug, Default)]
pub struct Record {
    came: Vec<(Direction, Datagram)>,
    went: Vec<(Direction, Datagram)>,
    connections: Vec<(Direction, Lane)>,
    /// Corrupted frames as they arrived, until they depart.
    corrupted: BTreeMap<(bool, u64), Vec<u8>>,
    /// Frames that departed with errors for which the receiver drops them.
    pub corrupted_went: u64,
}

impl FrameObserver for Record {
    fn on_arrival(&mut self, way: Direction, frame: &[u8], fates: FrameFates) {
        self.came
            .extend(Datagram::of(frame).map(|datagram| (way, datagram)));
        for fate in [Some(fates.original), fates.duplicate]
            .into_iter()
            .flatten()
        {
            if let Fate::Passed {
                number,
                corrupted_bits: 1..,
            } = fate
            {
                let key = (way == Direction::Forward, number);
                self.corrupted.insert(key, frame.to_vec());
            }
        }
    }

    fn on_departure(&mut self, way: Direction, delivered: &Delivered, transmission: Transmission) {
        let key = (way == Direction::Forward, delivered.number);
        if let Some(arrived) = self.corrupted.remove(&key)
            && !is_received(&arrived, &delivered.frame)
        {
            self.corrupted_went += 1;
            return;
        }
        if !transmission.is_accepted {
            return;
        }
        let _ = self.segment(way, &delivered.frame);
        if let Some(datagram) = Datagram::of(&delivered.frame) {
            let datagram = Datagram {
                went_ns: (transmission.start_ns, transmission.end_ns),
                delay_ns: delivered.due_ns - delivered.arrival_ns,
                ..datagram
            };
            self.went.push((way, datagram));
        }
    }
}

pub type Streams = BTreeMap<(u16, u16), Vec<Datagram>>;

impl Record {
    /// Datagrams with payloads of at least `octets` that departed unaltered, by their ports.
    pub fn went(&self, way: Direction, octets: u64) -> Streams {
        streams(&self.went, way, octets)
    }

    /// The same for all that arrived, whatever their fate.
    pub fn came(&self, way: Direction, octets: u64) -> Streams {
        streams(&self.came, way, octets)
    }

    /// TCP connections in one direction, in the order of their start.
    pub fn tcp(&self, way: Direction) -> Vec<Lane> {
        let those = self.connections.iter().filter(|(it, _)| *it == way);
        those.map(|(_, lane)| *lane).collect()
    }

    fn segment(&mut self, way: Direction, frame: &[u8]) -> Option<()> {
        let tcp = payload(frame, TCP)?;
        let (from, to, number) = (word16(tcp, 0)?, word16(tcp, 2)?, word32(tcp, 4)?);
        let (header, flags) = (usize::from(*tcp.get(12)? >> 4) * 4, *tcp.get(13)?);
        // Short frames may be padded.
        let length = usize::from(word16(frame, ETHERNET + 2)?) - 20 - header;
        let is_it = |it: &&mut (Direction, Lane)| it.0 == way && (it.1.from, it.1.to) == (from, to);
        if let Some((_, known)) = self.connections.iter_mut().find(is_it) {
            let end = number.wrapping_sub(known.first).wrapping_add(length as u32);
            // FIN and later segments have the number after the last octet; SYN has the one before the
            // first.
            if length > 0 && end < 1 << 31 {
                known.octets = known.octets.max(end.into());
            }
        } else if flags & SYN != 0 {
            let new = Lane {
                from,
                to,
                first: number.wrapping_add(1),
                octets: 0,
            };
            self.connections.push((way, new));
        }
        Some(())
    }
}

/// True if a corrupted frame is received all the same. Without a frame check sequence, no checksum covers the source
/// address (RFC 791 section 3.1, RFC 9293 section 3.1), and no stack here compares it.
fn is_received(arrived: &[u8], delivered: &[u8]) -> bool {
    let covered = |frame: &[u8]| Some((*frame.first_chunk::<6>()?, frame.get(12..)?.to_vec()));
    covered(arrived) == covered(delivered)
}

fn streams(all: &[(Direction, Datagram)], way: Direction, octets: u64) -> Streams {
    let mut streams = Streams::new();
    let those = all
        .iter()
        .filter(|(it, datagram)| *it == way && datagram.octets >= octets);
    for (_, datagram) in those {
        let ports = (datagram.from, datagram.to);
        streams.entry(ports).or_default().push(datagram.clone());
    }
    streams
}

#[test]
fn a_frame_with_an_error_in_its_source_address_is_received() {
    let arrived: Vec<u8> = (0..64).collect();
    let with_error_at = |octet: usize| {
        let mut frame = arrived.clone();
        frame[octet] ^= 4;
        is_received(&arrived, &frame)
    };
    let received: Vec<usize> = (0..64).filter(|octet| with_error_at(*octet)).collect();
    assert_eq!(received, [6, 7, 8, 9, 10, 11]);
}
