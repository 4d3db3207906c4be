use super::*;
use crate::sample;
use linerate_results::record::{
    CountedAt, Datagrams, Flow, Ledger, Measurement, UdpSweepMetrics, UdpSweepParams,
};

const PAYLOAD: u64 = 1_470;
const SPAN_NS: u64 = 2_000_000_000;

/// A point: offered (Mbit/s), datagrams sent and lost in two seconds.
fn point(direction: Direction, mbit_per_s: f64, sent: u64, lost: u64) -> Measurement {
    let params = UdpSweepParams {
        direction,
        payload_bytes: PAYLOAD,
        offered_bytes_per_s: mbit_per_s * 125_000.0,
        span_ns: SPAN_NS,
        ..UdpSweepParams::default()
    };
    let datagrams = Datagrams {
        sent,
        received: sent - lost,
        lost,
        jitter_ns: Some(12_000),
        lost_by_host: (direction == Direction::FromDevice).then_some(lost / 2),
        ..Datagrams::default()
    };
    let octets = (sent - lost) * PAYLOAD;
    let flow = Flow::datagrams(octets, SPAN_NS, CountedAt::Device, datagrams);
    Measurement::UdpSweep(UdpSweep {
        metrics: UdpSweepMetrics::of(&params, flow),
        params,
        ledger: Ledger::default(),
    })
}

fn summarize(results: Vec<Measurement>) -> Summary {
    let run = Run {
        results,
        ..sample::run()
    };
    let mut all = summaries(&run);
    assert_eq!(all.len(), 1, "one size");
    all.remove(0)
}

/// An i.MX6 with a kernel of 2012, as published by Boundary Devices: offered, sent, lost.
const IMX6: [(f64, u64, u64); 9] = [
    (100.0, 17_094, 4),
    (200.0, 34_483, 0),
    (300.0, 51_282, 33),
    (350.0, 60_606, 868),
    (400.0, 68_965, 4_601),
    (550.0, 95_236, 20_359),
    (600.0, 105_254, 40_526),
    (750.0, 133_328, 74_847),
    (850.0, 149_777, 99_717),
];

#[test]
fn an_imx6_saturates_and_collapses() {
    let to = |&(offered, sent, lost): &_| point(Direction::ToDevice, offered, sent, lost);
    let summary = summarize(IMX6.iter().map(to).collect());
    assert_eq!(
        summary.verdict,
        "To the device: all is received up to 300 Mbit/s, saturates at 440 Mbit/s (55.03 MB/s), collapses to 294 Mbit/s \
         (36.79 MB/s) at 850 Mbit/s offered (receive livelock)."
    );
    assert_eq!(summary.table.rows.len(), IMX6.len());
    assert_eq!(
        summary.table.rows[4],
        [
            "400 Mbit/s",
            "to the device",
            "406 Mbit/s",
            "378 Mbit/s (47.31 MB/s)",
            "95%",
            "4,601 of 68,965 (6.7%)",
            "unknown",
            "12 µs"
        ]
    );
    let legend = ["received, to the device", "offered"];
    assert_eq!(summary.charts[0].legend, legend);
    assert!(summary.charts[0].svg.contains("knee to the device"));
}

#[test]
fn datagrams_that_were_not_sent_are_not_lost() {
    let from = |offered, sent| point(Direction::FromDevice, offered, sent, 0);
    let summary = summarize(vec![
        from(400.0, 68_028),
        from(500.0, 78_000),
        from(1_000.0, 77_000),
    ]);
    assert_eq!(
        summary.verdict,
        "From the device: all is received up to 400 Mbit/s, saturates at 459 Mbit/s (57.33 MB/s); the device \
         sends at most 459 Mbit/s (57.33 MB/s)."
    );
    assert!(
        summary.charts[0]
            .legend
            .contains(&"sent, from the device".to_owned())
    );
}

/// From the first to the last of 87 datagrams there are 86 intervals: more than 1% less.
#[test]
fn a_few_datagrams_that_all_arrive_are_no_loss() {
    let span_ns = 2_023_000_000;
    let datagrams = Datagrams {
        sent: 87,
        received: 87,
        ..Datagrams::default()
    };
    let to = |mbit_per_s| {
        let params = UdpSweepParams {
            direction: Direction::ToDevice,
            payload_bytes: PAYLOAD,
            offered_bytes_per_s: mbit_per_s * 125_000.0,
            span_ns: SPAN_NS,
            ..UdpSweepParams::default()
        };
        let flow = Flow::datagrams(87 * PAYLOAD, span_ns, CountedAt::Device, datagrams);
        Measurement::UdpSweep(UdpSweep {
            metrics: UdpSweepMetrics::of(&params, flow),
            params,
            ledger: Ledger::default(),
        })
    };
    let verdict = summarize(vec![to(0.5)]).verdict;
    assert!(
        verdict.contains("all offered load is received"),
        "{verdict}"
    );
}

