//! Packets that were captured more than once: on the way into a router and out of it, on several interfaces of a
//! bridge, on a mirror port that copies both directions. Each counts once, at its first capture, or else its copy is
//! taken for a retransmission.
//!
//! A router decrements the hop limit (RFC 1812 section 5.3.1), and may translate one of the two addresses (RFC 3022);
//! identification, sequence numbers and times stay. A bridge changes nothing: there, all packets have copies. Copies
//! of few packets are the network's.

use std::collections::{HashMap, VecDeque};
use std::num::NonZeroU64;

use foldhash::fast::RandomState;

use super::datagram::hash;
use super::table::AddressPort;
use crate::tcp::{Segment, seq_lt};

/// Packets that are compared with the next.
const SLOTS: usize = 1 << 14;
/// A packet waits in a router for no longer than this.
const MAX_ROUTED_NS: u64 = 1_000_000_000;
/// Routers within one host, such as network namespaces and tunnels, are not more than this.
const MAX_ROUTERS: u8 = 4;
/// Unchanged copies arrive within this time; without identification, an acknowledgment repeated later may be another.
const MAX_BRIDGED_NS: u64 = 10_000_000;
const MAX_BRIDGED_ACK_NS: u64 = 1_000_000;
/// Pairs of hosts for which unchanged copies are counted; further ones share a counter.
const TALLIES: usize = 256;
/// Fewer packets in the other direction do not show that copies are answered.
const MIN_ANSWERS: u64 = 16;
/// Directions of routed connections that are followed.
const MAX_FOLLOWED: usize = 8192;
/// Octets of a datagram that are compared. NAT changes none of them, but for the protocols that contain addresses.
const COMPARED: usize = 64;

/// What identifies a packet, apart from its addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketIdentity {
    key: u64,
    hop_limit: u8,
    /// True if no other packet of this sender looks the same, soon.
    is_unique: bool,
    /// True if no packet of another host looks the same.
    is_global: bool,
    /// Sequence number after the last octet of a segment.
    end: Option<u32>,
}

/// Hop limit and identification of an IP datagram of which `octets` begin with its header.
pub(super) fn header_fields(octets: &[u8]) -> (u8, u16) {
    match octets {
        [first, _, _, _, high, low, _, _, hop_limit, ..] if first >> 4 == 4 => {
            (*hop_limit, u16::from_be_bytes([*high, *low]))
        }
        // IPv6 has no identification.
        [_, _, _, _, _, _, _, hop_limit, ..] => (*hop_limit, 0),
        _ => (0, 0),
    }
}

fn mix(words: [u64; 3]) -> u64 {
    words.into_iter().fold(0xCBF2_9CE4_8422_2325, |key, word| {
        let key: u64 = (key ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        key ^ key >> 29
    })
}

impl PacketIdentity {
    /// Identity of a segment in the IP datagram `octets`.
    #[inline]
    pub(super) fn of_segment(octets: &[u8], segment: &Segment<'_>) -> Self {
        let (hop_limit, identification) = header_fields(octets);
        let (stamp, echo) = segment.timestamps().unwrap_or_default();
        let fields = u64::from(identification) << 40
            | u64::from(segment.window) << 24
            | u64::from(segment.flags) << 16;
        Self {
            key: mix([
                u64::from(segment.seq) << 32 | u64::from(segment.ack),
                fields ^ u64::from(segment.len) << 1,
                u64::from(stamp) << 32 | u64::from(echo),
            ]),
            hop_limit,
            is_unique: identification != 0 || !segment.is_bare(),
            // Scanners send the same SYN to all hosts.
            is_global: segment.has_any(Segment::ACK),
            end: Some(segment.end()),
        }
    }

    /// Identity of a UDP datagram with this payload of `length` octets in the IP datagram `octets`.
    #[inline]
    pub(super) fn of_datagram(octets: &[u8], payload: &[u8], length: u32) -> Self {
        let (hop_limit, identification) = header_fields(octets);
        let compared = hash(&payload[..payload.len().min(COMPARED)]);
        Self {
            key: mix([compared, identification.into(), length.into()]),
            hop_limit,
            is_unique: identification != 0,
            is_global: identification != 0 && payload.len() >= 8,
            end: None,
        }
    }
}

/// The first capture of a packet.
#[derive(Clone, Copy, Debug, Default)]
struct Capture {
    time_ns: u64,
    ends: [AddressPort; 2],
    hop_limit: u8,
}

/// Packets from one host to another, and copies that no router changed.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    /// Packets whose copies would have come.
    packets: u64,
    copies: u64,
}

