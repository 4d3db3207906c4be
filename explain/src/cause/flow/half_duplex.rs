//! A medium that both directions share: Ethernet in half duplex, whose frames wait for each other (IEEE 802.3 clause 4).

use super::class::FlowClass;
use super::facts::FlowFacts;
use super::frame::{BARE_FRAME_OCTETS, FRAME_OCTETS, STAMP_OCTETS};
use super::rule::Rule;
use crate::cause::scored::evidence;
use linerate_capture::model::Transmission;
use linerate_results::format;
use linerate_results::record::Cause;
use linerate_results::stats;

/// Rates of Ethernet that is used in half duplex, bit/s (IEEE 802.3 clauses 14 and 25).
const LINES: [f64; 2] = [10e6, 100e6];
/// With collisions and deferral, a full medium carries more than this part of its rate (Boggs, Mogul, Kent 1988 measured 90% and more for few
/// stations and full frames).
const MIN_BUSY: f64 = 0.65;
/// Frames follow each other in their own time, with the gap, and an acknowledgment in between at most.
const FRAME_TIMES: std::ops::Range<f64> = 0.99..1.08;
/// As many of the segments do.
const MIN_BACK_TO_BACK: f64 = 0.5;

/// A line whose medium both directions may share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Medium {
    line_bits_per_s: f64,
    /// Part of the time that the frames of both directions take.
    busy_share: f64,
}

impl Medium {
    /// The medium that the frames of both directions fill, if they would pass one at a time.
    pub(super) fn of(facts: &FlowFacts<'_>) -> Option<Self> {
        let view = &facts.model.view;
        let sent = view.sent.iter().map(|it| {
            let frames = u64::from(it.len).div_ceil(facts.frame_payload().max(1));
            u64::from(it.len) + frames * (FRAME_OCTETS + options_of(it))
        });
        let bare = view.acks.iter().filter(|it| it.is_bare).count() as u64;
        let bits = 8.0 * (sent.sum::<u64>() + bare * BARE_FRAME_OCTETS) as f64;
        let media = LINES.map(|line_bits_per_s| Self {
            line_bits_per_s,
            busy_share: stats::ratio(bits * 1e9 / line_bits_per_s, facts.active_ns as f64),
        });
        media
            .into_iter()
            .find(|it| (MIN_BUSY..1.0).contains(&it.busy_share))
    }

    /// Part of the full segments that came in the time of their frame on this line after the one before.
    fn back_to_back(self, facts: &FlowFacts<'_>) -> f64 {
        let sent = &facts.model.view.sent;
        let full = sent
            .windows(2)
            .filter(|pair| u64::from(pair[1].len) == facts.frame_payload());
        let (mut all, mut close) = (0_u32, 0_u32);
        for pair in full {
            let octets = u64::from(pair[1].len) + FRAME_OCTETS + options_of(&pair[1]);
            let frame_ns = octets as f64 * 8e9 / self.line_bits_per_s;
            let apart_ns = (pair[1].time_ns - pair[0].time_ns) as f64;
            all += 1;
            close += u32::from(FRAME_TIMES.contains(&(apart_ns / frame_ns)));
        }
        stats::ratio(f64::from(close), f64::from(all))
    }
}

fn options_of(sent: &Transmission) -> u64 {
    if sent.timestamp == 0 { 0 } else { STAMP_OCTETS }
}

/// Near the receiver: segments that come a frame's time apart, on a medium that is full with both directions.
pub(super) fn full_medium(facts: &FlowFacts<'_>) -> Option<Rule> {
    let medium = Medium::of(facts)
        .filter(|_| facts.model.is_near_receiver() && facts.class == FlowClass::Bulk)?;
    let close = medium.back_to_back(facts);
    (close >= MIN_BACK_TO_BACK).then(|| Rule {
        share: medium.busy_share,
        cause: Cause::PathRate,
        confidence: 0.6,
        summary: format!(
            "{} of the segments arrive in the time that their frame takes on a line of {} after the one before, and the frames of both \
             directions take {} of its time: if they share it (half duplex), it is full.",
            format::percent(close),
            format::bits(medium.line_bits_per_s),
            format::percent(medium.busy_share),
        ),
        evidence: evidence([
            ("back_to_back_share", close),
            ("path_busy_share", medium.busy_share),
            ("line_bits_per_s", medium.line_bits_per_s),
        ]),
        advice: "Look for an interface in half duplex, or a hub (ethtool): full duplex leaves the line to each direction.".to_owned(),
        limits: &[],
        has_gain: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cause::flow::explain_flows;
    use crate::cause::synthetic::{MS, MSS, Script, US};
    use linerate_capture::tcp::End;
    use linerate_capture::traffic::Flow;

    /// A download captured at its receiver: a segment each `apart_us`, after each twelfth one `pause_us` more for collisions.
    fn download(apart_us: u64, pause_us: u64) -> Flow {
        let mut download = Script::open(End::Second, MS, 20 * US, 60_000);
        download.at(3 * MS);
        for at in 0..1_500 {
            let pause_us = if at % 12 == 0 { pause_us } else { 0 };
            download.after((apart_us + pause_us) * US).send(1, MSS, 0);
            if at % 2 == 1 {
                download.ack_all();
            }
        }
        download.flow()
    }

    #[test]
    fn segments_in_the_time_of_their_frames_fill_a_line_that_both_directions_share() {
        let is_full = |apart_us, pause_us| {
            let flow = download(apart_us, pause_us);
            let facts = FlowFacts::of(&flow).expect("payload");
            full_medium(&facts).is_some()
        };
        assert!(is_full(1_245, 4_000));
        assert!(!is_full(1_600, 0), "the frames of no line");
        assert!(!is_full(1_245, 12_000), "half of a line");
        let (findings, _) = explain_flows(&[download(1_245, 4_000)]);
        let causes: Vec<Cause> = findings.iter().map(|it| it.finding.cause).collect();
        assert_eq!(causes, [Cause::PathRate]);
    }

    /// An upload of which half a window is acknowledged at irregular times, captured at its sender: full segments pass in `segment_us` on average.
    fn is_late(segment_us: u64) -> bool {
        let mut upload = Script::open(End::First, MS, 20 * US, 60_000);
        upload.at(3 * MS).send(16, MSS, 0);
        for at in 0..200_u64 {
            let segments = 2 + 12 * (at % 2);
            upload.after(segments * segment_us * US);
            let next = upload.sent() - (16 - segments as u32) * MSS;
            upload.ack(next).send(segments as u32, MSS, 0);
        }
        let (findings, _) = explain_flows(&[upload.flow()]);
        findings
            .iter()
            .any(|it| it.finding.cause == Cause::LateAcks)
    }

    #[test]
    fn acknowledgments_that_wait_for_a_shared_medium_are_not_late() {
        assert!(!is_late(1_500));
        assert!(is_late(3_000));
    }
}
