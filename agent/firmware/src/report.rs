//! Console reports of completed tests.

use crate::console::{event, info};
use core::fmt::Write;
use core::net::SocketAddr;
use core::time::Duration;
use linerate_agent::burner::{Burner, Load};
use linerate_agent::iperf3::Count;
use linerate_agent::{Instant, http, iperf2, iperf3};
use linerate_nic::device::LinkState;

/// Counters of a test, which both ends should agree on.
struct ServedTest {
    protocol: &'static str,
    udp: bool,
    sent: bool,
    peer: SocketAddr,
    octets: u64,
    span: Duration,
    datagrams: u64,
    lost: u64,
}

impl ServedTest {
    fn print(&self, to: &mut impl Write) {
        let Self {
            protocol,
            peer,
            octets,
            datagrams,
            lost,
            ..
        } = self;
        event(
            to,
            "served",
            format_args!(
                "\"protocol\":\"{protocol}\",\"transport\":\"{}\",\"direction\":\"{}\",\
                 \"peer\":\"{peer}\",\"octets\":{octets},\"span_us\":{},\"datagrams\":{datagrams},\
                 \"lost\":{lost}",
                if self.udp { "udp" } else { "tcp" },
                if self.sent { "sent" } else { "received" },
                self.span.as_micros() as u64,
            ),
        );
    }
}

/// Reports a test of an iperf 2 client.
pub fn iperf2(to: &mut impl Write, it: &iperf2::Finished) {
    ServedTest {
        protocol: "iperf2",
        udp: it.udp,
        sent: it.sent,
        peer: it.peer,
        octets: it.report.octets,
        span: it.report.span,
        datagrams: it.report.datagrams.into(),
        lost: it.report.lost.into(),
    }
    .print(to);
}

/// Reports a test of an iperf 3 client, each direction separately.
pub fn iperf3(to: &mut impl Write, it: &iperf3::Finished) {
    let directions: [(bool, Option<Count>); 2] = [(false, it.received), (true, it.sent)];
    for (sent, count) in directions {
        let Some(count) = count else { continue };
        ServedTest {
            protocol: "iperf3",
            udp: it.udp,
            sent,
            peer: it.peer,
            octets: count.octets,
            span: count.span,
            datagrams: count.datagrams,
            lost: count.lost,
        }
        .print(to);
    }
}

/// Reports a download or an upload.
pub fn http(to: &mut impl Write, it: &http::Finished) {
    ServedTest {
        protocol: "http",
        udp: false,
        sent: it.sent,
        peer: it.peer,
        octets: it.octets,
        span: it.span,
        datagrams: 0,
        lost: 0,
    }
    .print(to);
}

/// Reports the CPU load since it was set.
pub fn burned(to: &mut impl Write, burner: &Burner, now: Instant) {
    let burned = burner.burned(now);
    let (what, share) = match burned.load {
        Load::None => ("none", 0),
        Load::Share(share) => ("share", share),
        Load::Spare => ("spare", 0),
    };
    event(
        to,
        "burned",
        format_args!(
            "\"load\":\"{what}\",\"share_thousandths\":{share},\"burned_thousandths\":{},\
             \"span_us\":{},\"cpu_us\":{},\"missed_us\":{}",
            burned.thousandths(),
            burned.span.as_micros() as u64,
            burned.cpu.as_micros() as u64,
            burned.missed.as_micros() as u64,
        ),
    );
}

/// Reports the link state.
pub fn link(to: &mut impl Write, link: LinkState) {
    let state = match link {
        LinkState::Up => "up",
        LinkState::Down => "down",
    };
    event(to, "link", format_args!("\"state\":\"{state}\""));
}

/// Reports whether frames are received.
pub fn held(to: &mut impl Write, is_held: bool) {
    event(to, "hold", format_args!("\"on\":{is_held}"));
}

/// Reports whether the device is stopped.
pub fn device(to: &mut impl Write, is_stopped: bool) {
    event(to, "device", format_args!("\"stopped\":{is_stopped}"));
}

/// Reports an unknown command.
pub fn unknown(to: &mut impl Write, line: &str) {
    info(to, format_args!("Not understood: {line}"));
    event(to, "error", format_args!("\"what\":\"unknown command\""));
}
