//! The ARP table (RFC 826) and the packets that wait for address resolution.

use std::collections::{BTreeMap, VecDeque};

use smoltcp::wire::{EthernetAddress, Ipv4Address};

use super::packet::Packet;
use crate::time::{Instant, Span};

/// Time between requests, their number, and packets queued meanwhile (Linux).
const RETRY_INTERVAL: Span = Span::from_secs(1);
const MAX_REQUESTS: u32 = 3;
const MAX_PENDING_PACKETS: usize = 100;

/// Neighbour table: resolved addresses and pending requests.
#[derive(Debug, Default)]
pub struct Neighbours {
    resolved: BTreeMap<Ipv4Address, EthernetAddress>,
    pending: BTreeMap<Ipv4Address, PendingResolution>,
}

#[derive(Debug)]
struct PendingResolution {
    packets: VecDeque<Packet>,
    requests_left: u32,
    request_at: Instant,
}

impl Neighbours {
    /// The hardware address of `address`, if resolved.
    #[must_use]
    pub fn get(&self, address: Ipv4Address) -> Option<EthernetAddress> {
        self.resolved.get(&address).copied()
    }

    /// Records the hardware address of `address`; returns the packets that waited for it.
    pub fn learn(&mut self, address: Ipv4Address, hardware: EthernetAddress) -> VecDeque<Packet> {
        self.resolved.insert(address, hardware);
        self.pending
            .remove(&address)
            .map(|pending| pending.packets)
            .unwrap_or_default()
    }

    /// Queues a packet until its destination is resolved.
    pub fn enqueue(&mut self, packet: Packet, now: Instant) {
        let pending = self
            .pending
            .entry(packet.destination)
            .or_insert_with(|| PendingResolution {
                packets: VecDeque::new(),
                requests_left: MAX_REQUESTS,
                request_at: now,
            });
        if pending.packets.len() == MAX_PENDING_PACKETS {
            pending.packets.pop_front();
        }
        pending.packets.push_back(packet);
    }

    /// The next address to request at `now`. An address that never answers is dropped with its packets.
    pub fn poll_request(&mut self, now: Instant) -> Option<Ipv4Address> {
        self.pending
            .retain(|_, pending| pending.request_at > now || pending.requests_left > 0);
        let (&address, pending) = self
            .pending
            .iter_mut()
            .find(|(_, pending)| pending.request_at <= now)?;
        pending.requests_left -= 1;
        pending.request_at = now + RETRY_INTERVAL;
        Some(address)
    }

    /// Next time [`Self::poll_request`] must be called.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.pending
            .values()
            .map(|pending| pending.request_at)
            .min()
            .unwrap_or(Instant::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use smoltcp::wire::IpProtocol;

    #[test]
    fn an_address_is_asked_for_three_times_and_then_given_up() {
        let address = Ipv4Address::new(169, 254, 10, 2);
        let packet = Packet {
            source: Ipv4Address::new(169, 254, 10, 1),
            destination: address,
            protocol: IpProtocol::Icmp,
            payload: vec![1],
        };
        let mut neighbours = Neighbours::default();
        neighbours.enqueue(packet.clone(), Instant::ZERO);
        for second in 0..3 {
            let now = Instant::ZERO + Span::from_secs(second);
            assert_eq!(neighbours.deadline(), now);
            assert_eq!(neighbours.poll_request(now), Some(address));
            assert_eq!(neighbours.poll_request(now), None);
        }
        assert_eq!(
            neighbours.poll_request(Instant::ZERO + Span::from_secs(3)),
            None
        );
        assert_eq!(neighbours.deadline(), Instant::NEVER);

        neighbours.enqueue(packet.clone(), Instant::ZERO);
        let hardware = EthernetAddress([2, 0, 0, 0, 0, 2]);
        assert_eq!(neighbours.learn(address, hardware), [packet]);
        assert_eq!(neighbours.get(address), Some(hardware));
        assert_eq!(neighbours.deadline(), Instant::NEVER);
    }
}
