//! Addresses and local ports in smoltcp's form.

use core::net::SocketAddr;

use smoltcp::wire::{IpAddress, IpEndpoint};

/// Converts an address to smoltcp's form; `None` for IPv6, which this driver does not support.
pub(crate) fn endpoint(address: SocketAddr) -> Option<IpEndpoint> {
    match address {
        SocketAddr::V4(v4) => Some(IpEndpoint::new(IpAddress::Ipv4(*v4.ip()), v4.port())),
        SocketAddr::V6(_) => None,
    }
}

/// Returns the next dynamic port (RFC 6335 section 6).
pub(crate) fn next_port(port: u16) -> u16 {
    0xC000 | port.wrapping_add(1)
}
