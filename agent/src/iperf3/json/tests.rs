use super::PartialWriter;
use super::scan::{Event, InvalidJson, Scanner};
use proptest::prelude::*;
use serde_json::{Map, Value};
use std::string::{String, ToString as _};
use std::vec::Vec;

/// Rebuilds a document from the events.
#[derive(Default)]
struct Builder {
    open: Vec<(Value, String)>,
    key: String,
    root: Option<Value>,
    numbers: Vec<super::Number>,
}

impl Builder {
    fn put(&mut self, value: Value) {
        match self.open.last_mut() {
            None => assert!(self.root.replace(value).is_none(), "two values"),
            Some((Value::Array(elements), _)) => elements.push(value),
            Some((Value::Object(members), _)) => {
                members.insert(std::mem::take(&mut self.key), value);
            }
            Some(_) => unreachable!(),
        }
    }

    fn on_event(&mut self, depth: u8, event: Event) {
        let text = |octets: &[u8]| String::from_utf8(octets.to_vec()).unwrap();
        if let Event::Begin { object } = event {
            let value = if object {
                Value::Object(Map::new())
            } else {
                Value::Array(Vec::new())
            };
            let key = std::mem::take(&mut self.key);
            self.open.push((value, key));
        }
        assert_eq!(usize::from(depth), self.open.len());
        match event {
            Event::Begin { .. } => {}
            Event::End { object } => {
                let (value, key) = self.open.pop().unwrap();
                assert_eq!(object, value.is_object());
                self.key = key;
                self.put(value);
            }
            Event::Key(key) => self.key = text(key),
            Event::Text(octets) => self.put(Value::String(text(octets))),
            // Compared separately: serde_json's numbers have no more digits than f64.
            Event::Number(number) => {
                self.numbers.push(number);
                self.put(Value::from(0));
            }
            Event::Bool(value) => self.put(Value::Bool(value)),
            Event::Null => self.put(Value::Null),
        }
    }
}

fn scan(text: &[u8]) -> Result<Builder, InvalidJson> {
    let mut scanner = Scanner::<4096>::new();
    let mut builder = Builder::default();
    for octet in text {
        scanner.push(*octet, &mut |depth, event| builder.on_event(depth, event))?;
    }
    scanner.finish(&mut |depth, event| builder.on_event(depth, event))?;
    Ok(builder)
}

/// Extracts the numbers, in order.
fn without_numbers(value: &Value, numbers: &mut Vec<serde_json::Number>) -> Value {
    match value {
        Value::Number(number) => {
            numbers.push(number.clone());
            Value::from(0)
        }
        Value::Array(elements) => {
            let elements = elements.iter().map(|it| without_numbers(it, numbers));
            Value::Array(elements.collect())
        }
        Value::Object(members) => {
            let member = |(key, it): (&String, &Value)| (key.clone(), without_numbers(it, numbers));
            Value::Object(members.iter().map(member).collect())
        }
        other => other.clone(),
    }
}

fn number(text: &str) -> super::Number {
    scan(text.as_bytes()).unwrap().numbers[0]
}

#[test]
fn numbers_are_scaled_without_rounding_up() {
    for (text, power, value) in [
        ("0", 0, Some(0)),
        ("-0.0", 9, Some(0)),
        ("18446744073709551615", 0, Some(u64::MAX)),
        // The digit that does not fit is dropped.
        ("18446744073709551616", 0, Some(18_446_744_073_709_551_610)),
        ("18446744073709551620", 0, None),
        (
            "184467440737095516160e-1",
            0,
            Some(18_446_744_073_709_551_610),
        ),
        ("-1", 0, None),
        ("-1e-9", 0, None),
        ("1.9999", 0, Some(1)),
        ("0.000123456789", 9, Some(123_456)),
        ("1.234567890123e+12", 0, Some(1_234_567_890_123)),
        ("1e19", 0, Some(10_000_000_000_000_000_000)),
        ("1e20", 0, None),
        ("1e-99999999999999", 9, Some(0)),
        ("1e99999999999999", 0, None),
        ("0.00000000000000000000000000001e29", 0, Some(1)),
    ] {
        assert_eq!(number(text).scaled(power), value, "{text}");
    }
}

#[test]
fn escapes_of_ascii_are_what_they_stand_for() {
    let text = r#""\"\\\/\b\f\n\r\t\u0074\u007F\u0000 ä\u00e4.\ud83d\ude00\n\ude00""#;
    let root = scan(text.as_bytes()).unwrap().root.unwrap();
    let expected = "\"\\/\u{8}\u{c}\n\r\tt\u{7f}\0 \u{e4}\u{fffd}.\u{fffd}\u{fffd}\n\u{fffd}";
    assert_eq!(root, Value::from(expected));
}

