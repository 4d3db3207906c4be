//! A whole scenario: every firmware of every run, independent ones at the same time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use linerate_explain::record::{EntryKind, Measurement, PeerModel, Provenance, Run, SCHEMA};
use linerate_explain::report;

use crate::firmware::{self, FirmwareError, Image};
use crate::measure::{self, Driven, MeasureError, Procedure, http_get, ping};
use crate::progress::Progress;
use crate::provenance;
use crate::scenario::{Expectation, Scenario};
use crate::store::{Store, StoreError};
use crate::target::{Identity, Order, Target, TargetError};

/// Where things come from and go to.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder with the firmware images.
    pub elf_dir: PathBuf,
    /// Folder for results and what lies beside them.
    pub out: PathBuf,
    /// Firmwares at the same time.
    pub threads: usize,
}

/// What a scenario came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The results.
    pub run: Run,
    /// Expectations that were not met, each in a sentence.
    pub failures: Vec<String>,
}

/// Why a scenario came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A firmware is missing.
    #[error(transparent)]
    Firmware(#[from] FirmwareError),
    /// A result cannot be written.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A target cannot be used or failed.
    #[error("{name}: {error}")]
    Measure {
        /// `program-variant`.
        name: String,
        /// What went wrong.
        error: MeasureError,
    },
}

impl RunError {
    /// Whether the target failed, rather than the input being wrong.
    pub const fn is_target(&self) -> bool {
        match self {
            Self::Measure {
                error: MeasureError::Target(error),
                ..
            } => !error.is_input(),
            Self::Measure { .. } => true,
            Self::Firmware(_) | Self::Store(_) => false,
        }
    }
}

/// How a target is switched on; tests put their own in.
pub type Open<'a> = &'a (dyn Fn(&Order) -> Result<Box<dyn Target>, TargetError> + Sync);

/// One firmware to be measured.
struct Job {
    order: Order,
    plan: Plan,
}

/// What is measured on it. A procedure is a line here and in the four functions below.
enum Plan {
    Ping(String, ping::Plan),
    HttpGet(String, http_get::Plan),
}

impl Plan {
    const fn limit_s(&self) -> u64 {
        match self {
            Self::Ping(_, plan) => plan.limit_s,
            Self::HttpGet(_, plan) => plan.limit_s,
        }
    }

    fn procedure(&self) -> Box<dyn Procedure> {
        match self {
            Self::Ping(variant, plan) => Box::new(ping::procedure(variant, plan)),
            Self::HttpGet(variant, plan) => Box::new(http_get::procedure(variant, plan)),
        }
    }
}

/// What a job came to.
struct Done {
    identity: Identity,
    driven: Driven,
    results: Vec<Measurement>,
}

/// Runs `scenario` and writes run.json, report.html, report.md and what the scenario records.
///
/// # Errors
/// [`RunError`] of the first firmware that failed; what was measured before is in
/// `trials.ndjson`.
pub fn run(
    scenario: &Scenario,
    options: &Options,
    open: Open<'_>,
    progress: &dyn Progress,
) -> Result<Outcome, RunError> {
    let jobs = jobs(scenario, &options.elf_dir)?;
    let mut header = Run {
        schema: SCHEMA,
        scenario: scenario.name.clone(),
        title: scenario.title.clone(),
        provenance: before(scenario, &jobs),
        results: Vec::new(),
    };
    let store = Store::create(&options.out, &header)?;
    let done = all(&jobs, options.threads, open, &store, progress)?;
    let outcomes = jobs.iter().zip(done);
    for (job, done) in outcomes {
        after(&mut header.provenance, &job.order.name, &done, &store)?;
        for warning in &done.driven.remains.warnings {
            progress.note(&format!("{}: {warning}", job.order.name));
        }
        header.results.extend(done.results);
    }
    let run = header;
    store.write("run.json", run.to_json().as_bytes())?;
    store.write("report.html", report::html(&run).as_bytes())?;
    store.write("report.md", report::markdown(&run).as_bytes())?;
    let failures = failures(&run, &scenario.expect);
    Ok(Outcome { run, failures })
}

/// Every firmware, in the scenario's order.
fn jobs(scenario: &Scenario, elf_dir: &Path) -> Result<Vec<Job>, FirmwareError> {
    let mut jobs = Vec::new();
    for run in &scenario.runs {
        let variant = &run.variant;
        if let Some(plan) = &run.ping {
            let image = firmware::find(elf_dir, "ping", variant)?;
            jobs.push(job(
                scenario,
                image,
                Plan::Ping(variant.clone(), plan.clone()),
            ));
        }
        if let Some(plan) = &run.http_get {
            let image = firmware::find(elf_dir, "http_get", variant)?;
            jobs.push(job(
                scenario,
                image,
                Plan::HttpGet(variant.clone(), plan.clone()),
            ));
        }
    }
    Ok(jobs)
}

fn job(scenario: &Scenario, image: Image, plan: Plan) -> Job {
    let order = Order {
        board: scenario.board.clone(),
        name: image.name,
        elf: image.elf,
        seed: scenario.seed,
        duplex: scenario.duplex,
        peer: scenario.peer.clone(),
        record: scenario.record,
    };
    Job { order, plan }
}

/// Runs every job on up to `threads` threads; the first failure ends it.
fn all(
    jobs: &[Job],
    threads: usize,
    open: Open<'_>,
    store: &Store,
    progress: &dyn Progress,
) -> Result<Vec<Done>, RunError> {
    let next = AtomicUsize::new(0);
    let slots: Mutex<Vec<Option<Done>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let failure: Mutex<Option<RunError>> = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, jobs.len().max(1)) {
            scope.spawn(|| {
                while lock(&failure).is_none() {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(job) = jobs.get(at) else { break };
                    match one(at, job, open, store, progress) {
                        Ok(done) => lock(&slots)[at] = Some(done),
                        Err(error) => _ = lock(&failure).get_or_insert(error),
                    }
                }
            });
        }
    });
    let failure = lock(&failure).take();
    failure.map_or_else(|| Ok(lock(&slots).drain(..).flatten().collect()), Err)
}

