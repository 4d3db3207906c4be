//! Picks the piece of waveform that shows whether the receive interrupt keeps up.

use linerate_ether::ledger::Drop;

use super::{Frame, Side, back_to_back, interrupt};
use crate::record::{Burst, Mark, Pulse, ScopeTrace};

/// Two full frames in a row with the post-processing of the first, as an oscilloscope would show
/// them; `None` when there are none.
///
/// `frames` and `pulses` are in the order of time.
pub fn scope(frames: &[Frame], pulses: &[Pulse]) -> Option<ScopeTrace> {
    let (first, second, processing) =
        back_to_back(frames, Side::Peer).find_map(|(first, second)| {
            let full = first.octets >= 1_400 && second.octets >= 1_400;
            let processing = interrupt::post_processing(first, pulses)?;
            full.then_some((first, second, processing))
        })?;
    let busy_ns = processing.end_ns - first.end_ns;
    let gap_ns = second.start_ns - first.end_ns;
    // Room for what matters, and some line before and after it.
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
    })
}

fn burst(frame: &Frame) -> Burst {
    Burst {
        start_ns: frame.start_ns,
        end_ns: frame.end_ns,
        bytes: frame.octets,
        fate: frame.lost.map_or("delivered", Drop::name).replace('_', " "),
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
        let mut second = lost(data(0, 1461, 1460), Drop::Truncated);
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
        let trace = scope(&[first, second], &pulses).expect("two frames in a row");
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
    fn lone_frames_show_nothing() {
        assert_eq!(
            scope(&[data(0, 1, 1460), data(5_000, 1461, 1460)], &[]),
            None
        );
    }
}
