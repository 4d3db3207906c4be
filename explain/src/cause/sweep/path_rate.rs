//! A path that carries the same rate whatever is offered beyond it.

use crate::cause::scored::{ScoredFinding, evidence};
use crate::cause::transfer::Packets;
use crate::series::load::Point;
use linerate_results::format;
use linerate_results::record::{Cause, Direction, Finding};

/// Loads beyond the rate that must show it.
const MIN_LOADS: usize = 2;
/// An overload: as much more is sent than arrives.
const OVERLOAD: f64 = 1.1;
/// Received rates differ by less than this share: by the ends of a trial of two seconds.
const EVEN: f64 = 0.03;

/// Evaluates the `points` of a load sweep in one direction, with datagrams of `payload_bytes`.
pub(super) fn evaluate(
    points: &[Point],
    direction: Direction,
    payload_bytes: u64,
) -> Option<ScoredFinding> {
    let mut rates: Vec<f64> = points
        .iter()
        .filter(|it| it.received > 0.0 && it.sent >= it.received * OVERLOAD)
        .map(|it| it.received)
        .collect();
    rates.sort_by(f64::total_cmp);
    let (least, most) = (*rates.first()?, *rates.last()?);
    if rates.len() < MIN_LOADS || most - least > most * EVEN {
        return None;
    }
    let rate = rates[rates.len() / 2];
    let packets = Packets::udp(payload_bytes as f64);
    let line = packets.standard_line(rate);
    let kind = line.map_or_else(
        || packets.beside_standard_line(rate),
        |line| {
            let bits = format::bits(line);
            format!("This is the line rate of {bits} Ethernet, less its framing.")
        },
    );
    let start = match direction {
        Direction::FromDevice => "From the device",
        _ => "To the device",
    };
    Some(ScoredFinding {
        weight: 0.5,
        finding: Finding {
            cause: Cause::PathRate,
            confidence: if line.is_some() { 0.95 } else { 0.85 },
            summary: format!(
                "{start} the path carries {}, at each of {} loads above it. {kind}",
                format::rate(rate),
                rates.len(),
            ),
            evidence: evidence([
                ("path_bytes_per_s", rate),
                ("overloads", rates.len() as f64),
                ("standard_bits_per_s", line.unwrap_or(0.0)),
            ]),
            advice: match line {
                Some(_) => "Only a faster line gives more.".to_owned(),
                None => "Look for the element with this rate. If it processes packets, the rate in packets is the same \
                         for other sizes: `linerate sweep TARGET size -u`."
                    .to_owned(),
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(offered_mbit: f64, received_mbit: f64) -> Point {
        let rate = |mbit: f64| mbit * 125_000.0;
        Point {
            offered: rate(offered_mbit),
            sent: rate(offered_mbit),
            received: rate(received_mbit),
            loss: 1.0 - received_mbit / offered_mbit,
            arrived: received_mbit / offered_mbit,
            step: 0.0,
        }
    }

    fn summary(points: &[Point]) -> Option<String> {
        let found = evaluate(points, Direction::ToDevice, 1_470)?;
        Some(found.finding.summary)
    }

    #[test]
    fn a_full_line_is_named_with_its_rate() {
        let points = [(8.0, 8.0), (16.0, 9.58), (32.0, 9.57), (64.0, 9.54)];
        let points = points.map(|(offered, received)| point(offered, received));
        let summary = summary(&points).expect("a finding");
        assert_eq!(
            summary,
            "To the device the path carries 9.57 Mbit/s (1.2 MB/s), at each of 3 loads above it. This is the line rate \
             of 10 Mbit/s Ethernet, less its framing."
        );
        let odd = [point(16.0, 6.0), point(32.0, 6.05)];
        assert!(self::summary(&odd).is_some_and(|it| it.contains("no rate of Ethernet")));
    }

    #[test]
    fn a_collapse_or_a_single_overload_shows_no_rate() {
        assert_eq!(summary(&[point(8.0, 8.0), point(16.0, 9.58)]), None);
        assert_eq!(summary(&[point(16.0, 9.58), point(32.0, 5.0)]), None);
        assert_eq!(summary(&[]), None);
    }
}
