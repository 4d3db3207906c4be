//! Conformance of a driver.

use super::{Summary, Table};
use linerate_results::record::Run;

/// One summary of all cases, including the skipped ones.
pub(super) fn summaries(run: &Run) -> Vec<Summary> {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut passed = 0;
    for it in run.conformances() {
        passed += usize::from(it.metrics.passed);
        let params = &it.params;
        rows.push(vec![
            params.case.clone(),
            params.about.clone(),
            it.verdict(),
        ]);
    }
    if rows.is_empty() {
        return Vec::new();
    }
    let tried = rows.len();
    let skipped = run.not_measured.iter();
    let skipped: Vec<_> = skipped
        .map(|it| {
            vec![
                it.what.clone(),
                String::new(),
                format!("skipped: {}", it.why),
            ]
        })
        .collect();
    let left_out = match skipped.len() {
        0 => String::new(),
        count => format!(", {count} skipped"),
    };
    rows.extend(skipped);
    vec![Summary {
        title: "Driver conformance".to_owned(),
        verdict: format!("{passed} of {tried} cases passed{left_out}."),
        table: Table {
            head: vec!["case", "description", "result"],
            rows,
        },
        ..Summary::default()
    }]
}
