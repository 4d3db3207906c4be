//! Checks that no output of a command has an impossible figure.

use std::path::Path;

use serde_json::Value;

/// Longest time in any output: none of these commands runs for ten minutes.
const MAX_NS: f64 = 600e9;
/// Payload that no interface carries, bytes a second.
const MAX_BYTES_PER_S: f64 = 50e9;
/// UDP is offered at 1 Mbit/s, in RFC 2544 up to 10: nothing is faster.
const MAX_DATAGRAM_BYTES_PER_S: f64 = 1.3e6;
/// Octets of one command at that rate in its time.
const MAX_OCTETS: f64 = MAX_BYTES_PER_S * 600.0;
/// Datagrams of a command.
const MAX_DATAGRAMS: f64 = 1e6;
/// No round trip is shorter.
const MIN_ROUND_TRIP_NS: f64 = 1_000.0;

/// Faults in the files of `folder`, and in the text that the command printed, a sentence each.
pub fn faults(folder: &Path, printed: &str) -> Vec<String> {
    let mut faults = Vec::new();
    text("stdout and stderr", printed, &mut faults);
    let read = |name: &str| std::fs::read_to_string(folder.join(name));
    let Ok(run) = read("run.json") else {
        return faults;
    };
    match serde_json::from_str(&run) {
        Ok(run) => json("run.json", &run, &mut faults),
        Err(error) => faults.push(format!("run.json: {error}")),
    }
    for name in ["report.md", "report.html", "junit.xml"] {
        match read(name) {
            Ok(content) => text(name, &visible(&content), &mut faults),
            Err(error) => faults.push(format!("{name}: {error}")),
        }
    }
    for name in ["results.csv", "results.prom"] {
        match read(name) {
            Ok(content) => table(name, &content, &mut faults),
            Err(error) => faults.push(format!("{name}: {error}")),
        }
    }
    faults
}

/// The text of a page, without its tags and styles.
fn visible(page: &str) -> String {
    let mut text = String::new();
    let mut rest = page;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        text.push(' ');
        let end = match tag {
            tag if tag.starts_with("style") => tag.find("</style>"),
            tag if tag.starts_with("script") => tag.find("</script>"),
            tag if tag.starts_with("svg") => tag.find("</svg>"),
            _ => Some(0),
        };
        let tag = &tag[end.unwrap_or(tag.len())..];
        rest = tag.split_once('>').map_or("", |(_, rest)| rest);
    }
    text + rest
}

/// Figures in sentences: `12.5 GB/s`, `101%`, `median 0 ns`.
fn text(name: &str, text: &str, faults: &mut Vec<String>) {
    let words: Vec<&str> = text
        .split_whitespace()
        .map(|word| word.trim_matches(|c: char| "(),;:|*".contains(c)))
        .collect();
    let mut fault = |what: String| faults.push(format!("{name}: {what}"));
    for pair in words.windows(2) {
        let [number, unit] = [pair[0], pair[1]];
        let Ok(value) = number.replace(',', "").parse::<f64>() else {
            continue;
        };
        let scale = match unit.trim_end_matches('.') {
            "B/s" => 1.0,
            "kB/s" => 1e3,
            "MB/s" => 1e6,
            "GB/s" => 1e9,
            "TB/s" => 1e12,
            "bit/s" => 1.0 / 8.0,
            "kbit/s" => 1e3 / 8.0,
            "Mbit/s" => 1e6 / 8.0,
            "Gbit/s" => 1e9 / 8.0,
            "Tbit/s" => 1e12 / 8.0,
            _ => continue,
        };
        let rate = value * scale;
        if !(rate > 0.0 && rate <= MAX_BYTES_PER_S) {
            fault(format!("a rate of {number} {unit}"));
        }
    }
    for word in &words {
        let number = word.trim_end_matches('.').strip_suffix('%');
        let number = number.and_then(|number| number.replace(',', "").parse::<f64>().ok());
        if number.is_some_and(|percent| !(-100.0..=100.0).contains(&percent)) {
            fault(format!("a share of {word}"));
        }
        if ["NaN", "inf", "-inf", "Infinity", "null"].contains(word) {
            fault(format!("`{word}`"));
        }
    }
    for part in ["median 0 ns", "B/s–", "0 of 0 datagrams"] {
        if text.contains(part) {
            fault(format!("`{part}`"));
        }
    }
}

