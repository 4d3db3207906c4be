//! From UDP streams to causes: what was lost of them, how, and how they were sent.

use super::packets::insert;
use crate::cause::scored::PathFinding;
use crate::cause::scored::evidence;
use linerate_capture::tcp::BURST_POSITIONS;
use linerate_capture::traffic::UdpStream;
use linerate_capture::udp::Stream;
use linerate_results::format;
use linerate_results::record::{Cause, Finding};
use linerate_results::stats;

/// A smaller part of the datagrams is not worth a finding.
const WORTH_NAMING: f64 = 0.001;
/// Fewer are chance.
const FEWEST: u64 = 3;

/// What is wrong with the streams, each by itself, what lost the most first. Empty if nothing stands out.
pub fn of_udp_streams(streams: &[UdpStream]) -> Vec<PathFinding> {
    let mut found: Vec<(f64, PathFinding)> = Vec::new();
    for told in streams {
        let stream = &told.stream;
        let looks = [
            (lost(told), stream.loss_gaps_at),
            (overtaken(told), stream.out_of_order_at),
        ];
        for (look, marks) in looks {
            let Some((part, finding)) = look else {
                continue;
            };
            let mut finding = PathFinding {
                sender: Some(told.sender.0.to_string()),
                receiver: Some(told.receiver.0.to_string()),
                // A stream goes on whatever is lost of it.
                share_of_time: 0.0,
                finding,
            };
            insert(&mut finding, marks);
            found.push((part, finding));
        }
    }
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, finding)| finding).collect()
}

fn lost(told: &UdpStream) -> Option<(f64, Finding)> {
    let stream = &told.stream;
    let part = stats::ratio(stream.lost() as f64, stream.sent() as f64);
    if stream.lost() < FEWEST || part < WORTH_NAMING {
        return None;
    }
    let figures = evidence([
        ("lost_datagrams", stream.lost() as f64),
        ("sent_datagrams", stream.sent() as f64),
        ("holes", stream.gap_count as f64),
        ("longest_hole", stream.longest_gap as f64),
    ]);
    let lost = format!(
        "{} of the {} datagrams of {} ({}) are missing, in {} holes of up to {}",
        format::count(stream.lost()),
        format::count(stream.sent()),
        stream.tool.name(),
        format::percent(part),
        format::count(stream.gap_count),
        format::count(stream.longest_gap),
    );
    let finding = if stream.loses_in_bursts() {
        Finding {
            cause: Cause::LossInBursts,
            confidence: 0.8,
            summary: format!("{lost}: {}.", behind(stream)),
            evidence: figures,
            advice: "Give the receiver buffers for a whole burst, or let the sender space its datagrams (iperf3 \
                     --pacing-timer, a lower rate)."
                .into(),
        }
    } else {
        Finding {
            cause: Cause::RandomLoss,
            confidence: 0.7,
            summary: format!("{lost}, wherever they stood in a burst."),
            evidence: figures,
            advice: "Look for errors that both ends' adapters count (ethtool -S), at cable and duplex; on a \
                     bottleneck at its queue: a rate above the path's loses, too."
                .into(),
        }
    };
    Some((part, finding))
}

/// From which place of a burst on they are missing.
fn behind(stream: &Stream) -> String {
    let holes = stream.gaps_by_position.iter().enumerate();
    let most = holes.max_by_key(|(at, holes)| (**holes, std::cmp::Reverse(*at)));
    let place = most.map_or(0, |(at, _)| at) + 1;
    let or_later = if place == BURST_POSITIONS {
        " or a later one"
    } else {
        ""
    };
    let each = stats::ratio(stream.lost() as f64, stream.gap_count as f64);
    format!("{each:.1} at once on average, most often behind number {place}{or_later} of a burst")
}

fn overtaken(told: &UdpStream) -> Option<(f64, Finding)> {
    let stream = &told.stream;
    let part = stats::ratio(stream.out_of_order() as f64, stream.datagrams() as f64);
    (stream.out_of_order() >= FEWEST && part >= WORTH_NAMING).then(|| {
        let finding = Finding {
            cause: Cause::Reordering,
            confidence: 0.9,
            summary: format!(
                "{} of {} datagrams of {} came behind later ones.",
                format::count(stream.out_of_order()),
                format::count(stream.datagrams()),
                stream.tool.name(),
            ),
            evidence: evidence([
                ("out_of_order", stream.out_of_order() as f64),
                ("datagrams", stream.datagrams() as f64),
            ]),
            advice: "Several queues or links carry one stream: keep it on one.".into(),
        };
        (part, finding)
    })
}
