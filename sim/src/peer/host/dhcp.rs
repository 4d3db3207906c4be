//! A DHCP server (RFC 2131) for the stations on one cable.

use std::collections::BTreeMap;

use smoltcp::wire::{
    DhcpMessageType, DhcpPacket, DhcpRepr, EthernetAddress, Ipv4Address, Ipv4Cidr,
};

use crate::time::{Instant, Span};

/// Port of a server.
pub const SERVER_PORT: u16 = 67;
/// Port of a client.
pub const CLIENT_PORT: u16 = 68;
/// An offer is reserved this long for the client to request.
const OFFER_LIFE: Span = Span::from_secs(60);

/// The server's address pool and options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// First address of the pool.
    pub first: Ipv4Address,
    /// Addresses in the pool.
    pub count: u32,
    /// Lease time.
    pub lease: Span,
    /// Announce this host as the clients' router.
    pub router: bool,
}

/// An address leased or offered to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Client's hardware address.
    pub client: EthernetAddress,
    /// Leased address.
    pub address: Ipv4Address,
    /// Expiry.
    pub until: Instant,
    /// The client requested it and received a DHCPACK; false for an offer.
    pub confirmed: bool,
}

/// The DHCP server.
#[derive(Debug)]
pub struct Server {
    config: Config,
    network: Ipv4Cidr,
    leases: BTreeMap<u32, Lease>,
}

/// A message to send to a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The DHCP message.
    pub message: Vec<u8>,
    /// IPv4 destination: an address, or broadcast.
    pub destination: Ipv4Address,
    /// Hardware destination: the client, or broadcast.
    pub hardware: EthernetAddress,
}

impl Server {
    /// A server at the address of `network`.
    #[must_use]
    pub const fn new(config: Config, network: Ipv4Cidr) -> Self {
        Self {
            config,
            network,
            leases: BTreeMap::new(),
        }
    }

    /// Leases and offers in the order of address.
    pub fn leases(&self) -> impl Iterator<Item = &Lease> {
        self.leases.values()
    }

    /// Processes a message from a client; returns the reply, if any.
    pub fn receive(&mut self, message: &[u8], now: Instant) -> Option<Reply> {
        let packet = DhcpPacket::new_checked(message).ok()?;
        let request = DhcpRepr::parse(&packet).ok()?;
        let client = request.client_hardware_address;
        let server = self.network.address();
        match request.message_type {
            DhcpMessageType::Discover => {
                let address = self.choose(client, request.requested_ip, now)?;
                self.put(client, address, now + OFFER_LIFE, false);
                Some(self.reply(&request, DhcpMessageType::Offer, Some(address)))
            }
            DhcpMessageType::Request => {
                if request
                    .server_identifier
                    .is_some_and(|chosen| chosen != server)
                {
                    // The client chose another server: release the offer.
                    self.leases
                        .retain(|_, lease| lease.client != client || lease.confirmed);
                    return None;
                }
                let renewing = (!request.client_ip.is_unspecified()).then_some(request.client_ip);
                let wanted = request.requested_ip.or(renewing)?;
                if self.is_free(wanted, client, now) {
                    self.put(client, wanted, now + self.config.lease, true);
                    Some(self.reply(&request, DhcpMessageType::Ack, Some(wanted)))
                } else {
                    Some(self.reply(&request, DhcpMessageType::Nak, None))
                }
            }
            DhcpMessageType::Decline | DhcpMessageType::Release => {
                self.leases.retain(|_, lease| lease.client != client);
                None
            }
            DhcpMessageType::Inform => Some(self.reply(&request, DhcpMessageType::Ack, None)),
            _ => None,
        }
    }

    fn put(&mut self, client: EthernetAddress, address: Ipv4Address, until: Instant, yes: bool) {
        self.leases.retain(|_, lease| lease.client != client);
        self.leases.insert(
            address.to_bits(),
            Lease {
                client,
                address,
                until,
                confirmed: yes,
            },
        );
    }

    /// RFC 2131 section 4.3.1: the client's current address, the one it requests, or any other.
    fn choose(
        &self,
        client: EthernetAddress,
        asked: Option<Ipv4Address>,
        now: Instant,
    ) -> Option<Ipv4Address> {
        let own = self.leases.values().find(|lease| lease.client == client);
        let pool = (0..self.config.count)
            .map(|index| Ipv4Address::from_bits(self.config.first.to_bits().wrapping_add(index)));
        own.map(|lease| lease.address)
            .into_iter()
            .chain(asked)
            .chain(pool)
            .find(|&address| self.is_free(address, client, now))
    }

    /// True if `client` may have `address`.
    fn is_free(&self, address: Ipv4Address, client: EthernetAddress, now: Instant) -> bool {
        let index = address.to_bits().wrapping_sub(self.config.first.to_bits());
        let taken = self
            .leases
            .get(&address.to_bits())
            .is_some_and(|lease| lease.client != client && lease.until > now);
        index < self.config.count && address != self.network.address() && !taken
    }