/// What a thread that panicked left is as good as what it would have left: whole values.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn one(
    at: usize,
    job: &Job,
    open: Open<'_>,
    store: &Store,
    progress: &dyn Progress,
) -> Result<Done, RunError> {
    let name = &job.order.name;
    let failed = |error: MeasureError| RunError::Measure {
        name: name.clone(),
        error,
    };
    let target = open(&job.order).map_err(|error| failed(error.into()))?;
    let identity = target.identity();
    let mut procedure = job.plan.procedure();
    progress.begin(at, name, procedure.progress().1);
    let mut results = Vec::new();
    let mut written = Ok(());
    let driven = measure::drive(
        target,
        procedure.as_mut(),
        job.plan.limit_s(),
        &mut |result| {
            progress.result(&result);
            if written.is_ok() {
                written = store.append(&result);
            }
            results.push(result);
        },
        &mut |now_ns, (steps, _)| progress.step(at, steps, now_ns),
    )
    .map_err(failed)?;
    written?;
    progress.end(at, name, driven.ended_ns);
    Ok(Done {
        identity,
        driven,
        results,
    })
}

/// The provenance as far as it is known before anything runs.
fn before(scenario: &Scenario, jobs: &[Job]) -> Provenance {
    let background = match scenario.peer.background_arp_ms {
        0 => String::new(),
        ms => format!("a broadcast every {ms} ms"),
    };
    Provenance {
        board: scenario.board.name.clone(),
        timing_table: scenario.board.timing_table.clone(),
        seed: scenario.seed,
        duplex: scenario.duplex,
        peer: PeerModel {
            turnaround_ns: scenario.peer.turnaround_us * 1_000,
            turnaround_jitter_ns: scenario.peer.turnaround_jitter_us * 1_000,
            background,
            disregards_sack_blocks: scenario.peer.disregard_sack_blocks,
        },
        elf_sha256: jobs
            .iter()
            .map(|job| (job.order.name.clone(), firmware::sha256(&job.order.elf)))
            .collect(),
        ..provenance::here()
    }
}

/// Adds what a finished job tells about itself, and writes what it leaves.
fn after(
    provenance: &mut Provenance,
    name: &str,
    done: &Done,
    store: &Store,
) -> Result<(), StoreError> {
    provenance.board.clone_from(&done.identity.board);
    provenance
        .timing_table
        .clone_from(&done.identity.timing_table);
    provenance.guesses = done
        .identity
        .timing
        .iter()
        .filter(|entry| entry.kind == EntryKind::Guess)
        .map(|entry| entry.name.clone())
        .collect();
    provenance.timing.clone_from(&done.identity.timing);
    provenance.virtual_ns += done.driven.ended_ns;
    let remains = &done.driven.remains;
    if !remains.trace_hash.is_empty() {
        provenance
            .trace_hash
            .insert(name.to_owned(), remains.trace_hash.clone());
    }
    for (extension, content) in &remains.files {
        let file = format!("{name}.{extension}");
        store.write(&file, content)?;
        provenance.artifacts.push(file);
    }
    Ok(())
}

/// What `run` should have come to and did not: the scenario's expectations, and what always holds.
pub fn failures(run: &Run, expectations: &[Expectation]) -> Vec<String> {
    let mut failures = Vec::new();
    for result in &run.results {
        let missing = result.ledger().missing_frames();
        if missing != 0 {
            failures.push(format!(
                "{}: {missing} frames are neither delivered nor counted as lost",
                result.variant()
            ));
        }
    }
    for get in run.http_gets() {
        let name = format!(
            "{}, {}",
            get.params.variant,
            report::format::bytes(get.params.bytes)
        );
        if get.metrics.crc32 != get.metrics.crc32_expected {
            failures.push(format!("{name}: CRC-32 differs between the two sides"));
        }
        let meant = |expected: &&Expectation| {
            expected.variant == get.params.variant
                && expected.bytes.is_none_or(|bytes| bytes == get.params.bytes)
        };
        for expected in expectations.iter().filter(meant) {
            let goodput = get.metrics.goodput_bytes_per_s_p50;
            let loss = get.metrics.frame_loss_rate;
            let (rate, percent) = (report::format::rate, report::format::percent);
            if let Some(min) = expected
                .goodput_bytes_per_s_min
                .filter(|min| goodput < *min)
            {
                failures.push(format!(
                    "{name}: goodput {} is below {}",
                    rate(goodput),
                    rate(min)
                ));
            }
            if let Some(max) = expected
                .goodput_bytes_per_s_max
                .filter(|max| goodput >= *max)
            {
                failures.push(format!(
                    "{name}: goodput {} is not below {}",
                    rate(goodput),
                    rate(max)
                ));
            }
            if let Some(min) = expected.frame_loss_rate_min.filter(|min| loss < *min) {
                failures.push(format!(
                    "{name}: loss of {} is below {}",
                    percent(loss),
                    percent(min)
                ));
            }
            if let Some(max) = expected.frame_loss_rate_max.filter(|max| loss > *max) {
                failures.push(format!(
                    "{name}: loss of {} is above {}",
                    percent(loss),
                    percent(max)
                ));
            }
        }
    }
    failures
}

#[cfg(test)]
mod tests;
