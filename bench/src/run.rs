//! Runs a whole scenario: every firmware of every run, independent ones in parallel.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use linerate_results::record::{Measurement, PeerModel, Provenance, Run, Setting};
use linerate_sim::chip::TimingTable;

use crate::baseline::Baseline;
use crate::firmware::{self, FirmwareError};
use crate::machine::{Identity, Machine, MachineConfig, MachineError, MachineRecord};
use crate::measure::{self, MeasureError, Plan};
use crate::progress::Progress;
use crate::provenance;
use crate::recorder::Recorder;
use crate::scenario::{self, Record, Scenario};
use crate::store::StoreError;

mod check;
mod setting;

pub use check::failures;

/// Input and output of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder with the firmware images.
    pub elf_dir: PathBuf,
    /// Folder for results and artifacts.
    pub out: PathBuf,
    /// Number of firmwares run in parallel.
    pub threads: usize,
    /// Timing table that replaces the board's own.
    pub timing: Option<TimingTable>,
    /// Earlier results to compare with.
    pub baseline: Option<Baseline>,
}

/// Outcome of a scenario.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The results. If the run was cancelled, they were compared with no limit.
    pub run: Run,
    /// The user cancelled the run: results are missing.
    pub is_cancelled: bool,
}

/// Why a scenario failed.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A firmware is missing.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// A result cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A machine cannot be used or failed.
    #[error("{name}: {error}")]
    Measure {
        /// `program-variant`.
        name: String,
        /// What went wrong.
        error: MeasureError,
    },
}

impl RunError {
    /// True if the machine failed, false if the input was wrong.
    pub const fn is_target_failure(&self) -> bool {
        match self {
            Self::Measure {
                error: MeasureError::Machine(error),
                ..
            } => !error.is_input(),
            Self::Measure { .. } => true,
            Self::Firmware(_) | Self::Store(_) => false,
        }
    }
}

/// Function that switches on a machine; tests supply their own.
pub type OpenMachine<'a> =
    &'a (dyn Fn(&MachineConfig) -> Result<Box<dyn Machine>, MachineError> + Sync);

/// One firmware to measure.
struct Job {
    /// `program-variant`, the image.
    image: String,
    config: MachineConfig,
    plan: Arc<dyn Plan>,
    setting: Setting,
}

/// Result of a job.
struct JobResult {
    identity: Identity,
    /// `None` if it was cancelled.
    record: Option<MachineRecord>,
    results: Vec<Measurement>,
}

/// Runs `scenario` and writes run.json, report.html, report.md and what the scenario records.
///
/// # Errors
/// [`RunError`] of the first firmware that failed; earlier results are in `trials.ndjson`.
pub fn run(
    scenario: &Scenario,
    options: &Options,
    open: OpenMachine<'_>,
    progress: &dyn Progress,
) -> Result<Outcome, RunError> {
    let jobs = jobs(scenario, options)?;
    let mut recorder = Recorder::begin(
        &options.out,
        &scenario.name,
        scenario.title.clone(),
        initial_provenance(scenario, &jobs),
        &mut |note| progress.note(note),
    )?;
    let done = run_jobs(&jobs, options.threads, open, &recorder, progress)?;
    let mut is_cancelled = false;
    for (job, done) in jobs.iter().zip(done) {
        let name = &job.config.name;
        let record = done.and_then(|done| {
            recorder.add_identity(done.identity);
            recorder.add(done.results);
            done.record
        });
        if let Some(record) = record {
            for warning in &record.artifacts.warnings {
                progress.note(&format!("{name}: {warning}"));
            }
            recorder.add_machine(name, record)?;
        } else {
            is_cancelled = true;
            recorder.not_measured(name.clone(), &MeasureError::Cancelled.to_string());
        }
    }
    if !is_cancelled {
        recorder.run.failures = failures(&recorder.run, &scenario.expect);
    }
    let baseline = options.baseline.as_ref().filter(|_| !is_cancelled);
    let run = recorder.finish(baseline)?;
    Ok(Outcome { run, is_cancelled })
}

/// Every firmware, in the scenario's order.
fn jobs(scenario: &Scenario, options: &Options) -> Result<Vec<Job>, FirmwareError> {
    let mut jobs = Vec::new();
    for run in &scenario.runs {
        for plan in &run.plans {
            jobs.push(job(scenario, run, plan, options)?);
        }
    }
    Ok(jobs)
}