    fn reply(
        &self,
        request: &DhcpRepr<'_>,
        message_type: DhcpMessageType,
        address: Option<Ipv4Address>,
    ) -> Reply {
        let server = self.network.address();
        let informs = request.message_type == DhcpMessageType::Inform;
        let gives = message_type != DhcpMessageType::Nak;
        let lease = (gives && !informs).then(|| (self.config.lease.as_ns() / 1_000_000_000) as u32);
        let repr = DhcpRepr {
            message_type,
            transaction_id: request.transaction_id,
            secs: 0,
            client_hardware_address: request.client_hardware_address,
            client_ip: if gives {
                request.client_ip
            } else {
                Ipv4Address::UNSPECIFIED
            },
            your_ip: address.unwrap_or(Ipv4Address::UNSPECIFIED),
            server_ip: Ipv4Address::UNSPECIFIED,
            router: (gives && self.config.router).then_some(server),
            subnet_mask: gives.then(|| self.network.netmask()),
            relay_agent_ip: request.relay_agent_ip,
            broadcast: request.broadcast,
            requested_ip: None,
            client_identifier: None,
            server_identifier: Some(server),
            parameter_request_list: None,
            dns_servers: None,
            max_size: None,
            lease_duration: lease,
            renew_duration: lease.map(|seconds| seconds / 2),
            rebind_duration: lease.map(|seconds| seconds / 8 * 7),
            additional_options: &[],
        };
        let mut message = vec![0; repr.buffer_len()];
        // The buffer has the length of the message, so this cannot fail.
        let _ = repr.emit(&mut DhcpPacket::new_unchecked(&mut message[..]));
        // RFC 2131 section 4.1: to the client's address if it has one, else as its broadcast flag asks.
        let (destination, hardware) =
            if !gives || (request.broadcast && request.client_ip.is_unspecified()) {
                (Ipv4Address::BROADCAST, EthernetAddress::BROADCAST)
            } else if request.client_ip.is_unspecified() {
                (repr.your_ip, request.client_hardware_address)
            } else {
                (request.client_ip, request.client_hardware_address)
            };
        Reply {
            message,
            destination,
            hardware,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: Ipv4Address = Ipv4Address::new(10, 0, 0, 1);

    fn server() -> Server {
        let config = Config {
            first: Ipv4Address::new(10, 0, 0, 10),
            count: 2,
            lease: Span::from_secs(3600),
            router: true,
        };
        Server::new(config, Ipv4Cidr::new(SERVER, 24))
    }

    fn message(
        client: u8,
        kind: DhcpMessageType,
        change: impl FnOnce(&mut DhcpRepr<'_>),
    ) -> Vec<u8> {
        let mut repr = DhcpRepr {
            message_type: kind,
            transaction_id: 7,
            secs: 0,
            client_hardware_address: EthernetAddress([2, 0, 0, 0, 0, client]),
            client_ip: Ipv4Address::UNSPECIFIED,
            your_ip: Ipv4Address::UNSPECIFIED,
            server_ip: Ipv4Address::UNSPECIFIED,
            router: None,
            subnet_mask: None,
            relay_agent_ip: Ipv4Address::UNSPECIFIED,
            broadcast: false,
            requested_ip: None,
            client_identifier: None,
            server_identifier: None,
            parameter_request_list: None,
            dns_servers: None,
            max_size: None,
            lease_duration: None,
            renew_duration: None,
            rebind_duration: None,
            additional_options: &[],
        };
        change(&mut repr);
        let mut bytes = vec![0; repr.buffer_len()];
        repr.emit(&mut DhcpPacket::new_unchecked(&mut bytes[..]))
            .unwrap();
        bytes
    }

    fn answer(server: &mut Server, message: &[u8], now: Instant) -> (DhcpMessageType, Ipv4Address) {
        let reply = server.receive(message, now).expect("an answer");
        let packet = DhcpPacket::new_checked(&reply.message[..]).unwrap();
        let repr = DhcpRepr::parse(&packet).unwrap();
        assert_eq!(repr.transaction_id, 7);
        assert_eq!(repr.server_identifier, Some(SERVER));
        (repr.message_type, repr.your_ip)
    }

    fn request(client: u8, address: Ipv4Address) -> Vec<u8> {
        message(client, DhcpMessageType::Request, |repr| {
            repr.requested_ip = Some(address);
            repr.server_identifier = Some(SERVER);
        })
    }

    #[test]
    fn discover_offer_request_ack_and_the_same_address_again() {
        let mut server = server();
        let now = Instant::ZERO;
        let discover = message(1, DhcpMessageType::Discover, |_| ());
        let (kind, address) = answer(&mut server, &discover, now);
        assert_eq!(
            (kind, address),
            (DhcpMessageType::Offer, Ipv4Address::new(10, 0, 0, 10))
        );
        assert_eq!(
            answer(&mut server, &request(1, address), now),
            (DhcpMessageType::Ack, address)
        );
        assert_eq!(answer(&mut server, &discover, now).1, address);
    }

    #[test]
    fn a_taken_or_foreign_address_is_refused_and_a_full_pool_is_silent() {
        let mut server = server();
        let now = Instant::ZERO;
        let address = Ipv4Address::new(10, 0, 0, 11);
        assert_eq!(
            answer(&mut server, &request(1, address), now).0,
            DhcpMessageType::Ack
        );
        assert_eq!(
            answer(&mut server, &request(2, address), now).0,
            DhcpMessageType::Nak
        );
        let foreign = Ipv4Address::new(192, 168, 1, 2);
        assert_eq!(
            answer(&mut server, &request(2, foreign), now).0,
            DhcpMessageType::Nak
        );
        answer(
            &mut server,
            &message(2, DhcpMessageType::Discover, |_| ()),
            now,
        );
        let third = message(3, DhcpMessageType::Discover, |_| ());
        assert_eq!(server.receive(&third, now), None);
        // An offer that nobody requested expires.
        let later = now + OFFER_LIFE + Span::from_secs(1);
        assert_eq!(
            answer(&mut server, &third, later).1,
            Ipv4Address::new(10, 0, 0, 10)
        );
    }

    #[test]
    fn damaged_messages_get_no_answer() {
        let mut server = server();
        let whole = message(1, DhcpMessageType::Discover, |_| ());
        for len in 0..whole.len() {
            // A message with truncated options may still be valid; the server must only not panic.
            let _ = server.receive(&whole[..len], Instant::ZERO);
        }
        assert_eq!(server.receive(&[], Instant::ZERO), None);
    }
}
