//! Properties of the path to a target.

use std::net::SocketAddr;

/// The system's path MTU to `to`: the interface's MTU, until a router reports a smaller one (RFC
/// 1191). `None` if the system does not report it.
#[cfg(target_os = "linux")]
pub(super) fn mtu(to: SocketAddr) -> Option<u32> {
    let socket = std::net::UdpSocket::bind((super::client::local_address(to), 0)).ok()?;
    // This sends nothing.
    socket.connect(to).ok()?;
    if to.is_ipv4() {
        rustix::net::sockopt::ip_mtu(&socket).ok()
    } else {
        rustix::net::sockopt::ipv6_mtu(&socket).ok()
    }
}

/// Not supported on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn mtu(_: SocketAddr) -> Option<u32> {
    None
}
