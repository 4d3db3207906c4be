//! Simulates the published curves of an i.MX 6 on RV32 with ENET: `cargo xtask imx6`, `docs/imx6.md`.
#![forbid(unsafe_code)]

mod ablation;
mod between;
mod counting;
mod curves;
mod drawn;
mod overruns;
mod page;
mod point;
mod published;
mod score;
mod transfer;

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Parser;
use linerate_sim::elf::Elf;
use linerate_sim::time::Span;
use serde::Serialize;

use curves::{Curve, Curves, Role, Values};
use score::{Compared, compare, fit, rms, rms_as_printed};

/// Rates of the table of changes, in bit/s: below the limit of the MAC, and what the published host reached.
const RATES: [u64; 2] = [300_000_000, 831_000_000];
/// The published sweep in which the received rate collapses.
const CRATERS: &str = "boundary_before_no_napi";
/// Changes of each parameter in the table of sensitivity.
const FACTORS: [f64; 2] = [0.7, 1.3];
/// Time of a point in it.
const SHORT: Span = Span::from_ms(30);
/// Parameters in it besides the fitted ones.
const FURTHER: [(&str, f64); 3] = [
    ("receive_fifo_bytes", 4096.0),
    ("interrupt_cycles", 3200.0),
    ("process_cycles", 3200.0),
];

/// Simulates the published curves of an i.MX 6, scores them, and writes scores.json and a page.
#[derive(Parser)]
struct Cli {
    /// The firmware `udp_sink` of boards/rv32-enet
    elf: PathBuf,
    /// The firmware `kernel_agent`, for TCP, ping and both directions at once
    #[arg(long)]
    agent: PathBuf,
    /// Simulate TCP, ping and both directions at once only
    #[arg(long)]
    between: bool,
    /// Simulate what each of the article's changes brings only
    #[arg(long)]
    changes: bool,
    /// Draw settings at random, and name the causes of what is measured
    #[arg(long)]
    explain: bool,
    /// Folder of the published data
    #[arg(long, env = "LINERATE_DATA")]
    data: PathBuf,
    /// Folder for the results
    #[arg(long, default_value = "target/imx6")]
    out: PathBuf,
    /// Simulate two seconds a point, as published
    #[arg(long)]
    long: bool,
    /// Fit the parameters on the fitted curve, from the priors and from the fitted values, and print them
    #[arg(long)]
    fit: bool,
    /// Print the curves only that have this in their name
    #[arg(long, value_name = "NAME")]
    curves: Option<String>,
    /// Use the priors instead of the fitted values
    #[arg(long)]
    priors: bool,
    /// Use the entries of this silicon revision: to1.0, to1.1 or to1.2
    #[arg(long, value_name = "NAME")]
    revision: Option<String>,
    /// Other values, such as `receive_fifo_bytes=2048`
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Further words of the boot line, for every curve
    #[arg(long, default_value = "")]
    boot: String,
}

/// A parameter, and how the scores depend on it.
#[derive(Debug, Serialize)]
struct Sensitivity {
    name: String,
    source: Option<String>,
    prior: Option<f64>,
    value: f64,
    /// With it 30% less and 30% more: fitted, held out.
    scores: [[f64; 2]; 2],
}

