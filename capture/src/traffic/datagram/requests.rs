//! UDP requests that are refused or not answered.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::backoff::{Backoff, Silence};
use super::{Stamp, hash};
use crate::reader::Address;
use crate::traffic::table::AddressPort;

/// Services that are tracked at the same time. A further one replaces the answered one that has been silent the longest.
const MAX_ENTRIES: usize = 512;
/// Octets of a datagram that identify it, with its length.
const COMPARED: usize = 64;
/// Ports whose protocols answer each request, so that repeating it shows that no answer came: TFTP, NTP, SNMP, ISAKMP,
/// RADIUS, STUN, NAT traversal of `IPsec`, SIP, CoAP. DNS is analyzed on its own.
const REQUEST_PORTS: [u16; 11] = [69, 123, 161, 500, 1812, 1813, 3478, 4500, 5060, 5683, 5684];
/// In a stream of equal datagrams, some come after a longer pause than before by chance. Where the pauses grow, at least this part does.
const BACKED_OFF_PART: u64 = 4;
/// Pauses that vary shrink as often as they grow. Those of a timer that backs off grow, at least so many times as often.
const MIN_GROWTH: u64 = 2;
/// Who repeats a request waits for the answer first, half a second (STUN, RFC 8489 section 6.2.1) to 2 s (`CoAP`, RFC 7252 section 4.2)
/// and then longer. What is sent at less than half of that on average is a stream.
const MIN_WAIT_NS: u64 = 250_000_000;
/// A client of a protocol of requests and answers may poll sooner than that.
const MIN_POLL_NS: u64 = 100_000_000;
/// Datagrams that may be on their way before the first refusal arrives.
const FIRST_DATAGRAMS: u64 = 10;
/// The requests of NTP differ by their times.
const NTP: u16 = 123;

/// True for a request of STUN with a user's name (RFC 8489 sections 5 and 14), a check of ICE (RFC 8445 section 7.1.1): calls try each pair
/// of addresses, and most of them have no path.
fn is_connectivity_check(octets: &[u8]) -> bool {
    let is_request = octets.starts_with(&[0, 1]);
    let has_cookie = octets.get(4..8) == Some(&[0x21, 0x12, 0xA4, 0x42]);
    let mut attributes = octets.get(20..).filter(|_| is_request && has_cookie);
    while let Some([kind_0, kind_1, length_0, length_1, ..]) = attributes {
        if [*kind_0, *kind_1] == [0, 6] {
            return true;
        }
        let length = usize::from(u16::from_be_bytes([*length_0, *length_1]));
        attributes = attributes.and_then(|it| it.get(4 + length.next_multiple_of(4)..));
    }
    false
}

/// What one client sent to a port of a server that never answered.
#[derive(Clone, Copy, Debug)]
pub struct Requests {
    /// Client.
    pub client: Address,
    /// Server with its port.
    pub server: AddressPort,
    /// Datagrams sent.
    pub requests: u64,
    /// Of them, those identical to the one before.
    pub repeated: u64,
    /// Of them, those after a longer pause than before.
    pub backed_off: u64,
    /// Of them, those after a shorter pause than before.
    shortened: u64,
    /// ICMP messages that the port is unreachable.
    pub refused: u64,
    /// Datagrams before the first of them.
    before_refusal: u64,
    /// Time of the first datagram.
    pub start_ns: u64,
    /// Time of the last datagram.
    pub end_ns: u64,
    /// Packet of the first datagram.
    pub first_packet: u64,
    /// Packet of the last datagram.
    pub last_packet: u64,
    /// True if all of them are checks whether a path exists.
    are_checks: bool,
    has_answer: bool,
    last_hash: u64,
    last_pause_ns: u64,
    backoff: Backoff,
}

type Key = (Address, AddressPort);

#[derive(Debug, Default)]
pub(super) struct RequestTable {
    entries: Vec<Requests>,
    by_key: HashMap<Key, usize, RandomState>,
    last: usize,
}

impl Requests {
    fn key(&self) -> Key {
        (self.client, self.server)
    }

    /// True if the protocol of the port, or longer and longer pauses, show that an answer was expected, and if the client waited for it
    /// before it repeated a request.
    pub fn expects_answer(&self) -> bool {
        let is_backing_off = self.backed_off >= 2
            && self.backed_off * BACKED_OFF_PART >= self.requests
            && self.backed_off >= self.shortened * MIN_GROWTH;
        let waited_ns = self.end_ns.saturating_sub(self.start_ns);
        let is_known = REQUEST_PORTS.contains(&self.server.1);
        let least_ns = if is_known { MIN_POLL_NS } else { MIN_WAIT_NS };
        let waits = waited_ns >= least_ns * self.requests.saturating_sub(1);
        waits && (is_known || is_backing_off) && !self.are_checks
    }

    /// True if nothing received at this port from the beginning on. A stream whose receiver ends sooner is refused behind its last
    /// datagrams only; hosts limit the rate of their refusals (RFC 1812 section 4.3.2.8), but send the first ones at once.
    pub fn is_refused_from_start(&self) -> bool {
        self.refused > 0
            && (self.before_refusal <= FIRST_DATAGRAMS || self.before_refusal * 2 <= self.requests)
    }
}