#[test]
fn what_is_too_deep_is_refused_and_32_levels_are_not() {
    let nested = |levels| ["[".repeat(levels), "]".repeat(levels)].concat();
    assert!(scan(nested(32).as_bytes()).is_ok());
    assert!(scan(nested(33).as_bytes()).is_err());
    assert!(scan("{\"a\":".repeat(1_000_000).as_bytes()).is_err());
}

#[test]
fn long_texts_are_cut() {
    let mut scanner = Scanner::<4>::new();
    let mut texts = Vec::new();
    for octet in br#"{"abcdefgh": "0123456"}"# {
        let mut on_event = |_, event: Event| match event {
            Event::Key(it) | Event::Text(it) => texts.push(it.to_vec()),
            _ => {}
        };
        scanner.push(*octet, &mut on_event).unwrap();
    }
    assert_eq!(texts, [b"abcd", b"0123"]);
}

#[test]
fn what_is_written_is_json_wherever_it_is_split() {
    let write = |writer: &mut PartialWriter| {
        writer.begin(b'{');
        writer.flag("tcp");
        writer.number("n", 18_446_744_073_709_551_615);
        writer.key("s");
        writer.seconds(7_000_001_020);
        writer.key("a");
        writer.begin(b'[');
        for n in 0..2 {
            writer.element();
            writer.begin(b'{');
            writer.number("n", n);
            writer.end(b'}');
        }
        writer.end(b']');
        writer.end(b'}');
    };
    let expected = r#"{"tcp":true,"n":18446744073709551615,"s":7.000001020,"a":[{"n":0},{"n":1}]}"#;
    assert_eq!(PartialWriter::measure(write), expected.len());
    for size in 1..=expected.len() + 1 {
        let mut text = Vec::new();
        loop {
            let mut buffer = std::vec![0; size];
            let mut writer = PartialWriter::new(&mut buffer, text.len());
            write(&mut writer);
            let (len, complete) = (writer.written(), writer.is_complete());
            text.extend(&buffer[..len]);
            if complete {
                break;
            }
        }
        assert_eq!(String::from_utf8(text).unwrap(), expected, "{size}");
    }
}

fn document() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        (0.0..1e6).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..8)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn documents_are_read_as_serde_reads_them(document in document(), pretty: bool) {
        let text = if pretty {
            serde_json::to_string_pretty(&document).unwrap()
        } else {
            document.to_string()
        };
        let read = scan(text.as_bytes()).unwrap();
        let mut numbers = Vec::new();
        prop_assert_eq!(read.root, Some(without_numbers(&document, &mut numbers)));
        prop_assert_eq!(read.numbers.len(), numbers.len());
        for (ours, theirs) in read.numbers.iter().zip(numbers) {
            if let Some(integer) = theirs.as_u64() {
                prop_assert_eq!(ours.scaled(0), Some(integer));
                continue;
            }
            let real = theirs.as_f64().unwrap();
            match ours.scaled(9) {
                Some(scaled) => {
                    let off = (scaled as f64 - real * 1e9).abs();
                    prop_assert!(off <= 1.0 + real * 1e9 * 1e-15, "{} {:?}", real, ours);
                }
                None => prop_assert!(real < 0.0 || real * 1e9 >= 1.8446744073709e19, "{}", real),
            }
        }
    }

    /// Both accept the same texts, and both reject the same.
    #[test]
    fn what_serde_refuses_is_refused(
        document in document(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0..3_u8, "[ -~\t\n]"), 1..4),
    ) {
        let mut text = document.to_string().replace(|c: char| !c.is_ascii(), "?").into_bytes();
        for (at, kind, new) in changes {
            let at = at.index(text.len() + 1);
            match kind {
                0 => text.insert(at, new.as_bytes()[0]),
                1 if at < text.len() => drop(text.remove(at)),
                _ => text.truncate(at.max(1)),
            }
        }
        let theirs = serde_json::from_slice::<serde::de::IgnoredAny>(&text);
        prop_assert_eq!(scan(&text).is_ok(), theirs.is_ok(), "{}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn nothing_makes_it_fall(text: Vec<u8>) {
        let mut scanner = Scanner::<8>::new();
        for octet in text {
            if scanner.push(octet, &mut |_, _| {}).is_err() {
                break;
            }
        }
        let _ = scanner.finish(&mut |_, _| {});
    }
}
