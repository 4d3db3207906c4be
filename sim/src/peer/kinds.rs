//! The available kinds of peer.

use super::host::{self, Host};
use super::{Generator, Peer, Report, Station, WithTraffic, generator};
use crate::time::{Instant, Span};

/// A kind of peer.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Name in a scenario.
    pub name: &'static str,
    /// Description for lists.
    pub about: &'static str,
    /// Builds a peer. Settings that do not apply to this kind are ignored.
    pub build: fn(Config) -> Box<dyn Peer>,
}

/// Configuration of a peer.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Configuration of the host.
    pub host: host::Config,
    /// Frames of a generator, or additional traffic beside a host's frames.
    pub traffic: Option<generator::Config>,
}

/// Every kind, one line each.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "host",
        about: "A Linux-like host with a web server",
        build: |config| add_traffic(Host::new(config.host), config.traffic),
    },
    Kind {
        name: "dhcp-host",
        about: "The same, giving out addresses by DHCP",
        build: |config| add_traffic(Host::new(with_dhcp(config.host)), config.traffic),
    },
    Kind {
        name: "chatty-host",
        about: "The same, sending a broadcast every millisecond",
        build: |config| add_traffic(Host::new(with_background_arp(config.host)), config.traffic),
    },
    Kind {
        name: "silent",
        about: "A link partner that sends link pulses and nothing else",
        build: |_| Box::new(Silent),
    },
    Kind {
        name: "generator",
        about: "Frames of a stated kind at a stated pace: storms, conformance cases, babbling",
        build: |config| Box::new(Generator::new(&config.traffic.unwrap_or_default())),
    },
];

/// The kind called `name`.
#[must_use]
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

fn add_traffic(host: Host, traffic: Option<generator::Config>) -> Box<dyn Peer> {
    match traffic {
        None => Box::new(host),
        Some(traffic) => Box::new(WithTraffic::new(host, Generator::new(&traffic))),
    }
}

fn with_dhcp(mut config: host::Config) -> host::Config {
    config.dhcp.get_or_insert_with(|| host::dhcp::Config {
        first: smoltcp::wire::Ipv4Address::from_bits(config.network.address().to_bits() + 1),
        count: 100,
        lease: Span::from_secs(3600),
        router: true,
    });
    config
}

fn with_background_arp(mut config: host::Config) -> host::Config {
    config.background_arp.get_or_insert(Span::from_ms(1));
    config
}

/// A station that never sends a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silent;

impl Station for Silent {
    fn receive(&mut self, _frame: &[u8], _now: Instant) {}

    fn poll_transmit(&mut self, _now: Instant) -> Option<Vec<u8>> {
        None
    }

    fn poll_timeout(&self) -> Instant {
        Instant::NEVER
    }
}

impl Peer for Silent {
    fn report(&self) -> Report {
        Report::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_found_by_its_name_and_can_be_made() {
        for entry in KINDS {
            assert_eq!(kind(entry.name).map(|kind| kind.about), Some(entry.about));
            (entry.build)(Config::default());
        }
        assert!(kind("router").is_none());
    }
}
