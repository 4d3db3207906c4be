use super::*;
use crate::sample;
use linerate_results::record::{
    Extent, FrameRoundTrips, Measurement, Rfc2544, Rfc2544Metrics, Rfc2544Params, line_frames_per_s,
};

const LINE: u64 = 10_000_000;

fn trial(test: Rfc2544Test, octets: u64, frames_per_s: f64, frames: u64, lost: u64) -> Rfc2544 {
    Rfc2544 {
        params: Rfc2544Params {
            test,
            frame_octets: octets,
            line_bits_per_s: LINE,
            offered_frames_per_s: frames_per_s,
            frames,
            resolution_frames_per_s: line_frames_per_s(LINE, octets) / 100.0,
            pause_ns: 200_000_000,
            ..Rfc2544Params::default()
        },
        metrics: Rfc2544Metrics {
            sent_frames: frames,
            received_frames: frames - lost,
            lost_frames: lost,
            ..Rfc2544Metrics::default()
        },
        ..Rfc2544::default()
    }
}

/// Trials of two seconds at steps of a hundredth, each with the frames that it lost.
fn searched(octets: u64, steps: &[(u32, u64)]) -> Vec<Rfc2544> {
    let at = |(step, lost): &(u32, u64)| {
        let rate = line_frames_per_s(LINE, octets) * f64::from(*step) / 100.0;
        trial(
            Rfc2544Test::Throughput,
            octets,
            rate,
            (rate * 2.0) as u64,
            *lost,
        )
    };
    steps.iter().map(at).collect()
}

fn bursts(octets: u64, repetition: u64, lengths: &[(u64, u64)]) -> Vec<Rfc2544> {
    let line = line_frames_per_s(LINE, octets);
    let one = |(frames, lost): &(u64, u64)| {
        let mut it = trial(Rfc2544Test::BackToBack, octets, line, *frames, *lost);
        it.params.repetition = repetition;
        it.params.repetitions = 2;
        it.params.longest_burst = 20_000;
        it
    };
    lengths.iter().map(one).collect()
}

fn run(trials: Vec<Rfc2544>) -> Run {
    Run {
        results: trials.into_iter().map(Measurement::Rfc2544).collect(),
        ..sample::run()
    }
}

fn text(run: &Run) -> String {
    let mut lines = Vec::new();
    for summary in summaries(run) {
        let (head, rows) = (&summary.table.head, &summary.table.rows);
        assert!(rows.iter().all(|row| row.len() == head.len()), "{rows:?}");
        lines.push(format!("# {}", summary.title));
        lines.push(summary.verdict);
        lines.extend(Some(summary.variant).filter(|it| !it.is_empty()));
        lines.push(head.join(" | "));
        lines.extend(rows.iter().map(|row| row.join(" | ")));
        lines.push(String::new());
    }
    lines.join("\n")
}

#[test]
fn summaries_of_a_short_run() {
    let mut trials = searched(
        64,
        &[(100, 900), (50, 100), (25, 0), (37, 9), (31, 0), (31, 0)],
    );
    trials.extend(searched(1518, &[(100, 0), (100, 0)]));
    for (octets, losses) in [(64, &[7000, 6000, 0, 0][..]), (1518, &[0, 0])] {
        for (index, lost) in losses.iter().enumerate() {
            let rate = line_frames_per_s(LINE, octets) * (10 - index) as f64 / 10.0;
            let test = Rfc2544Test::FrameLoss;
            trials.push(trial(test, octets, rate, (rate * 2.0) as u64, *lost));
        }
    }
    trials.extend(bursts(
        64,
        0,
        &[(1, 0), (2, 0), (4, 0), (8, 2), (6, 1), (5, 0)],
    ));
    trials.extend(bursts(64, 1, &[(5, 0), (6, 0), (8, 1), (7, 1)]));
    let mut reflected = searched(64, &[(100, 900), (50, 100), (25, 0), (25, 0)]);
    let serialisation_ns = 2 * 72 * 8 * 100;
    for (repetition, samples) in [[200_000, 215_200], [210_000, 225_200]].iter().enumerate() {
        let rate = line_frames_per_s(LINE, 64) * 0.25;
        let mut it = trial(Rfc2544Test::Latency, 64, rate, (rate * 2.0) as u64, 0);
        it.params.repetition = repetition as u64;
        it.params.repetitions = 2;
        it.metrics.round_trips = FrameRoundTrips::of(samples, Some(samples[1]), serialisation_ns);
        reflected.push(it);
    }
    for it in &mut reflected {
        it.params.counting = Counting::Reflector;
    }
    trials.extend(reflected);
    insta::assert_snapshot!("short_run", text(&run(trials)));
}

