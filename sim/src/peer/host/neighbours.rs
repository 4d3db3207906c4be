//! The ARP table (RFC 826) and the packets that wait for address resolution.

use std::collections::{BTreeMap, VecDeque};

use smoltcp::wire::{EthernetAddress, Ipv4Address};

use super::packet::Packet;
use crate::time::{Instant, Span};

/// Time between requests, their number, and packets queued meanwhile (Linux).
const RETRY: Span = Span::from_secs(1);
const REQUESTS: u32 = 3;
const PACKETS_KEPT: usize = 100;

/// Neighbour table: resolved addresses and pending requests.
#[derive(Debug, Default)]
pub struct Neighbours {
    known: BTreeMap<Ipv4Address, EthernetAddress>,
    waiting: BTreeMap<Ipv4Address, Waiting>,
}

#[derive(Debug)]
struct Waiting {
    packets: VecDeque<Packet>,
    requests_left: u32,
    request_at: Instant,
}

impl Neighbours {
    /// The hardware address of `address`, if known.
    #[must_use]
    pub fn get(&self, address: Ipv4Address) -> Option<EthernetAddress> {
        self.known.get(&address).copied()
    }

    /// Records the hardware address of `address`; returns the packets that waited for it.
    pub fn learn(&mut self, address: Ipv4Address, hardware: EthernetAddress) -> VecDeque<Packet> {
        self.known.insert(address, hardware);
        self.waiting
            .remove(&address)
            .map(|waiting| waiting.packets)
            .unwrap_or_default()
    }

    /// Queues a packet until its destination is resolved.
    pub fn wait(&mut self, packet: Packet, now: Instant) {
        let waiting = self
            .waiting
            .entry(packet.destination)
            .or_insert_with(|| Waiting {
                packets: VecDeque::new(),
                requests_left: REQUESTS,
                request_at: now,
            });
        if waiting.packets.len() == PACKETS_KEPT {
            waiting.packets.pop_front();
        }
        waiting.packets.push_back(packet);
    }

    /// The next address to request at `now`. An address that never answers is dropped with its packets.
    pub fn poll_request(&mut self, now: Instant) -> Option<Ipv4Address> {
        self.waiting
            .retain(|_, waiting| waiting.request_at > now || waiting.requests_left > 0);
        let (&address, waiting) = self
            .waiting
            .iter_mut()
            .find(|(_, waiting)| waiting.request_at <= now)?;
        waiting.requests_left -= 1;
        waiting.request_at = now + RETRY;
        Some(address)
    }

    /// Next time [`Self::poll_request`] must be called.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        self.waiting
            .values()
            .map(|waiting| waiting.request_at)
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
        neighbours.wait(packet.clone(), Instant::ZERO);
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

        neighbours.wait(packet.clone(), Instant::ZERO);
        let hardware = EthernetAddress([2, 0, 0, 0, 0, 2]);
        assert_eq!(neighbours.learn(address, hardware), [packet]);
        assert_eq!(neighbours.get(address), Some(hardware));
        assert_eq!(neighbours.deadline(), Instant::NEVER);
    }
}
