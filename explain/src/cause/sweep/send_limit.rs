//! Loads that this machine did not offer although it was to.

use crate::cause::scored::{Weighed, evidence};
use crate::series::load::{Point, TOLERANCE};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// Rates of Ethernet, bits a second.
const LINES: [f64; 6] = [10e6, 100e6, 1e9, 2.5e9, 5e9, 10e9];
/// From this share of a line's rate on, the line is full.
const FULL: f64 = 0.97;
/// Clocks differ, and a trial begins with full queues.
const ABOVE: f64 = 1.01;

/// `points` of a load sweep to the device.
pub(super) fn look(points: &[Point], payload_bytes: u64) -> Option<Weighed> {
    let unsent = points.iter().find(|it| !it.is_sent())?;
    // What arrives of the most that was sent the device can take, whatever went wrong with less.
    let fastest = points.iter().max_by(|a, b| a.sent.total_cmp(&b.sent))?;
    let most = fastest.sent;
    if fastest.arrived < 1.0 - TOLERANCE || fastest.is_sent() || is_line(most, payload_bytes) {
        return None;
    }
    let last = points.last()?;
    Some(Weighed {
        weight: 1.0 - stats::ratio(most, last.offered).min(1.0),
        finding: Finding {
            cause: Cause::HostSendLimit,
            confidence: 0.7,
            summary: format!(
                "This machine sent no more than {} of the {} that it was to send, and all of that arrived: the limit \
                 is its own, and the device's lies beyond.",
                format::bit_rate(most),
                format::bit_rate(last.offered),
            ),
            evidence: evidence([
                ("most_sent_bytes_per_s", most),
                ("unsent_from_bytes_per_s", unsent.offered),
                ("most_offered_bytes_per_s", last.offered),
            ]),
            advice: "Look at this machine first: its adapter's speed and pause frames (ethtool, ethtool -S), other \
                     programs, the processor's clock; larger datagrams take fewer calls. Only what loses shows the \
                     device's knee."
                .into(),
        },
    })
}

/// Whether datagrams at this rate fill an Ethernet line, with all headers, preambles and gaps.
fn is_line(bytes_per_s: f64, payload_bytes: u64) -> bool {
    const IP: u64 = 20;
    const UDP: u64 = 8;
    const FRAME: u64 = 18 + 20;
    const MTU: u64 = 1_500;
    const LEAST: u64 = 46;
    let frames = (payload_bytes + UDP).div_ceil(MTU - IP);
    let octets = (payload_bytes + UDP + frames * IP).max(LEAST) + frames * FRAME;
    let wire = bytes_per_s * 8.0 * octets as f64 / payload_bytes.max(1) as f64;
    LINES
        .iter()
        .any(|line| (line * FULL..=line * ABOVE).contains(&wire))
}
