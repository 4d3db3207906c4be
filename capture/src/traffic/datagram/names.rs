//! Lookups of names: DNS (RFC 1035 section 4.1), multicast DNS (RFC 6762), LLMNR (RFC 4795), over UDP.

use super::Stamp;
use super::message::{addresses, header, name};
use crate::reader::Address;
use crate::traffic::table::AddressPort;

/// Lookups without an answer yet; the oldest gives way to a further one.
const MAX_PENDING: usize = 128;
/// Lookups that are reported; further ones are ignored.
const MAX_DONE: usize = 1024;
/// A query for the same name after this time is another lookup: resolvers give up sooner (RFC 1536 section 1).
const MAX_LOOKUP_NS: u64 = 30_000_000_000;
/// A connection opened within this time after the answer needed it, or within this part of the time that the answer took.
const OPENED_WITHIN_NS: u64 = 100_000_000;
const OPENED_DIVISOR: u64 = 8;
/// The same for a connection to an address of the answer: a client may try others before, each for so long (RFC 8305 section 5: 2 s at
/// most).
const OPENED_THERE_WITHIN_NS: u64 = 2_000_000_000;
/// Latest lookups that a connection may have needed.
const MAX_NEEDED: usize = 16;
pub(super) const DNS: u16 = 53;
const MULTICAST_DNS: u16 = 5353;
const LLMNR: u16 = 5355;
/// Types of records with an address: A, AAAA (RFC 3596).
const ADDRESS_TYPES: [u16; 2] = [1, 28];

/// A lookup of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameLookup {
    /// Host that asked.
    pub client: Address,
    /// Server that it asked first.
    pub server: Address,
    /// Name; empty if it was not captured.
    pub name: String,
    /// Time of the first query.
    pub start_ns: u64,
    /// Time of the answer, or of the last query if there was none.
    pub end_ns: u64,
    /// Queries, repetitions included.
    pub queries: u64,
    /// True if an answer came.
    pub is_answered: bool,
    /// True if the client opened a connection as soon as it had the answer.
    pub is_needed: bool,
    /// Packet of the first query.
    pub first_packet: u64,
    /// Packet of the answer, or of the last query.
    pub last_packet: u64,
    question: Question,
    port: u16,
    /// Addresses in the answer.
    addresses: Vec<Address>,
}

/// What a message asks or answers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Question {
    /// Port of the client, and identification of the message.
    exchange: (u16, u16),
    /// Name and type of record, if they were captured.
    named: Option<(String, u16)>,
}

impl Question {
    /// True for a repetition or an answer. Resolvers may use another port and identification for each repetition; where the capture has no
    /// name, the identification decides, which clients choose at random (RFC 5452 section 4.3).
    fn is_same(&self, other: &Self) -> bool {
        let is_same_name = match (&self.named, &other.named) {
            (Some(one), Some(other)) => one == other,
            _ => self.exchange.1 == other.exchange.1 && self.exchange.1 != 0,
        };
        self.exchange == other.exchange || is_same_name
    }

    /// True for an answer to everyone (RFC 6762 section 6): the identification is 0, and other records may come first.
    fn is_same_name(&self, other: &Self) -> bool {
        let name = |it: &Self| it.named.as_ref().map(|(name, _)| name.clone());
        self.named.is_some() && name(self) == name(other)
    }
}

#[derive(Debug, Default)]
pub(super) struct NameTable {
    pending: Vec<NameLookup>,
    done: Vec<NameLookup>,
}

/// True if datagrams between these ports look up names.
#[inline]
pub(in crate::traffic) fn is_name_traffic(ends: [AddressPort; 2]) -> bool {
    ends.iter()
        .any(|(_, port)| matches!(*port, DNS | MULTICAST_DNS | LLMNR))
}

impl NameTable {
    /// Records a datagram from the first of `ends` to the other.
    pub(super) fn record(&mut self, ends: [AddressPort; 2], octets: &[u8], at: Stamp) {
        let Some((is_answer, id)) = header(octets) else {
            return;
        };
        let [source, destination] = ends;
        let client = if is_answer { destination } else { source };
        let named = name(octets);
        let has_address = named
            .as_ref()
            .is_some_and(|(_, kind)| ADDRESS_TYPES.contains(kind));
        let question = Question {
            exchange: (client.1, id),
            named,
        };
        if is_answer {
            self.answer(&question, source.1, client.0, &addresses(octets), at);
        } else if is_name_traffic([destination; 2]) && (destination.1 == DNS || has_address) {
            self.query(question, client.0, destination, at);
        }
    }

    fn query(&mut self, question: Question, client: Address, server: AddressPort, at: Stamp) {
        let same = |it: &NameLookup| {
            it.client == client && it.port == server.1 && it.question.is_same(&question)
        };
        if let Some(index) = self.pending.iter().position(same) {
            let lookup = &mut self.pending[index];
            if at.time_ns.saturating_sub(lookup.end_ns) < MAX_LOOKUP_NS {
                lookup.queries += 1;
                lookup.end_ns = lookup.end_ns.max(at.time_ns);
                lookup.last_packet = at.number;
                return;
            }
            let given_up = self.pending.remove(index);
            self.complete(given_up);
        }
        if self.pending.len() == MAX_PENDING {
            let oldest = self.pending.remove(0);
            self.complete(oldest);
        }
        self.pending.push(NameLookup {
            client,
            server: server.0,
            name: question
                .named
                .as_ref()
                .map_or_else(String::new, |(name, _)| name.clone()),
            start_ns: at.time_ns,
            end_ns: at.time_ns,
            queries: 1,
            is_answered: false,
            is_needed: false,
            first_packet: at.number,
            last_packet: at.number,
            question,
            port: server.1,
            addresses: Vec::new(),
        });
    }

