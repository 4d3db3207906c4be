//! `cargo xtask accuracy`: every procedure on links whose rate, delay, jitter and loss are known.
//!
//! `linerate relay` emulates the link between two network namespaces and counts every frame, `linerate
//! serve` is the device in one of them, and the procedure runs in the other.

mod capture;
mod cases;
mod figures;
mod page;

use anyhow::{Context, Result, bail};
use cases::{CHAPTERS, Case, Chapter, Figure, Known, Server, Unit};
use figures::Measured;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::{demo, sh};

/// The address of the namespace with the device (`linerate relay --namespaces`).
const DEVICE: &str = "10.0.0.2";
/// The address of the namespace with the procedure.
const BENCH: &str = "10.0.0.1";
/// Permitted relative error.
const TOLERANCE: f64 = 0.02;
/// A frame that the relay sends this late disturbs a trial of two seconds by 0.5%.
const DISTURBED_NS: f64 = 10e6;
/// Runs of a case that is disturbed.
const TRIES: usize = 4;
const PAGE: &str = "docs/accuracy.md";

/// A figure with its values in all runs.
struct Row {
    chapter: &'static Chapter,
    case: &'static Case,
    figure: &'static Figure,
    /// Expected and reported value of each run, sorted by error: the middle one counts.
    times: Vec<(f64, f64)>,
}

impl Row {
    fn new(
        chapter: &'static Chapter,
        case: &'static Case,
        figure: &'static Figure,
        mut times: Vec<(f64, f64)>,
    ) -> Self {
        times.sort_by(|one, other| error(*one).total_cmp(&error(*other)));
        Self {
            chapter,
            case,
            figure,
            times,
        }
    }

    /// Expected and reported value of the run with the median error.
    fn median(&self) -> (f64, f64) {
        self.times[self.times.len() / 2]
    }

    fn error(&self) -> f64 {
        error(self.median())
    }

    /// True if the error is permitted.
    fn is_within_bounds(&self) -> bool {
        let (known, reported) = self.median();
        let (below, above) = self.figure.permitted.map_or(
            (TOLERANCE * known.abs(), TOLERANCE * known.abs()),
            |permitted| (permitted.below, permitted.above),
        );
        (known - below..=known + above).contains(&reported)
    }

    fn line(&self) -> String {
        let (known, reported) = self.median();
        let unit = self.figure.unit;
        format!(
            "{:<62} expected {:>18} reported {:>18} {:+.2}%{}",
            self.figure.name,
            unit.write(known),
            unit.write(reported),
            self.error() * 100.0,
            if self.is_within_bounds() {
                ""
            } else {
                " NOT PERMITTED"
            }
        )
    }
}

/// Relative error.
fn error((known, reported): (f64, f64)) -> f64 {
    if known == 0.0 {
        reported
    } else {
        reported / known - 1.0
    }
}

/// Runs the command.
pub fn run(words: &[String], linerate: Option<PathBuf>) -> Result<()> {
    if !cfg!(target_os = "linux") || !sh::has("ip") {
        bail!("this needs Linux with network namespaces and `ip`: apt-get install iproute2");
    }
    let program = match linerate {
        Some(program) => fs::canonicalize(program)?,
        None => demo::optimised(None)?,
    };
    let is_chosen = |chapter: &&Chapter| {
        let has = |word: &String| chapter.words.iter().any(|it| it.contains(word.as_str()));
        words.is_empty() || words.iter().any(has)
    };
    let mut rows = Vec::new();
    for chapter in CHAPTERS.iter().filter(is_chosen) {
        println!("{}", chapter.title);
        for case in chapter.cases {
            println!("  {} over {}", case.command, case.link);
            for row in measure(&program, chapter, case)? {
                println!("    {}", row.line());
                rows.push(row);
            }
        }
    }
    let file = sh::root().join(PAGE);
    let old = fs::read_to_string(&file).unwrap_or_default();
    fs::write(&file, page::page(&old, &rows, &commit()?))?;
    println!("written: {PAGE}");
    let off = rows.iter().filter(|row| !row.is_within_bounds()).count();
    match (rows.len(), off) {
        (0, _) => bail!("no procedure has such a name"),
        (_, 0) => Ok(()),
        (all, off) => bail!("the error of {off} of {all} figures is not permitted"),
    }
}

