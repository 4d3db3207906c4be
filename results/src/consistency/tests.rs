//! Each contradiction, and an explanation without any.

use super::*;

fn finding(summary: &str, advice: &str, evidence: &[(&str, f64)]) -> StatedFinding {
    StatedFinding {
        alternative_to: None,
        sender: Some("10.0.0.1".to_owned()),
        receiver: Some("10.0.0.2".to_owned()),
        share_of_time: 0.5,
        finding: Finding {
            cause: Cause::RandomLoss,
            confidence: 0.8,
            summary: summary.to_owned(),
            evidence: evidence
                .iter()
                .map(|(name, value)| ((*name).to_owned(), *value))
                .collect(),
            advice: advice.to_owned(),
        },
    }
}

fn connection(goodput: f64) -> StatedConnection {
    StatedConnection {
        sender: "10.0.0.1:5201".to_owned(),
        receiver: "10.0.0.2:40000".to_owned(),
        first_packet: 1,
        captured_near: None,
        handshake_rtt_ns: None,
        goodput_bytes_per_s: goodput,
        time_share: [("path_rate".to_owned(), 1.0)].into(),
        payload: StatedDirection::default(),
    }
}

#[track_caller]
fn check(findings: Vec<StatedFinding>, connections: Vec<StatedConnection>, expected: &str) {
    let explanation = Explanation {
        findings,
        connections,
    };
    let found = explanation.contradictions();
    if expected.is_empty() {
        assert_eq!(found, []);
    } else {
        let is_found = found.iter().any(|it| it.text.contains(expected));
        assert!(is_found, "{found:?} without {expected}");
    }
}

#[test]
fn sentences_with_their_evidence_are_consistent() {
    let evidence = [
        ("lost_segments", 3.0),
        ("segments", 1_200.0),
        ("wait_ns_p50", 12_345_678.0),
        ("wait_ns_max", 2e9),
        ("time_ns", 4e9),
        ("time_without_ns", 1e9),
        ("least_time_ns", 9e8),
    ];
    let summary = "3 of 1,200 segments from 10.0.0.1 port 80 were lost for 50% of the time, 12.35 ms (median), the \
                   longest 2 s (RFC 9293 section 3.8).";
    let advice = "Without this, its 4 s would be about 1 s.";
    check(
        vec![finding(summary, advice, &evidence)],
        vec![connection(1e6)],
        "",
    );
}

#[test]
fn contradictions_in_a_sentence_are_found() {
    let evidence = [
        ("lost", 3.0),
        ("all", 2.0),
        ("wait_ns_p50", 3e9),
        ("longest_ns", 2e9),
    ];
    let cases = [
        ("4 were lost.", "", "no evidence for `4`"),
        ("17% were lost.", "", "no evidence for `17%`"),
        ("3 of 2 were lost.", "", "3 of 2"),
        ("Waits of 3 s (median), the longest 2 s.", "", "median 3 s"),
        ("No cause.", "It stalls 1 times.", "`1 times"),
        ("Seen in 1 further requests.", "", "`1 further requests`"),
        ("1 of 3 segments were lost.", "", "`1 of ... were`"),
        ("No cause.", "Advertise a window of 1 B.", "useless size"),
        (
            "No cause.",
            "It would be about 5 s.",
            "no evidence for `5 s.`",
        ),
    ];
    for (summary, advice, expected) in cases {
        check(vec![finding(summary, advice, &evidence)], vec![], expected);
    }
}

#[test]
fn figures_beyond_their_range_are_found() {
    let cases = [
        (("late_share", 1.2), "late_share is 1.2"),
        (("delay", -0.1), "delay is -0.1"),
        (("gap_ns_p50", 9.0), "gap_ns_p90 is 5"),
        (("time_without_ns", 70.0), "more than 60"),
        (("least_time_ns", 60.0), "more than 50"),
    ];
    for ((name, value), expected) in cases {
        let mut it = finding(
            "No cause.",
            "",
            &[
                ("gap_ns_p90", 5.0),
                ("time_ns", 60.0),
                ("time_without_ns", 50.0),
            ],
        );
        it.finding.evidence.insert(name.to_owned(), value);
        check(vec![it], vec![], expected);
    }
    let mut it = finding("No cause.", "", &[]);
    it.share_of_time = -0.0;
    check(vec![it], vec![], "share of time -0");
}

#[test]
fn findings_and_connections_that_contradict_each_other_are_found() {
    let half = || finding("No cause.", "", &[]);
    check(vec![half(), half()], vec![], "");
    check(vec![half(), half(), half()], vec![], "add up to 1.5");
    // The time of an alternative is that of the finding before it.
    let instead = StatedFinding {
        alternative_to: Some(Cause::RandomLoss),
        ..half()
    };
    let open = Explanation {
        findings: vec![half(), half(), instead],
        connections: vec![],
    };
    assert!(open.contradictions().is_empty());
    let full = |fastest: f64| {
        let mut it = finding(
            "No cause.",
            "",
            &[("fastest_bytes_per_s", fastest), ("path_busy_share", 0.9)],
        );
        it.finding.cause = Cause::PathRate;
        it
    };
    check(vec![full(1.1e6)], vec![connection(1e6)], "");
    check(
        vec![full(0.9e6)],
        vec![connection(1e6)],
        "above the fastest rate",
    );
    check(vec![full(4e6)], vec![connection(1e6)], "but the goodput is");
    let mut unequal = connection(1e6);
    unequal.time_share.insert("tail".to_owned(), 0.1);
    check(vec![], vec![unequal], "adds up to 1.1");
    let mut loses_second = connection(1e6);
    let position = |sent, lost| StatedPosition { sent, lost };
    loses_second.payload.bursts = vec![position(100, 2), position(40, 30)];
    let advice = "Enlarge the receive buffer.";
    check(
        vec![finding("No cause.", advice, &[])],
        vec![loses_second],
        "30 of 40 second segments",
    );
}

