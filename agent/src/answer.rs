//! Rules for which sources a datagram may be answered: the source address may be forged.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Ports below this belong to services; some of them answer any datagram: echo, chargen, time.
const FIRST_OF_CLIENTS: u16 = 1024;

/// In place of an address before there is one.
pub(crate) const NOBODY: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);

/// True if a service on `own_port` may answer `from`.
///
/// Only ports above the own one are answered, so two such services never answer each other: of any two ends,
/// one has the higher port or both have the same. Client ports are high (RFC 6335 section 6: 49152 and above;
/// Linux: 32768). Multicast and limited broadcast addresses are not answered; a subnet's broadcast address is
/// known only to the driver.
pub(crate) fn may_answer(from: &SocketAddr, own_port: u16) -> bool {
    may_send_to(from) && from.port() > own_port
}

/// True if `to` may be a client: any unicast address with a port above the service ports. For protocols in
/// which no answer is answered.
#[inline(never)]
pub(crate) fn may_send_to(to: &SocketAddr) -> bool {
    let is_one_station = match network(to) {
        // 0.0.0.0/8 is "this network", 240.0.0.0/4 reserved (RFC 6890); multicast is before it.
        v4 if (v4 >> 32) as u32 == MAPPED => matches!(v4 as u32 >> 24, 1..=223),
        // Multicast.
        v6 => v6 >> 56 != 0xff && !to.ip().is_unspecified(),
    };
    is_one_station && to.port() >= FIRST_OF_CLIENTS
}

/// Upper half of what [`network`] returns for an IPv4 address.
const MAPPED: u32 = 0xffff;

/// The network of a host: an IPv4 address, also one that is mapped to IPv6 (RFC 4291 section 2.5.5.2); or the upper
/// half of an IPv6 address, as a host chooses the lower one itself (RFC 8981). No network of IPv6 is like an IPv4
/// address, behind 0:ffff.
#[inline(never)]
pub(crate) fn network(address: &SocketAddr) -> u64 {
    let v4 = match address {
        SocketAddr::V4(v4) => v4.ip().to_bits(),
        SocketAddr::V6(v6) => {
            let bits = v6.ip().to_bits();
            let upper = (bits >> 64) as u64;
            if upper != 0 || (bits >> 32) as u32 != MAPPED {
                return upper;
            }
            bits as u32
        }
    };
    u64::from(MAPPED) << 32 | u64::from(v4)
}

/// Compares two socket addresses; out of line, as the comparison takes many instructions.
#[inline(never)]
pub(crate) fn same_endpoint(one: &SocketAddr, other: &SocketAddr) -> bool {
    one == other
}

/// True if both addresses are on the same host.
pub(crate) fn same_host(one: &SocketAddr, other: &SocketAddr) -> bool {
    same_endpoint(one, &with_port(other, one.port()))
}

/// Returns the peer's address with another port.
#[inline(never)]
pub(crate) fn with_port(peer: &SocketAddr, port: u16) -> SocketAddr {
    let mut address = *peer;
    address.set_port(port);
    address
}

#[cfg(test)]
mod tests {
    use super::may_answer;
    use proptest::prelude::*;
    use std::net::{IpAddr, Ipv4Addr, SocketAddr};

    #[test]
    fn groups_and_services_are_not_answered() {
        for from in [
            "224.0.0.1:40000",
            "255.255.255.255:40000",
            "0.0.0.0:40000",
            "240.1.2.3:40000",
            "[ff02::1]:40000",
            "[::]:40000",
            "[::1]:1023",
            "[::ffff:224.0.0.1]:40000",
            "[::ffff:0.0.0.1]:40000",
            "239.255.255.255:40000",
            "192.0.2.1:0",
            "192.0.2.1:7",
            "192.0.2.1:19",
            "192.0.2.1:862",
        ] {
            assert!(!may_answer(&from.parse().unwrap(), 862), "{from}");
        }
        for from in [
            "192.0.2.1:40000",
            "127.0.0.1:32768",
            "[::1]:40000",
            "[2001:db8::1]:1024",
            "[::ffff:192.0.2.1]:4000",
        ] {
            assert!(may_answer(&from.parse().unwrap(), 862), "{from}");
        }
    }

    proptest! {
        #[test]
        fn no_two_ever_answer_each_other(one: u16, other: u16) {
            let from = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), port);
            prop_assert!(!(may_answer(&from(one), other) && may_answer(&from(other), one)));
        }
    }
}
