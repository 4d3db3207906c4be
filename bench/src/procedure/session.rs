//! Runs several procedures on one target and stores the results on disk.

use std::path::PathBuf;
use std::time::Duration;

use linerate_explain::cause::explain_targets;
use linerate_results::record::{Duplex, Measurement, Provenance, Run};

use super::{Procedure, TrialContext};
use crate::baseline::Baseline;
use crate::endpoint::{CANCELLED, Target, TargetError, TrialMonitor};
use crate::provenance;
use crate::recorder::Recorder;
use crate::store::StoreError;

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
    let title = format!("{} of {}", session.name, target.name());
    let provenance = initial_provenance(session, target);
    let mut recorder = Recorder::begin(&session.out, &session.name, title, provenance, note)?;
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
            recorder.not_measured(words, why);
            continue;
        }
        if let Err(why) = it.procedure.check_support(target) {
            note(&format!("{words}: not measured: {why}"));
            recorder.not_measured(words, why);
            continue;
        }
        let mut keep = |measured: Measurement| {
            result(&measured);
            recorder.record(measured).map_err(SessionError::from)
        };
        let limit = longest(it.procedure.as_ref(), target);
        let mut context = TrialContext::new(&mut keep, note, monitor).with_limit(limit);
        let done = it.procedure.run(target, &mut context);
        if done.is_ok() && context.is_cancelled() && context.not_measured.is_empty() {
            context.stopped(&format!("the rest of {words}"));
        }
        let boards = std::mem::take(&mut context.boards);
        let (not_measured, failures) = (context.not_measured, context.failures);
        recorder.run.not_measured.extend(not_measured);
        recorder.run.failures.extend(failures);
        let done = boards.into_iter().fold(done, |done, (trial, record)| {
            let number = recorder.run.frame_counts.len() + 1;
            let added = recorder.add_machine(&format!("trial-{number}-{trial}"), record);
            done.and(added.map_err(SessionError::from))
        });
        if let Err(error) = done {
            note(&format!("{words}: {error}"));
            recorder.not_measured(words, &error.to_string());
            // Results that cannot be written need not be measured; one failed trial does not affect
            // the next.
            store_failed |= matches!(error, SessionError::Store(_));
            if let SessionError::Target(error) = &error {
                unreachable = unreachable.or_else(|| error.finding());
            }
            outcome = outcome.and(Err(error));
        }
    }
    let run = &mut recorder.run;
    run.failures.extend(run.contradictions());
    run.failures
        .extend(outcome.as_ref().err().map(ToString::to_string));
    run.findings = explain_targets(run);
    run.findings.extend(unreachable);
    let baseline = session.baseline.as_ref();
    let run = recorder.finish(baseline.filter(|_| !monitor.is_cancelled()))?;
    outcome.map(|()| run)
}

/// The longest time of a procedure, whatever the device does: the sum of its trials, each of which may use up its whole
/// time, and this host's own work; `None` for simulated targets.
pub fn longest(procedure: &dyn Procedure, target: &dyn Target) -> Option<Duration> {
    Some(procedure.max_duration(target)? + MARGIN)
}

fn initial_provenance(session: &SessionConfig, target: &dyn Target) -> Provenance {
    let mut provenance = Provenance {
        target: session.url.clone(),
        seed: session.seed,
        duplex: Duplex::Unknown,
        ..provenance::current()
    };
    if let Some(identity) = target.identity() {
        provenance::add_identity(&mut provenance, identity);
    }
    provenance
}

#[cfg(test)]
mod tests {
    use linerate_results::record::{CountedFrames, Direction, FrameCounts, Ledger};

    use super::super::scripted::Scripted;
    use super::super::throughput::Throughput;
    use super::*;
    use crate::endpoint::{Amount, NoMonitor, Outcome, Stream, Trial};
    use crate::machine::MachineRecord;

    /// The cable counts no frame.
    fn frames(sent: u64) -> MachineRecord {
        let ledger = Ledger {
            sent_frames: sent,
            delivered_frames: sent,
            ..Ledger::default()
        };
        let counts = FrameCounts::default();
        MachineRecord {
            frames: Some(CountedFrames { ledger, counts }),
            ..MachineRecord::default()
        }
    }

    fn failures(sent: u64) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        let session = SessionConfig {
            name: "test".to_owned(),
            url: "sim://board".to_owned(),
            out: folder.path().into(),
            seed: 1,
            baseline: None,
        };
        let span = Amount::Span(Duration::from_secs(1));
        let trial = Trial::Stream(Stream::of(Direction::ToDevice, span));
        let mut target = Scripted::new(|_| {
            Ok(Outcome {
                board: Some(frames(sent)),
                ..Outcome::default()
            })
        });
        let procedure = Box::new(Throughput { trial, probe: None });
        let asked = [RequestedProcedure {
            procedure,
            is_required: false,
        }];
        let (mut note, mut result) = (|_: &str| {}, |_: &Measurement| {});
        let monitor = &mut NoMonitor;
        let run = run(
            &session,
            &asked,
            &mut target,
            monitor,
            &mut note,
            &mut result,
        )
        .expect("measured");
        assert_eq!(run.results[0].ledger().sent_frames, sent);
        run.failures
    }

    #[test]
    fn counts_of_a_board_that_contradict_its_ledger_are_a_failure() {
        let of_trial = |failures: Vec<String>| {
            let own = failures.into_iter();
            own.filter(|it| it.starts_with("trial-1-tcp-to-the-device: "))
                .collect::<Vec<_>>()
        };
        assert_eq!(of_trial(failures(0)), [""; 0]);
        let found = of_trial(failures(7));
        assert!(found[0].contains("the ledger has 7"), "{found:?}");
    }
}
