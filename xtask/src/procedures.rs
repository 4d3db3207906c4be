//! Runs every procedure on the simulated board through the command line, checks the results, and checks the report
//! of all of them and the pages of captures in a browser.

mod browser;
mod look;
mod stages;

use crate::board::Board;
use crate::steps::Outcome;
use crate::{board, concurrent, demo, firmware, sh};
use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const TARGET: &str = "sim://esp32c6-bitbang";
/// Short runs: a simulated second takes about a second of real time.
const SHORT: [&str; 8] = [
    "rfc2544 --trial 0.1 --only throughput,latency,loss",
    "sweep load --from 2M --to 12M --steps 6 -t 1 --settle 100",
    "sweep size --from 64 --to 4096 --steps 4 --geometric -R -t 1 --settle 100",
    "sweep window --from 4096 --to 65536 --steps 4 --geometric -R -t 1 --settle 100",
    "sweep latency --from 2M --to 8M --steps 3 -R -t 1",
    "sweep gaps --from 64 --to 1470 --steps 4 -b 2M -t 1 --settle 100",
    "rfc6349 -R -t 2",
    "test -t 1",
];
/// Complete runs.
const WHOLE: [&str; 2] = ["rfc2544", "sweep"];
/// The sizes of RFC 2544 section 9.1 for Ethernet, with FCS.
const FRAMES: [u64; 7] = [64, 128, 256, 512, 1024, 1280, 1518];
/// Preamble and inter-packet gap of a frame, octets.
const AROUND: f64 = 20.0;
const LINE_BITS_PER_S: f64 = 10e6;

/// A download with many losses, for a capture with findings, and the seconds until they have occurred.
const LOSSY: [&str; 2] = ["http_get", "main-thread"];
const LOSSY_SECONDS: &str = "8";

/// Runs the short commands, and with `long` also the complete ones, two at a time.
///
/// # Errors
/// Results are incomplete (the error names the command), or a page has faults.
pub fn run(long: bool, log: &Path) -> Result<Outcome> {
    let programs = ["bench_agent".to_owned()];
    let board = board::read(board::DEFAULT)?;
    firmware::build(&board, &programs, &["line-rate".to_owned()], Some(log))?;
    let linerate = demo::checked(Some(log))?;
    let mut lines = SHORT.to_vec();
    if long {
        lines.extend(WHOLE);
    }
    let numbered: Vec<(usize, &str)> = lines.iter().copied().enumerate().collect();
    let runs = concurrent::map(&numbered, 2, |(number, line)| {
        measure(&linerate, *number, line, log)
    });
    let runs = runs.into_iter().collect::<Result<Vec<_>>>()?;
    let mut pages = vec![look::Page {
        file: page(&linerate, runs)?,
        max_height: None,
    }];
    pages.extend(stages::pages(&linerate, &folder("stages"))?);
    let captures = [Some(capture(&linerate, &board, log)?), sh::niccle()];
    for (number, capture) in captures.into_iter().flatten().enumerate() {
        pages.push(look::Page {
            file: explained(&linerate, &capture, number)?,
            max_height: None,
        });
    }
    let commands = format!("{} commands", lines.len());
    Ok(match look::check_pages(&pages)? {
        Outcome::Done(note) => Outcome::Done(format!("{commands}; {note}")),
        skipped @ Outcome::Skipped(_) => skipped,
    })
}

/// Runs a command and checks its results.
fn measure(linerate: &Path, number: usize, line: &str, log: &Path) -> Result<Value> {
    let (name, flags) = line.split_once(' ').unwrap_or((line, ""));
    let out = folder(&format!("{number}-{name}"));
    let mut command = sh::cmd(linerate);
    command.arg(name).arg(TARGET).args(flags.split_whitespace());
    command.arg("--out").arg(&out);
    let text = sh::read(&mut command)?;
    let run: Value = serde_json::from_str(&fs::read_to_string(out.join("run.json"))?)?;
    let checked = match name {
        "rfc2544" => rfc2544(&run, &text),
        "sweep" if flags.is_empty() || flags.starts_with("load") => load(&run, &text),
        _ => has_results(&run),
    };
    checked.with_context(|| {
        format!(
            "linerate {line}, in {} and {}",
            out.display(),
            log.display()
        )
    })?;
    Ok(run)
}

fn folder(name: &str) -> PathBuf {
    sh::out("procedures").join(name)
}

fn has_results(run: &Value) -> Result<()> {
    let some = run["results"].as_array().is_some_and(|it| !it.is_empty());
    ensure!(
        some && run["not_measured"].is_null(),
        "the results are incomplete"
    );
    Ok(())
}

/// Results of a measurement.
fn results_of<'a>(run: &'a Value, measurement: &'a str) -> impl Iterator<Item = &'a Value> {
    let all = run["results"].as_array().into_iter().flatten();
    all.filter(move |it| it["measurement"] == measurement)
}

