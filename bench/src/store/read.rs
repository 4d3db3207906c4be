//! Results read back, also of a run that did not finish and of a damaged file.

use linerate_results::record::{Measurement, NotMeasured, ReadError, Run};
use serde::{Deserialize, Serialize};

use super::resume::FinishedJob;

/// The last line of `trials.ndjson` of a run that finished.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct End {
    /// Number of results, which are the lines before.
    pub finished_with_results: usize,
}

/// Results that were read back.
#[derive(Debug)]
pub struct StoredRun {
    /// The run, with all results that can be read.
    pub run: Run,
    /// What the file lacks: each damaged line, and the rest of a run that did not finish.
    pub lacks: Vec<NotMeasured>,
}

impl StoredRun {
    /// The run, in which what the file lacks was not measured.
    pub fn into_run(mut self) -> Run {
        self.run.not_measured.extend(self.lacks);
        self.run
    }
}

/// Reads `run.json` or `trials.ndjson`.
///
/// # Errors
/// [`ReadError`] gives the place where the text, or the first line of it, is not in the format.
pub fn read(text: &str) -> Result<StoredRun, ReadError> {
    let whole = Run::from_json(text);
    let mut lines = text.lines().zip(1..);
    let header = lines.next().map(|(line, _)| Run::from_json(line));
    // A first line alone without results is the beginning of `trials.ndjson`.
    let is_whole = |run: &Run| text.lines().nth(1).is_some() || !run.results.is_empty();
    let mut run = match (whole, header) {
        (Ok(run), _) if is_whole(&run) => {
            let lacks = Vec::new();
            return Ok(StoredRun { run, lacks });
        }
        (_, Some(Ok(run))) => run,
        (whole, _) => whole?,
    };
    let (mut end, mut lacks) = (None, Vec::new());
    for (line, number) in lines {
        match serde_json::from_str::<Measurement>(line) {
            Ok(result) => run.results.push(result),
            Err(error) => match serde_json::from_str::<End>(line) {
                Ok(it) => end = Some(it.finished_with_results),
                Err(_) if serde_json::from_str::<FinishedJob>(line).is_ok() => {}
                Err(_) => lacks.push(damaged(number, &error)),
            },
        }
    }
    let found = run.results.len();
    match end {
        Some(results) if results == found => {}
        Some(results) => lacks.push(lacking(format!(
            "the run finished with {results} results, {found} can be read"
        ))),
        None => lacks.push(lacking(format!(
            "the run did not finish: it was ended after {found} results"
        ))),
    }
    Ok(StoredRun { run, lacks })
}

fn damaged(number: usize, error: &serde_json::Error) -> NotMeasured {
    let text = error.to_string();
    let why = text.split(" at line ").next().unwrap_or_default();
    NotMeasured {
        what: format!("line {number} of the file"),
        why: format!("it is no result: {why}"),
    }
}

fn lacking(why: String) -> NotMeasured {
    NotMeasured {
        what: "the other results".to_owned(),
        why,
    }
}
