//! All figures of a result, by name.

use serde_json::{Map, Value};

use crate::record::Measurement;

/// A figure of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its name in the results' `metrics`, the parts joined by dots: `rtt_ns.p50`. The unit is in it.
    pub metric: String,
    /// Its value; a Boolean is 1 or 0.
    pub value: f64,
}

/// The figures of `result`, in the order of the record. Series (`intervals`, lists) are left out.
pub fn figures(result: &Measurement) -> Vec<Figure> {
    let value = serde_json::to_value(result).unwrap_or_default();
    let mut all = Vec::new();
    if let Some(Value::Object(metrics)) = value.get("metrics") {
        // The figures of a failed trial are meaningless.
        let failure = metrics.get("failure").and_then(Value::as_str);
        if failure.is_some_and(|why| !why.is_empty()) {
            return all;
        }
        walk(metrics, "", &mut all);
    }
    all
}

fn walk(members: &Map<String, Value>, prefix: &str, all: &mut Vec<Figure>) {
    for (name, value) in members {
        let metric = format!("{prefix}{name}");
        let value = match value {
            Value::Number(number) => number.as_f64(),
            Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
            Value::Object(members) => {
                walk(members, &format!("{metric}."), all);
                None
            }
            _ => None,
        };
        all.extend(value.map(|value| Figure { metric, value }));
    }
}

/// The conditions of a result, in order: every non-empty string, non-zero number and `true` in its
/// `params`. Two results with the same conditions are comparable.
pub(crate) fn conditions(result: &Measurement) -> Vec<(String, String)> {
    let value = serde_json::to_value(result).unwrap_or_default();
    let mut all = Vec::new();
    if let Some(Value::Object(params)) = value.get("params") {
        flatten(params, "", &mut all);
    }
    all
}

fn flatten(members: &Map<String, Value>, prefix: &str, all: &mut Vec<(String, String)>) {
    for (name, value) in members {
        let name = format!("{prefix}{name}");
        match value {
            Value::String(text) if !text.is_empty() => all.push((name, text.clone())),
            Value::Number(number) if number.as_f64() != Some(0.0) => {
                all.push((name, number.to_string()));
            }
            Value::Bool(true) => all.push((name, "true".to_owned())),
            Value::Object(members) => flatten(members, &format!("{name}."), all),
            _ => {}
        }
    }
}
