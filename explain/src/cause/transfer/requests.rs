//! Times before the payload: the handshake, and the answer to a request.

use super::path::time;
use crate::cause::scored::evidence;
use linerate_results::format;
use linerate_results::record::{Cause, Direction, Finding, TcpConnection};
use linerate_results::stats;

/// From this share of the time on, waiting for answers is the limit.
const MAIN_SHARE: f64 = 0.3;
/// A handshake that takes this many times the shortest round trip is slow; and by how much at least, as this
/// machine's scheduling also adds to it.
const SLOW: f64 = 5.0;
const SLOW_NS: f64 = 10e6;
/// The first retransmission of a SYN (RFC 6298 section 2): a SYN, or its answer, was lost.
const RETRANSMISSION_NS: f64 = 900e6;

/// Time from the end of a request to the first octet of its answer beyond a round trip, and the time of the whole
/// exchange.
fn think(connection: &TcpConnection) -> Option<(f64, f64)> {
    let asked = connection.request_end_ns?;
    let answered = connection.first_read_ns?;
    let rtt = shortest(connection)?;
    let waited = answered.saturating_sub(asked) as f64;
    let all = connection.ended_ns.saturating_sub(connection.opened_ns)
        + connection.connect_ns.unwrap_or(0);
    Some(((waited - rtt).max(0.0), all as f64))
}

fn shortest(connection: &TcpConnection) -> Option<f64> {
    let known = connection.samples.iter().map(|it| it.min_rtt_ns);
    known.filter(|ns| *ns > 0).min().map(|ns| ns as f64)
}

/// The device takes its time to answer requests.
pub(super) fn server_think_time(
    connections: &[TcpConnection],
    direction: Direction,
) -> Option<Finding> {
    let downloads = connections
        .iter()
        .filter(|it| direction == Direction::FromDevice && it.direction == direction);
    let times: Vec<(f64, f64)> = downloads.filter_map(think).collect();
    let (waited, all) = times
        .iter()
        .fold((0.0, 0.0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    let share = stats::ratio(waited, all);
    let mean = stats::ratio(waited, times.len() as f64);
    (share >= MAIN_SHARE && mean >= SLOW_NS).then(|| Finding {
        cause: Cause::ServerThinkTime,
        confidence: 0.9,
        summary: format!(
            "The device takes {} from a request to the first octet of its answer, beyond the round trip: {} of the time \
             of {} {}.",
            time(mean),
            format::percent(share),
            format::count(times.len() as u64),
            if times.len() == 1 { "request" } else { "requests" },
        ),
        evidence: evidence([
            ("think_time_ns", mean),
            ("share_of_time", share),
            ("requests", times.len() as f64),
        ]),
        advice: "Profile the device's server: what it computes, opens or reads before the first octet of its answer."
            .to_owned(),
    })
}

/// The first packet after idle takes longer than those that follow, or each handshake does.
pub(super) fn slow_handshake(connections: &[TcpConnection]) -> Option<Finding> {
    let times: Vec<(f64, f64)> = connections
        .iter()
        .filter_map(|it| Some((it.connect_ns? as f64, shortest(it)?)))
        .collect();
    let usual = times.iter().map(|it| it.1).min_by(f64::total_cmp)?;
    let is_slow = |ns: f64| ns >= usual * SLOW && ns - usual >= SLOW_NS;
    let slow = times.iter().filter(|it| is_slow(it.0)).count();
    let longest = times.iter().map(|it| it.0).max_by(f64::total_cmp)?;
    if slow == 0 {
        return None;
    }
    let facts = evidence([
        ("handshake_ns", longest),
        ("min_rtt_ns", usual),
        ("slow_handshakes", slow as f64),
        ("handshakes", times.len() as f64),
    ]);
    if longest >= RETRANSMISSION_NS {
        return Some(Finding {
            cause: Cause::SlowHandshake,
            confidence: 0.85,
            summary: format!(
                "A connection took {} to open at a round trip of {}: the request or its answer was lost and repeated \
                 after a second.",
                time(longest),
                time(usual),
            ),
            evidence: facts,
            advice: "Look for losses of the first packets: address resolution, a full listen queue, a link that comes up."
                .to_owned(),
        });
    }
    // With several connections, a slow server delays each of them.
    let is_first_only = times.len() == 1 || slow * 2 < times.len();
    let (cause, confidence) = if is_first_only {
        (
            Cause::WakeUpLatency,
            if times.len() == 1 { 0.6 } else { 0.8 },
        )
    } else {
        (Cause::SlowHandshake, 0.7)
    };
    let summary = if is_first_only {
        format!(
            "The first packet after idle was answered after {}, those that follow after {}: the device, or a station on \
             the path, sleeps when idle.",
            time(longest),
            time(usual),
        )
    } else {
        format!(
            "{slow} of {} connections took up to {} to open, at a round trip of {}.",
            times.len(),
            time(longest),
            time(usual),
        )
    };
    Some(Finding {
        cause,
        confidence,
        summary,
        evidence: facts,
        advice: if is_first_only {
            "Check power saving: Wi-Fi power save, Energy-Efficient Ethernet (IEEE 802.3az), sleep modes of the \
             processor."
        } else {
            "Check the device's listen queue and what it does before it accepts."
        }
        .to_owned(),
    })
}