#[test]
fn figures_that_do_not_follow_from_each_other_are_found() {
    let window = [
        ("most_window_bytes", 10_000.0),
        ("rtt_ns", 1e7),
        ("window_limit_bytes_per_s", 2e6),
    ];
    let stalls = [("stall_ns_mean", 3e8), ("period_ns", 2e8)];
    let gain = [("time_ns", 1e9), ("time_without_most_ns", 2e9)];
    let queue = [
        ("needed_in_flight_bytes", 9e3),
        ("most_in_flight_bytes", 8e3),
    ];
    check(
        vec![finding("No cause.", "", &window)],
        vec![],
        "10000 B in 10000000 ns allow 2000000 B/s",
    );
    check(
        vec![finding("No cause.", "", &stalls)],
        vec![],
        "stalls of 300000000 ns",
    );
    check(
        vec![finding("No cause.", "", &gain)],
        vec![],
        "at most 2000000000 ns",
    );
    check(
        vec![finding("No cause.", "", &queue)],
        vec![],
        "less in flight is advised",
    );
}

#[test]
fn findings_that_exclude_each_other_are_found() {
    let of = |cause, summary: &str, advice: &str| {
        let mut it = finding(summary, advice, &[("connection_packet", 1.0)]);
        it.finding.cause = cause;
        it
    };
    let paced = of(Cause::HostPacing, "And nothing queues on the path.", "");
    let full = of(Cause::PathRate, "Segments wait in a queue.", "");
    check(
        vec![paced.clone(), full.clone()],
        vec![],
        "`nothing queues on the path` beside",
    );
    let mut other = full;
    other
        .finding
        .evidence
        .insert("connection_packet".to_owned(), 9.0);
    check(vec![paced, other], vec![], "");
    let window = of(Cause::ReceiveWindow, "", "Enlarge the receive buffer.");
    let shallow = of(Cause::QueueOverflow, "", "Or advertise a smaller window.");
    check(
        vec![shallow, window],
        vec![],
        "`advertise a smaller window`",
    );
    let figures = |cause, figures: &[(&str, f64)]| {
        let mut it = of(cause, "", "");
        let named = figures
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value));
        it.finding.evidence.extend(named);
        it
    };
    let lost = figures(
        Cause::RandomLoss,
        &[("lost_segments", 18.0), ("segments", 24.0)],
    );
    let copies = figures(Cause::DuplicateFrames, &[("duplicates", 12.0)]);
    check(vec![lost, copies], vec![], "12 copies and 18 losses of 24");
    let small = of(Cause::SmallMss, "", "");
    let window = figures(Cause::ReceiveWindow, &[("most_window_bytes", 900.0)]);
    check(vec![small, window], vec![], "a window of 900");
    let alone = of(
        Cause::OneInFlight,
        "A never has more than one segment in flight.",
        "",
    );
    let even = of(Cause::PathRate, "Or A paces its segments.", "");
    check(vec![alone, even], vec![], "`paces its segments`");
}

#[test]
fn shares_beside_a_slow_opening_name_their_time() {
    let opening = |share| {
        let mut it = finding("No cause.", "", &[]);
        it.finding.cause = Cause::SlowHandshake;
        it.share_of_time = share;
        it
    };
    let full = |figures: &[(&str, f64)]| {
        let mut it = finding("No cause.", "", figures);
        it.finding.cause = Cause::PathRate;
        it
    };
    check(vec![opening(0.8), full(&[])], vec![], "1.30 of the time");
    check(vec![opening(0.3), full(&[])], vec![], "");
    check(vec![opening(0.8), full(&[("active_ns", 1e9)])], vec![], "");
}

#[test]
fn a_line_passes_no_more_than_its_rate() {
    let mut it = finding(
        "No cause.",
        "",
        &[
            ("fastest_bytes_per_s", 1.2e6),
            ("wire_bits_per_s", 10.05e6),
            ("line_bits_per_s", 10e6),
        ],
    );
    it.finding.cause = Cause::AtLineRate;
    check(
        vec![it],
        vec![connection(1.2e6)],
        "10050000 bit/s on a line",
    );
}

#[test]
fn figures_of_a_finding_fit_those_of_its_connection() {
    let of = |summary: &str, figures: &[(&str, f64)]| {
        let mut figures = figures.to_vec();
        figures.push(("connection_packet", 1.0));
        vec![finding(summary, "", &figures)]
    };
    let window = [("window_limit_bytes_per_s", 5e5)];
    let opened = || {
        let mut it = connection(1e6);
        it.handshake_rtt_ns = Some(20_000_000);
        vec![it]
    };
    check(
        of("No cause.", &window),
        opened(),
        "a window that allows 500000 B/s",
    );
    let near = [("rtt_ns", 8e3)];
    check(
        of("After 8 µs.", &near),
        opened(),
        "20000000 ns of the handshake",
    );
    check(of("8 µs from the capture point.", &near), opened(), "");
    let explained = [("rtt_ns", 8e3), ("handshake_rtt_ns", 20e6)];
    check(of("After 8 µs.", &explained), opened(), "");
}
