//! What this machine knows of the path to a target.

use std::net::SocketAddr;

/// The largest IP packet that this machine's system takes for the path to `to`: its interface's, until
/// a router on the way has told of a smaller one (RFC 1191). `None` where the system does not tell.
#[cfg(target_os = "linux")]
pub(super) fn mtu(to: SocketAddr) -> Option<u32> {
    let socket = std::net::UdpSocket::bind((super::client::local_address(to), 0)).ok()?;
    // Nothing is sent by this.
    socket.connect(to).ok()?;
    if to.is_ipv4() {
        rustix::net::sockopt::ip_mtu(&socket).ok()
    } else {
        rustix::net::sockopt::ipv6_mtu(&socket).ok()
    }
}

/// See the other one.
#[cfg(not(target_os = "linux"))]
pub(super) fn mtu(_: SocketAddr) -> Option<u32> {
    None
}