fn job(
    scenario: &Scenario,
    run: &scenario::Run,
    plan: &Arc<dyn Plan>,
    options: &Options,
) -> Result<Job, FirmwareError> {
    let image = firmware::find(
        &options.elf_dir,
        &scenario.board.name,
        plan.program(),
        &run.variant,
    )?;
    let image_name = image.name.clone();
    let mut config = MachineConfig {
        name: format!("{}-{}", plan.label(), run.name),
        environment: run.environment.clone(),
        timing: options.timing.clone(),
        record: Record {
            profile: run.profile || scenario.record.profile,
            ..scenario.record
        },
        ..MachineConfig::new(scenario.board.clone(), image, scenario.seed)
    };
    plan.arrange(&mut config);
    Ok(Job {
        image: image_name,
        setting: setting::of(run, &config.environment),
        config,
        plan: plan.clone(),
    })
}

/// Runs every job on up to `threads` threads; the first failure ends it. `None` for jobs that a cancelled run did not
/// reach.
fn run_jobs(
    jobs: &[Job],
    threads: usize,
    open: OpenMachine<'_>,
    recorder: &Recorder,
    progress: &dyn Progress,
) -> Result<Vec<Option<JobResult>>, RunError> {
    let next = AtomicUsize::new(0);
    let slots: Mutex<Vec<Option<JobResult>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let failure: Mutex<Option<RunError>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while lock(&failure).is_none() && !progress.is_cancelled() {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    match run_job(at, job, open, recorder, progress) {
                        Ok(done) => lock(&slots)[at] = Some(done),
                        Err(error) => _ = lock(&failure).get_or_insert(error),
                    }
                }
            });
        }
    });
    let failure = lock(&failure).take();
    failure.map_or_else(|| Ok(std::mem::take(&mut *lock(&slots))), Err)
}

/// A thread that panicked leaves whole values, so the lock can be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn run_job(
    at: usize,
    job: &Job,
    open: OpenMachine<'_>,
    recorder: &Recorder,
    progress: &dyn Progress,
) -> Result<JobResult, RunError> {
    let name = &job.config.name;
    let failed = |error: MeasureError| RunError::Measure {
        name: name.clone(),
        error,
    };
    let machine = open(&job.config).map_err(|error| failed(error.into()))?;
    let identity = machine.identity();
    let target_knows = machine.duplex().is_some();
    let mut observer = job.plan.observer(&job.config);
    progress.begin(at, name, observer.progress().1);
    let mut results = Vec::new();
    let mut written = Ok(());
    let record = measure::drive(
        machine,
        observer.as_mut(),
        job.plan.limit_s(),
        &mut |mut result| {
            let duplex = result.setting().duplex;
            result.setting_mut().clone_from(&job.setting);
            if target_knows {
                result.setting_mut().duplex = duplex;
            }
            progress.result(&result);
            if written.is_ok() {
                written = recorder.append(&result);
            }
            results.push(result);
        },
        &mut |now_ns, (steps, _)| {
            progress.step(at, steps, now_ns);
            !progress.is_cancelled()
        },
    );
    let record = match record {
        Ok(record) => Some(record),
        Err(MeasureError::Cancelled) => None,
        Err(error) => return Err(failed(error)),
    };
    written?;
    if let Some(record) = &record {
        progress.end(at, name, record.virtual_ns);
    }
    Ok(JobResult {
        identity,
        record,
        results,
    })
}

/// The provenance known before anything runs.
fn initial_provenance(scenario: &Scenario, jobs: &[Job]) -> Provenance {
    let peer = &scenario.common.peer;
    let simulated = scenario.board.simulated.as_ref();
    let background = match peer.background_arp_ms {
        0 => String::new(),
        ms => format!("a broadcast every {ms} ms"),
    };
    Provenance {
        board: scenario.board.name.clone(),
        timing_table: simulated.map_or_else(String::new, |it| it.timing_table.clone()),
        seed: scenario.seed,
        duplex: setting::duplex(scenario.common.duplex),
        peer: PeerModel {
            turnaround_ns: peer.turnaround_us * 1_000,
            turnaround_jitter_ns: peer.turnaround_jitter_us * 1_000,
            background,
            disregards_sack_blocks: peer.disregard_sack_blocks,
        },
        elf_sha256: jobs
            .iter()
            .map(|job| (job.image.clone(), firmware::sha256(&job.config.elf)))
            .collect(),
        ..provenance::current()
    }
}

#[cfg(test)]
mod tests;
