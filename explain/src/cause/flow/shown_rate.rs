//! The sentence about a path that is full: at which rate, and what sets it.

use super::facts::{CommonHosts, FlowFacts, SharedRate};
use super::rate::full_line;
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::Limit;
use linerate_capture::tcp::End;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;
use std::collections::BTreeMap;

/// A host answers within this time if nothing lies between it and the capture point.
const BESIDE_NS: u64 = 300_000;

/// The rate of a path that is full.
pub(super) struct ShownRate {
    /// Octets of payload per second.
    bytes_per_s: f64,
    /// The same on an Ethernet wire, bit/s.
    wire_bits_per_s: f64,
    /// Rate of the line that is full, bit/s.
    line: Option<f64>,
    /// Share of the time in which the path is full.
    share: f64,
    /// Nothing shows whether the path or the sender sets the rate.
    is_steady: bool,
}

impl ShownRate {
    pub(super) fn of(facts: &FlowFacts<'_>, share: f64, is_steady: bool) -> Option<Self> {
        let average = |it: f64| it * facts.model.utilization.min(1.0);
        let own = if facts.fills_together {
            // What is acknowledged in bursts seems to pass faster than on any path.
            0.0
        } else {
            facts.model.busy_rate.or(facts.fastest().map(average))?
        };
        // The path is at least as fast as this connection on average.
        let shared = facts.shared.map_or(0.0, |it| it.bytes_per_s);
        let rate = own.max(shared).max(facts.acknowledged_rate());
        // The rate of a line does not vary.
        let line = full_line(facts, rate).filter(|_| !facts.model.is_varying);
        let bytes_per_s = match line {
            // Jitter makes the fastest part faster than the line.
            Some(line) => rate.min(line / 8.0 / facts.wire_factor()),
            None => rate.max(facts.goodput()),
        };
        Some(Self {
            bytes_per_s,
            wire_bits_per_s: bytes_per_s * 8.0 * facts.wire_factor(),
            line,
            share,
            is_steady,
        })
    }

    pub(super) fn rule(&self, facts: &FlowFacts<'_>) -> Rule {
        let (cause, summary, advice) = self.sentence(facts);
        Rule {
            share: self.share,
            cause,
            confidence: if self.is_steady { 0.45 } else { 0.9 },
            summary,
            advice,
            evidence: self.figures(facts),
            limits: &[Limit::PathRate],
            has_gain: false,
        }
    }

    fn figures(&self, facts: &FlowFacts<'_>) -> BTreeMap<String, f64> {
        let mut figures = evidence([
            ("path_busy_share", self.share),
            ("fastest_bytes_per_s", self.bytes_per_s),
            ("wire_bits_per_s", self.wire_bits_per_s),
        ]);
        let mut add = |name: &str, value: f64| figures.insert(name.to_owned(), value);
        if let Some(line) = self.line {
            add("line_bits_per_s", line);
        }
        if let Some((p50, p90)) = facts.model.queue_ns {
            add("queue_ns_p50", p50 as f64);
            add("queue_ns_p90", p90 as f64);
        }
        match facts.shared {
            Some(shared) if shared.connections > 1 => {
                add("connections", shared.connections as f64);
            }
            None if facts.model.is_varying => {
                add("is_varying", 1.0);
            }
            _ => {}
        }
        figures
    }

    /// "For 90% of the time segments pass at ..."
    fn passed_text(&self, facts: &FlowFacts<'_>) -> String {
        format!(
            "For {} of the time {} {} of payload ({:.2} Mbit/s on an Ethernet wire)",
            format::percent(self.share),
            what_passes(facts),
            format::rate(self.bytes_per_s),
            self.wire_bits_per_s / 1e6,
        )
    }

