use linerate_agent::iperf3::{self, Count};
use linerate_agent::{http, iperf2};
use serde::Serialize;
use std::net::SocketAddr;

use super::Protocol;

/// Direction of the transfer, seen from this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TransferDirection {
    /// This machine received.
    Received,
    /// This machine sent.
    Sent,
}

/// Completed test or request. Fields that a protocol does not provide are absent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ServedTransfer {
    /// `iperf2` and so on.
    pub protocol: &'static str,
    /// `tcp` or `udp`.
    pub transport: &'static str,
    /// Direction.
    pub direction: TransferDirection,
    /// Client address.
    pub peer: SocketAddr,
    /// Payload octets.
    pub octets: u64,
    /// Duration.
    pub span_ns: u64,
    /// Payload divided by duration; absent for a duration of 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub goodput_bytes_per_s: Option<f64>,
    /// Counters of a UDP test.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramCounts>,
}

/// Datagram counters of a UDP test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DatagramCounts {
    /// Datagrams sent, as far as known to this end.
    pub sent_datagrams: u64,
    /// Counters of the receiver, if known.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub received: Option<ReceiverCounts>,
}

/// Counters of the receiver of a UDP test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReceiverCounts {
    /// Datagrams lost.
    pub lost_datagrams: u64,
    /// Datagrams out of order.
    pub out_of_order_datagrams: u64,
    /// Jitter by RFC 3550.
    pub jitter_ns: u64,
}

impl ServedTransfer {
    fn new(protocol: Protocol, udp: bool, sent: bool, peer: SocketAddr) -> Self {
        Self {
            protocol: protocol.name(),
            transport: if udp { "udp" } else { "tcp" },
            direction: if sent {
                TransferDirection::Sent
            } else {
                TransferDirection::Received
            },
            peer,
            octets: 0,
            span_ns: 0,
            goodput_bytes_per_s: None,
            datagrams: None,
        }
    }

    fn with(mut self, octets: u64, span: std::time::Duration) -> Self {
        self.octets = octets;
        self.span_ns = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        self.goodput_bytes_per_s = (!span.is_zero()).then(|| octets as f64 / span.as_secs_f64());
        self
    }
}

impl ServedTransfer {
    pub(super) fn of_iperf2(finished: Option<iperf2::Finished>) -> Vec<Self> {
        let one = |it: iperf2::Finished| {
            let report = it.report;
            let new = Self::new(Protocol::Iperf2, it.udp, it.sent, it.peer);
            let mut served = new.with(report.octets, report.span);
            served.datagrams = it.udp.then(|| DatagramCounts {
                sent_datagrams: report.datagrams.into(),
                received: it.is_confirmed.then(|| ReceiverCounts {
                    lost_datagrams: report.lost.into(),
                    out_of_order_datagrams: report.out_of_order.into(),
                    jitter_ns: report.jitter.as_nanos() as u64,
                }),
            });
            served
        };
        finished.into_iter().map(one).collect()
    }

    pub(super) fn of_http(finished: Option<http::Finished>) -> Vec<Self> {
        let one = |it: http::Finished| {
            Self::new(Protocol::Http, false, it.sent, it.peer).with(it.octets, it.span)
        };
        finished.into_iter().map(one).collect()
    }

    /// One for each direction. The client's count of received data takes precedence over the count of sent
    /// data.
    pub(super) fn of_iperf3(finished: Option<iperf3::Finished>) -> Vec<Self> {
        let Some(it) = finished else {
            return Vec::new();
        };
        let one = |sent, count: Count, is_confirmed: bool| {
            let new = Self::new(Protocol::Iperf3, it.udp, sent, it.peer);
            let mut served = new.with(count.octets, count.span);
            served.datagrams = it.udp.then(|| DatagramCounts {
                sent_datagrams: count.datagrams,
                received: is_confirmed.then_some(ReceiverCounts {
                    lost_datagrams: count.lost,
                    out_of_order_datagrams: count.out_of_order,
                    jitter_ns: count.jitter.as_nanos() as u64,
                }),
            });
            served
        };
        let sent = it.reported.map(|count| one(true, count, true));
        let sent = sent.or_else(|| it.sent.map(|count| one(true, count, false)));
        let received = it.received.map(|count| one(false, count, true));
        received.into_iter().chain(sent).collect()
    }
}
