//! Comparisons of the fixture with itself, changed.

use super::*;

fn fixture() -> Run {
    Run::from_json(include_str!("../../tests/fixtures/run.json")).expect("the fixture is valid")
}

#[test]
fn a_run_equals_itself() {
    let run = fixture();
    let comparison = compare(&run, &run, none, &Thresholds::default());
    assert_eq!(comparison.failures(), [""; 0]);
    assert!(comparison.changes.len() > 20 && comparison.new.is_empty());
    assert!(comparison.markdown().starts_with("All "));
}

fn none(_: &Run) -> DerivedFigures {
    Vec::new()
}

fn goodput(run: &mut Run) -> &mut f64 {
    let gets = run.results.iter_mut().find_map(|result| match result {
        Measurement::HttpGet(get) => Some(get),
        _ => None,
    });
    &mut gets.expect("a download").metrics.goodput_bytes_per_s_p50
}

#[test]
fn slower_is_reported_and_faster_is_not() {
    let before = fixture();
    let mut after = fixture();
    *goodput(&mut after) *= 0.9;
    let comparison = compare(&before, &after, none, &Thresholds::default());
    let failures = comparison.failures();
    assert_eq!(failures.len(), 1, "{failures:?}");
    assert!(
        failures[0].contains("goodput_bytes_per_s_p50"),
        "{failures:?}"
    );
    assert!(comparison.markdown().contains("worse"));
    // A threshold of the metric.
    let thresholds = Thresholds {
        by_metric: vec![("goodput_bytes_per_s_p50".to_owned(), 0.2)],
        ..Thresholds::default()
    };
    assert_eq!(
        compare(&before, &after, none, &thresholds).failures(),
        [""; 0]
    );
    assert_eq!(
        compare(&after, &before, none, &Thresholds::default()).failures(),
        [""; 0]
    );
}

#[test]
fn a_result_that_disappeared_is_missing() {
    let before = fixture();
    let mut after = fixture();
    after.results.remove(0);
    let comparison = compare(&before, &after, none, &Thresholds::default());
    assert_eq!(comparison.missing.len(), 1);
    assert!(comparison.failures()[0].contains("was measured before"));
    assert_eq!(
        compare(&after, &before, none, &Thresholds::default())
            .new
            .len(),
        1
    );
}

#[test]
fn a_figure_that_disappeared_is_missing() {
    let mut comparison = Comparison::default();
    let figure = |metric: &str| Figure {
        metric: metric.to_owned(),
        value: 1.0,
    };
    let earlier = vec![figure("rtt.p50_ns"), figure("rtt.count")];
    comparison.compare_figures("latency", earlier, &[], &Thresholds::default());
    assert_eq!(comparison.missing, ["latency: rtt.p50_ns"]);
}

#[test]
fn preferred_direction_of_metrics() {
    for (metric, expected) in [
        ("goodput_bytes_per_s_p50", Better::Higher),
        ("to_device.datagrams.received", Better::Higher),
        ("to_device.datagrams.lost", Better::Lower),
        ("rtt_ns.p99", Better::Lower),
        ("frame_loss_rate", Better::Lower),
        ("to_device.span_ns", Better::Neither),
        ("rtt.count", Better::Neither),
        ("pdv_ns", Better::Lower),
        ("answered", Better::Higher),
    ] {
        assert_eq!(better(metric), expected, "{metric}");
    }
}

#[test]
fn a_cut_transfer_is_missing_and_never_better() {
    let figure = |metric: &str, value| Figure {
        metric: metric.to_owned(),
        value,
    };
    let cut = without_cut(vec![
        figure("to_device.goodput_bytes_per_s", 9e9),
        figure("to_device.is_cut", 1.0),
        figure("from_device.goodput_bytes_per_s", 1e6),
    ]);
    assert_eq!(cut, [figure("from_device.goodput_bytes_per_s", 1e6)]);
    let mut comparison = Comparison::default();
    let earlier = vec![figure("to_device.goodput_bytes_per_s", 1e6)];
    comparison.compare_figures("TCP", earlier, &cut, &Thresholds::default());
    assert_eq!(comparison.missing, ["TCP: to_device.goodput_bytes_per_s"]);
}
