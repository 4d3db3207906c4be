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
#[derive(Debug)]
pub struct Outcome {
    /// The results. If the run was cancelled, they were compared with no limit.
    pub run: Run,
    /// The user cancelled the run: results are missing.
    pub is_cancelled: bool,
    /// The first machine that failed: its further results are missing.
    pub failure: Option<RunError>,
}

impl Outcome {
    /// The results, if no machine failed.
    ///
    /// # Errors
    /// The first failure of a machine.
    pub fn without_failure(self) -> Result<Run, RunError> {
        self.failure.map_or(Ok(self.run), Err)
    }
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

impl Job {
    fn failed(&self, error: MeasureError) -> RunError {
        let name = self.config.name.clone();
        RunError::Measure { name, error }
    }
}

/// Result of a job.
struct JobResult {
    /// `None` if its machine did not start.
    identity: Option<Identity>,
    driven: Result<MachineRecord, MeasureError>,
    results: Vec<Measurement>,
}

impl JobResult {
    const fn nothing(why: MeasureError) -> Self {
        Self {
            identity: None,
            driven: Err(why),
            results: Vec::new(),
        }
    }
}

/// Runs `scenario` and writes run.json, report.html, report.md and what the scenario records. A machine that fails
/// ends its own measurements only, and the results state what is missing.
///
/// # Errors
/// [`RunError`] of an input, or of a file that cannot be written; earlier results are in `trials.ndjson`.
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
    let mut failed = Vec::new();
    for (job, done) in jobs.iter().zip(done) {
        let name = &job.config.name;
        if let Some(identity) = done.identity {
            recorder.add_identity(identity);
        }
        recorder.add(done.results);
        let record = match done.driven {
            Ok(record) => record,
            Err(error) => {
                recorder.not_measured(name.clone(), &error.to_string());
                match error {
                    MeasureError::Cancelled => is_cancelled = true,
                    error => failed.push(job.failed(error)),
                }
                continue;
            }
        };
        for warning in &record.artifacts.warnings {
            progress.note(&format!("{name}: {warning}"));
        }
        recorder.add_machine(name, record)?;
    }
    recorder.run.failures = failed.iter().map(ToString::to_string).collect();
    if !is_cancelled {
        let unmet = failures(&recorder.run, &scenario.expect);
        recorder.run.failures.extend(unmet);
    }
    let baseline = options.baseline.as_ref().filter(|_| !is_cancelled);
    let run = recorder.finish(baseline)?;
    Ok(Outcome {
        run,
        is_cancelled,
        failure: failed.into_iter().next(),
    })
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

/// Runs every job on up to `threads` threads.
///
/// # Errors
/// The first result that cannot be written, or wrong input, which ends all.
fn run_jobs(
    jobs: &[Job],
    threads: usize,
    open: OpenMachine<'_>,
    recorder: &Recorder,
    progress: &dyn Progress,
) -> Result<Vec<JobResult>, RunError> {
    let next = AtomicUsize::new(0);
    // As those that a cancelled run does not reach.
    let nothing = jobs
        .iter()
        .map(|_| JobResult::nothing(MeasureError::Cancelled));
    let slots: Mutex<Vec<JobResult>> = Mutex::new(nothing.collect());
    let failure: Mutex<Option<RunError>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while lock(&failure).is_none() && !progress.is_cancelled() {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    match run_job(at, job, open, recorder, progress) {
                        Ok(done) => lock(&slots)[at] = done,
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
    let machine = match open(&job.config) {
        Ok(machine) => machine,
        Err(error) if error.is_input() => return Err(job.failed(error.into())),
        Err(error) => {
            progress.note(&format!("{name}: {error}"));
            return Ok(JobResult::nothing(error.into()));
        }
    };
    let identity = machine.identity();
    let target_knows = machine.duplex().is_some();
    let mut observer = job.plan.observer(&job.config);
    progress.begin(at, name, observer.progress().1);
    let mut results = Vec::new();
    let mut written = Ok(());
    let driven = measure::drive(
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
    written?;
    match &driven {
        Ok(record) => progress.end(at, name, record.virtual_ns),
        Err(MeasureError::Cancelled) => {}
        Err(error) => progress.note(&format!("{name}: {error}")),
    }
    Ok(JobResult {
        identity: Some(identity),
        driven,
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
