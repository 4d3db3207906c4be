//! Identical IPv4 packets in quick succession. No host sends a packet twice with one identification (RFC 6864
//! section 4.2), so the network copied it. TCP is left out: its connections are analyzed on their own.

use super::{Stamp, hash};
use crate::reader::{Address, Datagram};
use crate::tcp::Occurrences;

/// Packets that are compared with the next.
const RECENT: usize = 64;
/// Copies arrive within this time.
const MAX_APART_NS: u64 = 10_000_000;
/// Octets from the start of the packet that are compared.
const COMPARED: usize = 96;

/// Senders that are counted; further ones are taken as one.
const MAX_SENDERS: usize = 256;

/// Counts of identical packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Repeats {
    /// IPv4 packets with an identification, other than TCP.
    pub packets: u64,
    /// Of them, copies of an earlier one.
    pub copies: u64,
    /// The copies.
    pub copies_at: Occurrences,
    /// Sender and receiver of the first copy.
    pub ends: Option<[Address; 2]>,
}

/// Identical packets of one sender.
#[derive(Clone, Copy, Debug, Default)]
struct Sender {
    address: Option<Address>,
    repeats: Repeats,
}

#[derive(Debug, Default)]
pub(super) struct RecentPackets {
    /// Hash and time of packets, overwritten in turn.
    recent: Vec<(u64, u64)>,
    next: usize,
    senders: Vec<Sender>,
}

impl RecentPackets {
    /// Records a datagram, of which `octets` begin with its header.
    pub(super) fn record(&mut self, octets: &[u8], datagram: &Datagram<'_>, at: Stamp) {
        let Some(header) = octets.first_chunk::<20>() else {
            return;
        };
        // An identification of 0 identifies nothing: senders may use it for any packet that must not be fragmented.
        if header[0] >> 4 != 4 || header[4..6] == [0, 0] {
            return;
        }
        let headers = octets.len() - datagram.payload.len().min(octets.len());
        let compared = COMPARED
            .min(headers + datagram.payload.len())
            .min(octets.len());
        let hash = hash(&octets[..compared]);
        let is_copy = |(other, time_ns): &(u64, u64)| {
            *other == hash && at.time_ns.saturating_sub(*time_ns) <= MAX_APART_NS
        };
        let is_copied = self.recent.iter().any(is_copy);
        let repeats = &mut self.sender(datagram.source).repeats;
        repeats.packets += 1;
        if is_copied {
            repeats.copies += 1;
            repeats.copies_at.record(at.number, 0);
            let ends = [datagram.source, datagram.destination];
            repeats.ends.get_or_insert(ends);
        }
        let recent = (hash, at.time_ns);
        if self.recent.len() < RECENT {
            self.recent.push(recent);
        } else {
            self.recent[self.next] = recent;
            self.next = (self.next + 1) % RECENT;
        }
    }

    fn sender(&mut self, address: Address) -> &mut Sender {
        let known = self
            .senders
            .iter()
            .position(|it| it.address == Some(address));
        let at = known.unwrap_or_else(|| {
            if self.senders.len() < MAX_SENDERS {
                let address = Some(address);
                self.senders.push(Sender {
                    address,
                    ..Sender::default()
                });
            }
            self.senders.len() - 1
        });
        &mut self.senders[at]
    }

    /// The counts of all senders. If nearly each packet of a sender has its copy, the capture saw its packets twice: on
    /// the way into a bridge and out of it, say. These do not count.
    pub(super) fn finish(self) -> Repeats {
        let mut all = Repeats::default();
        for Sender { repeats, .. } in self.senders {
            let originals = repeats.packets - repeats.copies;
            let is_seen_twice = repeats.copies * 10 >= originals * 9;
            all.packets += repeats.packets;
            if is_seen_twice || repeats.copies == 0 {
                continue;
            }
            all.copies += repeats.copies;
            all.copies_at = all.copies_at.merged(repeats.copies_at);
            all.ends = all.ends.or(repeats.ends);
        }
        all
    }
}