#[test]
fn a_throughput_is_lossless_twice_or_marked_as_not_repeated() {
    let of = |steps: &[(u32, u64)]| {
        let trials = searched(64, steps);
        Throughput::of(&trials.iter().collect::<Vec<_>>()).expect("some")
    };
    let line = line_frames_per_s(LINE, 64);
    let killed = of(&[(100, 5), (50, 0)]);
    assert_eq!(
        (killed.lossless, killed.unconfirmed),
        (None, Some(line / 2.0))
    );
    let flaky = of(&[
        (100, 5),
        (50, 0),
        (75, 0),
        (75, 1),
        (62, 0),
        (62, 0),
        (40, 3),
    ]);
    assert_eq!(
        (flaky.lossless, flaky.lossy_below),
        (Some(line * 62.0 / 100.0), 1)
    );
    let none = of(&[(100, 5), (50, 1)]);
    assert_eq!((none.lossless, none.unconfirmed), (None, None));
    assert!(of(&[(100, 0), (100, 0)]).is_line_rate());
}

#[test]
fn a_rate_that_was_not_reached_is_no_throughput() {
    let mut trials = searched(64, &[(100, 0), (100, 0), (50, 0), (50, 0)]);
    for it in &mut trials[..2] {
        it.metrics.is_below_offered = true;
    }
    let throughput = Throughput::of(&trials.iter().collect::<Vec<_>>()).expect("some");
    assert_eq!(throughput.share(), Some(0.5));
}

/// RFC 9004 section 6: a burst of 26,000 frames of 64 octets on 10 Gbit/s, where 14,880,952 frames
/// a second are the most and 14,000,000 are received without loss.
#[test]
fn buffer_time_is_corrected_for_frames_processed_meanwhile() {
    let mut bursts = bursts(64, 0, &[(26_000, 0), (26_001, 1)]);
    for it in &mut bursts {
        it.params.line_bits_per_s = 10_000_000_000;
        it.params.longest_burst = 29_761_904;
    }
    let bursts = Bursts::of(&bursts.iter().collect::<Vec<_>>()).expect("some");
    assert!((bursts.line - 14_880_952.38).abs() < 0.01);
    // 26,000 / 14,880,952.38 = 1,747,200 ns.
    assert!((bursts.implied_ns() - 1_747_200.0).abs() < 0.01);
    // 1,747,200 × (1 − 14,000,000 / 14,880,952.38) = 1,747,200 × 0.0592 = 103,434.24 ns.
    assert!((bursts.corrected_ns(14e6) - 103_434.24).abs() < 0.01);
}

#[test]
fn a_search_for_a_burst_that_was_cut_off_does_not_count() {
    let mut trials = bursts(64, 0, &[(4, 0), (5, 1)]);
    trials.extend(bursts(64, 1, &[(4, 0)]));
    let found = Bursts::of(&trials.iter().collect::<Vec<_>>()).expect("some");
    assert_eq!((found.repetitions, found.max), (1, 4));
    let cut = bursts(64, 1, &[(4, 0)]);
    assert_eq!(Bursts::of(&cut.iter().collect::<Vec<_>>()), None);
    // Not even one frame.
    let none = bursts(64, 0, &[(1, 1)]);
    let none = Bursts::of(&none.iter().collect::<Vec<_>>()).expect("some");
    assert_eq!((none.repetitions, none.max), (1, 0));
}

#[test]
fn a_run_without_trials_has_no_summary() {
    assert!(summaries(&sample::run()).is_empty());
}

#[test]
fn a_full_run_is_marked_as_full() {
    let mut trials = searched(64, &[(100, 0), (100, 0)]);
    for it in &mut trials {
        it.params.extent = Extent::Full;
        it.params.frames *= 30;
        it.params.pause_ns = 7_000_000_000;
    }
    let run = run(trials);
    let all = summaries(&run);
    assert!(
        all[0].variant.starts_with("Full variant"),
        "{}",
        all[0].variant
    );
    assert!(
        all[0]
            .variant
            .contains("trials of 60 s (60 s), a pause of 7 s"),
        "{}",
        all[0].variant
    );
    assert!(all[0].verdict.contains("no burst is too long"));
}

#[test]
fn a_lower_throughput_is_worse_beside_an_earlier_one() {
    use linerate_results::compare::{Thresholds, compare};
    let fast = run(searched(1518, &[(100, 5), (90, 0), (90, 0)]));
    let slow = run(searched(1518, &[(100, 5), (70, 0), (70, 0)]));
    let failures = |before, after| {
        compare(
            before,
            after,
            crate::summary::figures,
            &Thresholds::default(),
        )
        .failures()
    };
    let found = failures(&fast, &slow);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("frames_per_s was 731"), "{found:?}");
    assert_eq!(failures(&slow, &fast), [""; 0]);
}
