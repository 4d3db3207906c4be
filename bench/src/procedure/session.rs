//! Runs several procedures on one target and stores the results on disk.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use linerate_explain::cause::explain_targets;
use linerate_results::record::{Measurement, NotMeasured, Provenance, Run, SCHEMA};

use super::{Procedure, TrialContext};
use crate::baseline::Baseline;
use crate::endpoint::{CANCELLED, Target, TargetError, TrialMonitor};
use crate::provenance;
use crate::store::{Store, StoreError};

/// Time of this host's own work between the trials of a procedure.
const MARGIN: Duration = Duration::from_secs(2);

/// Why a session was aborted.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The target can't be used, or failed.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// A result can't be written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Name, target and output of a session.
pub struct SessionConfig {
    /// The name of the results: `test`, `sweep`.
    pub name: String,
    /// The target's URL as given by the user.
    pub url: String,
    /// Folder for results and report.
    pub out: PathBuf,
    /// Seed of everything random.
    pub seed: u64,
    /// Earlier results to compare with.
    pub baseline: Option<Baseline>,
}

/// A procedure to run. If the user named it, an unsupported procedure is an error; otherwise it is
/// skipped with a note.
pub struct RequestedProcedure {
    /// The procedure.
    pub procedure: Box<dyn Procedure>,
    /// The user named it.
    pub is_required: bool,
}

/// Runs all of `asked` on `target` and writes run.json, the reports and the exports. Each result is in
/// trials.ndjson as soon as it is available.
///
/// # Errors
/// [`SessionError`]: earlier results are in the folder, with their report.
pub fn run(
    session: &SessionConfig,
    asked: &[RequestedProcedure],
    target: &mut dyn Target,
    monitor: &mut dyn TrialMonitor,
    note: &mut dyn FnMut(&str),
    result: &mut dyn FnMut(&Measurement),
) -> Result<Run, SessionError> {
    for it in asked.iter().filter(|it| it.is_required) {
        it.procedure
            .check_support(target)
            .map_err(|why| TargetError::Unsupported {
                target: target.name(),
                trial: it.procedure.label(),
                why,
            })?;
    }
    let mut run = header(session, target);
    let store = Store::create(&session.out, &run)?;
    if let Some(earlier) = store.earlier_note() {
        note(&earlier);
    }
    let mut outcome = Ok(());
    let mut store_failed = false;
    let mut unreachable = None;
    for it in asked {
        let words = it.procedure.label();
        if store_failed || monitor.is_cancelled() {
            let why = if store_failed {
                "results could not be written any more"
            } else {
                CANCELLED
            };
            not_measured(&mut run, words, why);
            continue;
        }
        if let Err(why) = it.procedure.check_support(target) {
            note(&format!("{words}: not measured: {why}"));
            not_measured(&mut run, words, why);
            continue;
        }
        let results = &mut run.results;
        let mut keep = |measured: Measurement| {
            result(&measured);
            let stored = store.append(&measured);
            results.push(measured);
            stored.map_err(SessionError::from)
        };
        let limit = longest(it.procedure.as_ref(), target);
        let mut context = TrialContext::new(&mut keep, note, monitor).with_limit(limit);
        let done = it.procedure.run(target, &mut context);
        if done.is_ok() && context.is_cancelled() && context.not_measured.is_empty() {
            context.stopped(&format!("the rest of {words}"));
        }
        run.not_measured.append(&mut context.not_measured);
        run.provenance.virtual_ns += context.virtual_ns;
        run.failures.append(&mut context.failures);
        if let Err(error) = done {
            note(&format!("{words}: {error}"));
            not_measured(&mut run, words, &error.to_string());
            // Results that cannot be written need not be measured; one failed trial does not affect
            // the next.
            store_failed |= matches!(error, SessionError::Store(_));
            if let SessionError::Target(error) = &error {
                unreachable = unreachable.or_else(|| error.finding());
            }
            outcome = outcome.and(Err(error));
        }
    }
    run.failures
        .extend(outcome.as_ref().err().map(ToString::to_string));
    if let Some(baseline) = session
        .baseline
        .as_ref()
        .filter(|_| !monitor.is_cancelled())
    {
        let worse = baseline.compare(&run).failures();
        run.failures.extend(worse);
    }
    run.findings = explain_targets(&run);
    run.findings.extend(unreachable);
    store.finish(&run)?;
    outcome.map(|()| run)
}

/// The longest time of a procedure, whatever the device does: the sum of its trials, each of which may use up its whole
/// time, and this host's own work; `None` for simulated targets.
pub fn longest(procedure: &dyn Procedure, target: &dyn Target) -> Option<Duration> {
    Some(procedure.max_duration(target)? + MARGIN)
}

fn header(session: &SessionConfig, target: &dyn Target) -> Run {
    let mut provenance = Provenance {
        target: session.url.clone(),
        seed: session.seed,
        duplex: linerate_results::record::Duplex::Unknown,
        ..provenance::current()
    };
    if let Some(identity) = target.identity() {
        provenance::add_identity(&mut provenance, identity);
    }
    Run {
        schema: SCHEMA,
        scenario: session.name.clone(),
        title: format!("{} of {}", session.name, target.name()),
        provenance,
        results: Vec::new(),
        findings: Vec::new(),
        not_measured: Vec::new(),
        failures: Vec::new(),
        profiles: BTreeMap::new(),
        frame_counts: BTreeMap::new(),
    }
}

fn not_measured(run: &mut Run, what: String, why: &str) {
    run.not_measured.push(NotMeasured {
        what,
        why: why.to_owned(),
    });
}
