//! `linerate serve`.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use linerate_host::serve::{
    self, Limits, Protocol, ServeConfig, ServeEvent, ServedTransfer, TransferDirection,
};
use linerate_results::format;

use super::stop_on_ctrl_c;
use crate::args::{self, Served};
use crate::failure::Failure;
use crate::lines::Lines;

pub fn run(args: &args::Serve) -> Result<(), Failure> {
    let links: Vec<&String> = args.served.iter().filter_map(link).collect();
    match (&links[..], args.served.len()) {
        ([], _) => {}
        ([url], 1) => return super::serve_link::run(args, url),
        _ => return Err(anyhow!("a byte link is served alone: start one command for each").into()),
    }
    let config = config(args)?;
    let stopped = stop_on_ctrl_c()?;
    let until = args
        .seconds
        .map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let stop = || {
        let over = until.is_some_and(|until| Instant::now() >= until);
        over || stopped.load(Ordering::Relaxed)
    };
    message!("{}", accepted_clients(&config));
    let mut serving = 0;
    let mut failed = None;
    let dropped = if args.json {
        |count| format!("{{\"dropped_lines\":{count}}}\n")
    } else {
        |count| format!("{count} lines were dropped: stdout was not read\n")
    };
    let lines = Lines::new(std::io::stdout(), dropped)?;
    serve::serve(&config, &stop, |event| match event {
        ServeEvent::Listening(protocol, port) => {
            serving += 1;
            message!("{protocol} on {}:{port}", config.address);
        }
        ServeEvent::Served(served) => lines.push(line(&served, args.json)),
        ServeEvent::Failed(protocol, error) => {
            message!("{protocol} failed: {error}");
            failed = Some(error);
        }
    });
    if let Some(count) = lines.finish() {
        message!("{count} lines were not printed: stdout was not read");
    }
    match failed {
        Some(error) if serving == 0 => Err(anyhow::Error::new(error).into()),
        _ => Ok(()),
    }
}

fn link(served: &Served) -> Option<&String> {
    match served {
        Served::Link(url) => Some(url),
        Served::Protocol(..) => None,
    }
}

fn config(args: &args::Serve) -> Result<ServeConfig, Failure> {
    let asked: Vec<(Protocol, Option<u16>)> = if args.served.is_empty() {
        let all = Protocol::ALL.into_iter();
        all.map(|protocol| (protocol, None)).collect()
    } else {
        let protocols = args.served.iter().filter_map(|served| match served {
            Served::Protocol(protocol, port) => Some((*protocol, *port)),
            Served::Link(_) => None,
        });
        protocols.collect()
    };
    let mut protocols = Vec::new();
    for (protocol, port) in asked {
        if protocols.iter().any(|(other, _)| *other == protocol) {
            return Err(anyhow!("{protocol} is given more than once").into());
        }
        let (standard, unprivileged) = protocol.ports();
        let port = port.unwrap_or(if args.standard_ports {
            standard
        } else {
            unprivileged
        });
        protocols.push((protocol, port));
    }
    Ok(ServeConfig {
        address: args.bind,
        protocols,
        clients: usize::from(args.clients),
        limits: Limits {
            // Requests on loopback cannot come from other hosts.
            sends_datagrams: args.udp_on_request || args.bind.is_loopback(),
            ..Limits::default()
        },
    })
}

/// Sentence that describes which clients can connect.
fn accepted_clients(config: &ServeConfig) -> String {
    let (address, clients) = (config.address, config.clients);
    let whom = if address.is_loopback() {
        "this host only (--bind 0.0.0.0 serves other hosts)".to_owned()
    } else if address.is_unspecified() {
        "on all addresses".to_owned()
    } else {
        format!("on {address}")
    };
    let udp = if config.limits.sends_datagrams {
        ""
    } else {
        "; no UDP on request (enable with --udp-on-request)"
    };
    format!("serving {whom}; up to {clients} connections per protocol{udp}; press Ctrl-C to stop")
}

fn line(served: &ServedTransfer, json: bool) -> String {
    let line = if json {
        let text = serde_json::to_string(served);
        text.unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
    } else {
        sentence(served)
    };
    format!("{line}\n")
}

fn sentence(served: &ServedTransfer) -> String {
    let (what, way) = match served.direction {
        TransferDirection::Received => ("received", "from"),
        TransferDirection::Sent => ("sent", "to"),
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
