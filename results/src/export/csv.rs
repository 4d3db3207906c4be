//! CSV with one row per figure or note (RFC 4180): the same columns for every measurement.

use super::figures::{conditions, figures};
use crate::record::Run;

/// The table, with a head: `result` is the number of the result, from 1; `params` has `name=value`,
/// joined by `;`. A row with the metric `note` has a sentence on the figures in place of a number.
pub fn csv(run: &Run) -> String {
    let mut writer = csv::WriterBuilder::new()
        .terminator(csv::Terminator::CRLF)
        .from_writer(Vec::new());
    // Writing to memory does not fail, nor do rows of one length.
    let _ = writer.write_record([
        "scenario",
        "result",
        "measurement",
        "run",
        "params",
        "metric",
        "value",
    ]);
    for (at, result) in run.results.iter().enumerate() {
        let params = conditions(result).into_iter();
        let params: Vec<String> = params
            .filter(|(name, _)| name != "run")
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let notes = result.setting().notes.iter();
        let notes = notes.map(|note| ("note".to_owned(), note.clone()));
        let figures = figures(result).into_iter();
        let figures = figures.map(|figure| (figure.metric, figure.value.to_string()));
        for (metric, value) in figures.chain(notes) {
            let _ = writer.write_record([
                run.scenario.as_str(),
                &(at + 1).to_string(),
                result.kind(),
                &result.setting().run,
                &params.join(";"),
                &metric,
                &value,
            ]);
        }
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8(bytes).unwrap_or_default()
}