    /// Cause, summary, advice.
    fn sentence(&self, facts: &FlowFacts<'_>) -> (Cause, String, String) {
        let passed = self.passed_text(facts);
        let queued = match facts.model.queue_ns {
            Some((p50, _)) if facts.model.is_queued => {
                format!(", and wait {} in a queue before it", format::time(p50))
            }
            _ => String::new(),
        };
        if let Some(line) = self.line {
            let line = format::count((line / 1e6) as u64);
            return (
                Cause::AtLineRate,
                format!("{passed}{queued}: a line of {line} Mbit/s is full."),
                "No change at the ends helps: only a faster line, or less to send.".to_owned(),
            );
        }
        if let Some(wait_ns) = shaper_wait_ns(facts, self.bytes_per_s) {
            return (
                Cause::HostPacing,
                format!(
                    "{passed}. They wait {} (median) before the capture point, beside {}, where the first ones passed at once: a shaper \
                     of that host sets this rate.",
                    format::time(wait_ns),
                    facts.sender
                ),
                "Check the sending host first: a shaper (tc qdisc), a limit of its container or virtual machine, \
                 SO_MAX_PACING_RATE."
                    .to_owned(),
            );
        }
        if self.is_steady {
            return (
                Cause::PathRate,
                format!(
                    "{passed}. Either a link before {} is full, or {} paces its segments.",
                    facts.receiver, facts.sender
                ),
                "A capture at the sender decides between the two: with a full link, round trips there are longer than the \
                 handshake's."
                    .to_owned(),
            );
        }
        (
            Cause::PathRate,
            format!(
                "{passed}{queued}: the slowest link, shaper or adapter {} is full.",
                place(facts)
            ),
            "No change of windows or of the sending program helps. Find the slowest link: negotiated speed and duplex \
             (ethtool), a shaper (tc), a bus or radio of this rate."
                .to_owned(),
        )
    }
}

/// What passes at the rate of a path, up to the rate.
fn what_passes(facts: &FlowFacts<'_>) -> String {
    match facts.shared {
        Some(SharedRate { connections: 1, .. }) => {
            "segments pass evenly while the other direction is in use, too,".to_owned()
        }
        Some(shared) => {
            let hosts = match shared.common {
                CommonHosts::Both => "between the same hosts".to_owned(),
                CommonHosts::Receiver => format!("to {}", facts.receiver),
                CommonHosts::Sender => format!("from {}", facts.sender),
            };
            format!(
                "{} connections {hosts} fill the path together with",
                format::count(shared.connections as u64)
            )
        }
        None if facts.model.is_varying => {
            "segments wait for a path whose rate varies, on average".to_owned()
        }
        None => "segments pass at the fastest rate that the path shows,".to_owned(),
    }
}

/// Median time that segments wait within their sender's host, at this rate of payload, octets per second: the capture point is beside it,
/// and a segment passed sooner than a link of that rate passes it.
fn shaper_wait_ns(facts: &FlowFacts<'_>, bytes_per_s: f64) -> Option<u64> {
    let model = &facts.model;
    let to_sender = &model.to_sender;
    let wait_ns = to_sender.queue_ns(50)?;
    let waits_there = model.is_queued && model.queue_ns == Some((wait_ns, to_sender.queue_ns(90)?));
    // A router between them may hold the segments as well.
    let is_routed = model.routers_to_sender.is_some_and(|it| it > 0);
    let is_beside = to_sender.base_ns()? < BESIDE_NS && !model.is_near_receiver() && !is_routed;
    let segment_ns = stats::ratio(facts.full as f64 * 1e9, bytes_per_s) as u64;
    let passed_at_once = to_sender.percentile(0)? < segment_ns / 2
        || first_data_ns(facts).is_some_and(|ns| ns < segment_ns / 2);
    (waits_there && is_beside && passed_at_once && facts.shared.is_none()).then_some(wait_ns)
}

/// Time from the last packet of the handshake to the first data, if one end sends both: a link that is slow passes the former much sooner.
fn first_data_ns(facts: &FlowFacts<'_>) -> Option<u64> {
    let connection = facts.connection();
    let opened_ns = connection
        .handshake()
        .ack_ns?
        .checked_sub(connection.start_ns)?;
    let first = facts.model.view.sent.first()?;
    let is_of_client = facts.model.data_sender == End::First;
    first
        .time_ns
        .checked_sub(opened_ns)
        .filter(|_| is_of_client && u64::from(first.len) >= facts.full)
}

/// Where a full link is, in words: in the part of the path that transfers which fill it together have in common.
fn place(facts: &FlowFacts<'_>) -> String {
    let (sender, receiver) = (&facts.sender, &facts.receiver);
    match facts.shared.map(|it| it.common) {
        None | Some(CommonHosts::Both) => format!("between {sender} and {receiver}"),
        Some(CommonHosts::Receiver) => format!("on the way to {receiver}"),
        Some(CommonHosts::Sender) => format!("on the way from {sender}"),
    }
}
