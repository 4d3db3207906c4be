//! Interface counters: packets, of which one may carry several datagrams.

use super::LoadError;
use crate::link;
use serde::Serialize;
use std::net::IpAddr;
use std::path::Path;

/// Counters of an interface since its creation, or the difference of two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// Packets received; an unsegmented super-packet counts as one.
    pub rx_packets: u64,
    /// Octets received.
    pub rx_octets: u64,
    /// Received packets dropped by the host.
    pub rx_dropped: u64,
    /// Packets sent; an unsegmented super-packet counts as one.
    pub tx_packets: u64,
    /// Octets sent.
    pub tx_octets: u64,
    /// Packets to be sent that the host dropped.
    pub tx_dropped: u64,
}

impl Counters {
    /// Reads the counters of `interface` from `/sys/class/net`.
    ///
    /// # Errors
    /// There is no such interface, or no such directory on this system.
    pub fn read(interface: &str) -> Result<Self, LoadError> {
        let one = |name| number(interface, name);
        Ok(Self {
            rx_packets: one("rx_packets")?,
            rx_octets: one("rx_bytes")?,
            rx_dropped: one("rx_dropped")?,
            tx_packets: one("tx_packets")?,
            tx_octets: one("tx_bytes")?,
            tx_dropped: one("tx_dropped")?,
        })
    }

    /// Difference to an earlier reading.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            rx_packets: self.rx_packets.wrapping_sub(earlier.rx_packets),
            rx_octets: self.rx_octets.wrapping_sub(earlier.rx_octets),
            rx_dropped: self.rx_dropped.wrapping_sub(earlier.rx_dropped),
            tx_packets: self.tx_packets.wrapping_sub(earlier.tx_packets),
            tx_octets: self.tx_octets.wrapping_sub(earlier.tx_octets),
            tx_dropped: self.tx_dropped.wrapping_sub(earlier.tx_dropped),
        }
    }
}

/// Counters of an interface over a time span.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InterfaceCounters {
    /// Interface name.
    pub name: String,
    /// Counters, including traffic of other programs.
    #[serde(flatten)]
    pub counters: Counters,
}

/// Interface counters at the start of a time span.
#[derive(Debug, Clone)]
pub struct CounterSnapshot {
    name: String,
    before: Counters,
}

impl CounterSnapshot {
    /// Reads the counters of `interface`; `None` if they are unavailable.
    pub fn start(interface: &str) -> Option<Self> {
        Some(Self {
            name: interface.to_owned(),
            before: Counters::read(interface).ok()?,
        })
    }

    /// Reads the counters of the interface with this address.
    pub fn start_at(address: IpAddr) -> Option<Self> {
        Self::start(link::interfaces_with(address).first()?)
    }

    /// Returns the counters since the start.
    pub fn end(self) -> Option<InterfaceCounters> {
        let after = Counters::read(&self.name).ok()?;
        Some(InterfaceCounters {
            counters: after.since(&self.before),
            name: self.name,
        })
    }
}

/// MAC address of `interface`.
///
/// # Errors
/// There is no such interface, or it has no MAC address.
pub fn mac_of(interface: &str) -> Result<[u8; 6], LoadError> {
    let text = read(interface, "address", "MAC address")?;
    parse_mac(text.trim()).ok_or_else(|| LoadError::Interface {
        interface: interface.to_owned(),
        what: "MAC address",
        source: std::io::Error::other(format!("`{}` is not a MAC address", text.trim())),
    })
}

/// Parses a MAC address such as `02:00:00:00:00:01`.
pub fn parse_mac(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split([':', '-']);
    for octet in &mut mac {
        let is_octet = |part: &&str| part.len() == 2 && !part.starts_with('+');
        let part = parts.next().filter(is_octet)?;
        *octet = u8::from_str_radix(part, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

fn number(interface: &str, counter: &'static str) -> Result<u64, LoadError> {
    let text = read(interface, &format!("statistics/{counter}"), counter)?;
    text.trim().parse().map_err(|_| LoadError::Interface {
        interface: interface.to_owned(),
        what: counter,
        source: std::io::Error::other(format!("`{}` is not a number", text.trim())),
    })
}

fn read(interface: &str, file: &str, what: &'static str) -> Result<String, LoadError> {
    let is_name = !interface.is_empty() && !interface.contains('/') && !interface.starts_with('.');
    let path = Path::new("/sys/class/net").join(interface).join(file);
    let text = if is_name {
        std::fs::read_to_string(path)
    } else {
        Err(std::io::Error::other("invalid interface name"))
    };
    text.map_err(|source| LoadError::Interface {
        interface: interface.to_owned(),
        what,
        source,
    })
}