/// Commit and its date.
fn commit() -> Result<String> {
    let describe = ["show", "-s", "--format=commit %h of %cs", "HEAD"];
    let described = sh::read(sh::cmd("git").arg("-C").arg(sh::root()).args(describe))?;
    Ok(described.trim().to_owned())
}

/// Runs a case as often as it requires.
fn measure(program: &Path, chapter: &'static Chapter, case: &'static Case) -> Result<Vec<Row>> {
    let mut all = Vec::new();
    for _ in 0..case.times {
        all.push(run_undisturbed(program, case)?);
    }
    let row = |figure: &'static Figure| {
        let time = |measured: &Measured| {
            let known = match figure.known {
                Known::Setting(value) => value,
                Known::Counted(of) => of(measured).context("the relay reported no such count")?,
                Known::Announced(of) => of(measured).context("the capture has no such stream")?,
            };
            let reported = (figure.reported)(measured).with_context(|| {
                format!("no {} in the results of {}", figure.name, case.command)
            })?;
            Ok((known, reported))
        };
        let times = all.iter().map(time).collect::<Result<_>>()?;
        Ok(Row::new(chapter, case, figure, times))
    };
    case.figures.iter().map(row).collect()
}

/// Runs a case again if other programs kept the relay from its times, or if the server crashed; the last try counts.
fn run_undisturbed(program: &Path, case: &Case) -> Result<Measured> {
    for _ in 1..TRIES {
        let measured = run_case(program, case)?;
        if crash_mark().exists() {
            println!("    (disturbed: the server crashed; repeated)");
            continue;
        }
        let late = |direction| {
            measured
                .counted(direction, "max_lateness_ns")
                .unwrap_or(0.0)
        };
        let latest = late("forward").max(late("backward"));
        if latest <= DISTURBED_NS {
            return Ok(measured);
        }
        println!(
            "    (disturbed: a frame was {} late; repeated)",
            Unit::Milliseconds.write(latest)
        );
    }
    run_case(program, case)
}

/// The file that a run leaves whose server ended by itself.
fn crash_mark() -> PathBuf {
    sh::out("accuracy").join("crashed")
}

fn run_case(program: &Path, case: &Case) -> Result<Measured> {
    let dir = sh::out("accuracy");
    fs::create_dir_all(&dir)?;
    let (result, truth) = (dir.join("result.json"), dir.join("truth.json"));
    let captured = case.is_captured().then(|| dir.join("frames.pcapng"));
    let _ = fs::remove_file(&result);
    let _ = fs::remove_file(&truth);
    let _ = fs::remove_file(crash_mark());
    let [left, right] = ["left", "right"].map(|end| format!("acc{}-{end}", std::process::id()));
    // Before other programs of this machine. A relay that polls would never leave the processor.
    let scheduled: &[&str] = if case.link.contains("--busy") {
        &["nice", "-n", "-10"]
    } else {
        &["chrt", "--rr", "10"]
    };
    let mut relay = sh::cmd(scheduled[0]);
    relay
        .args(&scheduled[1..])
        .arg(program)
        .arg("relay")
        .args(["--namespaces", &format!("{left},{right}")]);
    relay.args(["--seconds", "120"]).arg("--json").arg(&truth);
    relay.args(case.link.split_whitespace());
    let script = script(program, case, &right, &result, captured.as_deref());
    relay.args(["--", "sh", "-c", &script]);
    sh::logged(&mut relay, &dir.join("log.txt"))
        .with_context(|| format!("{} over {}", case.command, case.link))?;
    let read = |file: &Path| {
        let text = fs::read_to_string(file)
            .with_context(|| format!("{} left no results within 120 s", case.command))?;
        anyhow::Ok(serde_json::from_str::<Value>(&text)?)
    };
    // Compared with itself: all its figures are listed.
    let mut compare = sh::cmd(program);
    let compare = compare.args(["compare", "--json"]).args([&result; 2]);
    Ok(Measured {
        results: read(&result)?,
        combined: serde_json::from_str(&sh::read(compare)?)?,
        truth: read(&truth)?,
        windows: captured.map_or(Ok(Vec::new()), |file| capture::windows(&file, BENCH))?,
    })
}