/// Contents of scores.json.
#[derive(Debug, Serialize)]
pub struct Results {
    /// RMS of the logarithm of simulated by published received rate, on the fitted curve.
    pub rms_log_error_fitted: f64,
    /// On the curves that nothing was fitted on.
    pub rms_log_error_held_out: f64,
    /// On those of them without the curve that craters.
    pub rms_log_error_held_out_without_cratering: f64,
    /// On all held-out curves, against the rates as printed.
    pub rms_log_error_held_out_as_printed: f64,
    /// The curves.
    pub curves: Vec<Compared>,
    /// TCP, ping, and both directions at once.
    pub between: between::Tests,
    /// What each change brings.
    pub ablations: ablation::Tables,
    /// Where the last two of them act.
    pub overruns: overruns::Tables,
    parameters: Vec<Sensitivity>,
    /// Cycles of the kernel with their sources.
    kernel: std::collections::BTreeMap<String, curves::Sourced>,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    let bytes = std::fs::read(&cli.elf).with_context(|| cli.elf.display().to_string())?;
    let elf = Elf::parse(&bytes)?;
    let bytes = std::fs::read(&cli.agent).with_context(|| cli.agent.display().to_string())?;
    let agent = Elf::parse(&bytes)?;
    let curves = Curves::read(&cli.data, cli.long, &cli.boot)?;
    if cli.fit {
        // Steps of one parameter at a time end in a valley, which depends on the start.
        for (name, is_fitted) in [("the priors", false), ("the fitted values", true)] {
            println!("From {name}:");
            let start = curves.values(is_fitted);
            let (values, error) = fit(&curves, &elf, start, |values, error| {
                println!("{error:.4} {values:?}");
            })?;
            println!("Sum of squares {error:.4}:");
            for (name, value) in values {
                println!("{name} = {value}");
            }
        }
        return Ok(());
    }
    let mut values = curves.values(!cli.priors);
    if let Some(name) = &cli.revision {
        values.extend(curves::revision(name)?);
    }
    for word in &cli.set {
        let (name, value) = word.split_once('=').context("--set NAME=VALUE")?;
        values.insert(name.to_owned(), value.parse()?);
    }
    if cli.explain {
        let drawn = drawn::run(&curves, &values, [&elf, &agent], &cli.out)?;
        drawn::print(&drawn);
        let file = cli.out.join("explained.json");
        std::fs::write(&file, serde_json::to_string_pretty(&drawn)?)?;
        println!("{}", file.display());
        return Ok(());
    }
    if cli.between {
        between::print(&between::simulate(&curves, &values, &agent)?);
        return Ok(());
    }
    if cli.changes {
        ablation::print(&ablation::run(&curves, &RATES, &values, &elf)?);
        overruns::print(&overruns::run(&curves, &values, &elf)?);
        return Ok(());
    }
    let mut chosen = all(&curves);
    chosen.retain(|it| {
        cli.curves
            .as_ref()
            .is_none_or(|name| it.name.contains(name))
    });
    let compared = compare(&curves, &chosen, &values, None, &elf)?;
    for curve in &compared {
        print_curve(curve);
    }
    let floor = curves.floor();
    let [fitted, held_out] = scores(&compared, floor);
    let calm = without_cratering(&compared, floor);
    let printed = rms_as_printed(
        &of(&compared, |it| it == "held-out"),
        curves.printed_floor(),
    );
    println!(
        "RMS log error: fitted {fitted:.3}, held out {held_out:.3}, of these without cratering {calm:.3}; \
         held out, against rates as printed {printed:.3}"
    );
    if cli.curves.is_some() {
        return Ok(());
    }
    let between = between::simulate(&curves, &values, &agent)?;
    between::print(&between);
    let ablations = ablation::run(&curves, &RATES, &values, &elf)?;
    ablation::print(&ablations);
    let overruns = overruns::run(&curves, &values, &elf)?;
    overruns::print(&overruns);
    let parameters = sensitivities(&curves, &values, &elf)?;
    print_parameters(&parameters);
    let results = Results {
        rms_log_error_fitted: fitted,
        rms_log_error_held_out: held_out,
        rms_log_error_held_out_without_cratering: calm,
        rms_log_error_held_out_as_printed: printed,
        between,
        ablations,
        overruns,
        parameters,
        kernel: curves.kernel().clone(),
        curves: compared,
    };
    std::fs::create_dir_all(&cli.out)?;
    let scores = cli.out.join("scores.json");
    std::fs::write(&scores, serde_json::to_string_pretty(&results)?)?;
    let page = cli.out.join("imx6.html");
    std::fs::write(&page, page::render(&results))?;
    println!("{} and {}", scores.display(), page.display());
    Ok(())
}

fn all(curves: &Curves) -> Vec<&Curve> {
    curves.all().iter().collect()
}

