//! Checksums of IPv4 headers (RFC 791 section 3.1), TCP (RFC 9293 section 3.1) and UDP (RFC 768), computed as in
//! RFC 1071.
//!
//! An adapter that computes checksums itself receives packets with an unfinished checksum: a capture at the
//! sender then shows the sum of the pseudo-header, or zero. Such packets are counted apart. A segment that is acknowledged although it was
//! not sent again arrived intact: whoever wrote the capture changed it, or the adapter has yet to compute its checksum.

use crate::reader::{Address, Datagram, Protocol};
use crate::tcp::{Occurrences, Segment, seq_lt};
use foldhash::HashMap;
use std::collections::VecDeque;

/// Pairs of hosts and protocols that are counted; further ones are ignored.
const MAX_PAIRS: usize = 256;
/// Places in which pairs are looked up, a power of two: so many more that hardly two share one.
const PLACES: usize = 16 * MAX_PAIRS;
/// A longer TCP segment may be one that an adapter merged from several, with the checksum of the first.
const MAX_UNMERGED: usize = 1500;
/// With fewer checksums that are right, it does not show whether the capture has what the receiver verifies.
const MIN_RIGHT: u64 = 16;
/// Segments with a wrong checksum that wait for an acknowledgment or a repetition. A further one replaces the oldest.
const MAX_DOUBTFUL: usize = 64;
/// If more than one of so many is lost, the window has room for fewer than three segments (the square root of 3 / (2 * rate),
/// Mathis et al. 1997): a connection whose data passes nevertheless is one whose checksums change behind the capture.
const WRONG_DIVISOR: u64 = 6;

/// Checksums of one kind.
#[derive(Clone, Copy, Debug)]
pub struct Checksums {
    /// Sender and receiver with the protocol, of TCP or UDP; none for all IPv4 headers.
    pub of: Option<(Address, Address, Protocol)>,
    /// Packets that were captured whole.
    pub checked: u64,
    /// Of them, those with a wrong checksum.
    pub wrong: u64,
    /// Of them, those whose checksum the sender's adapter has yet to compute.
    pub offloaded: u64,
    /// The packets with a wrong checksum.
    pub wrong_at: Occurrences,
    /// Of the wrong ones, segments that were acknowledged without having been sent again: their receiver took them.
    pub accepted: u64,
    /// Of the wrong ones, segments that were sent again.
    pub repeated: u64,
}

/// A segment with a wrong checksum, whose receiver takes it or not.
#[derive(Clone, Copy, Debug)]
struct Doubtful {
    /// Index of its pair.
    pair: usize,
    range: SegmentRange,
}

/// The part of a connection that a segment has.
#[derive(Clone, Copy, Debug)]
struct SegmentRange {
    from: (Address, u16),
    to: (Address, u16),
    start: u32,
    end: u32,
    /// What it acknowledges.
    ack: Option<u32>,
}

/// What a checksum shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Right,
    Wrong,
    Offloaded,
}

#[derive(Debug)]
pub(super) struct ChecksumTable {
    headers: Checksums,
    pairs: Vec<Checksums>,
    /// Their indexes.
    by_pair: HashMap<(Address, Address, Protocol), usize>,
    /// Indexes of the pairs that were found last, by [`slot`].
    found: [u8; PLACES],
    doubtful: VecDeque<Doubtful>,
}

impl Default for ChecksumTable {
    fn default() -> Self {
        Self {
            headers: Checksums::new(None),
            pairs: Vec::new(),
            by_pair: HashMap::default(),
            found: [0; PLACES],
            doubtful: VecDeque::new(),
        }
    }
}

/// A place for a pair of hosts, by the last octets of their addresses.
fn slot((from, to, protocol): (Address, Address, Protocol)) -> usize {
    let word = |address: Address| {
        let [.., a, b, c, d] = address.0;
        u32::from_be_bytes([a, b, c, d])
    };
    let both = word(from) ^ word(to).rotate_left(16) ^ u32::from(protocol == Protocol::Udp);
    // Multiplicative hashing (Knuth, The Art of Computer Programming, volume 3, section 6.4).
    (both.wrapping_mul(0x9E37_79B1) >> (u32::BITS - PLACES.ilog2())) as usize
}

impl ChecksumTable {
    /// Records a datagram, of which `octets` begin with its header. Returns true if its receiver discards it (RFC 1122
    /// section 4.1.3.4, RFC 9293 section 3.1): its checksum is wrong, and few of the others between its hosts are.
    #[inline]
    pub(super) fn record(&mut self, octets: &[u8], datagram: &Datagram<'_>, number: u64) -> bool {
        let is_v4 = octets.first().is_some_and(|first| first >> 4 == 4);
        if is_v4 && let Some(verdict) = header(octets) {
            // Headers are counted for all hosts together: whose adapter computes them is not known.
            self.headers.count(verdict, number);
        }
        if !matches!(datagram.protocol, Protocol::Tcp | Protocol::Udp) {
            return false;
        }
        if !self.doubtful.is_empty() {
            self.resolve(datagram);
        }
        if !is_whole(octets, datagram) {
            return false;
        }
        let Some(verdict) = transport(datagram) else {
            return false;
        };
        let of = (datagram.source, datagram.destination, datagram.protocol);
        let Some(at) = self.pair(of) else {
            return false;
        };
        if verdict == Verdict::Wrong {
            self.doubt(at, datagram);
        }
        self.pairs[at].count(verdict, number)
    }