impl Tally {
    /// True if nine of ten packets have a copy, as on a bridge.
    fn is_bridged(&self) -> bool {
        self.copies > 0 && self.copies * 10 >= self.packets * 9
    }

    /// True if the other direction, of which nothing came twice, has more packets: a receiver acknowledges at least every second segment,
    /// and each one that it already has (RFC 9293 section 3.10.7.4). It got the copies, so that the network made them.
    fn is_answered_by(&self, other: &Self) -> bool {
        other.packets >= MIN_ANSWERS
            && other.packets * 4 >= self.packets * 5
            && other.copies * 10 < other.packets
    }
}

/// A direction of a connection of which a router's copies are captured, too. Offload may divide or merge its segments
/// on the way (GSO, GRO), so that a copy does not equal its first capture.
#[derive(Clone, Copy, Debug)]
struct RoutedDirection {
    /// Hop limit of the first captures; 0 if unknown.
    hop_limit: u8,
    /// Bit `n`: copies have a hop limit that is lower by `n`.
    lower_by: u8,
    /// After the highest octet of the first captures.
    end: u32,
}

impl RoutedDirection {
    /// True if a segment that ends at `end` is a copy by its hop limit.
    fn is_copy(&mut self, hop_limit: u8, end: u32) -> bool {
        let hops = self.hop_limit.saturating_sub(hop_limit);
        if hop_limit > self.hop_limit {
            (self.hop_limit, self.end) = (hop_limit, end);
        } else if hops == 0 && seq_lt(self.end, end) {
            self.end = end;
        }
        (1..=MAX_ROUTERS).contains(&hops)
            && self.lower_by & 1 << hops != 0
            && !seq_lt(self.end, end)
    }
}

fn reversed([one, other]: [AddressPort; 2]) -> [AddressPort; 2] {
    [other, one]
}

/// Index of the tally of packets from the host of the first end to that of the other.
fn tally_of(ends: [AddressPort; 2]) -> usize {
    let octets = ends.map(|(address, _)| u128::from_be_bytes(address.0) as u64);
    mix([octets[0], octets[1], 0]) as usize % TALLIES
}

/// Finds copies.
#[derive(Debug, Default)]
pub(super) struct CopyTable {
    /// Keys of the packets that are compared with the next, apart from the rest: most packets have no copy, and the keys
    /// alone fit a processor's cache.
    keys: Vec<Option<NonZeroU64>>,
    /// Their first captures.
    firsts: Vec<Capture>,
    tallies: Vec<Tally>,
    /// Times and tallies of packets whose copies may come yet.
    recent: VecDeque<(u64, usize)>,
    /// Ends of translated connections, and those under which they count.
    translated: HashMap<[AddressPort; 2], [AddressPort; 2], RandomState>,
    /// Directions of routed connections.
    routed: HashMap<[AddressPort; 2], RoutedDirection, RandomState>,
    /// Number of copies.
    pub(super) copies: u64,
}

