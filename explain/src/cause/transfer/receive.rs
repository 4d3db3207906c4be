//! Limits of a transfer that the device sends, from the receiver's side of this machine's sockets.
//!
//! The receiver sees less than the sender: rate, round trip, its own window, and what arrives out of order. The
//! reasons of the device's waits are not visible; where several remain, none is named.

use super::Limit;
use super::figures::Figures;
use super::path::{self, LossKind, Losses, time};
use crate::cause::scored::evidence;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};

/// Share of this machine's window in flight from which on it is the limit. Linux's automatic tuning keeps it at
/// twice what is in flight.
const FILLED: f64 = 0.75;
/// Linux measures the round trip of a receiver in steps of a millisecond, the clock of its timestamps. A shorter
/// one is not known.
const LEAST_RTT_NS: f64 = 2e6;
/// A sender whose data in flight exceed this has window scaling and a large buffer: its congestion window or its
/// program may be the limit as well.
const LARGE_FLIGHT: f64 = 65_536.0;
/// A fixed amount in flight gives an even rate.
const EVEN: f64 = 0.1;

/// The limit of a transfer from the device.
pub(super) fn limit(figures: &Figures) -> Limit {
    // Within the steps of the clock a queue is not certain, but a standard rate is.
    let is_measured = figures.rtt_ns.is_some_and(|rtt| rtt >= LEAST_RTT_NS);
    let is_certain = |it: &Finding| is_measured || it.evidence.contains_key("standard_bits_per_s");
    if let Some(finding) = path::rate(figures).filter(is_certain) {
        return Limit::Known(finding);
    }
    if let Some(finding) = own_window(figures) {
        return Limit::Known(finding);
    }
    if let Some(losses) = losses(figures) {
        match path::losses(figures, losses) {
            Some(LossKind::Named(finding)) => return Limit::Known(finding),
            Some(LossKind::Unknown(why)) => return Limit::Unknown(why),
            None => {}
        }
        if losses.matter() {
            return Limit::Unknown(
                "segments arrived out of order or were lost, and the path queues; --capture shows which"
                    .to_owned(),
            );
        }
    }
    fixed_flight(figures)
}

/// This machine's window is filled.
fn own_window(figures: &Figures) -> Option<Finding> {
    let (window, in_flight) = (figures.median_window?, figures.in_flight()?);
    let rtt = figures.rtt_ns?;
    let is_known = rtt >= LEAST_RTT_NS && !figures.is_queued();
    (is_known && in_flight >= window * FILLED).then(|| Finding {
        cause: Cause::ReceiveWindow,
        confidence: 0.8,
        summary: format!(
            "This machine's receive window of {} limits the device: {} at a round trip of {} are {} in flight.",
            format::bytes(window as u64),
            format::rate(figures.steady_rate),
            time(rtt),
            format::bytes(in_flight as u64),
        ),
        evidence: evidence([
            ("window_bytes", window),
            ("in_flight_bytes", in_flight),
            ("rtt_ns", rtt),
        ]),
        advice: "Omit -w, or give a larger one; else raise net.ipv4.tcp_rmem.".to_owned(),
    })
}

/// Losses, estimated: each makes the rest of the flight arrive out of order.
fn losses(figures: &Figures) -> Option<Losses> {
    let in_flight = figures.in_flight()? / figures.mss.max(1.0);
    let segments = figures.out_of_order_segments / in_flight.max(1.0);
    Some(Losses {
        segments,
        share: segments / figures.received_segments.max(1.0),
        is_estimated: true,
    })
}

/// The device keeps a fixed amount in flight, although path and window permit more.
fn fixed_flight(figures: &Figures) -> Limit {
    let rate = format::rate(figures.steady_rate);
    let (Some(rtt), Some(min)) = (figures.rtt_ns, figures.min_rtt_ns) else {
        let product = figures.min_rtt_ns.map_or_else(String::new, |min| {
            format!(
                " If the round trip stays at {} during the transfer, the device keeps {} in flight;",
                time(min),
                format::bytes((figures.steady_rate * min / 1e9) as u64)
            )
        });
        return Limit::Unknown(format!(
            "the device sends {rate}, and its connection has no timestamps, so the round trip is unknown.{product} \
             --probe stamp://HOST measures it, --capture shows the device's pauses"
        ));
    };
    let in_flight = figures.in_flight().unwrap_or(0.0);
    let mss = figures.mss.max(1.0);
    let is_even = figures.variation.is_some_and(|it| it <= EVEN);
    if rtt < LEAST_RTT_NS {
        return Limit::Unknown(format!(
            "the device sends {rate}, without losses and with {} of this machine's window free: less than the path and \
             the window permit. The round trip is too short to tell its buffer from its processor; `linerate sweep` \
             and a capture at the device decide",
            free(figures, in_flight),
        ));
    }
    let facts = evidence([
        ("in_flight_bytes", in_flight),
        ("rtt_ns", rtt),
        ("min_rtt_ns", min),
        ("rate_bytes_per_s", figures.steady_rate),
    ]);
    let product = format!(
        "{} at a round trip of {} are {} in flight",
        format::rate(figures.steady_rate / figures.connections.max(1) as f64),
        time(rtt),
        format::bytes(in_flight as u64)
    );
    if is_even && in_flight <= 1.3 * mss && in_flight >= 0.5 * mss {
        return Limit::Known(Finding {
            cause: Cause::OneInFlight,
            confidence: 0.8,
            summary: format!(
                "The device sends one segment per round trip: {product}, and a segment has {}.",
                format::bytes(mss as u64)
            ),
            evidence: facts,
            advice: "Let the device send more before it waits: a larger send buffer (lwIP: TCP_SND_BUF, \
                     TCP_SND_QUEUELEN), writes of more than one segment, no wait for each write."
                .to_owned(),
        });
    }
    if is_even && in_flight <= LARGE_FLIGHT && !figures.is_queued() {
        return Limit::Known(Finding {
            cause: Cause::SendBuffer,
            confidence: 0.75,
            summary: format!(
                "The device keeps a fixed amount in flight, less than the path and this machine's window permit: \
                 {product}, with {} of the window free and no losses. This is its send buffer, or the limit of its own \
                 window.",
                free(figures, in_flight),
            ),
            evidence: facts,
            advice:
                "Enlarge the device's send buffer (lwIP: TCP_SND_BUF and TCP_SND_QUEUELEN; Linux: \
                     net.ipv4.tcp_wmem, SO_SNDBUF), or shorten the round trip."
                    .to_owned(),
        });
    }
    Limit::Unknown(format!(
        "the device sends less than the path and this machine's window permit: {product}. Whether its program, its \
         congestion window or its buffer is the limit, a capture (--capture) or one at the device decides"
    ))
}

/// Free part of this machine's window.
fn free(figures: &Figures, in_flight: f64) -> String {
    figures.window.map_or_else(
        || "an unknown share".to_owned(),
        |window| format::percent((1.0 - in_flight / window.max(1.0)).max(0.0)),
    )
}
