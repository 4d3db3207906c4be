//! Permitted destinations and amounts of a service's datagrams.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// Limit on the datagrams that a service sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendRule {
    /// A server: sends each address at most as many octets of payload as it has received from there, so that
    /// a forged address gains no amplification. The factor is 1: RFC 8762 has packets of the same size, RFC
    /// 862 returns the same datagram, and iperf 2's reports are shorter than its tests.
    NoMoreThanReceived,
    /// A server that may send on request: any amount, but not to groups or service ports.
    OnRequest,
    /// A client: any amount, but only to its server.
    OnlyTo(IpAddr),
}

/// Octets received from and sent to each address.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    received: BTreeMap<SocketAddr, u64>,
    sent: BTreeMap<SocketAddr, u64>,
}

impl Ledger {
    pub(crate) fn on_received(&mut self, from: SocketAddr, octets: usize) {
        *self.received.entry(from).or_default() += octets as u64;
    }

    pub(crate) fn on_sent(&mut self, to: SocketAddr, octets: usize, rule: SendRule) {
        let sent = self.sent.entry(to).or_default();
        *sent += octets as u64;
        let received = self.received.get(&to).copied().unwrap_or(0);
        match rule {
            SendRule::NoMoreThanReceived => {
                assert!(
                    *sent <= received,
                    "{sent} octets to {to}, which sent {received}"
                );
            }
            SendRule::OnRequest => assert!(to.port() >= 1024, "a datagram to a service port: {to}"),
            SendRule::OnlyTo(ip) => assert_eq!(to.ip(), ip, "a client sends to another address"),
        }
        let ip = to.ip().to_canonical();
        let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
        assert!(
            !ip.is_multicast() && !ip.is_unspecified() && !broadcast,
            "a datagram to a group: {to}"
        );
    }
}
