//! Echo requests to the device, as `ping` sends them (RFC 792).

use smoltcp::wire::{Icmpv4Repr, Ipv4Address};

use super::packet;
use crate::time::{Instant, Span};

/// Configuration of the echo requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Address to ping.
    pub target: Ipv4Address,
    /// Start time.
    pub start: Instant,
    /// Time from one request to the next.
    pub interval: Span,
    /// Number of requests.
    pub count: u16,
    /// Octets after the ICMP header; `ping` sends 56.
    pub octets: usize,
}

/// One echo request and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ping {
    /// Sequence number, from 0.
    pub sequence: u16,
    /// Time at which it was handed to the MAC.
    pub sent_at: Instant,
    /// Time from sending until the reply was processed; `None` without a reply.
    pub round_trip: Option<Span>,
    /// The reply's octets differ from the request's.
    pub damaged: bool,
}

/// A sender of echo requests.
#[derive(Debug)]
pub struct Pinger {
    config: Config,
    identifier: u16,
    pings: Vec<Ping>,
}

impl Pinger {
    /// A pinger whose requests carry `identifier`.
    #[must_use]
    pub const fn new(config: Config, identifier: u16) -> Self {
        Self {
            config,
            identifier,
            pings: Vec::new(),
        }
    }

    /// The requests so far.
    #[must_use]
    pub fn pings(&self) -> &[Ping] {
        &self.pings
    }

    /// Next time [`Self::poll`] has a request to send.
    #[must_use]
    pub fn deadline(&self) -> Instant {
        let sent = self.pings.len() as u64;
        if sent >= u64::from(self.config.count) {
            return Instant::NEVER;
        }
        let after = Span::from_ticks(self.config.interval.ticks().saturating_mul(sent));
        self.config.start + after
    }

    /// The next request's ICMP message and destination.
    pub fn poll(&mut self, now: Instant) -> Option<(Ipv4Address, Vec<u8>)> {
        if self.deadline() > now {
            return None;
        }
        let sequence = self.pings.len() as u16;
        self.pings.push(Ping {
            sequence,
            sent_at: now,
            round_trip: None,
            damaged: false,
        });
        let data = self.data(sequence);
        let request = Icmpv4Repr::EchoRequest {
            ident: self.identifier,
            seq_no: sequence,
            data: &data,
        };
        Some((self.config.target, packet::icmp(&request)))
    }

    fn data(&self, sequence: u16) -> Vec<u8> {
        (0..self.config.octets)
            .map(|index| (index as u16 ^ sequence) as u8)
            .collect()
    }

    /// Processes an echo reply.
    pub fn receive(&mut self, identifier: u16, sequence: u16, data: &[u8], now: Instant) {
        let expected = self.data(sequence);
        let ping = self.pings.get_mut(usize::from(sequence));
        if let Some(ping) = ping.filter(|ping| ping.round_trip.is_none())
            && identifier == self.identifier
        {
            ping.round_trip = Some(now.since(ping.sent_at));
            ping.damaged = data != expected;
        }
    }
}
