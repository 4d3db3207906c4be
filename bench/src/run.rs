//! Runs a whole scenario: every firmware of every run, independent ones in parallel.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use linerate_results::record::{MatrixCell, Measurement, PeerModel, Provenance, Run, Setting};
use linerate_sim::chip::TimingTable;

use crate::baseline::Baseline;
use crate::firmware::{self, FirmwareError};
use crate::machine::{Identity, Machine, MachineConfig, MachineError};
use crate::measure::{self, MeasureError, Plan};
use crate::progress::Progress;
use crate::provenance;
use crate::recorder::Recorder;
use crate::scenario::{self, Record, Scenario};
use crate::store::StoreError;
use crate::store::resume::{Finished, FinishedJob};

mod check;
pub mod merge;
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
    /// SHA-256 of the scenario's file and the options that change it.
    pub scenario_sha256: String,
    /// Continue the run that was interrupted in `out`.
    pub resume: bool,
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
    /// Index of its part of the scenario.
    part: usize,
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
    driven: Result<FinishedJob, MeasureError>,
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

/// Runs `scenario`, or each cell of its matrix, and writes run.json, report.html, report.md and what the scenario
/// records. A machine that fails ends its own measurements only, and the results state what is missing.
///
/// # Errors
/// [`RunError`] of an input, or of a file that cannot be written; earlier results are in `trials.ndjson`.
pub fn run(
    scenario: &Scenario,
    options: &Options,
    open: OpenMachine<'_>,
    progress: &dyn Progress,
) -> Result<Outcome, RunError> {
    let parts = scenario.parts();
    let jobs = jobs(&parts, options)?;
    let mut provenance = initial_provenance(scenario, &jobs);
    provenance
        .scenario_sha256
        .clone_from(&options.scenario_sha256);
    let mut header = Run::new(&scenario.name, scenario.title.clone(), provenance);
    header.matrix = scenario.matrix.as_ref().map(|matrix| matrix.about.clone());
    let (mut recorder, finished) = if options.resume {
        Recorder::resume(header, &options.out)?
    } else {
        let note = &mut |note: &str| progress.note(note);
        (
            Recorder::begin_run(header, &options.out, note)?,
            Finished::new(),
        )
    };
    if !finished.is_empty() {
        progress.note(&format!(
            "{} of {} machines finished before",
            finished.len(),
            jobs.len()
        ));
    }
    let work = Work {
        jobs: &jobs,
        has_matrix: scenario.matrix.is_some(),
        open,
        recorder: &recorder,
        progress,
    };
    let done = work.run(options.threads, finished)?;
    let mut is_cancelled = false;
    let mut failed = Vec::new();
    // Failures by part, each first those of its machines.
    let mut sentences: Vec<Vec<String>> = parts.iter().map(|_| Vec::new()).collect();
    let mut of_part: Vec<Run> = parts
        .iter()
        .map(|_| Run::new(&scenario.name, String::new(), Provenance::default()))
        .collect();
    for (job, done) in jobs.iter().zip(done) {
        let name = &job.config.name;
        if let Some(identity) = done.identity {
            recorder.add_identity(identity);
        }
        of_part[job.part]
            .results
            .extend(done.results.iter().cloned());
        recorder.add(done.results);
        match done.driven {
            Ok(record) => {
                if let Some(frames) = &record.frames {
                    let counts = &mut of_part[job.part].frame_counts;
                    counts.insert(name.clone(), frames.clone());
                }
                recorder.add_finished(record);
            }
            Err(error) => {
                recorder.not_measured(name.clone(), &error.to_string());
                match error {
                    MeasureError::Cancelled => is_cancelled = true,
                    error => {
                        let error = job.failed(error);
                        sentences[job.part].push(error.to_string());
                        failed.push(error);
                    }
                }
            }
        }
    }
    for ((sentences, of_part), (_, part)) in sentences.iter_mut().zip(&of_part).zip(&parts) {
        if !is_cancelled {
            sentences.extend(failures(of_part, &part.expect));
        }
        recorder.run.failures.append(sentences);
    }
    let baseline = options.baseline.as_ref().filter(|_| !is_cancelled);
    let run = recorder.finish(baseline)?;
    Ok(Outcome {
        run,
        is_cancelled,
        failure: failed.into_iter().next(),
    })
}

/// A part of a scenario, and its cell if that is one of a matrix.
type Part<'a> = (Option<&'a MatrixCell>, &'a Scenario);

/// Every firmware, in the scenario's order.
fn jobs(parts: &[Part<'_>], options: &Options) -> Result<Vec<Job>, FirmwareError> {
    let mut jobs = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        for run in &part.1.runs {
            for plan in &run.plans {
                jobs.push(job(index, part, run, plan, options)?);
            }
        }
    }
    Ok(jobs)
}

