//! The interface of this machine on the route to an address, and its counters.

use linerate_results::record::{Duplex, HostLink, InterfaceCounters};
use std::fs;
use std::net::IpAddr;
use std::path::Path;

/// Interfaces of the network namespace of this process.
pub(crate) const INTERFACES: &str = "/sys/class/net";

/// The interface on the route to `address`; `None` if it is unknown on this system.
pub fn link_to(address: IpAddr) -> Option<HostLink> {
    interface_to(address).map(|interface| link(Path::new(INTERFACES), &interface))
}

/// Properties of the interface `name`, as far as the system reports them.
pub fn link_of(name: &str) -> HostLink {
    link(Path::new(INTERFACES), name)
}

/// Counters of the interface `name`; `None` if the system does not report them.
pub fn counters_of(name: &str) -> Option<InterfaceCounters> {
    counters(Path::new(INTERFACES), name)
}

/// Difference of two readings of an interface's counters.
#[must_use]
pub const fn since(now: &InterfaceCounters, before: &InterfaceCounters) -> InterfaceCounters {
    InterfaceCounters {
        sent_frames: now.sent_frames.wrapping_sub(before.sent_frames),
        received_frames: now.received_frames.wrapping_sub(before.received_frames),
        send_errors: now.send_errors.wrapping_sub(before.send_errors),
        receive_errors: now.receive_errors.wrapping_sub(before.receive_errors),
        send_drops: now.send_drops.wrapping_sub(before.send_drops),
        receive_drops: now.receive_drops.wrapping_sub(before.receive_drops),
        collisions: now.collisions.wrapping_sub(before.collisions),
    }
}

/// The system selects the local address by the route; the interface is the one with this address. `None` if
/// several interfaces have it.
#[cfg(target_os = "linux")]
fn interface_to(address: IpAddr) -> Option<String> {
    let any: IpAddr = match address {
        IpAddr::V4(_) => std::net::Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => std::net::Ipv6Addr::UNSPECIFIED.into(),
    };
    // This sends nothing. The port has no meaning.
    let socket = std::net::UdpSocket::bind((any, 0)).ok()?;
    socket.connect((address, 9)).ok()?;
    let local = socket.local_addr().ok()?.ip();
    if local == address || local.is_loopback() {
        // The route to an address of this machine.
        return Some("lo".to_owned());
    }
    let mut names = interfaces_with(local);
    names.dedup();
    (names.len() == 1).then(|| names.remove(0))
}

/// Names of the interfaces with `address`.
#[cfg(target_os = "linux")]
pub(crate) fn interfaces_with(address: IpAddr) -> Vec<String> {
    let ip = |it: &nix::sys::socket::SockaddrStorage| {
        let v4 = it.as_sockaddr_in().map(|it| it.ip().into());
        v4.or_else(|| it.as_sockaddr_in6().map(|it| it.ip().into()))
    };
    let all = nix::ifaddrs::getifaddrs().into_iter().flatten();
    all.filter(|it| it.address.as_ref().and_then(ip) == Some(address))
        .map(|it| it.interface_name)
        .collect()
}

/// Not supported on other systems.
#[cfg(not(target_os = "linux"))]
fn interface_to(_: IpAddr) -> Option<String> {
    None
}

/// Not supported on other systems.
#[cfg(not(target_os = "linux"))]
pub(crate) fn interfaces_with(_: IpAddr) -> Vec<String> {
    Vec::new()
}

pub(crate) fn link(interfaces: &Path, name: &str) -> HostLink {
    let folder = interfaces.join(name);
    let text = |file: &str| fs::read_to_string(folder.join(file)).unwrap_or_default();
    let number = |file: &str| text(file).trim().parse::<u64>().ok();
    let mbit = number("speed").filter(|mbit| (1..u64::from(u32::MAX)).contains(mbit));
    HostLink {
        interface: name.to_owned(),
        line_bits_per_s: mbit.map(|mbit| mbit * 1_000_000),
        duplex: match text("duplex").trim() {
            "full" => Some(Duplex::Full),
            "half" => Some(Duplex::Half),
            _ => None,
        },
        mtu_bytes: number("mtu"),
        is_virtual: !folder.join("device").exists(),
    }
}

fn counters(interfaces: &Path, name: &str) -> Option<InterfaceCounters> {
    let folder = interfaces.join(name).join("statistics");
    let number = |file: &str| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        text.trim().parse::<u64>().ok()
    };
    Some(InterfaceCounters {
        sent_frames: number("tx_packets")?,
        received_frames: number("rx_packets")?,
        send_errors: number("tx_errors")?,
        receive_errors: number("rx_errors")?,
        send_drops: number("tx_dropped")?,
        receive_drops: number("rx_dropped")?,
        collisions: number("collisions")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder like `/sys/class/net` with one interface.
    fn interface(files: &[(&str, &str)]) -> tempfile::TempDir {
        let dir = tempfile::tempdir().expect("a folder");
        for (file, text) in files {
            let path = dir.path().join("eth0").join(file);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        dir
    }

    #[test]
    fn speed_and_duplex_of_an_adapter_are_read() {
        let dir = interface(&[
            ("speed", "100\n"),
            ("duplex", "full\n"),
            ("mtu", "1500\n"),
            ("device/vendor", "0x8086\n"),
        ]);
        let expected = HostLink {
            interface: "eth0".to_owned(),
            line_bits_per_s: Some(100_000_000),
            duplex: Some(Duplex::Full),
            mtu_bytes: Some(1500),
            is_virtual: false,
        };
        assert_eq!(link(dir.path(), "eth0"), expected);
    }

    #[test]
    fn what_an_interface_does_not_report_is_unknown() {
        let dir = interface(&[("speed", "-1\n"), ("duplex", "unknown\n")]);
        let link = link(dir.path(), "eth0");
        assert_eq!((link.line_bits_per_s, link.duplex), (None, None));
        assert!(link.is_virtual);
        assert_eq!(counters(dir.path(), "eth0"), None);
    }

    #[test]
    fn counters_are_differences() {
        let files = [
            "tx_packets",
            "rx_packets",
            "tx_errors",
            "rx_errors",
            "tx_dropped",
            "rx_dropped",
            "collisions",
        ]
        .map(|name| format!("statistics/{name}"));
        let files: Vec<(&str, &str)> = files.iter().map(|name| (name.as_str(), "7\n")).collect();
        let dir = interface(&files);
        let now = counters(dir.path(), "eth0").expect("counters");
        let before = InterfaceCounters {
            collisions: 2,
            ..now
        };
        let difference = since(&now, &before);
        assert_eq!((difference.collisions, difference.sent_frames), (5, 0));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_route_to_this_machine_is_loopback() {
        let link = link_to(IpAddr::V4(std::net::Ipv4Addr::LOCALHOST)).expect("a route");
        assert_eq!(link.interface, "lo");
        assert!(link.is_virtual);
    }
}
