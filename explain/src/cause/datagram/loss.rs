//! Findings about UDP streams: loss, its pattern, and reordering.

use super::above_path::above_path;
use crate::cause::packets::insert;
use crate::cause::scored::PathFinding;
use crate::cause::scored::evidence;
use linerate_capture::tcp::{BURST_POSITIONS, poisson_at_most};
use linerate_capture::traffic::UdpStream;
use linerate_capture::udp::Stream;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// A smaller share of the datagrams is not worth a finding.
const MIN_SHARE: f64 = 0.001;
/// Fewer losses may be chance.
const MIN_COUNT: u64 = 3;
/// Sound and pictures bear that fewer come too late (ITU-T G.1010: loss of 1% for interactive video, 3% for conversations).
const MIN_REORDERED: f64 = 0.01;
/// A stream that exceeds that part by chance no more often does exceed it.
const SIGNIFICANCE: f64 = 0.05;
/// Fewer datagrams show no stream.
const MIN_DATAGRAMS: u64 = 32;
/// If this many times as many as arrived are missing in one gap or two, the numbers have another part that changed: a kind of message,
/// say. Only iperf is known to send each number.
const MAX_MISSING: u64 = 10;
const FEW_GAPS: u64 = 2;
/// A program whose numbers show no more than one of so many datagrams has no stream: what is read as its numbers are others.
const MOST_MISSING: u64 = 1_000;
/// If more than one of so many is behind its place, what is read as a number of a program counts something else.
const MOST_UNORDERED: u64 = 8;
/// A gap of half the numbers of a 16-bit field: the number is a shorter one, beside another field.
const LONGEST_GAP: u64 = 1 << 15;
/// A program does not begin its numbers again so often between the same ports.
const MAX_STREAMS: usize = 2;
/// The port of QUIC, whose packet numbers are encrypted (RFC 9001 section 5.4).
const QUIC: u16 = 443;
/// The port of `NetBIOS` datagrams, whose numbers a host shares among all that it sends to (RFC 1002 section 4.4.1).
const NETBIOS_DATAGRAMS: u16 = 138;

/// The findings of each stream, largest loss first. Empty if nothing is wrong. Streams that only the identifications of their
/// packets number are given as far as they fill a path, or the time shows that what is missing was sent.
pub(super) fn explain_udp_streams(
    streams: &[UdpStream],
    identified: &[UdpStream],
) -> Vec<PathFinding> {
    let mut found: Vec<(f64, PathFinding)> = Vec::new();
    for udp_stream in identified {
        let above = above_path(&udp_stream.stream);
        let cost = above.as_ref().map_or(0.0, |(share, _)| *share);
        if let Some((share, finding)) = above.or_else(|| identified_loss(udp_stream)) {
            let mut finding = of_stream(udp_stream, cost, finding);
            insert(&mut finding, udp_stream.stream.loss_gaps_at);
            found.push((share, finding));
        }
    }
    let is_long = |it: &&UdpStream| it.stream.sent() >= MIN_DATAGRAMS;
    for udp_stream in numbered_streams(streams).filter(is_long) {
        let stream = &udp_stream.stream;
        let above = above_path(stream);
        // What exceeds the path's rate is sent for nothing; other losses do not slow a UDP stream down.
        let cost = above.as_ref().map_or(0.0, |(share, _)| *share);
        let results = [
            (
                above.or_else(|| loss(udp_stream)),
                cost,
                stream.loss_gaps_at,
            ),
            (reordering(udp_stream), 0.0, stream.out_of_order_at),
        ];
        for (result, share_of_time, marks) in results {
            let Some((share, finding)) = result else {
                continue;
            };
            let mut finding = of_stream(udp_stream, share_of_time, finding);
            insert(&mut finding, marks);
            found.push((share, finding));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, finding)| finding).collect()
}

/// The streams whose numbers are those of their datagrams: what is missing between them was lost.
pub fn numbered_streams(streams: &[UdpStream]) -> impl Iterator<Item = &UdpStream> {
    let between = |it: &UdpStream| {
        let same = |other: &&UdpStream| {
            other.sender == it.sender
                && other.receiver == it.receiver
                && !other.stream.tool.is_named()
        };
        streams.iter().filter(same).count()
    };
    streams.iter().filter(move |it| {
        let is_at = |port: &u16| [it.sender.1, it.receiver.1].contains(port);
        let is_other = [QUIC, NETBIOS_DATAGRAMS].iter().any(is_at);
        is_sequence(&it.stream)
            && (it.stream.tool.is_named() || !is_other && between(it) <= MAX_STREAMS)
    })
}

/// True if the numbers are those of datagrams one after the other.
fn is_sequence(stream: &Stream) -> bool {
    let times = if stream.gap_count <= FEW_GAPS {
        MAX_MISSING
    } else {
        MOST_MISSING
    };
    // Two kinds of numbers in turn look as if datagrams overtook each other.
    let divisor = if stream.tool.is_named() {
        2
    } else {
        MOST_UNORDERED
    };
    let is_unordered = stream.out_of_order() * divisor > stream.datagrams();
    let is_short = !stream.tool.is_named() && stream.longest_gap >= LONGEST_GAP;
    // A program may use a number or two for something else.
    let is_skipped =
        !stream.tool.is_named() && stream.gap_count <= FEW_GAPS && !stream.gaps_take_time();
    let is_another = stream.lost() > stream.datagrams().saturating_mul(times)
        || is_unordered
        || is_short
        || is_skipped && stream.gap_count > 0;
    stream.tool.is_iperf() || !is_another
}

