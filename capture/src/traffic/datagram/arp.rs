//! ARP requests without an answer (RFC 826): the host is off, or has another address.

use super::Stamp;
use crate::reader::Address;

/// Addresses that are tracked; further ones are ignored.
const MAX_ENTRIES: usize = 256;
/// Fewer requests are normal for a lost frame: hosts ask once per second (RFC 1122 section 2.3.2.1).
const MIN_REQUESTS: u64 = 3;
/// A host that asks for more absent addresses searches the network.
const MAX_SEARCHED: usize = 8;

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
}

#[derive(Debug, Default)]
pub(super) struct ArpTable {
    asked: Vec<AbsentHost>,
}

impl ArpTable {
    pub(super) fn record(&mut self, octets: &[u8], at: Stamp) {
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
        // Probes have no sender, announcements ask for themselves (RFC 5227).
        if !is_request || message[14..18] == [0; 4] || sender == target {
            return;
        }
        let same = |it: &&mut AbsentHost| it.asker == sender && it.target == target;
        if let Some(asked) = self.asked.iter_mut().find(same) {
            asked.requests += 1;
            asked.end_ns = asked.end_ns.max(at.time_ns);
            asked.last_packet = at.number;
        } else if self.asked.len() < MAX_ENTRIES {
            self.asked.push(AbsentHost {
                asker: sender,
                target,
                requests: 1,
                start_ns: at.time_ns,
                end_ns: at.time_ns,
                first_packet: at.number,
                last_packet: at.number,
            });
        }
    }

    pub(super) fn finish(self) -> Vec<AbsentHost> {
        let asked = &self.asked;
        let searched = |asker| asked.iter().filter(|it| it.asker == asker).count();
        let absent = asked
            .iter()
            .filter(|it| it.requests >= MIN_REQUESTS && searched(it.asker) <= MAX_SEARCHED);
        absent.copied().collect()
    }
}
