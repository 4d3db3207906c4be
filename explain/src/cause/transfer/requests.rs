//! Times before the payload: the first answer after idle, the handshake, and the answer to a request.

use super::path::time;
use crate::cause::scored::evidence;
use linerate_results::format;
use linerate_results::record::{Cause, Direction, Finding, Observation, TcpConnection};
use linerate_results::stats;

/// From this share of the time on, waiting for answers is the limit.
const MAIN_SHARE: f64 = 0.3;
/// A handshake that takes this many times the shortest round trip is slow; and by how much at least, as this
/// machine's scheduling also adds to it.
const SLOW: f64 = 5.0;
const SLOW_NS: f64 = 10e6;
/// A wait that a person does not notice is not worth a finding (ITU-T G.1010, highly interactive use), unless it is most
/// of a short transfer.
const NOTICED_NS: f64 = 50e6;
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

/// A late first answer, and its part in the transfer.
pub(super) struct Opening {
    pub(super) finding: Finding,
    /// True if waiting for it is the limit of the transfer.
    pub(super) is_main: bool,
}

/// The first packet after idle takes longer than those that follow, or each handshake does.
pub(super) fn opening(observation: &Observation) -> Option<Opening> {
    let connections = &observation.connections;
    let known = connections.iter().filter_map(shortest);
    let usual = known.min_by(f64::total_cmp)?;
    let is_slow = |ns: f64| ns >= usual * SLOW && ns - usual >= SLOW_NS;
    let times: Vec<f64> = connections
        .iter()
        .filter_map(|it| Some(it.connect_ns? as f64))
        .collect();
    let is_slow_one = |it: &&TcpConnection| it.connect_ns.is_some_and(|ns| is_slow(ns as f64));
    let slow: Vec<&TcpConnection> = connections.iter().filter(is_slow_one).collect();
    let waited = waited(&slow, usual);
    let share = stats::ratio(waited, whole(connections));
    let is_main = share >= MAIN_SHARE;
    if is_main || waited >= NOTICED_NS {
        let is_first_only = is_first_only(connections, &slow);
        return Some(Opening {
            finding: slow_handshake(&times, usual, slow.len(), is_first_only, share),
            is_main,
        });
    }
    let idle = observation.idle_round_trip_ns? as f64;
    is_slow(idle).then(|| Opening {
        finding: late_when_idle(idle, usual),
        is_main: false,
    })
}

/// True if the first connection opened slowly and most others did not.
fn is_first_only(connections: &[TcpConnection], slow: &[&TcpConnection]) -> bool {
    let requested = |it: &TcpConnection| it.opened_ns.saturating_sub(it.connect_ns.unwrap_or(0));
    let opened = || connections.iter().filter(|it| it.connect_ns.is_some());
    let first = opened().map(requested).min();
    let is_first = |it: &&&TcpConnection| Some(requested(it)) == first;
    slow.iter().any(|it| is_first(&it)) && slow.len() * 2 <= opened().count().max(2)
}

/// Time in which at least one of the handshakes waited longer than `usual`.
fn waited(slow: &[&TcpConnection], usual: f64) -> f64 {
    let mut spans: Vec<(f64, f64)> = slow
        .iter()
        .map(|it| {
            let end = it.opened_ns as f64;
            (end - it.connect_ns.unwrap_or(0) as f64 + usual, end)
        })
        .collect();
    spans.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut until = f64::NEG_INFINITY;
    let mut sum = 0.0;
    for (start, end) in spans {
        sum += (end - start.max(until)).max(0.0);
        until = until.max(end);
    }
    sum
}

/// Time from the first request for a connection to the end of the last one.
fn whole(connections: &[TcpConnection]) -> f64 {
    let start = |it: &TcpConnection| it.opened_ns as f64 - it.connect_ns.unwrap_or(0) as f64;
    let from = connections.iter().map(start).min_by(f64::total_cmp);
    let to = connections.iter().map(|it| it.ended_ns).max();
    to.unwrap_or(0) as f64 - from.unwrap_or(0.0)
}

const AWAKE: &str = "Check power saving: Wi-Fi power save, Energy-Efficient Ethernet (IEEE 802.3az), sleep modes of the \
                     processor.";

/// A probe without load takes longer than the transfer's round trips.
fn late_when_idle(idle: f64, usual: f64) -> Finding {
    Finding {
        cause: Cause::WakeUpLatency,
        confidence: 0.8,
        summary: format!(
            "Without load even the fastest probe was answered after {}, during the transfer packets are after {}: the \
             device, or a station on the path, sleeps when idle.",
            time(idle),
            time(usual),
        ),
        evidence: evidence([("idle_rtt_ns", idle), ("min_rtt_ns", usual)]),
        advice: AWAKE.to_owned(),
    }
}

/// `slow` of the handshakes took longer than `usual`; waiting for them took `share` of the time.
fn slow_handshake(
    times: &[f64],
    usual: f64,
    slow: usize,
    is_first_only: bool,
    share: f64,
) -> Finding {
    let longest = times.iter().copied().max_by(f64::total_cmp).unwrap_or(0.0);
    let facts = evidence([
        ("handshake_ns", longest),
        ("min_rtt_ns", usual),
        ("slow_handshakes", slow as f64),
        ("handshakes", times.len() as f64),
        ("share_of_time", share),
    ]);
    let part = if share >= MAIN_SHARE {
        format!(
            " Waiting for it took {} of the time.",
            format::percent(share)
        )
    } else {
        String::new()
    };
    if longest >= RETRANSMISSION_NS {
        return Finding {
            cause: Cause::SlowHandshake,
            confidence: 0.85,
            summary: format!(
                "A connection took {} to open at a round trip of {}: the request or its answer was lost and repeated \
                 after a second.{part}",
                time(longest),
                time(usual),
            ),
            evidence: facts,
            advice: "Look for losses of the first packets: address resolution, a full listen queue, a link that comes up."
                .to_owned(),
        };
    }
    // A slow server delays each connection.
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
             the path, sleeps when idle.{part}",
            time(longest),
            time(usual),
        )
    } else {
        format!(
            "{slow} of {} connections took up to {} to open, at a round trip of {}.{part}",
            times.len(),
            time(longest),
            time(usual),
        )
    };
    Finding {
        cause,
        confidence,
        summary,
        evidence: facts,
        advice: if is_first_only {
            AWAKE
        } else {
            "Check the device's listen queue and what it does before it accepts."
        }
        .to_owned(),
    }
}
