//! What an interface has counted: packets, which datagrams need not be.

use super::LoadError;
use serde::Serialize;
use std::net::IpAddr;
use std::path::Path;

/// Counters of an interface since it exists, or of a span as the difference of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Counters {
    /// Packets received, an unsegmented super-packet as one.
    pub rx_packets: u64,
    /// Octets received.
    pub rx_octets: u64,
    /// Packets that the host dropped on their way in.
    pub rx_dropped: u64,
    /// Packets sent, an unsegmented super-packet as one.
    pub tx_packets: u64,
    /// Octets sent.
    pub tx_octets: u64,
    /// Packets that the host dropped on their way out.
    pub tx_dropped: u64,
}

impl Counters {
    /// Reads those of `interface`, from `/sys/class/net`.
    ///
    /// # Errors
    /// There is no such interface, or no such folder on this system.
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

    /// What was counted since `earlier`.
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

/// What an interface has counted while something ran.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// What was counted, by whomever it was sent or received.
    #[serde(flatten)]
    pub counters: Counters,
}

/// Counts on an interface from now on.
#[derive(Debug, Clone)]
pub struct Counting {
    name: String,
    before: Counters,
}

impl Counting {
    /// On `interface`; `None`: it has no counters that can be read.
    pub fn start(interface: &str) -> Option<Self> {
        Some(Self {
            name: interface.to_owned(),
            before: Counters::read(interface).ok()?,
        })
    }

    /// On the interface with this address.
    pub fn start_at(address: IpAddr) -> Option<Self> {
        Self::start(&interface_of(address)?)
    }

    /// Until now.
    pub fn end(self) -> Option<Interface> {
        let after = Counters::read(&self.name).ok()?;
        Some(Interface {
            counters: after.since(&self.before),
            name: self.name,
        })
    }
}

/// The interface that has `address`.
pub fn interface_of(address: IpAddr) -> Option<String> {
    #[cfg(target_os = "linux")]
    {
        let has = |it: &nix::ifaddrs::InterfaceAddress| {
            let own = it.address?;
            let v4 = own.as_sockaddr_in().map(|it| IpAddr::V4(it.ip()));
            let v6 = own.as_sockaddr_in6().map(|it| IpAddr::V6(it.ip()));
            v4.or(v6)
        };
        nix::ifaddrs::getifaddrs()
            .ok()?
            .find(|it| has(it) == Some(address))
            .map(|it| it.interface_name)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = address;
        None
    }
}

/// The hardware address of `interface`.
///
/// # Errors
/// There is no such interface, or it has none.
pub fn mac_of(interface: &str) -> Result<[u8; 6], LoadError> {
    let text = read(interface, "address", "hardware address")?;
    parse_mac(text.trim()).ok_or_else(|| LoadError::Interface {
        interface: interface.to_owned(),
        what: "hardware address",
        source: std::io::Error::other(format!("`{}` is none of Ethernet", text.trim())),
    })
}

/// `02:00:00:00:00:01`.
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
        source: std::io::Error::other(format!("`{}` is no number", text.trim())),
    })
}

fn read(interface: &str, file: &str, what: &'static str) -> Result<String, LoadError> {
    let is_name = !interface.is_empty() && !interface.contains('/') && !interface.starts_with('.');
    let path = Path::new("/sys/class/net").join(interface).join(file);
    let text = if is_name {
        std::fs::read_to_string(path)
    } else {
        Err(std::io::Error::other("that is no interface's name"))
    };
    text.map_err(|source| LoadError::Interface {
        interface: interface.to_owned(),
        what,
        source,
    })
}
