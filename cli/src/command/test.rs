//! `linerate test`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use linerate_bench::board::published;
use linerate_bench::endpoint::{
    self, CaptureOptions, Observed, Options, Pair, Target, TargetError,
};
use linerate_bench::procedure::{self, RequestedProcedure, SessionConfig, SessionError};
use linerate_bench::request::{NamedDirections, RequestError, TransferRequest};
use linerate_explain::report;
use linerate_results::record::Run;

use super::compare::{baseline, print_differences};
use super::progress::Terminal;
use super::requirement;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Test) -> Result<(), Failure> {
    let link = &args.link;
    let mut target = open("test", link)?;
    let procedures = request(args).procedures(target.as_ref());
    let asked = Asked {
        procedures: &procedures,
        interval: args.interval,
        required: &args.required,
    };
    measure_asked("test", link, &asked, target.as_mut())
}

/// What is measured, and what it has to be good for.
struct Asked<'a> {
    procedures: &'a [RequestedProcedure],
    interval: Option<Duration>,
    required: &'a args::Required,
}

/// Opens the target of the command `name`, whose link is observed during transfers; with a probe, the target loads
/// the link and the probe measures round trips.
pub fn open(name: &str, link: &args::Link) -> Result<Box<dyn Target>, Failure> {
    let options = Options {
        timeout: Duration::from_secs(link.timeout),
        elf_dir: link.elf_dir.clone(),
        seed: link.seed,
        records_frames: link.capture.is_some(),
    };
    let mut target = endpoint::open(&link.target, &options)?;
    if let Some(probe) = &link.probe {
        target = Box::new(Pair {
            load: target,
            probe: endpoint::open(probe, &options)?,
        });
    }
    let capture = link.capture.as_ref().map(|interface| CaptureOptions {
        interface: Some(interface.clone()).filter(|name| !name.is_empty()),
        folder: out(name, link),
    });
    match (target.address(), &capture) {
        (None, None) => Ok(target),
        (None, Some(asked)) if asked.interface.is_some() || !target.is_simulated() => Err(anyhow!(
            "{} is not behind an interface: omit --capture",
            target.name()
        )
        .into()),
        _ => Ok(Box::new(Observed::new(target, capture))),
    }
}

/// Runs the procedures, prints the results, and compares them with the baseline, if any.
pub fn measure(
    name: &str,
    link: &args::Link,
    procedures: &[RequestedProcedure],
    target: &mut dyn Target,
    interval: Option<Duration>,
) -> Result<(), Failure> {
    let asked = Asked {
        procedures,
        interval,
        required: &args::Required::default(),
    };
    measure_asked(name, link, &asked, target)
}

fn measure_asked(
    name: &str,
    link: &args::Link,
    asked: &Asked<'_>,
    target: &mut dyn Target,
) -> Result<(), Failure> {
    let session = SessionConfig {
        name: name.to_owned(),
        url: link.target.clone(),
        out: out(name, link),
        seed: link.seed,
        baseline: baseline(link.baseline.as_deref(), &link.limits)?,
    };
    let (run, is_cancelled) =
        run_session(&session, link, asked.procedures, target, asked.interval)?;
    let run = match run {
        Err(error) if is_cancelled => {
            message!("{error}");
            return Err(Failure::Cancelled);
        }
        run => run?,
    };
    print_results(link, &run)?;
    if is_cancelled {
        return Err(Failure::Cancelled);
    }
    if run.results.is_empty() {
        let why = run.not_measured.first();
        let why = why.map_or_else(String::new, |it| format!(": {}", it.why));
        return Err(anyhow!("no results{why}").into());
    }
    print_differences(session.baseline.as_ref(), link.baseline.as_deref(), &run);
    let mut failures: Vec<String> = run
        .results
        .iter()
        .flat_map(|it| it.describe().failures())
        .collect();
    let (answer, unmet) = requirement::judge(asked.required, &run.results);
    if link.json.as_deref() != Some(Path::new("-")) && !link.ndjson {
        output::print(&answer)?;
    }
    failures.extend(unmet);
    failures.extend(run.failures);
    if failures.is_empty() {
        Ok(())
    } else {
        Err(Failure::Limit(failures))
    }
}