    fn answer(
        &mut self,
        question: &Question,
        port: u16,
        client: Address,
        addresses: &[Address],
        at: Stamp,
    ) {
        let answers = |it: &NameLookup| {
            it.port == port
                && if port == MULTICAST_DNS {
                    it.question.is_same_name(question)
                } else {
                    it.client == client && it.question.is_same(question)
                }
        };
        while let Some(index) = self.pending.iter().position(answers) {
            let mut lookup = self.pending.remove(index);
            lookup.is_answered = true;
            lookup.end_ns = lookup.end_ns.max(at.time_ns);
            lookup.last_packet = at.number;
            lookup.addresses = addresses.to_vec();
            self.complete(lookup);
        }
    }

    fn complete(&mut self, lookup: NameLookup) {
        // Names that no host has are normal with multicast: nobody answers.
        if self.done.len() < MAX_DONE && (lookup.is_answered || lookup.port == DNS) {
            self.done.push(lookup);
        }
    }

    /// Records that `client` opens a connection to `server`.
    #[inline]
    pub(super) fn opens(&mut self, client: Address, server: Address, time_ns: u64) {
        for lookup in self.done.iter_mut().rev().take(MAX_NEEDED) {
            let within_ns = if lookup.addresses.contains(&server) {
                OPENED_THERE_WITHIN_NS
            } else {
                OPENED_WITHIN_NS
            };
            let since_ns = time_ns.checked_sub(lookup.end_ns);
            let soon_ns = (lookup.end_ns - lookup.start_ns) / OPENED_DIVISOR;
            lookup.is_needed |= lookup.client == client
                && lookup.is_answered
                && since_ns.is_some_and(|ns| ns <= within_ns.max(soon_ns));
        }
    }

    pub(super) fn finish(mut self) -> Vec<NameLookup> {
        for lookup in std::mem::take(&mut self.pending) {
            self.complete(lookup);
        }
        self.done.sort_by_key(|lookup| lookup.first_packet);
        self.need_those_before();
        self.done
    }

    /// Whoever needs a name needs what was asked before it in vain, or in turn: another server, another type of record, another domain of
    /// the search list.
    fn need_those_before(&mut self) {
        for at in (0..self.done.len()).rev() {
            let (before, rest) = self.done.split_at_mut(at);
            let next = &rest[0];
            for lookup in before.iter_mut().rev().take(MAX_NEEDED) {
                let since_ns = next.start_ns.checked_sub(lookup.end_ns);
                lookup.is_needed |= next.is_needed
                    && lookup.client == next.client
                    && lookup.is_answered
                    && since_ns.is_some_and(|ns| ns <= OPENED_WITHIN_NS)
                    && is_same_search(&lookup.name, &next.name);
            }
        }
    }
}

/// True for one name, or if a domain of a search list makes one of the other.
fn is_same_search(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let domain = long.strip_prefix(short);
    !short.is_empty() && domain.is_some_and(|it| it.is_empty() || it.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::datagram::message::tests::QUERY;

    #[test]
    fn a_name_that_is_cut_is_known_by_the_identification() {
        let [client, silent, other] = [1, 2, 3].map(|host| Address([host; 16]));
        let lookups = |second_id: u16| {
            let mut table = NameTable::default();
            let mut record = |ends, id: u16, flags: u8, time_ns| {
                let mut message = QUERY[..18].to_vec();
                message[..2].copy_from_slice(&id.to_be_bytes());
                message[2] = flags;
                table.record(ends, &message, Stamp { time_ns, number: 1 });
            };
            record([(client, 40_000), (silent, DNS)], 7, 1, 0);
            record([(client, 40_001), (other, DNS)], second_id, 1, 3_000);
            record([(other, DNS), (client, 40_001)], second_id, 0x81, 3_030);
            let answered = table.finish().into_iter().filter(|it| it.is_answered);
            answered
                .map(|it| (it.queries, it.end_ns - it.start_ns))
                .collect::<Vec<_>>()
        };
        assert_eq!(lookups(7), [(2, 3_030)]);
        assert_eq!(lookups(8), [(1, 30)]);
    }

    #[test]
    fn the_tables_are_bounded() {
        let mut table = NameTable::default();
        let [client, server] = [1, 2].map(|host| Address([host; 16]));
        for number in 0..10_000_u64 {
            let mut query = QUERY.to_vec();
            query[..2].copy_from_slice(&(number as u16).to_be_bytes());
            query[13..15]
                .copy_from_slice(&[b'a' + (number % 26) as u8, b'a' + (number / 26 % 26) as u8]);
            let at = Stamp {
                time_ns: number * 1_000_000_000,
                number,
            };
            table.record([(client, number as u16), (server, DNS)], &query, at);
            assert!(table.pending.len() <= MAX_PENDING && table.done.len() <= MAX_DONE);
        }
        assert_eq!(table.finish().len(), MAX_DONE);
    }
}