/// Rows of the exports for other programs.
fn table(name: &str, content: &str, faults: &mut Vec<String>) {
    for line in content.lines().filter(|line| !line.starts_with('#')) {
        if line.contains("note") {
            continue;
        }
        let value = line.rsplit([',', ' ']).next().unwrap_or("");
        match value.parse::<f64>() {
            _ if line.starts_with("scenario,") => {}
            Ok(value) if value.is_finite() && (0.0..=MAX_OCTETS).contains(&value) => {}
            _ => faults.push(format!("{name}: {line}")),
        }
    }
}

fn json(name: &str, value: &Value, faults: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            if members.contains_key("goodput_bytes_per_s") {
                flow(name, value, faults);
            }
            for (key, value) in members {
                let path = format!("{name}.{key}");
                if let Some(number) = value.as_f64() {
                    figure(&path, key, number, faults);
                }
                json(&path, value, faults);
            }
        }
        Value::Array(values) => {
            for value in values {
                json(name, value, faults);
            }
        }
        _ => {}
    }
}

fn figure(path: &str, key: &str, number: f64, faults: &mut Vec<String>) {
    let most = match key {
        // The system's own estimate, over loopback.
        "unix_s" | "seed" | "schema" | "delivery_bytes_per_s" => return,
        _ if key.ends_with("_ns") => MAX_NS,
        _ if key.ends_with("_bytes_per_s") => MAX_BYTES_PER_S,
        "confidence" => 1.0,
        _ => MAX_OCTETS,
    };
    // A difference of clocks may be negative.
    if !number.is_finite() || number < 0.0 || number > most {
        faults.push(format!("{path} is {number}"));
    }
    let is_round_trip = path.contains(".rtt.") && key.ends_with("_ns") && !key.contains("stddev");
    if is_round_trip && number < MIN_ROUND_TRIP_NS {
        faults.push(format!("{path} is {number}"));
    }
}

fn flow(name: &str, flow: &Value, faults: &mut Vec<String>) {
    let number = |value: &Value, key: &str| value[key].as_f64().unwrap_or(f64::NAN);
    let mut fault = |what: &str| faults.push(format!("{name}: {what}: {flow}"));
    let [octets, span, goodput] =
        ["octets", "span_ns", "goodput_bytes_per_s"].map(|key| number(flow, key));
    if !(goodput > 0.0 && octets > 0.0 && span > 0.0) {
        fault("nothing");
    }
    if goodput > octets * 1e9 / span * 1.001 {
        fault("faster than its octets in its time");
    }
    let Some(datagrams) = flow.get("datagrams") else {
        return;
    };
    let [sent, received, lost] = ["sent", "received", "lost"].map(|key| number(datagrams, key));
    if !(sent <= MAX_DATAGRAMS && (received + lost - sent).abs() < 0.5 && lost <= sent) {
        fault("datagrams");
    }
    if goodput > MAX_DATAGRAM_BYTES_PER_S {
        fault("faster than offered");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_text(content: &str) -> usize {
        let mut faults = Vec::new();
        text("text", content, &mut faults);
        faults.len()
    }

    #[test]
    fn impossible_figures_in_sentences_are_found() {
        assert_eq!(in_text("to the device 1000000000 MB/s, 5000% lost"), 2);
        assert_eq!(in_text("| 0 B/s | median 0 ns |"), 2);
        assert_eq!(
            in_text("12.3 MB/s, 3 of 90 datagrams lost (3.3%), jitter 10 us"),
            0
        );
    }

    #[test]
    fn impossible_figures_in_records_are_found() {
        let mut faults = Vec::new();
        let flow = serde_json::json!({
            "octets": 1_000, "span_ns": 1_000_000_000, "goodput_bytes_per_s": 1e15,
            "datagrams": { "sent": 10, "received": 0, "lost": 500, "jitter_ns": 1e18 },
        });
        json("flow", &flow, &mut faults);
        assert_eq!(faults.len(), 5, "{faults:?}");
    }
}
