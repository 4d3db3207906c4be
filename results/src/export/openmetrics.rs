//! The `OpenMetrics` text format: one gauge per metric, the conditions as labels.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::figures::{conditions, figures};
use crate::record::Run;

type Labels = Vec<(String, String)>;
type Figures = Family<Labels, Gauge<f64, AtomicU64>>;

/// The exposition, ending in `# EOF`.
pub fn openmetrics(run: &Run) -> String {
    let mut families: BTreeMap<String, Figures> = BTreeMap::new();
    for (at, result) in run.results.iter().enumerate() {
        let mut labels = vec![
            ("scenario".to_owned(), run.scenario.clone()),
            ("result".to_owned(), (at + 1).to_string()),
        ];
        labels.extend(
            conditions(result)
                .into_iter()
                .map(|(name, value)| (identifier(&name), value)),
        );
        for note in &result.setting().notes {
            let mut labels = labels.clone();
            labels.push(("note".to_owned(), note.clone()));
            let name = format!("linerate_{}_note", result.kind());
            families
                .entry(name)
                .or_default()
                .get_or_create(&labels)
                .set(1.0);
        }
        for figure in figures(result) {
            let name = format!("linerate_{}_{}", result.kind(), identifier(&figure.metric));
            families
                .entry(name)
                .or_default()
                .get_or_create(&labels)
                .set(figure.value);
        }
    }
    let mut registry = Registry::default();
    for (name, family) in families {
        registry.register(name, "A figure of linerate, its unit in its name", family);
    }
    let mut text = String::new();
    // Writing to memory does not fail.
    let _ = encode(&mut text, &registry);
    text
}

/// A name with letters, digits and underscores only.
fn identifier(name: &str) -> String {
    let allowed = |char: char| {
        if char.is_ascii_alphanumeric() {
            char
        } else {
            '_'
        }
    };
    name.chars().map(allowed).collect()
}