    /// Keeps a segment with a wrong checksum until it shows whether its receiver took it.
    #[cold]
    fn doubt(&mut self, pair: usize, datagram: &Datagram<'_>) {
        let range = SegmentRange::of(datagram).filter(|it| it.start != it.end);
        let Some(range) = range else { return };
        if self.doubtful.len() == MAX_DOUBTFUL {
            self.doubtful.pop_front();
        }
        self.doubtful.push_back(Doubtful { pair, range });
    }

    /// Counts the segments with a wrong checksum that a segment acknowledges, or repeats.
    #[cold]
    fn resolve(&mut self, datagram: &Datagram<'_>) {
        let Some(segment) = SegmentRange::of(datagram) else {
            return;
        };
        let pairs = &mut self.pairs;
        self.doubtful.retain(|Doubtful { pair, range }| {
            let counts = &mut pairs[*pair];
            let is_repeated = segment.repeats(range);
            let is_accepted = segment.acknowledges(range);
            counts.repeated += u64::from(is_repeated);
            counts.accepted += u64::from(is_accepted);
            !(is_repeated || is_accepted)
        });
    }

    /// Index of the pair of hosts.
    #[inline]
    fn pair(&mut self, of: (Address, Address, Protocol)) -> Option<usize> {
        let is_at = |at: usize| self.pairs.get(at).is_some_and(|pair| pair.of == Some(of));
        let slot = slot(of);
        let mut at = usize::from(self.found[slot]);
        if !is_at(at) {
            at = match self.by_pair.get(&of) {
                Some(at) => *at,
                None if self.pairs.len() == MAX_PAIRS => return None,
                None => {
                    self.by_pair.insert(of, self.pairs.len());
                    self.pairs.push(Checksums::new(Some(of)));
                    self.pairs.len() - 1
                }
            };
            self.found[slot] = at as u8;
        }
        Some(at)
    }

    pub(super) fn finish(self) -> Vec<Checksums> {
        let mut all = self.pairs;
        all.push(self.headers);
        all.retain(|it| it.wrong > 0);
        all
    }
}

impl Checksums {
    fn new(of: Option<(Address, Address, Protocol)>) -> Self {
        Self {
            of,
            checked: 0,
            wrong: 0,
            offloaded: 0,
            wrong_at: Occurrences::default(),
            accepted: 0,
            repeated: 0,
        }
    }

    /// True if the receiver took most of the segments with a wrong checksum, as far as it shows.
    pub const fn are_accepted(&self) -> bool {
        self.accepted > self.repeated
    }

    /// Counts a checksum. Returns true if it is wrong, and few of those before it are.
    #[inline]
    fn count(&mut self, verdict: Verdict, number: u64) -> bool {
        self.checked += 1;
        match verdict {
            Verdict::Right => {}
            Verdict::Offloaded => self.offloaded += 1,
            Verdict::Wrong => return self.count_wrong(number),
        }
        false
    }

    #[cold]
    fn count_wrong(&mut self, number: u64) -> bool {
        self.wrong += 1;
        self.wrong_at.record(number, 0);
        let right = self.checked - self.wrong - self.offloaded;
        right >= MIN_RIGHT && self.wrong * WRONG_DIVISOR <= self.checked && !self.are_accepted()
    }
}

impl SegmentRange {
    /// Of a TCP segment, of which the start was captured.
    fn of(datagram: &Datagram<'_>) -> Option<Self> {
        if datagram.protocol != Protocol::Tcp || datagram.fragment {
            return None;
        }
        let segment = Segment::parse(datagram.payload, datagram.length)?;
        Some(Self {
            from: (datagram.source, segment.source),
            to: (datagram.destination, segment.destination),
            start: segment.seq,
            end: segment.seq.wrapping_add(segment.len),
            ack: segment.has_any(Segment::ACK).then_some(segment.ack),
        })
    }

    /// True if it has octets of `other` again.
    fn repeats(&self, other: &Self) -> bool {
        (self.from, self.to) == (other.from, other.to)
            && seq_lt(self.start, other.end)
            && seq_lt(other.start, self.end)
    }

    /// True if it acknowledges all of `other`.
    fn acknowledges(&self, other: &Self) -> bool {
        let covers = |ack: u32| !seq_lt(ack, other.end);
        (self.from, self.to) == (other.to, other.from) && self.ack.is_some_and(covers)
    }
}

