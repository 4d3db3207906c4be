//! Loads that this machine failed to offer.

use crate::cause::scored::{ScoredFinding, evidence};
use crate::series::load::{Point, TOLERANCE};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Ethernet line rates, bits per second.
const LINE_RATES: [f64; 6] = [10e6, 100e6, 1e9, 2.5e9, 5e9, 10e9];
/// From this share of the line rate on, the line is full.
const FULL: f64 = 0.97;
/// Clocks differ, and a trial begins with full queues.
const MAX_EXCESS: f64 = 1.01;

/// Evaluates the `points` of a load sweep to the device.
pub(super) fn evaluate(points: &[Point], payload_bytes: u64) -> Option<ScoredFinding> {
    let unsent = points.iter().find(|it| !it.is_fully_sent())?;
    // If the fastest load arrives, the device can receive it, whatever went wrong at lower loads.
    let fastest = points.iter().max_by(|a, b| a.sent.total_cmp(&b.sent))?;
    let most = fastest.sent;
    if fastest.arrived < 1.0 - TOLERANCE
        || fastest.is_fully_sent()
        || is_line_rate(most, payload_bytes)
    {
        return None;
    }
    let last = points.last()?;
    Some(ScoredFinding {
        weight: 1.0 - stats::ratio(most, last.offered).min(1.0),
        finding: Finding {
            cause: Cause::HostSendLimit,
            confidence: 0.7,
            summary: format!(
                "This machine sent only {} of the {} requested, and all of it arrived: this machine is the limit, \
                 not the device.",
                format::bit_rate(most),
                format::bit_rate(last.offered),
            ),
            evidence: evidence([
                ("most_sent_bytes_per_s", most),
                ("unsent_from_bytes_per_s", unsent.offered),
                ("most_offered_bytes_per_s", last.offered),
            ]),
            advice: "Check this machine first: its adapter's speed and pause frames (ethtool, ethtool -S), other \
                     programs, the processor's clock; larger datagrams need fewer calls. Only a load that causes \
                     loss shows the device's knee."
                .into(),
        },
    })
}

/// True if datagrams at this rate fill an Ethernet line, with all headers, preambles and gaps.
fn is_line_rate(bytes_per_s: f64, payload_bytes: u64) -> bool {
    const IP: u64 = 20;
    const UDP: u64 = 8;
    const FRAME: u64 = 18 + 20;
    const MTU: u64 = 1_500;
    const MIN_PAYLOAD: u64 = 46;
    let frames = (payload_bytes + UDP).div_ceil(MTU - IP);
    let octets = (payload_bytes + UDP + frames * IP).max(MIN_PAYLOAD) + frames * FRAME;
    let wire = bytes_per_s * 8.0 * octets as f64 / payload_bytes.max(1) as f64;
    LINE_RATES
        .iter()
        .any(|line| (line * FULL..=line * MAX_EXCESS).contains(&wire))
}
