//! `linerate serve`.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use linerate_host::serve::{self, Direction, Event, Limits, Order, Protocol, Served};
use linerate_results::format;

use super::stop_on_ctrl_c;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Serve) -> Result<(), Failure> {
    let order = order(args)?;
    let stopped = stop_on_ctrl_c()?;
    let until = args
        .seconds
        .map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let stop = || {
        let over = until.is_some_and(|until| Instant::now() >= until);
        over || stopped.load(Ordering::Relaxed)
    };
    eprintln!("{}", reach(&order));
    let mut serving = 0;
    let mut failed = None;
    serve::serve(&order, &stop, |event| match event {
        Event::Listening(protocol, port) => {
            serving += 1;
            eprintln!("{protocol} on {}:{port}", order.address);
        }
        Event::Served(served) => tell(&served, args.json),
        Event::Failed(protocol, error) => {
            eprintln!("{protocol} is not served: {error}");
            failed = Some(error);
        }
    });
    match failed {
        Some(error) if serving == 0 => Err(anyhow::Error::new(error).into()),
        _ => Ok(()),
    }
}

fn order(args: &args::Serve) -> Result<Order, Failure> {
    let asked = if args.protocols.is_empty() {
        let all = Protocol::ALL.into_iter();
        all.map(|protocol| (protocol, None)).collect()
    } else {
        args.protocols.clone()
    };
    let mut protocols = Vec::new();
    for (protocol, port) in asked {
        if protocols.iter().any(|(other, _)| *other == protocol) {
            return Err(anyhow!("{protocol} is named twice: once is enough").into());
        }
        let (standard, unprivileged) = protocol.ports();
        let port = port.unwrap_or(if args.standard_ports {
            standard
        } else {
            unprivileged
        });
        protocols.push((protocol, port));
    }
    Ok(Order {
        address: args.bind,
        protocols,
        clients: usize::from(args.clients),
        limits: Limits {
            // On loopback no request can come from elsewhere.
            sends_datagrams: args.udp_on_request || args.bind.is_loopback(),
            ..Limits::default()
        },
    })
}

/// Who can be served, as a sentence.
fn reach(order: &Order) -> String {
    let (address, clients) = (order.address, order.clients);
    let whom = if address.is_loopback() {
        "this machine only (--bind 0.0.0.0 serves whoever reaches it)".to_owned()
    } else if address.is_unspecified() {
        "whoever reaches this machine".to_owned()
    } else {
        format!("whoever reaches {address}")
    };
    let udp = if order.limits.sends_datagrams {
        ""
    } else {
        "; no UDP on request (--udp-on-request sends it)"
    };
    format!("serving {whom}; {clients} connections of each protocol at a time{udp}; Ctrl-C ends it")
}

fn tell(served: &Served, json: bool) {
    let line = if json {
        let text = serde_json::to_string(served);
        text.unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
    } else {
        sentence(served)
    };
    // Nobody reads any more: clients are served all the same.
    let _ = output::print(&format!("{line}\n"));
}

fn sentence(served: &Served) -> String {
    let (what, way) = match served.direction {
        Direction::Received => ("received", "from"),
        Direction::Sent => ("sent", "to"),
    };
    let rate = served
        .goodput_bytes_per_s
        .map(|rate| format!(", {}", format::rate(rate)))
        .unwrap_or_default();
    let datagrams = served.datagrams.map_or(String::new(), |it| {
        let counted = it.received.map_or(String::new(), |received| {
            format!(
                ", {} lost, {} out of order, jitter {}",
                received.lost_datagrams,
                received.out_of_order_datagrams,
                format::time(received.jitter_ns),
            )
        });
        format!("; {} datagrams{counted}", it.sent_datagrams)
    });
    format!(
        "{} {} {what} {} {way} {} in {}{rate}{datagrams}",
        served.protocol,
        served.transport,
        format::bytes(served.octets),
        served.peer,
        format::time(served.span_ns),
    )
}
