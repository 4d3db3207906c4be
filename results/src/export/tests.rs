use super::*;
use crate::record::{NotMeasured, Run};

fn fixture() -> Run {
    Run::from_json(include_str!("../../tests/fixtures/run.json")).expect("the fixture is valid")
}

#[test]
fn one_row_per_figure() {
    let run = fixture();
    let text = csv::csv(&run);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let rows: Vec<::csv::StringRecord> = reader
        .records()
        .collect::<Result<_, _>>()
        .expect("RFC 4180");
    let figures: usize = run
        .results
        .iter()
        .map(|result| super::figures(result).len())
        .sum();
    assert_eq!(rows.len(), figures);
    assert!(figures > 20);
    let first = &rows[0];
    assert_eq!((&first[1], &first[2]), ("1", run.results[0].kind()));
    assert!(first[6].parse::<f64>().is_ok());
}

#[test]
fn junit_has_results_limits_and_skipped_measurements() {
    let mut run = fixture();
    run.not_measured.push(NotMeasured {
        what: "round <trips>".to_owned(),
        why: "no probe".to_owned(),
    });
    run.failures = vec!["isr-all: goodput is 1 & too small".to_owned()];
    let text = junit::junit(&run);
    let cases = text.matches("<testcase ").count();
    assert_eq!(cases, run.results.len() + 2);
    assert!(text.contains("goodput is 1 &amp; too small"), "{text}");
    assert!(
        text.contains("round &lt;trips&gt;") && text.contains("<skipped"),
        "{text}"
    );
    run.failures.clear();
    assert!(junit::junit(&run).contains("every limit"));
}

#[test]
fn openmetrics_ends_with_eof_and_names_no_metric_twice() {
    let text = openmetrics::openmetrics(&fixture());
    assert!(text.ends_with("# EOF\n"));
    let types: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("# TYPE "))
        .collect();
    let mut unique = types.clone();
    unique.dedup();
    assert_eq!(types, unique);
    assert!(
        types.contains(&"# TYPE linerate_ping_rtt_ns_p50 gauge"),
        "{types:?}"
    );
}

#[test]
fn distributions_survive_the_log() {
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    let run = fixture();
    let ping = run.pings().next().expect("a ping");
    let text = hdr::hdr(&run).expect("there are samples");
    let entries: Vec<LogEntry<'_>> = IntervalLogIterator::new(text.as_bytes())
        .collect::<Result<_, _>>()
        .expect("a log");
    let encoded = entries.iter().find_map(|entry| match entry {
        LogEntry::Interval(interval) => Some(interval.encoded_histogram()),
        _ => None,
    });
    let bytes = base64(encoded.expect("an interval"));
    let read: hdrhistogram::Histogram<u64> = Deserializer::new()
        .deserialize(&mut bytes.as_slice())
        .expect("a histogram");
    assert_eq!(read.len(), ping.samples.rtt_ns.len() as u64);
    let longest = *ping.samples.rtt_ns.iter().max().expect("samples");
    assert!(read.max().abs_diff(longest) <= longest / 500);
}

#[test]
fn histograms_of_the_metrics_are_in_the_log() {
    let mut run = fixture();
    let latency = serde_json::json!({
        "measurement": "latency",
        "params": {"run": "", "duplex": "unknown", "conditions": {}, "count": 3, "interval_ns": 1, "payload_bytes": 44},
        "metrics": {"sent": 3, "answered": 3, "lost_to_device": 0, "lost_from_device": 0, "lost_either": 0,
            "out_of_order": 0, "duplicates": 0, "pdv_ns": 0,
            "rtt": {"count": 3, "min_ns": 1000, "p50_ns": 1000, "p90_ns": 2000, "p99_ns": 2000, "p999_ns": 2000,
                "max_ns": 2000, "histogram": [{"up_to_ns": 1000, "count": 2}, {"up_to_ns": 2000, "count": 1}]}},
        "limits": {},
    });
    run.results = vec![serde_json::from_value(latency).expect("a latency")];
    let text = hdr::hdr(&run).expect("a distribution");
    assert!(text.contains("Tag=1-latency-rtt,"), "{text}");
}

/// RFC 4648 section 4, of a log's histograms.
fn base64(text: &str) -> Vec<u8> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let value = |byte: u8| LETTERS.iter().position(|letter| *letter == byte);
    let mut bits = 0_u32;
    let mut count = 0;
    let mut bytes = Vec::new();
    for six in text.bytes().filter_map(value) {
        bits = bits << 6 | six as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
