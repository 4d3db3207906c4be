//! `linerate test`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::anyhow;
use linerate_bench::endpoint::{
    self, Amount, Datagrams, Options, Pair, RoundTrips, Stream, Target, TargetError, Trial,
};
use linerate_bench::procedure::latency::Latency;
use linerate_bench::procedure::throughput::Throughput;
use linerate_bench::procedure::{self, RequestedProcedure, SessionConfig};
use linerate_explain::report;
use linerate_results::record::{Direction, Run};

use super::compare::Baseline;
use super::progress::Terminal;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Test) -> Result<(), Failure> {
    let link = &args.link;
    let mut target = open(link)?;
    let mut asked = transfers(args);
    asked.extend(latency(args, target.as_ref()));
    measure("test", link, &asked, target.as_mut(), args.interval)
}

/// Opens the target; with a probe, the target loads the link and the probe measures round trips.
pub fn open(link: &args::Link) -> Result<Box<dyn Target>, Failure> {
    let options = Options {
        patience: Duration::from_secs(link.patience),
        elf_dir: link.elf_dir.clone(),
        seed: link.seed,
    };
    let target = endpoint::open(&link.target, &options)?;
    let Some(probe) = &link.probe else {
        return Ok(target);
    };
    Ok(Box::new(Pair {
        load: target,
        probe: endpoint::open(probe, &options)?,
    }))
}

/// Runs the procedures, prints the results, and compares them with the baseline, if any.
pub fn measure(
    name: &str,
    link: &args::Link,
    asked: &[RequestedProcedure],
    target: &mut dyn Target,
    interval: Option<Duration>,
) -> Result<(), Failure> {
    let baseline = Baseline::read(link.baseline.as_deref())?;
    let run = session(name, link, asked, target, interval)?;
    print_results(link, &run)?;
    let failures: Vec<String> = run
        .results
        .iter()
        .flat_map(|it| it.describe().failures())
        .collect();
    if !failures.is_empty() {
        return Err(Failure::Limit(failures));
    }
    baseline.map_or(Ok(()), |baseline| baseline.judge(&link.limits, &run))
}

/// Runs the procedures with progress on stderr, and with figures every `interval`.
fn session(
    name: &str,
    link: &args::Link,
    asked: &[RequestedProcedure],
    target: &mut dyn Target,
    interval: Option<Duration>,
) -> Result<Run, Failure> {
    let session = SessionConfig {
        name: name.to_owned(),
        url: link.target.clone(),
        out: out(name, link),
        seed: link.seed,
    };
    let at_least: Duration = asked.iter().map(|it| it.procedure.min_duration()).sum();
    let unit_note = if target.is_simulated() {
        " of simulated time"
    } else {
        ""
    };
    eprintln!(
        "{}: at least {} s{unit_note}; Ctrl-C stops and keeps the results so far",
        target.name(),
        at_least.as_secs().max(1)
    );
    let mut terminal = Terminal::new(at_least, interval)?;
    let (mut monitor, lines) = terminal.split();
    let run = procedure::run(
        &session,
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
    if run.is_err() {
        eprintln!("results so far are in {}", session.out.display());
    }
    Ok(run?)
}

fn out(name: &str, link: &args::Link) -> PathBuf {
    let default = || PathBuf::from("linerate-out").join(name);
    link.out.clone().unwrap_or_else(default)
}

/// Prints the results on stdout and writes them where requested.
fn print_results(link: &args::Link, run: &Run) -> Result<(), Failure> {
    let json = run.to_json();
    let to_stdout = link.json.as_deref() == Some(Path::new("-"));
    match &link.json {
        Some(_) if to_stdout => output::print(&json)?,
        Some(path) => output::write(path, json.as_bytes())?,
        None => {}
    }
    if !to_stdout && !link.ndjson {
        output::print(&report::markdown(run))?;
    }
    let page = out(&run.scenario, link).join("report.html");
    eprintln!("report: {}", page.display());
    if run.results.is_empty() {
        let why = run.not_measured.first();
        let why = why.map_or_else(String::new, |it| format!(": {}", it.why));
        return Err(anyhow!("no results{why}").into());
    }
    Ok(())
}

/// Interval between requests.
const REQUEST_INTERVAL: Duration = Duration::from_millis(10);
/// Maximum duration of round-trip measurements.
const MAX_ROUND_TRIP_SPAN: Duration = Duration::from_secs(10);

/// Round trips for about `span`.
pub fn round_trips(span: Duration) -> RoundTrips {
    let span = span.min(MAX_ROUND_TRIP_SPAN);
    RoundTrips {
        count: (span.as_millis() / REQUEST_INTERVAL.as_millis()) as u32,
        interval: REQUEST_INTERVAL,
        payload_octets: 44,
        load: None,
    }
}

/// Round trips idle and under load, if the target supports them and no direction was named.
fn latency(args: &args::Test, target: &dyn Target) -> Option<RequestedProcedure> {
    let round_trips = round_trips(Duration::from_secs(args.time));
    let is_named = args.reverse || args.bidir || args.forward;
    let can = target
        .supports(&Trial::RoundTrips(round_trips.clone()))
        .is_ok();
    (can && !is_named).then(|| RequestedProcedure {
        procedure: Box::new(Latency::idle_and_loaded(round_trips)),
        is_required: false,
    })
}

/// Transfers requested by `args`: by default each direction separately, then both.
fn transfers(args: &args::Test) -> Vec<RequestedProcedure> {
    let is_named = args.reverse || args.bidir || args.forward;
    let ways = [
        (args.forward || !is_named, Direction::ToDevice),
        (args.reverse || !is_named, Direction::FromDevice),
        (args.bidir || !is_named, Direction::Both),
    ];
    let amount = match args.bytes {
        Some(octets) => Amount::Octets(octets),
        None => Amount::Span(Duration::from_secs(args.time)),
    };
    let trial = |direction| {
        if args.udp {
            Trial::Datagrams(Datagrams {
                direction,
                amount,
                payload_octets: args.length.map_or(1_470, |length| length as u16),
                payload_bits_per_s: args.bandwidth.unwrap_or(1_000_000),
            })
        } else {
            Trial::Stream(Stream {
                direction,
                amount,
                streams: args.parallel,
                write_octets: args.length.unwrap_or(0),
                window_octets: args.window,
            })
        }
    };
    let chosen = ways.into_iter().filter(|(is_chosen, _)| *is_chosen);
    chosen
        .map(|(_, direction)| RequestedProcedure {
            procedure: Box::new(Throughput {
                trial: trial(direction),
            }),
            is_required: is_named,
        })
        .collect()
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