fn of_stream(stream: &UdpStream, share_of_time: f64, finding: Finding) -> PathFinding {
    PathFinding {
        alternative_to: None,
        sender: Some(stream.sender.0.to_string()),
        receiver: Some(stream.receiver.0.to_string()),
        share_of_time,
        finding,
    }
}

/// The losses of an even stream whose packets the host numbers.
fn identified_loss(udp_stream: &UdpStream) -> Option<(f64, Finding)> {
    let stream = &udp_stream.stream;
    let is_stream = stream.datagrams() >= MIN_DATAGRAMS && is_sequence(stream);
    let found = loss(udp_stream).filter(|_| is_stream && stream.gaps_take_time());
    // Behind each burst, a host that skips numbers by chance skips some, too.
    found.filter(|(_, it)| it.cause != Cause::LossInBursts || !stream.may_skip())
}

fn loss(udp_stream: &UdpStream) -> Option<(f64, Finding)> {
    let stream = &udp_stream.stream;
    let share = stats::ratio(stream.lost() as f64, stream.sent() as f64);
    // Numbers that begin anywhere, without a gap, are no numbers of datagrams: another protocol looks like this tool.
    let has_gaps = stream.gap_count > 0;
    if stream.lost() < MIN_COUNT || share < MIN_SHARE || !has_gaps {
        return None;
    }
    let mut figures = evidence([
        ("lost_datagrams", stream.lost() as f64),
        ("sent_datagrams", stream.sent() as f64),
        ("holes", stream.gap_count as f64),
        ("longest_hole", stream.longest_gap as f64),
    ]);
    figures.insert("lost_share".to_owned(), share);
    let lost = format!(
        "{} of the {} datagrams of {} ({}) are missing, in {} of up to {}",
        format::count(stream.lost()),
        format::count(stream.sent()),
        stream.tool.name(),
        format::percent(share),
        format::counted(stream.gap_count, "gap"),
        format::count(stream.longest_gap),
    );
    let finding = if stream.loses_in_bursts() {
        let (each, place) = burst_position(stream);
        figures.insert("datagrams_per_gap".to_owned(), each);
        figures.insert("burst_position".to_owned(), place as f64);
        let or_later = if place == BURST_POSITIONS {
            " or later"
        } else {
            ""
        };
        Finding {
            cause: Cause::LossInBursts,
            confidence: 0.8,
            summary: format!(
                "{lost}: {each:.1} in a row on average, most often after datagram {place}{or_later} of a burst.",
            ),
            evidence: figures,
            advice: "Give the receiver buffers for a whole burst, or make the sender space its datagrams (iperf3 \
                     --pacing-timer, a lower rate)."
                .into(),
        }
    } else {
        Finding {
            cause: Cause::RandomLoss,
            confidence: 0.7,
            summary: format!("{lost}, regardless of their position in a burst."),
            evidence: figures,
            advice: "Check the error counters of both adapters (ethtool -S), the cable and the duplex setting; at a \
                     bottleneck, check its queue: sending above the path's rate loses datagrams, too."
                .into(),
        }
    };
    Some((share, finding))
}

/// The average gap, and the position in a burst after which most gaps begin.
fn burst_position(stream: &Stream) -> (f64, usize) {
    let holes = stream.gaps_by_position.iter().enumerate();
    let most = holes.max_by_key(|(at, holes)| (**holes, std::cmp::Reverse(*at)));
    let place = most.map_or(0, |(at, _)| at) + 1;
    let each = stats::ratio(stream.lost() as f64, stream.gap_count as f64);
    (each, place)
}

fn reordering(udp_stream: &UdpStream) -> Option<(f64, Finding)> {
    let stream = &udp_stream.stream;
    let share = stats::ratio(stream.out_of_order() as f64, stream.datagrams() as f64);
    // Nothing overtakes on the way from a host to itself: what comes behind its place was sent again.
    let is_local = udp_stream.sender.0 == udp_stream.receiver.0;
    let is_stream = stream.datagrams() >= MIN_DATAGRAMS && !is_local;
    let bearable = MIN_REORDERED * stream.datagrams() as f64;
    let by_chance = 1.0 - poisson_at_most(stream.out_of_order().saturating_sub(1), bearable);
    (is_stream && stream.out_of_order() >= MIN_COUNT && by_chance < SIGNIFICANCE).then(|| {
        let finding = Finding {
            cause: Cause::Reordering,
            confidence: 0.9,
            summary: format!(
                "{} of {} datagrams of {} arrived after later ones.",
                format::count(stream.out_of_order()),
                format::count(stream.datagrams()),
                stream.tool.name(),
            ),
            evidence: evidence([
                ("out_of_order", stream.out_of_order() as f64),
                ("datagrams", stream.datagrams() as f64),
            ]),
            advice: "Several queues or links carry one stream: keep each stream on one of them."
                .into(),
        };
        (share, finding)
    })
}