/// What differs between datagrams with different content, of which the capture may lack a part.
fn identity(octets: &[u8], length: u32) -> u64 {
    hash(&octets[..octets.len().min(COMPARED)]) ^ u64::from(length)
}

impl RequestTable {
    /// Records a datagram from the first of `ends` to the other. Returns true for the first between them.
    #[inline]
    pub(super) fn record(
        &mut self,
        ends: [AddressPort; 2],
        octets: &[u8],
        length: u32,
        at: Stamp,
    ) -> bool {
        let [source, destination] = ends;
        let (key, back) = ((source.0, destination), (destination.0, source));
        let last = self.entries.get_mut(self.last);
        let last = last.filter(|last| last.key() == key || last.has_answer && last.key() == back);
        let index = if let Some(last) = last {
            if last.has_answer {
                last.last_packet = at.number;
                let is_of_server = last.key() != key;
                last.backoff
                    .record(is_of_server, at, || identity(octets, length));
                return false;
            }
            self.last
        } else if let Some(answered) = self.by_key.get(&back).copied() {
            self.last = answered;
            let entry = &mut self.entries[answered];
            entry.has_answer = true;
            entry.last_packet = at.number;
            entry.backoff.record(true, at, || identity(octets, length));
            return false;
        } else {
            let known = self.by_key.get(&key).copied();
            let Some(index) = known.or_else(|| self.begin(key, at)) else {
                return false;
            };
            index
        };
        self.last = index;
        let entry = &mut self.entries[index];
        let same = if destination.1 == NTP { &[] } else { octets };
        let hash = identity(same, length);
        let pause_ns = at.time_ns.saturating_sub(entry.end_ns);
        if entry.requests > 0 && hash == entry.last_hash {
            entry.repeated += 1;
            // Exponential backoff, less a random part.
            let is_longer = pause_ns > entry.last_pause_ns / 2 * 3;
            let is_shorter = entry.last_pause_ns > pause_ns / 2 * 3;
            entry.backed_off += u64::from(entry.repeated > 1 && is_longer);
            entry.shortened += u64::from(entry.repeated > 1 && is_shorter);
            entry.last_pause_ns = pause_ns;
        }
        entry.backoff.record(false, at, || hash);
        entry.requests += 1;
        entry.are_checks &= is_connectivity_check(octets);
        entry.last_hash = hash;
        entry.end_ns = entry.end_ns.max(at.time_ns);
        entry.last_packet = at.number;
        entry.requests == 1
    }

    /// Records that a datagram between `ends` was refused.
    pub(super) fn refuse(&mut self, [client, server]: [AddressPort; 2], at: Stamp) {
        if let Some(index) = self.by_key.get(&(client.0, server)) {
            let entry = &mut self.entries[*index];
            if entry.refused == 0 {
                entry.before_refusal = entry.requests;
            }
            entry.refused += 1;
            entry.end_ns = entry.end_ns.max(at.time_ns);
        }
    }

    fn begin(&mut self, key: Key, at: Stamp) -> Option<usize> {
        let entry = Requests {
            client: key.0,
            server: key.1,
            requests: 0,
            repeated: 0,
            backed_off: 0,
            shortened: 0,
            refused: 0,
            before_refusal: 0,
            start_ns: at.time_ns,
            end_ns: at.time_ns,
            first_packet: at.number,
            last_packet: at.number,
            are_checks: true,
            has_answer: false,
            last_hash: 0,
            last_pause_ns: 0,
            backoff: Backoff::default(),
        };
        let index = if self.entries.len() < MAX_ENTRIES {
            self.entries.push(entry);
            self.entries.len() - 1
        } else {
            let entries = self.entries.iter().enumerate();
            let answered = entries.filter(|(_, it)| it.has_answer || it.requests == 1);
            let index = answered.min_by_key(|(_, it)| it.last_packet)?.0;
            let before = std::mem::replace(&mut self.entries[index], entry);
            self.by_key.remove(&before.key());
            index
        };
        self.by_key.insert(key, index);
        Some(index)
    }

    /// Clients and servers of requests that were answered.
    pub(super) fn talks(&self) -> Vec<[Address; 2]> {
        let answered = self.entries.iter().filter(|it| it.has_answer);
        answered.map(|it| [it.client, it.server.0]).collect()
    }

    /// Hosts that repeat what is no repeated request, and get no answer any more.
    pub(super) fn silences(&self) -> Vec<Silence> {
        let others = self
            .entries
            .iter()
            .filter(|it| it.has_answer || it.refused == 0 && it.repeated == 0);
        let silences = others.filter_map(|it| it.backoff.silence(it.client, it.server));
        silences.collect()
    }

    pub(super) fn finish(mut self) -> Vec<Requests> {
        self.entries
            .retain(|it| !it.has_answer && (it.refused > 0 || it.repeated > 0));
        self.entries
    }
}