fn job(
    index: usize,
    (cell, scenario): &Part<'_>,
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
    let mut name = format!("{}-{}", plan.label(), run.name);
    if let Some(cell) = cell {
        name = format!("{name}-c{:04}", cell.number);
    }
    let mut config = MachineConfig {
        name,
        environment: run.environment.clone(),
        timing: options.timing.clone().or_else(|| scenario.timing.clone()),
        system: scenario.system.clone(),
        record: Record {
            profile: run.profile || scenario.record.profile,
            ..scenario.record
        },
        ..MachineConfig::new(scenario.board.clone(), image, scenario.seed)
    };
    plan.arrange(&mut config);
    let mut setting = setting::of(run, &config.environment);
    setting.cell = cell.cloned();
    Ok(Job {
        part: index,
        image: image_name,
        setting,
        config,
        plan: plan.clone(),
    })
}

/// The jobs of a run, and what they need.
struct Work<'a> {
    jobs: &'a [Job],
    /// Results are written with the record of their machine, so that the run can be continued.
    has_matrix: bool,
    open: OpenMachine<'a>,
    recorder: &'a Recorder,
    progress: &'a dyn Progress,
}

impl Work<'_> {
    /// Runs every job that is not `finished` on up to `threads` threads.
    ///
    /// # Errors
    /// The first result that cannot be written, or wrong input, which ends all.
    fn run(&self, threads: usize, mut finished: Finished) -> Result<Vec<JobResult>, RunError> {
        let jobs = self.jobs;
        let next = AtomicUsize::new(0);
        let slots: Mutex<Vec<Option<JobResult>>> = Mutex::new(
            jobs.iter()
                .map(|job| finished.remove(&job.config.name).map(resumed))
                .collect(),
        );
        let count = AtomicUsize::new(lock(&slots).iter().flatten().count());
        let failure: Mutex<Option<RunError>> = Mutex::new(None);
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, jobs.len().max(1)) {
                scope.spawn(|| {
                    while lock(&failure).is_none() && !self.progress.is_cancelled() {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        let Some(job) = jobs.get(at) else { break };
                        if lock(&slots)[at].is_some() {
                            continue;
                        }
                        match self.run_job(at, job) {
                            Ok(done) => lock(&slots)[at] = Some(done),
                            Err(error) => _ = lock(&failure).get_or_insert(error),
                        }
                        if self.has_matrix {
                            let done = count.fetch_add(1, Ordering::Relaxed) + 1;
                            self.progress.total(done, jobs.len());
                        }
                    }
                });
            }
        });
        if let Some(failure) = lock(&failure).take() {
            return Err(failure);
        }
        let slots = std::mem::take(&mut *lock(&slots));
        // Those that a cancelled run does not reach.
        let nothing = || JobResult::nothing(MeasureError::Cancelled);
        let slots = slots.into_iter();
        Ok(slots.map(|slot| slot.unwrap_or_else(nothing)).collect())
    }

    fn run_job(&self, at: usize, job: &Job) -> Result<JobResult, RunError> {
        let (progress, recorder) = (self.progress, self.recorder);
        let name = &job.config.name;
        let machine = match (self.open)(&job.config) {
            Ok(machine) => machine,
            // In a matrix, a value may be impossible for one cell only.
            Err(error) if error.is_input() && !self.has_matrix => {
                return Err(job.failed(error.into()));
            }
            Err(error) => {
                progress.note(&format!("{name}: {error}"));
                return Ok(JobResult::nothing(error.into()));
            }
        };
        // In a matrix, the components of the first machine stand for all.
        let identity = (at == 0 || !self.has_matrix).then(|| machine.identity());
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
                if written.is_ok() && !self.has_matrix {
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
        let driven = match driven {
            Ok(record) => {
                for warning in &record.artifacts.warnings {
                    progress.note(&format!("{name}: {warning}"));
                }
                progress.end(at, name, record.virtual_ns);
                let mut kept = recorder.keep(name, record)?;
                if self.has_matrix {
                    kept.results = results.len();
                    kept.identity.clone_from(&identity);
                    recorder.append_finished(&results, &kept)?;
                }
                Ok(kept)
            }
            Err(error) => {
                if !matches!(error, MeasureError::Cancelled) {
                    progress.note(&format!("{name}: {error}"));
                }
                if self.has_matrix {
                    // A cell counts as a whole: what was measured before the failure would be measured again.
                    results.clear();
                }
                Err(error)
            }
        };
        Ok(JobResult {
            identity,
            driven,
            results,
        })
    }
}

/// The result of a job that finished before the run was interrupted.
fn resumed((mut job, results): (FinishedJob, Vec<Measurement>)) -> JobResult {
    JobResult {
        identity: job.identity.take(),
        driven: Ok(job),
        results,
    }
}

/// A thread that panicked leaves whole values, so the lock can be used.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
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