/// Checks a load sweep: points in each direction, each with consistent counts, and a table.
fn load(run: &Value, text: &str) -> Result<()> {
    has_results(run)?;
    for direction in ["to_device", "from_device"] {
        let points: Vec<_> = results_of(run, "udp_sweep")
            .filter(|it| it["params"]["direction"] == direction)
            .collect();
        ensure!(points.len() >= 6, "{} points {direction}", points.len());
        for point in points {
            let counts = &point["metrics"]["flow"]["datagrams"];
            let [sent, received, lost] = ["sent", "received", "lost"].map(|it| counts[it].as_u64());
            let arrived = received.zip(lost).map(|(received, lost)| received + lost);
            ensure!(
                received > Some(0) && arrived == sent,
                "{direction}: {counts}"
            );
        }
    }
    ensure!(
        text.contains("| offered | direction |"),
        "no table:\n{text}"
    );
    Ok(())
}

/// Checks RFC 2544: for each frame size a throughput that the line can carry and that was confirmed without loss.
fn rfc2544(run: &Value, text: &str) -> Result<()> {
    has_results(run)?;
    for counting in ["agent", "reflector"] {
        for octets in FRAMES {
            let trials: Vec<_> = results_of(run, "rfc2544")
                .filter(|it| it["params"]["test"] == "throughput")
                .filter(|it| it["params"]["counting"] == counting)
                .filter(|it| it["params"]["frame_octets"] == octets)
                .collect();
            let what = format!("{octets} octets by {counting}");
            // After the search, a last trial repeats the throughput that it found.
            let Some((again, search)) = trials.split_last() else {
                bail!("{what}: no trial");
            };
            let is_lossless = |it: &Value| it["metrics"]["lost_frames"] == 0;
            let frames = &again["params"]["frames"];
            let mut found = search.iter().filter(|it| it["params"]["frames"] == *frames);
            ensure!(
                found.any(|it| is_lossless(it)),
                "{what}: the last trial repeats no lossless one"
            );
            ensure!(
                is_lossless(again),
                "{what}: {frames} frames were lost in part in the last trial"
            );
            let rate = again["metrics"]["received_frames_per_s"].as_f64();
            let rate = rate.context("no rate")?;
            // The device stamps the first and the last frame of 0.1 s in whole microseconds.
            let most = LINE_BITS_PER_S / 8.0 / (octets as f64 + AROUND) * (1.0 + 2e-5);
            ensure!(
                rate > 0.0 && rate <= most,
                "{what}: {rate} of {most} frames/s"
            );
        }
    }
    ensure!(
        text.contains("| frame | line rate, frames/s |"),
        "no table:\n{text}"
    );
    Ok(())
}

/// Makes a capture of the simulated board; returns its file.
fn capture(linerate: &Path, board: &Board, log: &Path) -> Result<PathBuf> {
    let [program, variant] = LOSSY;
    let (programs, variants) = ([program.to_owned()], [variant.to_owned()]);
    firmware::build(board, &programs, &variants, Some(log))?;
    let file = folder("lossy.pcapng");
    let mut sim = sh::cmd(linerate);
    sim.args(["sim", &board.name, "--program", program]);
    sim.args(["--variant", variant, "--seconds", LOSSY_SECONDS]);
    sh::logged(sim.arg("--pcap").arg(&file), log)?;
    Ok(file)
}

/// Writes the page of a capture, which must have findings and pictures.
fn explained(linerate: &Path, capture: &Path, number: usize) -> Result<PathBuf> {
    let page = folder(&format!("explain-{number}.html"));
    let mut explain = sh::cmd(linerate);
    sh::read(
        explain
            .arg("explain")
            .arg(capture)
            .arg("--report")
            .arg(&page),
    )?;
    let html = fs::read_to_string(&page)?;
    ensure!(
        html.contains("class=\"finding\"") && html.contains("class=\"picture\""),
        "{}: without a finding or without a picture",
        page.display()
    );
    Ok(page)
}

/// Writes one report of all results.
fn page(linerate: &Path, runs: Vec<Value>) -> Result<PathBuf> {
    let mut runs = runs.into_iter();
    let mut all = runs.next().context("no command was run")?;
    let results = all["results"].as_array_mut().context("no results")?;
    for mut run in runs {
        results.append(run["results"].as_array_mut().context("no results")?);
    }
    all["title"] = "Every procedure on the simulated board".into();
    let file = folder("all.json");
    fs::write(&file, all.to_string())?;
    let page = folder("report.html");
    let mut report = sh::cmd(linerate);
    sh::read(report.arg("report").arg(&file).arg("--out").arg(&page))?;
    Ok(page)
}
