//! More datagrams are sent than the path carries.
//!
//! A full queue sends at the rate of its link, so the datagrams behind it are equally spaced, whether some are missing
//! between them or not. A policer has no queue, but passes a fixed share. Losses by chance do neither: a missing
//! datagram leaves its time empty, and the number of losses varies as in a lottery (binomial distribution).

use crate::cause::scored::evidence;
use linerate_capture::udp::{Stream, Tool};
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// A smaller loss does not show a pattern, and nobody notices it.
const MIN_LOSS: f64 = 0.01;
/// Fewer gaps may be even by chance.
const MIN_GAPS: u64 = 20;
/// With one datagram missing, the time between its neighbors is twice that of others if it left its time empty.
const MAX_STRETCH: f64 = 1.4;
/// Equal spacing: the ninetieth percentile of interarrival times in relation to the tenth.
const MAX_SPREAD: f64 = 1.3;
/// Share of the time in which the path must be full.
const MIN_BUSY: f64 = 0.75;
/// Losses vary by less than this part of the variance of losses by chance.
const MAX_DISPERSION: f64 = 0.25;

/// By numbers that a host skips by chance it is a third of it (Linux, for datagrams at one distance).
const MAX_DISPERSION_OF_IDENTIFIED: f64 = 0.1;

/// How the path limits a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    /// A queue before a slow link is full.
    Queue,
    /// A policer drops what exceeds its rate.
    Policer,
}

/// The finding, if the path's rate is the reason for the stream's losses, with the share lost.
pub(super) fn above_path(stream: &Stream) -> Option<(f64, Finding)> {
    let share = stats::ratio(stream.lost() as f64, stream.sent() as f64);
    if share < MIN_LOSS || stream.gap_count < MIN_GAPS {
        return None;
    }
    let is_identified = stream.tool == Tool::Identification;
    let limit = limit(stream)?;
    if is_identified && !(limit == Limit::Queue && is_even(stream) && loses_evenly(stream)) {
        return None;
    }
    let seconds = stream.duration().as_secs_f64();
    let path = stats::ratio(stream.payload_bytes() as f64, seconds);
    let offered = path / (1.0 - share);
    let (place, confidence) = match limit {
        Limit::Queue if is_identified => (
            "they arrive equally spaced, at the rate of a full link (counted by the identifications of IPv4 packets that are \
             missing, as if the sender sent nothing elsewhere)",
            0.6,
        ),
        Limit::Queue => (
            "they arrive equally spaced, at the rate of a full link",
            0.9,
        ),
        Limit::Policer => (
            "the share that is lost hardly varies, as behind a policer",
            0.8,
        ),
    };
    let finding = Finding {
        cause: Cause::AbovePathRate,
        confidence,
        summary: format!(
            "{} sends {} of payload, the path carries {}: {} of {} datagrams ({}) are lost; {place}.",
            if stream.tool.is_named() {
                stream.tool.name()
            } else {
                "The sender"
            },
            format::bit_rate(offered),
            format::bit_rate(path),
            format::count(stream.lost()),
            format::count(stream.sent()),
            format::percent(share),
        ),
        evidence: evidence([
            ("offered_bytes_per_s", offered),
            ("path_bytes_per_s", path),
            ("lost_datagrams", stream.lost() as f64),
            ("sent_datagrams", stream.sent() as f64),
            ("holes", stream.gap_count as f64),
        ]),
        advice: format!(
            "Send at most {}{}: what exceeds the rate of the path is lost and helps nobody.",
            format::bit_rate(path),
            if stream.tool.is_iperf() {
                " (iperf -b)"
            } else {
                ""
            },
        ),
    };
    Some((share, finding))
}

/// True if nine in ten datagrams come at one distance.
fn is_even(stream: &Stream) -> bool {
    let of = |percent| stream.gaps.percentile(percent).unwrap_or(0) as f64;
    of(90.0) <= MAX_SPREAD * of(10.0)
}

/// True if the share that is lost hardly varies: a full queue loses what exceeds its rate. A host that skips numbers by chance (Linux,
/// for packets that may be fragmented) does not.
fn loses_evenly(stream: &Stream) -> bool {
    let dispersion = stream.loss_dispersion();
    let most = if stream.tool == Tool::Identification {
        MAX_DISPERSION_OF_IDENTIFIED
    } else {
        MAX_DISPERSION
    };
    dispersion.is_some_and(|it| it <= most)
}

fn limit(stream: &Stream) -> Option<Limit> {
    if is_equally_spaced(stream) {
        return Some(Limit::Queue);
    }
    loses_evenly(stream).then_some(Limit::Policer)
}

/// True if the datagrams leave a queue that is never empty.
fn is_equally_spaced(stream: &Stream) -> bool {
    let [with, without] = &stream.gaps_by_loss;
    let gaps = if without.count() >= MIN_GAPS.max(with.count() / 10) {
        without
    } else {
        &stream.gaps
    };
    let of = |percent| gaps.percentile(percent).unwrap_or(0) as f64;
    let stretch = stats::ratio(with.percentile(50.0).unwrap_or(0) as f64, of(50.0));
    let is_spaced = if without.count() >= MIN_GAPS.max(with.count() / 10) {
        stretch > 0.0 && stretch <= MAX_STRETCH
    } else {
        is_even(stream)
    };
    let busy = stats::ratio(
        of(50.0) * stream.gaps.count() as f64,
        stream.duration().as_nanos() as f64,
    );
    is_spaced && busy >= MIN_BUSY
}
