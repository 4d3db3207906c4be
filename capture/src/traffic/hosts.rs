//! IP hosts: what each sent, and whether others sent something to it alone.

use foldhash::HashMap;

use crate::reader::Address;

/// Hosts that are tracked; further ones are ignored.
const MAX_HOSTS: usize = 512;

/// A host's IP packets.
#[derive(Clone, Copy, Debug)]
struct Host {
    address: Address,
    sent: u64,
    last_sent_ns: u64,
    has_received: bool,
    sends_to_one: bool,
}

#[derive(Debug, Default)]
pub(super) struct Hosts {
    all: Vec<Host>,
    by_address: HashMap<Address, usize>,
    /// Indexes of the last packet's hosts: the next is mostly between the same.
    last: [usize; 2],
}

impl Hosts {
    /// Records an IP packet.
    #[inline]
    pub(super) fn record(&mut self, source: Address, destination: Address, time_ns: u64) {
        let is_to_one = !is_multicast(destination);
        let from = self.index(source);
        if let Some(host) = from.and_then(|at| self.all.get_mut(at)) {
            host.sent += 1;
            host.last_sent_ns = host.last_sent_ns.max(time_ns);
            host.sends_to_one |= is_to_one;
        }
        if !is_to_one {
            return;
        }
        let to = self.index(destination);
        if let Some(host) = to.and_then(|at| self.all.get_mut(at)) {
            host.has_received = true;
        }
        if let (Some(from), Some(to)) = (from, to) {
            self.last = [from, to];
        }
    }

    #[inline]
    fn index(&mut self, address: Address) -> Option<usize> {
        let is_at = |at: &usize| self.all.get(*at).is_some_and(|it| it.address == address);
        let recent = self.last.into_iter().find(is_at);
        recent.or_else(|| self.look_up(address))
    }

    fn look_up(&mut self, address: Address) -> Option<usize> {
        if let Some(at) = self.by_address.get(&address) {
            return Some(*at);
        }
        if self.all.len() == MAX_HOSTS {
            return None;
        }
        let at = self.all.len();
        self.by_address.insert(address, at);
        self.all.push(Host {
            address,
            sent: 0,
            last_sent_ns: 0,
            has_received: false,
            sends_to_one: false,
        });
        Some(at)
    }

    fn get(&self, address: Address) -> Option<&Host> {
        self.all.get(*self.by_address.get(&address)?)
    }

    /// Packets that a host sent, of any protocol; `None` if it is not tracked.
    pub(super) fn sent(&self, address: Address) -> Option<u64> {
        self.get(address).map(|it| it.sent)
    }

    /// True if a host may have sent a packet at this time or later.
    pub(super) fn may_send_since(&self, address: Address, time_ns: u64) -> bool {
        match self.get(address) {
            Some(host) => host.sent > 0 && host.last_sent_ns >= time_ns,
            None => self.all.len() == MAX_HOSTS,
        }
    }

    /// True if a packet was sent to a host alone.
    pub(super) fn has_received(&self, address: Address) -> bool {
        self.get(address).is_some_and(|it| it.has_received)
    }

    /// True if a host sends packets to another host alone, or receives such packets.
    pub(super) fn talks(&self, address: Address) -> bool {
        let host = self.get(address);
        host.is_some_and(|it| it.has_received || it.sends_to_one)
    }
}

/// True for a multicast address (RFC 1112 section 4, RFC 4291 section 2.7) and 255.255.255.255.
pub(super) fn is_multicast(address: Address) -> bool {
    if address.is_v4() {
        address.0[12] >> 4 == 0xE || address.0[12..] == [0xFF; 4]
    } else {
        address.0[0] == 0xFF
    }
}