impl CopyTable {
    /// The ends of the connection to which a packet from the first of `ends` to the other belongs; `None` for a copy.
    #[inline]
    pub(super) fn record(
        &mut self,
        ends: [AddressPort; 2],
        identity: PacketIdentity,
        time_ns: u64,
    ) -> Option<[AddressPort; 2]> {
        if self.keys.is_empty() {
            self.keys = vec![None; SLOTS];
            self.firsts = vec![Capture::default(); SLOTS];
            self.tallies = vec![Tally::default(); TALLIES];
        }
        let own = self.own(ends);
        if !self.routed.is_empty()
            && let Some(end) = identity.end
            && let Some(direction) = self.routed.get_mut(&own)
            && direction.is_copy(identity.hop_limit, end)
        {
            self.copies += 1;
            return None;
        }
        let slot = identity.key as usize % SLOTS;
        let key = NonZeroU64::new(identity.key).or(Some(NonZeroU64::MAX));
        let is_equal = self.keys[slot] == key;
        self.count_past(time_ns);
        if is_equal && self.is_copy(self.firsts[slot], own, identity, time_ns) {
            self.copies += 1;
            return None;
        }
        self.keys[slot] = key;
        self.firsts[slot] = Capture {
            time_ns,
            ends: own,
            hop_limit: identity.hop_limit,
        };
        if identity.is_unique && !is_equal {
            self.recent.push_back((time_ns, tally_of(own)));
        }
        Some(own)
    }

    /// Counts the packets whose copies would have come until `time_ns`.
    #[inline]
    fn count_past(&mut self, time_ns: u64) {
        let is_past = |(at_ns, _): &(u64, usize)| time_ns.abs_diff(*at_ns) > MAX_BRIDGED_NS;
        while let Some((_, tally)) = self.recent.front().copied().filter(is_past) {
            self.tallies[tally].packets += 1;
            self.recent.pop_front();
        }
    }

    #[inline]
    fn own(&self, ends: [AddressPort; 2]) -> [AddressPort; 2] {
        if self.translated.is_empty() {
            return ends;
        }
        self.translated.get(&ends).copied().unwrap_or(ends)
    }

    #[cold]
    fn is_copy(
        &mut self,
        first: Capture,
        ends: [AddressPort; 2],
        identity: PacketIdentity,
        time_ns: u64,
    ) -> bool {
        // Several interfaces are not always read in the order of time.
        let apart_ns = time_ns.abs_diff(first.time_ns);
        let hops = first.hop_limit.abs_diff(identity.hop_limit);
        if hops > 0 {
            let is_routed = hops <= MAX_ROUTERS
                && apart_ns <= MAX_ROUTED_NS
                && (ends == first.ends || self.translate(first, ends, identity));
            if is_routed {
                self.follow(first, identity);
            }
            return is_routed;
        }
        if ends != first.ends {
            return false;
        }
        let most_ns = if identity.is_unique {
            MAX_BRIDGED_NS
        } else {
            MAX_BRIDGED_ACK_NS
        };
        if apart_ns > most_ns {
            return false;
        }
        let tally = &mut self.tallies[tally_of(ends)];
        if identity.is_unique {
            tally.copies += 1;
        }
        let (tally, other) = (*tally, self.tallies[tally_of(reversed(ends))]);
        tally.is_bridged() && !tally.is_answered_by(&other)
    }

    /// Follows both directions of a connection, of which a segment is a copy of `first`.
    fn follow(&mut self, first: Capture, identity: PacketIdentity) {
        let Some(end) = identity.end.filter(|_| self.routed.len() < MAX_FOLLOWED) else {
            return;
        };
        let highest = first.hop_limit.max(identity.hop_limit);
        let hops = highest - first.hop_limit.min(identity.hop_limit);
        let unknown = RoutedDirection {
            hop_limit: 0,
            lower_by: 0,
            end,
        };
        for (ends, hop_limit) in [(first.ends, highest), (reversed(first.ends), 0)] {
            let direction = self.routed.entry(ends).or_insert(unknown);
            direction.lower_by |= 1 << hops;
            direction.hop_limit = direction.hop_limit.max(hop_limit);
        }
    }

    /// Records that a router translated one of the ends of `first`, if it did.
    fn translate(
        &mut self,
        first: Capture,
        ends: [AddressPort; 2],
        identity: PacketIdentity,
    ) -> bool {
        let [source, destination] = [0, 1].map(|at| ends[at] == first.ends[at]);
        let is_translated = destination && !source || source && identity.is_global;
        if !is_translated || self.translated.len() >= MAX_FOLLOWED {
            return false;
        }
        self.translated.insert(ends, first.ends);
        self.translated.insert(reversed(ends), reversed(first.ends));
        true
    }
}

#[cfg(test)]
mod tests;
