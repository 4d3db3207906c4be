//! Selects the part of the waveform that shows if the receive interrupt keeps up.

use linerate_ether::ledger::DropCause;

use super::{Frame, Side, back_to_back, interrupt};
use linerate_results::record::{Burst, Edges, Mark, Pulse, ScopeTrace};
use linerate_results::stats;

/// A value within 1 / this of the median, plus the jitter below, is typical.
const TYPICAL_DIVISOR: u64 = 10;
const LINE_JITTER_NS: u64 = 100;

/// Two consecutive full frames with the post-processing of the first, as on an oscilloscope: of all such pairs one with
/// the median post-processing time; `None` when there are none. Of typical pairs, one whose gap is in `edges`, the
/// recorded line levels, if there is one.
///
/// `frames` and `pulses` are in chronological order.
pub fn scope(frames: &[Frame], pulses: &[Pulse], edges: &[Edges]) -> Option<ScopeTrace> {
    let pairs: Vec<_> = back_to_back(frames, Side::Peer)
        .filter(|(first, second)| first.octets >= 1_400 && second.octets >= 1_400)
        .filter_map(|(first, second)| {
            let processing = interrupt::post_processing(first, pulses)?;
            Some((first, second, processing))
        })
        .collect();
    let took_ns = |processing: &Pulse| processing.end_ns - processing.start_ns;
    let all_ns = interrupt::post_processing_ns(frames, pulses);
    let typical_ns = stats::percentile(&all_ns, 50.0)?;
    let recorded = |first: &Frame| {
        let at =
            |edges: &&Edges| edges.rx && (edges.start_ns..=edges.end_ns).contains(&first.end_ns);
        edges.iter().any(|edges| at(&edges))
    };
    let (first, second, processing) = pairs.into_iter().min_by_key(|(first, _, processing)| {
        let off_ns = took_ns(processing).abs_diff(typical_ns);
        let typical = off_ns <= typical_ns / TYPICAL_DIVISOR + LINE_JITTER_NS;
        (!typical, !recorded(first), off_ns)
    })?;
    let busy_ns = processing.end_ns - first.end_ns;
    let gap_ns = second.start_ns - first.end_ns;
    // The relevant part, and some line before and after it.
    let span_ns = busy_ns.max(gap_ns * 3) * 3 / 2;
    let start_ns = first.end_ns.saturating_sub(span_ns / 3).max(first.start_ns);
    let end_ns = first.end_ns + span_ns;
    let bursts = |side| {
        let within = frames.iter().filter(move |frame| {
            frame.from == side && frame.end_ns > start_ns && frame.start_ns < end_ns
        });
        within.map(burst).collect()
    };
    Some(ScopeTrace {
        start_ns,
        end_ns,
        rx: bursts(Side::Peer),
        tx: bursts(Side::Device),
        debug: pulses
            .iter()
            .filter(|pulse| pulse.end_ns > start_ns && pulse.start_ns < end_ns)
            .copied()
            .collect(),
        marks: vec![
            Mark {
                label: "inter-packet gap".into(),
                start_ns: first.end_ns,
                end_ns: second.start_ns,
            },
            Mark {
                label: "interrupt post-processing".into(),
                start_ns: processing.start_ns,
                end_ns: processing.end_ns,
            },
        ],
        edges: edges
            .iter()
            .filter(|edges| edges.end_ns > start_ns && edges.start_ns < end_ns)
            .cloned()
            .collect(),
    })
}

fn burst(frame: &Frame) -> Burst {
    Burst {
        start_ns: frame.start_ns,
        end_ns: frame.end_ns,
        bytes: frame.octets,
        fate: frame
            .lost
            .map_or("delivered", DropCause::name)
            .replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use super::super::sample::{data, lost};
    use super::*;

    #[test]
    fn shows_the_gap_and_the_processing_that_overruns_it() {
        let first = data(0, 1, 1460);
        let end_ns = first.end_ns;
        let mut second = lost(data(0, 1461, 1460), DropCause::Truncated);
        let len_ns = second.end_ns;
        second.start_ns = end_ns + 9_600;
        second.end_ns = second.start_ns + len_ns;
        let pulses = [
            Pulse {
                start_ns: 750,
                end_ns: end_ns + 280,
            },
            Pulse {
                start_ns: end_ns + 290,
                end_ns: end_ns + 1_050_290,
            },
        ];
        let trace = scope(&[first, second], &pulses, &[]).expect("two frames in a row");
        assert_eq!(trace.marks[0].end_ns - trace.marks[0].start_ns, 9_600);
        assert_eq!(trace.marks[1].end_ns - trace.marks[1].start_ns, 1_050_000);
        assert_eq!(trace.rx[1].fate, "truncated");
        assert!(
            trace.end_ns > trace.marks[1].end_ns,
            "the whole processing is in the picture"
        );
        assert!(trace.start_ns < end_ns && trace.rx.len() == 2 && trace.debug.len() == 2);
    }

    #[test]
    fn the_typical_pair_is_shown_not_the_first() {
        let mut frames = Vec::new();
        let mut pulses = Vec::new();
        // Pairs a millisecond apart whose post-processing takes 2 ms, 1 ms, 1.1 ms.
        for (pair, took_ns) in [2_000_000, 1_000_000, 1_100_000].into_iter().enumerate() {
            let first = data(pair as u64 * 10_000, pair as u32 * 2920 + 1, 1460);
            let second_us = first.end_ns / 1_000 + 10;
            pulses.push(Pulse {
                start_ns: first.start_ns + 750,
                end_ns: first.end_ns + 280,
            });
            pulses.push(Pulse {
                start_ns: first.end_ns + 290,
                end_ns: first.end_ns + 290 + took_ns,
            });
            frames.push(first);
            frames.push(data(second_us, pair as u32 * 2920 + 1461, 1460));
        }
        let trace = scope(&frames, &pulses, &[]).expect("three pairs");
        assert_eq!(trace.marks[1].end_ns - trace.marks[1].start_ns, 1_100_000);
        // A recorded pair is preferred to the most typical one.
        let edges = [Edges {
            rx: true,
            start_ns: frames[2].end_ns - 1_000,
            end_ns: frames[2].end_ns + 50,
            ..Edges::default()
        }];
        let trace = scope(&frames, &pulses, &edges).expect("three pairs");
        assert_eq!(trace.marks[1].end_ns - trace.marks[1].start_ns, 1_000_000);
        assert_eq!(trace.edges, edges);
    }

    #[test]
    fn lone_frames_show_nothing() {
        assert_eq!(
            scope(&[data(0, 1, 1460), data(5_000, 1461, 1460)], &[], &[]),
            None
        );
    }
}