/// Runs the procedures with progress on stderr, and with figures every `interval`. Returns the run, and true if the
/// user cancelled it.
fn run_session(
    session: &SessionConfig,
    link: &args::Link,
    asked: &[RequestedProcedure],
    target: &mut dyn Target,
    interval: Option<Duration>,
) -> Result<(Result<Run, SessionError>, bool), Failure> {
    let at_least: Duration = asked.iter().map(|it| it.procedure.min_duration()).sum();
    let unit_note = if target.is_simulated() {
        " of simulated time"
    } else {
        ""
    };
    let at_most: Option<Duration> = asked
        .iter()
        .map(|it| procedure::longest(it.procedure.as_ref(), target))
        .sum();
    let at_most = at_most.map_or_else(String::new, |span| {
        format!(", at most {}", words(span.as_secs_f64().ceil() as u64))
    });
    message!(
        "{}: at least {}{unit_note}{at_most}; Ctrl-C stops and keeps the results so far",
        target.name(),
        words(at_least.as_secs().max(1))
    );
    let mut terminal = Terminal::new(at_least, interval)?;
    let (mut monitor, lines) = terminal.split();
    let run = procedure::run(
        session,
        asked,
        target,
        &mut monitor,
        &mut |text| lines.note(text),
        &mut |result| {
            lines.result(result);
            if link.ndjson {
                let line = serde_json::to_string(result).unwrap_or_default();
                // If stdout is closed, the results are still in the folder.
                let _ = output::print(&format!("{line}\n"));
            }
        },
    );
    terminal.end();
    if run.as_ref().is_err_and(has_folder) {
        message!("results so far are in {}", session.out.display());
    }
    Ok((run, terminal.is_cancelled()))
}

/// Duration in seconds; in minutes, rounded up, from ten minutes on.
fn words(seconds: u64) -> String {
    let all_minutes = seconds.div_ceil(60);
    match (all_minutes / 60, all_minutes % 60) {
        (0, ..10) => format!("{seconds} s"),
        (0, minutes) => format!("{minutes} min"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// True if the session wrote its folder before this error.
fn has_folder(error: &SessionError) -> bool {
    match error {
        // Before the first measurement, or the folder itself cannot be written.
        SessionError::Target(TargetError::Unsupported { .. }) | SessionError::Store(_) => false,
        SessionError::Target(_) => true,
    }
}

fn out(name: &str, link: &args::Link) -> PathBuf {
    let default = || PathBuf::from("linerate-out").join(name);
    link.out.clone().unwrap_or_else(default)
}

/// Prints the results on stdout and writes them where requested.
fn print_results(link: &args::Link, run: &Run) -> Result<(), Failure> {
    let json = run.to_json();
    let is_printed = output::write_or_print(link.json.as_deref(), &json)?;
    if !is_printed && !link.ndjson {
        output::print(&report::markdown(run, &published(&run.provenance.board)))?;
    }
    let page = out(&run.scenario, link).join("report.html");
    message!("report: {}", page.display());
    Ok(())
}

/// The transfers that `args` request.
fn request(args: &args::Test) -> TransferRequest {
    TransferRequest {
        directions: NamedDirections {
            forward: args.forward,
            reverse: args.reverse,
        },
        bidirectional: args.bidir,
        udp: args.udp,
        span: Duration::from_secs(args.time),
        bytes: args.bytes,
        length: args.length,
        bandwidth: args.bandwidth,
        streams: args.parallel,
        window: args.window,
        has_probe: args.link.probe.is_some(),
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        Self::Input(error.into())
    }
}

impl From<TargetError> for Failure {
    fn from(error: TargetError) -> Self {
        if error.is_input() {
            Self::Input(error.into())
        } else {
            Self::Target(error.into())
        }
    }
}

impl From<procedure::SessionError> for Failure {
    fn from(error: procedure::SessionError) -> Self {
        match error {
            procedure::SessionError::Target(error) => error.into(),
            error @ procedure::SessionError::Store(_) => Self::Input(error.into()),
        }
    }
}
