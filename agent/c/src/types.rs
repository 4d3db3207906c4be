//! The structures of the header, field for field.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use core::time::Duration;

use linerate_agent::iperf2::Report;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Address {
    ip: [u8; 16],
    port: u16,
    family: u8,
    reserved: u8,
}

impl Address {
    pub(crate) const NONE: Self = Self {
        ip: [0; 16],
        port: 0,
        family: 0,
        reserved: 0,
    };

    /// `None` if the family is invalid.
    pub(crate) fn get(&self) -> Option<SocketAddr> {
        let [a, b, c, d, ..] = self.ip;
        let ip = match self.family {
            4 => IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
            6 => IpAddr::V6(Ipv6Addr::from(self.ip)),
            _ => return None,
        };
        Some(SocketAddr::new(ip, self.port))
    }
}

impl From<SocketAddr> for Address {
    fn from(address: SocketAddr) -> Self {
        let mut ip = [0; 16];
        let family = match address.ip() {
            IpAddr::V4(v4) => {
                ip[..4].copy_from_slice(&v4.octets());
                4
            }
            IpAddr::V6(v6) => {
                ip = v6.octets();
                6
            }
        };
        Self {
            ip,
            port: address.port(),
            family,
            reserved: 0,
        }
    }
}

#[repr(C)]
pub struct Request {
    pub(crate) kind: u8,
    pub(crate) socket: u8,
    pub(crate) token: u8,
    pub(crate) reserved: u8,
    pub(crate) port: u16,
    pub(crate) to: Address,
}

#[repr(C)]
pub struct DatagramOut {
    pub(crate) to: Address,
    pub(crate) socket: u8,
    pub(crate) length: usize,
}

#[repr(C)]
pub struct Iperf2Plan {
    pub(crate) to: Address,
    pub(crate) span_ns: u64,
    pub(crate) octets: u32,
    pub(crate) buffer_octets: u32,
    pub(crate) rate_bits_per_s: u64,
    pub(crate) timeout_ns: u64,
    pub(crate) udp: bool,
    pub(crate) reverse: bool,
}

#[repr(C)]
pub struct Iperf2Report {
    octets: u64,
    span_ns: u64,
    jitter_ns: u64,
    datagrams: u32,
    lost: u32,
    out_of_order: u32,
    udp: bool,
    sent: bool,
    peer: Address,
}

impl Iperf2Report {
    pub(crate) fn new(report: &Report, udp: bool, sent: bool, peer: Address) -> Self {
        Self {
            octets: report.octets,
            span_ns: ns(report.span),
            jitter_ns: ns(report.jitter),
            datagrams: report.datagrams,
            lost: report.lost,
            out_of_order: report.out_of_order,
            udp,
            sent,
            peer,
        }
    }
}

#[repr(C)]
pub struct Iperf3Report {
    pub(crate) sent_octets: u64,
    pub(crate) sent_ns: u64,
    pub(crate) received_octets: u64,
    pub(crate) received_ns: u64,
    pub(crate) datagrams: u64,
    pub(crate) lost: u64,
    pub(crate) out_of_order: u64,
    pub(crate) udp: bool,
    pub(crate) complete: bool,
    pub(crate) peer: Address,
}

#[repr(C)]
pub struct HttpReport {
    pub(crate) octets: u64,
    pub(crate) span_ns: u64,
    pub(crate) sent: bool,
    pub(crate) peer: Address,
}

#[repr(C)]
pub struct StampPlan {
    pub(crate) to: Address,
    pub(crate) interval_ns: u64,
    pub(crate) timeout_ns: u64,
    pub(crate) resolution_ns: u64,
    pub(crate) count: u32,
    pub(crate) octets: u16,
    pub(crate) stateful: bool,
}

#[repr(C)]
pub struct StampSample {
    pub(crate) round_trip_ns: u64,
    pub(crate) reflector_ns: u64,
    pub(crate) number: u32,
    pub(crate) ttl: u8,
}

#[repr(C)]
pub struct StampOutcome {
    pub(crate) sent: u64,
    pub(crate) answered: u64,
    pub(crate) lost_forward: u64,
    pub(crate) lost_backward: u64,
    pub(crate) lost_unknown: u64,
    pub(crate) out_of_order: u64,
    pub(crate) invalid: u64,
    pub(crate) discarded_samples: u64,
}

pub(crate) fn ns(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