#[test]
fn order_of_results_is_not_that_of_loads() {
    let to = |offered, sent, lost| point(Direction::ToDevice, offered, sent, lost);
    let summary = summarize(vec![to(3.0, 511, 0), to(1.0, 171, 0), to(2.0, 341, 0)]);
    assert_eq!(
        summary.verdict,
        "To the device: all offered load is received, up to 3 Mbit/s; the knee is above that."
    );
}

#[test]
fn a_missing_report_does_not_mean_that_nothing_was_received() {
    let to = |offered, sent, lost| point(Direction::ToDevice, offered, sent, lost);
    let mut silent = to(4.0, 1, 0);
    if let Measurement::UdpSweep(it) = &mut silent {
        it.metrics = UdpSweepMetrics {
            failure: "no report at the end".to_owned(),
            ..UdpSweepMetrics::default()
        };
    }
    let summary = summarize(vec![to(1.0, 171, 0), to(2.0, 341, 171), silent]);
    assert!(
        summary.verdict.ends_with("One load has no result."),
        "{}",
        summary.verdict
    );
    assert!(
        !summary.verdict.contains("collapses"),
        "{}",
        summary.verdict
    );
    assert_eq!(summary.table.rows[2][6], "no report at the end");
}

#[test]
fn a_receiver_that_crashes_is_not_fast_before() {
    // As published: 63 of 141,358 datagrams in 0.2 of 2 seconds, 3.18 Mbit/s according to iperf.
    let result = point(Direction::ToDevice, 1_000.0, 141_358, 141_295);
    let Measurement::UdpSweep(it) = result else {
        unreachable!("it is one")
    };
    assert!((it.metrics.received_bytes_per_s * 8.0 - 370_440.0).abs() < 1.0);
}

#[test]
fn a_datagram_that_was_not_sent_is_no_loss() {
    // 500 kbit/s are 85 datagrams in two seconds; two fewer were sent, and all arrived.
    let points = [(0.5, 83, 0), (2.0, 340, 0), (16.0, 2_721, 1_094)];
    let to = |&(offered, sent, lost): &_| point(Direction::ToDevice, offered, sent, lost);
    let verdict = summarize(points.iter().map(to).collect()).verdict;
    assert!(
        verdict.starts_with("To the device: all is received up to 2 Mbit/s, saturates at"),
        "{verdict}"
    );
}

#[test]
fn a_sender_that_is_too_slow_from_the_first_load_on_loses_nothing() {
    let points = [(100.0, 10_000, 0), (200.0, 10_100, 0)];
    let to = |&(offered, sent, lost): &_| point(Direction::ToDevice, offered, sent, lost);
    let verdict = summarize(points.iter().map(to).collect()).verdict;
    assert!(
        verdict.contains("all that is sent is received"),
        "{verdict}"
    );
    assert!(
        !verdict.contains("loss from the first load on"),
        "{verdict}"
    );
}

/// Loss that does not depend on the load is no saturation: loads above 3 Mbit/s have no result, since the server no
/// longer answered.
#[test]
fn a_rate_that_still_rises_at_the_last_load_with_a_result_is_not_called_saturated() {
    let missing = |mbit_per_s: f64| {
        let Measurement::UdpSweep(mut sweep) = point(Direction::FromDevice, mbit_per_s, 1, 0)
        else {
            unreachable!()
        };
        sweep.metrics = UdpSweepMetrics {
            failure: "no data".to_owned(),
            ..UdpSweepMetrics::default()
        };
        Measurement::UdpSweep(sweep)
    };
    let measured = |mbit_per_s, sent, lost| point(Direction::FromDevice, mbit_per_s, sent, lost);
    let summary = summarize(vec![
        measured(1.0, 173, 2),
        measured(3.0, 513, 12),
        missing(5.0),
        missing(7.0),
    ]);
    assert_eq!(
        summary.verdict,
        "From the device: loss from the first load on, 1.01 Mbit/s (126 kB/s) of 1 Mbit/s received, rises up to \
         2.95 Mbit/s (368 kB/s) at 3 Mbit/s offered, the highest load with a result: saturation is not shown. 2 loads \
         have no result."
    );
}