fn of(compared: &[Compared], has: impl Fn(&str) -> bool) -> Vec<&Compared> {
    compared.iter().filter(|it| has(it.role)).collect()
}

/// Fitted and held out.
fn scores(compared: &[Compared], floor: f64) -> [f64; 2] {
    ["fitted", "held-out"].map(|role| rms(&of(compared, |it| it == role), floor))
}

/// Held out, without the curve that craters.
fn without_cratering(compared: &[Compared], floor: f64) -> f64 {
    let calm = compared
        .iter()
        .filter(|it| it.role == "held-out" && it.kernel.as_deref() != Some(CRATERS));
    rms(&calm.collect::<Vec<_>>(), floor)
}

/// Scores with each parameter changed.
fn sensitivities(curves: &Curves, values: &Values, elf: &Elf) -> Result<Vec<Sensitivity>> {
    let further = FURTHER
        .iter()
        .map(|(name, value)| ((*name).to_owned(), *value, None));
    let fitted = curves.parameters().iter();
    let fitted = fitted.map(|it| (it.name.clone(), values[&it.name], Some(it)));
    let scored: Vec<&Curve> = curves
        .all()
        .iter()
        .filter(|it| it.role != Role::InWords)
        .collect();
    let rows = fitted.chain(further).map(|(name, value, parameter)| {
        let mut scores_of = [[0.0; 2]; 2];
        for (score, factor) in scores_of.iter_mut().zip(FACTORS) {
            let mut changed = values.clone();
            changed.insert(name.clone(), value * factor);
            *score = scores(
                &compare(curves, &scored, &changed, Some(SHORT), elf)?,
                curves.floor(),
            );
        }
        Ok(Sensitivity {
            name,
            source: parameter.map(|it| it.source.clone()),
            prior: parameter.map(|it| it.value),
            value,
            scores: scores_of,
        })
    });
    rows.collect()
}

fn print_curve(curve: &Compared) {
    match curve.rms_log_error {
        Some(error) => println!(
            "\n{} ({}): RMS log error {error:.3}",
            curve.name, curve.role
        ),
        None => println!("\n{} ({})", curve.name, curve.role),
    }
    println!(
        "target  sent published simulated    lost jitter/ms T_FDXFC/s R_MACERR/s interrupts/s turns/s full/s bad/s pauses/datagram, published"
    );
    for it in &curve.points {
        let p = &it.point;
        let rate = |count: u64| count as f64 / p.seconds;
        let published = it
            .published_mbit_per_s
            .map_or_else(|| "-".to_owned(), |it| format!("{it:.1}"));
        let (paused, pauses) = it.pauses_per_datagram();
        let paused = paused.map_or_else(|| "-".to_owned(), |it| format!("{it:.2}"));
        println!(
            "{:6} {:5.0} {published:>9} {:9.1} {:6.1}% {:9.3} {:9.0} {:10.0} {:12.0} {:7.0} {:6.0} {:5.0} {pauses:.2} {paused}",
            it.target_mbit_per_s,
            p.offered_mbit_per_s,
            it.predicted_mbit_per_s,
            100.0 * p.lost as f64 / p.datagrams.max(1) as f64,
            p.jitter_ms,
            rate(p.pause_frames),
            rate(p.overruns),
            rate(p.interrupts),
            rate(p.turns),
            rate(p.backlog_drops + p.socket_drops),
            rate(p.bad_frames),
        );
        if p.is_starved {
            println!(
                "       starved from {:.0} ms on, after {} datagrams since {:.0} ms",
                1e3 * p.last_received_s,
                p.received_in_all,
                1e3 * p.first_received_s
            );
        }
    }
}

fn print_parameters(parameters: &[Sensitivity]) {
    println!("\nParameters: prior, value; fitted and held-out score with 30% less, with 30% more");
    for it in parameters {
        let [[a, b], [c, d]] = it.scores;
        let prior = it.prior.map_or_else(|| "-".to_owned(), |it| it.to_string());
        println!(
            "{:22} {prior:>12} {:>14.3}  {a:.3} {b:.3}  {c:.3} {d:.3}",
            it.name, it.value
        );
    }
}