#[inline]
fn u16_at(octets: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*octets.get(at..)?.first_chunk()?))
}

/// The checksum of an IPv4 header.
#[inline]
fn header(octets: &[u8]) -> Option<Verdict> {
    let length = usize::from(octets.first()? & 0xF) * 4;
    let header = octets.get(..length)?;
    let field = u16_at(header, 10)?;
    Some(match fold(sum(header)) {
        0xFFFF => Verdict::Right,
        _ if field == 0 => Verdict::Offloaded,
        _ => Verdict::Wrong,
    })
}

/// True if the whole payload was captured, and no other packet has a part of it.
#[inline]
fn is_whole(octets: &[u8], datagram: &Datagram<'_>) -> bool {
    let captured = datagram.payload.len();
    let whole = |it: Option<bool>| it.unwrap_or(false);
    match octets.first().map(|first| first >> 4) {
        Some(4) => whole((|| {
            let header = usize::from(octets.first()? & 0xF) * 4;
            let has_more = u16_at(octets, 6)? & 0x3FFF != 0;
            Some(!has_more && usize::from(u16_at(octets, 2)?) == header + captured)
        })()),
        // Extension headers may change the destination or divide the packet: only packets without one.
        Some(6) => whole((|| {
            Some(matches!(octets.get(6)?, 6 | 17) && usize::from(u16_at(octets, 4)?) == captured)
        })()),
        _ => false,
    }
}

/// The checksum of TCP or UDP; `None` if there is none.
#[inline]
fn transport(datagram: &Datagram<'_>) -> Option<Verdict> {
    let payload = datagram.payload;
    let (number, field) = match datagram.protocol {
        Protocol::Tcp if payload.len() <= MAX_UNMERGED => (6, u16_at(payload, 16)?),
        Protocol::Udp if usize::from(u16_at(payload, 4)?) == payload.len() => {
            (17, u16_at(payload, 6)?)
        }
        _ => return None,
    };
    if number == 17 && field == 0 {
        // The sender computed none.
        return None;
    }
    // The prefix of an IPv4-mapped address adds 0xFFFF, which is zero in ones' complement.
    let addresses = sum(&datagram.source.0) + sum(&datagram.destination.0);
    let length = u16::try_from(payload.len()).ok()?.to_be_bytes();
    let pseudo = addresses + sum(&[0, number]) + sum(&length);
    Some(match fold(pseudo + sum(payload)) {
        0xFFFF => Verdict::Right,
        _ if field == 0 || field == fold(pseudo) => Verdict::Offloaded,
        _ => Verdict::Wrong,
    })
}

/// The sum of all words in the machine's byte order: the order does not matter until the end (RFC 1071 section 2).
#[inline]
fn sum(octets: &[u8]) -> u64 {
    let words = octets.chunks_exact(4);
    let mut last = [0; 4];
    for (to, from) in last.iter_mut().zip(words.remainder()) {
        *to = *from;
    }
    let word = |octets: &[u8]| {
        octets
            .first_chunk()
            .map_or(0, |word| u64::from(u32::from_ne_bytes(*word)))
    };
    words.map(word).sum::<u64>() + word(&last)
}

/// The ones' complement sum in network byte order.
#[inline]
fn fold(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    u16::from_be(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A UDP datagram over IPv6.
    fn datagram() -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 11, 17, 64];
        packet.extend([0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        packet.extend([0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        // The words add up to 2 * 0xFE80 + 3 + 17 + 11, ports 7 and 9, the length 11, 0x0102 and 0x0300.
        packet.extend([0, 7, 0, 9, 0, 11, 0xFE, 0xC1, 1, 2, 3]);
        packet
    }

    fn verdict(octets: &[u8], captured: usize) -> Option<Verdict> {
        let octets = &octets[..captured];
        let datagram = Datagram::parse(octets, 51)?;
        is_whole(octets, &datagram).then(|| transport(&datagram))?
    }

    #[test]
    fn only_whole_packets_are_verified() {
        let packet = datagram();
        assert_eq!(verdict(&packet, 51), Some(Verdict::Right));
        for captured in 0..51 {
            assert_eq!(verdict(&packet, captured), None);
        }
        for bit in 0..24 {
            let mut damaged = packet.clone();
            damaged[48 + bit / 8] ^= 1 << (bit % 8);
            assert_eq!(verdict(&damaged, 51), Some(Verdict::Wrong));
        }
        let mut unfinished = packet;
        let words = 2 * 0xFE80 + 3 + 17 + 11;
        let pseudo = u16::try_from((words & 0xFFFF) + (words >> 16)).expect("one carry");
        unfinished[46..48].copy_from_slice(&pseudo.to_be_bytes());
        assert_eq!(verdict(&unfinished, 51), Some(Verdict::Offloaded));
    }
}
