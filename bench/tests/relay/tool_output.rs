//! Parsing the output of stock tools.

use super::count::Counts;

/// The line of stock iperf 2 for a received stream of datagrams.
struct Line {
    id: String,
    counts: Counts,
    jitter_ns: f64,
}

fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    for line in text.lines() {
        let Some((id, rest)) = line.split_once(']') else {
            continue;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        if let Some(ms) = words.iter().rposition(|word| *word == "ms")
            && let Ok(jitter_ms) = words[ms - 1].parse::<f64>()
            && let Some((lost, all)) = words[ms + 1..].concat().split_once('/')
            && let Some(all) = all.split('(').next()
            && let (Ok(lost), Ok(all)) = (lost.parse(), all.parse())
        {
            lines.push(Line {
                id: id.to_owned(),
                counts: (lost, all, 0),
                jitter_ns: jitter_ms * 1e6,
            });
        } else if line.ends_with("datagrams received out-of-order")
            && let Some(it) = lines.iter_mut().rfind(|it| it.id == id)
        {
            it.counts.2 = words[2].parse().expect("a number");
        }
    }
    lines
}

/// The counts that stock iperf 2 prints for datagrams, its own and those of the server's report.
pub fn printed(text: &str) -> Vec<Counts> {
    sorted(lines(text).into_iter().map(|it| it.counts).collect())
}

/// The jitter of the same, nanoseconds, in ascending order.
pub fn printed_jitter(text: &str) -> Vec<f64> {
    let mut printed: Vec<f64> = lines(text).into_iter().map(|it| it.jitter_ns).collect();
    printed.sort_unstable_by(f64::total_cmp);
    printed
}

/// Octets received or sent in each stream as printed by stock iperf 2, in ascending order.
pub fn printed_octets(text: &str) -> Vec<u64> {
    let of = |line: &str| {
        let rest = line.split_once(']').filter(|(id, _)| *id != "[SUM")?.1;
        let (before, _) = rest.split_once(" Bytes ")?;
        before.split_whitespace().last()?.parse().ok()
    };
    let mut printed: Vec<u64> = text.lines().filter_map(of).collect();
    printed.sort_unstable();
    printed
}

/// Stock iperf 2 prints whole microseconds, rounded; its report on the wire truncates them.
const PRINTED_NS: f64 = 1_001.0;

/// True if stock iperf 2 prints the jitter that we report.
pub fn is_same_jitter(printed: &[f64], reported_ns: &[u64]) -> bool {
    let mut reported_ns = reported_ns.to_vec();
    reported_ns.sort_unstable();
    let mut pairs = printed.iter().zip(&reported_ns);
    printed.len() == reported_ns.len()
        && pairs.all(|(printed, reported)| (printed - *reported as f64).abs() <= PRINTED_NS)
}

pub fn sorted(mut counts: Vec<Counts>) -> Vec<Counts> {
    counts.sort_unstable();
    counts
}

/// The final report of stock iperf 3, as JSON.
pub fn end_of(text: &str) -> serde_json::Value {
    let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(json.get("error"), None, "{text}");
    json["end"].clone()
}

/// The final report of stock iperf 3 on each stream that it sent or received, as JSON.
pub fn streams_of(text: &str) -> Vec<serde_json::Value> {
    let end = end_of(text);
    let streams = end["streams"].as_array().expect("streams");
    streams.iter().map(|stream| stream["udp"].clone()).collect()
}

pub fn number(of: &serde_json::Value, name: &str) -> u64 {
    let number = of[name].as_u64();
    number.unwrap_or_else(|| panic!("no {name}: {of}"))
}

/// Lost and all datagrams of a stream.
pub fn lost_and_all(stream: &serde_json::Value) -> (u64, u64) {
    (number(stream, "lost_packets"), number(stream, "packets"))
}

/// True if stock iperf 3 reports the jitter that we report: it prints all digits, and the wire has
/// nanoseconds.
pub fn has_jitter(stream: &serde_json::Value, reported_ns: u64) -> bool {
    let printed_ms = stream["jitter_ms"].as_f64().expect("a jitter");
    (printed_ms * 1e6 - reported_ns as f64).abs() <= 2.0
}
