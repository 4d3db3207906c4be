//! Whom a service may send datagrams to, and how much.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// What a service may send by UDP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sends {
    /// A server: to each address no more octets of payload than have come from there, so that who
    /// forges a sender's address gains nothing. The factor is 1: RFC 8762 has packets of the same size,
    /// RFC 862 sends back what came, and the reports of iperf 2 are shorter than their tests.
    NoMoreThanCame,
    /// A server that was told to send on request: anything, but to no group and no service.
    OnRequest,
    /// A client: anything, but to its server only.
    OnlyTo(IpAddr),
}

/// Octets from and to each address.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    came: BTreeMap<SocketAddr, u64>,
    sent: BTreeMap<SocketAddr, u64>,
}

impl Ledger {
    pub(crate) fn came(&mut self, from: SocketAddr, octets: usize) {
        *self.came.entry(from).or_default() += octets as u64;
    }

    pub(crate) fn sent(&mut self, to: SocketAddr, octets: usize, rule: Sends) {
        let sent = self.sent.entry(to).or_default();
        *sent += octets as u64;
        let came = self.came.get(&to).copied().unwrap_or(0);
        match rule {
            Sends::NoMoreThanCame => {
                assert!(
                    *sent <= came,
                    "{sent} octets to {to}, from where {came} came"
                );
            }
            Sends::OnRequest => assert!(to.port() >= 1024, "a service is sent to: {to}"),
            Sends::OnlyTo(ip) => assert_eq!(to.ip(), ip, "a client sends to somebody else"),
        }
        let ip = to.ip().to_canonical();
        let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
        assert!(
            !ip.is_multicast() && !ip.is_unspecified() && !broadcast,
            "a group is sent to: {to}"
        );
    }
}
