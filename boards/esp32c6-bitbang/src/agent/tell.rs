//! What the console says of tests that are over.

use core::net::SocketAddr;
use core::time::Duration;

use linerate_agent::iperf3::Count;
use linerate_agent::{http, iperf2, iperf3};

use crate::{event, info};

/// A test as both ends should have counted it.
struct Served {
    protocol: &'static str,
    udp: bool,
    sent: bool,
    peer: SocketAddr,
    octets: u64,
    span: Duration,
    datagrams: u64,
    lost: u64,
}

impl Served {
    fn tell(&self) {
        let Self {
            protocol,
            peer,
            octets,
            datagrams,
            lost,
            ..
        } = self;
        event!(
            "served",
            "\"protocol\":\"{protocol}\",\"transport\":\"{}\",\"direction\":\"{}\",\
             \"peer\":\"{peer}\",\"octets\":{octets},\"span_us\":{},\"datagrams\":{datagrams},\
             \"lost\":{lost}",
            if self.udp { "udp" } else { "tcp" },
            if self.sent { "sent" } else { "received" },
            self.span.as_micros() as u64,
        );
    }
}

/// Says what a client of iperf 2 did.
pub fn iperf2(it: &iperf2::Finished) {
    Served {
        protocol: "iperf2",
        udp: it.udp,
        sent: it.sent,
        peer: it.peer,
        octets: it.report.octets,
        span: it.report.span,
        datagrams: it.report.datagrams.into(),
        lost: it.report.lost.into(),
    }
    .tell();
}

/// Says what a client of iperf 3 did, each direction by itself.
pub fn iperf3(it: &iperf3::Finished) {
    let tell = |sent: bool, count: Option<Count>| {
        let Some(count) = count else { return };
        Served {
            protocol: "iperf3",
            udp: it.udp,
            sent,
            peer: it.peer,
            octets: count.octets,
            span: count.span,
            datagrams: count.datagrams,
            lost: count.lost,
        }
        .tell();
    };
    tell(false, it.received);
    tell(true, it.sent);
}

/// Says what was fetched or put.
pub fn http(it: &http::Finished) {
    Served {
        protocol: "http",
        udp: false,
        sent: it.sent,
        peer: it.peer,
        octets: it.octets,
        span: it.span,
        datagrams: 0,
        lost: 0,
    }
    .tell();
}

/// Says that a line is no command.
pub fn unknown(line: &str) {
    info!("Not understood: {line}");
    event!("error", "\"what\":\"unknown command\"");
}
