//! ARP requests without an answer (RFC 826): the host is off, or has another address.

use super::Stamp;
use crate::reader::Address;
use crate::traffic::hosts::Hosts;

/// Addresses that are tracked; further ones are ignored.
const MAX_ENTRIES: usize = 256;
/// Fewer requests are normal for a lost frame: hosts ask once per second (RFC 1122 section 2.3.2.1).
const MIN_REQUESTS: u64 = 3;
/// A host that asks for more absent addresses searches the network.
const MAX_SEARCHED: usize = 8;
/// Octets of a frame without its FCS (IEEE 802.3 section 4.4.2); the sender's adapter adds what is missing, behind a capture there.
const MIN_FRAME_OCTETS: u32 = 60;

/// An address that did not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbsentHost {
    /// Host that asked.
    pub asker: Address,
    /// Address asked for.
    pub target: Address,
    /// Requests.
    pub requests: u64,
    /// Time of the first request.
    pub start_ns: u64,
    /// Time of the last request.
    pub end_ns: u64,
    /// Packet of the first request.
    pub first_packet: u64,
    /// Packet of the last request.
    pub last_packet: u64,
    /// True if the host that asked exchanges IP packets with others.
    pub asker_talks: bool,
    is_captured_at_asker: bool,
}

#[derive(Debug, Default)]
pub(super) struct ArpTable {
    asked: Vec<AbsentHost>,
    /// Hosts that were answered.
    answered: Vec<Address>,
}

impl ArpTable {
    pub(super) fn record(&mut self, octets: &[u8], length: u32, at: Stamp) {
        let Some(message) = octets.first_chunk::<28>() else {
            return;
        };
        // Ethernet, IPv4, lengths of their addresses.
        if message[..6] != [0, 1, 8, 0, 6, 4] {
            return;
        }
        let [sender, target] = [14, 24].map(|at: usize| {
            let [a, b, c, d] = [
                message[at],
                message[at + 1],
                message[at + 2],
                message[at + 3],
            ];
            Address::v4([a, b, c, d])
        });
        // Whoever sends anything is there.
        self.asked.retain(|it| it.target != sender);
        let is_request = message[6..8] == [0, 1];
        let is_new = !self.answered.contains(&target) && self.answered.len() < MAX_ENTRIES;
        if !is_request && sender != target && is_new {
            self.answered.push(target);
        }
        // Probes have no sender, announcements ask for themselves (RFC 5227).
        if !is_request || message[14..18] == [0; 4] || sender == target {
            return;
        }
        let same = |it: &&mut AbsentHost| it.asker == sender && it.target == target;
        if let Some(asked) = self.asked.iter_mut().find(same) {
            asked.requests += 1;
            asked.end_ns = asked.end_ns.max(at.time_ns);
            asked.last_packet = at.number;
            asked.is_captured_at_asker |= length < MIN_FRAME_OCTETS;
        } else if self.asked.len() < MAX_ENTRIES {
            self.asked.push(AbsentHost {
                asker: sender,
                target,
                requests: 1,
                start_ns: at.time_ns,
                end_ns: at.time_ns,
                first_packet: at.number,
                last_packet: at.number,
                asker_talks: false,
                is_captured_at_asker: length < MIN_FRAME_OCTETS,
            });
        }
    }

    /// The addresses that did not answer. A reply goes to the asker alone (RFC 826), so a third station has the requests only: where the
    /// capture has nothing else that was sent to the asker, it does not show whether a reply came.
    pub(super) fn finish(self, hosts: &Hosts) -> Vec<AbsentHost> {
        let asked = &self.asked;
        let searched = |asker| asked.iter().filter(|it| it.asker == asker).count();
        let shows_reply = |it: &AbsentHost| {
            it.is_captured_at_asker
                || hosts.has_received(it.asker)
                || self.answered.contains(&it.asker)
        };
        let absent = asked.iter().filter(|it| {
            it.requests >= MIN_REQUESTS
                && searched(it.asker) <= MAX_SEARCHED
                && shows_reply(it)
                && !hosts.may_send_since(it.target, it.start_ns)
        });
        let absent = absent.map(|it| AbsentHost {
            asker_talks: hosts.talks(it.asker),
            ..*it
        });
        absent.collect()
    }
}
