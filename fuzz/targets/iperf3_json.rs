//! Any octets as JSON, parsed by iperf 3's scanner and by `serde_json`.
#![no_main]

use linerate_agent::exercise::{MAX_DEPTH, json};
use serde_json::Value;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let mut numbers = Vec::new();
    let ours = json(data, |number| numbers.push(number));
    let opens = data.iter().filter(|octet| b"[{".contains(octet)).count();
    if opens > MAX_DEPTH {
        // It may be too deep for the scanner.
        return;
    }
    // Neither checks strings: their UTF-8 validity is irrelevant to iperf.
    let theirs = serde_json::from_slice::<serde::de::IgnoredAny>(data).is_ok();
    assert_eq!(ours, theirs);
    // With objects, the order of its numbers differs.
    if data.contains(&b'{') {
        return;
    }
    let Ok(value) = serde_json::from_slice(data) else {
        return;
    };
    let mut expected = Vec::new();
    flatten(&value, &mut expected);
    assert_eq!(numbers.len(), expected.len());
    for (number, expected) in numbers.into_iter().zip(expected) {
        if expected.is_u64() {
            assert_eq!(number, expected.as_u64());
        } else if expected.as_f64().is_some_and(|real| real < -1.0) {
            assert_eq!(number, None, "{expected}");
        } else if let (Some(number), Some(real)) = (number, expected.as_f64()) {
            let off = (number as f64 - real).abs();
            assert!(off <= 1.0 + real * 1e-15, "{number} for {real}");
        }
    }
});

fn flatten<'a>(value: &'a Value, numbers: &mut Vec<&'a serde_json::Number>) {
    match value {
        Value::Number(number) => numbers.push(number),
        Value::Array(elements) => elements.iter().for_each(|it| flatten(it, numbers)),
        _ => {}
    }
}
