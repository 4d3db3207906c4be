//! Measurements without a separate section: one row each, from their own description.

use serde::Serialize;

use linerate_results::format;
use linerate_results::record::{Conditions, Run};

/// A measurement.
#[derive(Serialize)]
pub(super) struct OtherRow {
    kind: &'static str,
    name: String,
    conditions: String,
    outcome: String,
    passed: bool,
}

/// Every measurement that no other section shows.
pub(super) fn others(run: &Run) -> Vec<OtherRow> {
    let rows = run.results.iter().filter_map(|result| {
        let description = result.describe();
        let row = description.row()?;
        let name = result.setting().name();
        Some(OtherRow {
            kind: row.kind,
            // Of a target, neither a run nor a variant has a name.
            name: if name.is_empty() {
                description.detail()
            } else {
                name.to_owned()
            },
            conditions: conditions(&result.setting().conditions),
            outcome: row.outcome,
            passed: row.passed,
        })
    });
    rows.collect()
}

/// The conditions that differ from a perfect cable, as text.
pub(super) fn conditions(conditions: &Conditions) -> String {
    let mut words = Vec::new();
    if conditions.turnaround_ns > 0 {
        words.push(format!(
            "turnaround {}",
            format::time(conditions.turnaround_ns)
        ));
    }
    if conditions.disregards_sack_blocks == Some(true) {
        words.push("the peer ignores SACK blocks".to_owned());
    }
    for (name, value) in &conditions.wire {
        words.push(format!("{} {value}", name.replace('_', " ")));
    }
    if conditions.hub_stations > 0 {
        words.push(format!(
            "{} other stations on a hub",
            conditions.hub_stations
        ));
    }
    if !conditions.partner.is_empty() {
        words.push(format!(
            "link partner advertises {}",
            conditions.partner.join(", ")
        ));
    }
    words.join("; ")
}