/// Shell script that starts the device, measures and stops the device.
fn script(
    program: &Path,
    case: &Case,
    right: &str,
    result: &Path,
    captured: Option<&Path>,
) -> String {
    let (device, is_ready) = device(program, case.server, right);
    let (program, measured) = (program.display(), sh::out("accuracy").join("measured"));
    let command = case.command.replace("DEVICE", DEVICE);
    let capture = captured.map_or_else(String::new, capture::script);
    format!(
        "{device} & device=$!; {capture} \
         trap 'kill -0 $device || : >{}; kill $device $capture; wait $device $capture' EXIT; \
         trap 'exit 1' TERM INT; \
         until {is_ready}; do \
         kill -0 $device || exit 1; sleep 0.05; done; \
         {program} {command} --out {} --json {}",
        crash_mark().display(),
        measured.display(),
        result.display()
    )
}

/// Shell commands of the device in namespace `right`, and of the test whether it listens.
fn device(program: &Path, server: Server, right: &str) -> (String, String) {
    let log = sh::out("accuracy").join("serve.log");
    let (program, log) = (program.display(), log.display());
    let stock = |command: &str, list: &str, port: u16| {
        (
            format!("ip netns exec {right} timeout 110 {command} >{log} 2>&1"),
            format!("ip netns exec {right} ss -H{list}n | grep -q ':{port} '"),
        )
    };
    match server {
        // It prints a line per protocol once it listens.
        Server::Linerate => (
            format!(
                ": >{log}; ip netns exec {right} {program} serve --bind {DEVICE} --udp-on-request \
                 --seconds 110 2>>{log}"
            ),
            format!("[ \"$(grep -c ' on {DEVICE}:' {log})\" -ge 5 ]"),
        ),
        Server::Iperf2 => stock("iperf -s -u", "ul", 5001),
        Server::Iperf3 => stock("iperf3 -s", "tl", 5201),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cases::PermittedError;

    /// Modules in `bench/src/procedure` that are no procedures or have no figures.
    const NO_PROCEDURES: [&str; 7] = [
        // A procedure without figures.
        "conformance",
        "device_counters",
        "mod",
        "scripted",
        "session",
        "steps",
        "sweep_trials",
    ];

    #[test]
    fn every_procedure_is_checked() {
        let folder = sh::root().join("bench/src/procedure");
        let mut procedures = 0;
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|it| it.to_str()).expect("a name");
            if NO_PROCEDURES.contains(&name) {
                continue;
            }
            procedures += 1;
            let is_checked = |chapter: &Chapter| {
                chapter.words.contains(&name)
                    && chapter.cases.iter().any(|it| !it.figures.is_empty())
            };
            assert!(CHAPTERS.iter().any(is_checked), "{name} is in no chapter");
        }
        assert!(procedures >= 8, "{procedures}");
    }

    fn row(permitted: Option<PermittedError>, times: &[f64]) -> Row {
        let figure = Box::leak(Box::new(Figure {
            name: "goodput",
            unit: Unit::Count,
            reported: |_| None,
            known: Known::Setting(100.0),
            permitted,
        }));
        let times = times.iter().map(|it| (100.0, *it)).collect();
        Row::new(&CHAPTERS[0], &CHAPTERS[0].cases[0], figure, times)
    }

    #[test]
    fn the_median_of_three_counts() {
        assert_eq!(row(None, &[90.0, 101.0, 99.0]).median(), (100.0, 99.0));
        assert!(row(None, &[90.0, 101.0, 99.0]).is_within_bounds());
        assert!(!row(None, &[90.0, 97.0, 99.0]).is_within_bounds());
        assert!(!row(None, &[103.0]).is_within_bounds());
    }

    #[test]
    fn a_permitted_error_has_two_sides() {
        let permitted = PermittedError {
            below: 10.0,
            above: 1.0,
            why: "it is rounded",
        };
        let holds = |reported| row(Some(permitted), &[reported]).is_within_bounds();
        assert!(holds(90.0) && holds(101.0));
        assert!(!holds(89.0) && !holds(102.0));
    }
}
