//! What limits a transfer of `linerate test`, from this machine's own figures: the states of its sockets, the
//! interface, a probe, and a capture if there is one.
//!
//! | module | evaluates |
//! |---|---|
//! | `figures` | the series of the sockets, as figures of one direction |
//! | `line` | the highest rate of the line, standard rates |
//! | `path` | a full path, losses, line rate |
//! | `send`, `receive` | the limit of a direction, by the end that sends |
//! | `requests` | handshake, and time to the first octet of an answer |
//! | `merge` | the findings of a capture |
//!
//! A limit that the figures do not decide is not named: the answer names the measurement that would decide.

mod figures;
mod line;
mod merge;
mod path;
mod receive;
mod requests;
mod send;

use figures::Figures;
use line::duplex;
pub(crate) use line::{Packets, describe as describe_link};
use linerate_results::record::{Direction, Finding, Flow, HostLink, Throughput, Transport};

/// Limit of one direction of a transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferAnswer {
    /// The direction.
    pub direction: Direction,
    /// Highest payload rate on this machine's line, bytes per second; `None` if unknown.
    pub line_bytes_per_s: Option<f64>,
    /// Causes, the limit first. Empty if unknown.
    pub findings: Vec<Finding>,
    /// Why the limit is unknown, and what would decide; empty if it is known.
    pub unknown: String,
}

/// A limit, or what would decide.
enum Limit {
    Known(Finding),
    Unknown(String),
}

/// The limit of each measured direction of a transfer. Findings begin with the direction.
pub fn explain_transfer(result: &Throughput) -> Vec<TransferAnswer> {
    let metrics = &result.metrics;
    let flows = [
        (Direction::ToDevice, &metrics.to_device),
        (Direction::FromDevice, &metrics.from_device),
    ];
    flows
        .into_iter()
        .filter_map(|(direction, flow)| Some(answer(result, direction, flow.as_ref()?)))
        .collect()
}

fn answer(result: &Throughput, direction: Direction, flow: &Flow) -> TransferAnswer {
    let own = match Figures::of(result, direction, flow) {
        Some(figures) => limit(result, &figures),
        None => Limit::Unknown(String::new()),
    };
    let (mut findings, mut unknown) = match own {
        Limit::Known(finding) => (vec![finding], String::new()),
        Limit::Unknown(why) => (Vec::new(), why),
    };
    if result.params.transport == Transport::Tcp
        && let Some(opening) = requests::opening(&result.observation)
    {
        if opening.is_main {
            findings.insert(0, opening.finding);
            unknown.clear();
        } else {
            findings.push(opening.finding);
        }
    }
    merge::add_capture(result, direction, &mut findings, &mut unknown);
    let prefix = prefix(result, direction);
    for finding in &mut findings {
        finding.summary = format!("{prefix}: {}", finding.summary);
    }
    TransferAnswer {
        direction,
        line_bytes_per_s: line::line_rate(result),
        findings,
        unknown,
    }
}

/// The direction, as the start of a sentence.
fn prefix(result: &Throughput, direction: Direction) -> String {
    let to = match direction {
        Direction::FromDevice => "From the device",
        _ => "To the device",
    };
    match result.params.direction {
        Direction::Both => format!("{to} (both at once)"),
        _ => to.to_owned(),
    }
}

fn limit(result: &Throughput, figures: &Figures) -> Limit {
    let observation = &result.observation;
    if let Some(finding) = observation
        .link
        .as_ref()
        .and_then(|link| at_line_rate(figures, link))
    {
        return Limit::Known(finding);
    }
    let connections = &observation.connections;
    if let Some(finding) = requests::server_think_time(connections, figures.direction) {
        return Limit::Known(finding);
    }
    match figures.direction {
        Direction::FromDevice => receive::limit(figures),
        _ => send::limit(figures),
    }
}

fn at_line_rate(figures: &Figures, link: &HostLink) -> Option<Finding> {
    let bits = link.line_bits_per_s? as f64;
    let packets = Packets::tcp(figures.mss, figures.has_timestamps);
    let max = packets.max_rate(bits, duplex(link));
    path::at_line_rate(figures, max, link.is_virtual, &line::describe(link))
}

#[cfg(test)]
mod tests;
