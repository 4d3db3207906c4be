//! `cargo xtask accuracy`: every procedure on links whose rate, delay, jitter and loss are known.
//!
//! `linerate relay` makes the link between two network namespaces and counts every frame, `linerate
//! serve` or a stock iperf is the device in one of them, and the procedure runs in the other.

mod capture;
mod cases;
mod figures;
mod page;

use anyhow::{Context, Result, bail};
use cases::{CHAPTERS, Case, Chapter, Figure, Known};
use figures::Measured;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::sh;

/// The address of the namespace with the device (`linerate relay --namespaces`).
const DEVICE: &str = "10.0.0.2";
/// That of the procedure's end.
const BENCH: &str = "10.0.0.1";
/// What a procedure may be off by.
const TOLERANCE: f64 = 0.02;
const PAGE: &str = "docs/accuracy.md";

/// What was found of a figure, each time that it was measured.
struct Row {
    chapter: &'static Chapter,
    case: &'static Case,
    figure: &'static Figure,
    /// What it must be, and what was reported, by how far apart they are: the middle one counts.
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

    /// What it must be, and what was reported.
    fn median(&self) -> (f64, f64) {
        self.times[self.times.len() / 2]
    }

    fn error(&self) -> f64 {
        error(self.median())
    }

    /// Whether it is as far off as is stated at most.
    fn holds(&self) -> bool {
        let (known, reported) = self.median();
        let (below, above) = self.figure.stated.map_or(
            (TOLERANCE * known.abs(), TOLERANCE * known.abs()),
            |stated| (stated.below, stated.above),
        );
        (known - below..=known + above).contains(&reported)
    }

    fn line(&self) -> String {
        let (known, reported) = self.median();
        let unit = self.figure.unit;
        format!(
            "{:<62} known {:>18} reported {:>18} {:+.2}%{}",
            self.figure.name,
            unit.write(known),
            unit.write(reported),
            self.error() * 100.0,
            if self.holds() { "" } else { " TOO FAR OFF" }
        )
    }
}

/// How far off, as a share of what is known.
fn error((known, reported): (f64, f64)) -> f64 {
    if known == 0.0 {
        reported
    } else {
        reported / known - 1.0
    }
}

/// The command.
pub fn run(words: &[String]) -> Result<()> {
    if !cfg!(target_os = "linux") || !sh::has("ip") {
        bail!("this needs Linux with network namespaces, and `ip`");
    }
    sh::run(sh::cargo().args(["build", "--locked", "--release", "-p", "linerate"]))?;
    let program = binary()?;
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
    if words.is_empty() {
        fs::write(sh::root().join(PAGE), page::page(&rows))?;
        println!("written: {PAGE}");
    }
    let off = rows.iter().filter(|row| !row.holds()).count();
    match (rows.len(), off) {
        (0, _) => bail!("no procedure is called so"),
        (_, 0) => Ok(()),
        (all, off) => bail!("{off} of {all} figures are further off than stated"),
    }
}

fn binary() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR");
    let target = target.map_or_else(|| sh::root().join("target"), PathBuf::from);
    let program = target.join("release/linerate");
    if !program.is_file() {
        bail!("{} is missing", program.display());
    }
    Ok(program)
}

/// A case, as often as it is to be measured.
fn measure(program: &Path, chapter: &'static Chapter, case: &'static Case) -> Result<Vec<Row>> {
    let mut all = Vec::new();
    for _ in 0..case.times {
        all.push(once(program, case)?);
    }
    let row = |figure: &'static Figure| {
        let time = |measured: &Measured| {
            let known = match figure.known {
                Known::Value(value) => value,
                Known::Truth(of) => of(measured).context("no such count in the relay's truth")?,
                Known::Announced(of) => of(measured).context("no such stream in the capture")?,
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

fn once(program: &Path, case: &Case) -> Result<Measured> {
    let dir = sh::out("accuracy");
    fs::create_dir_all(&dir)?;
    let (result, truth) = (dir.join("result.json"), dir.join("truth.json"));
    let captured = case.is_captured().then(|| dir.join("frames.pcapng"));
    let _ = fs::remove_file(&result);
    let _ = fs::remove_file(&truth);
    let [left, right] = ["left", "right"].map(|end| format!("acc{}-{end}", std::process::id()));
    let mut relay = sh::cmd(program);
    relay
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
    // Beside itself: whatever is the same is listed.
    let mut together = sh::cmd(program);
    let together = together.args(["compare", "--json"]).args([&result; 2]);
    Ok(Measured {
        results: read(&result)?,
        together: serde_json::from_str(&sh::read(together)?)?,
        truth: read(&truth)?,
        windows: captured.map_or(Ok(Vec::new()), |file| capture::windows(&file, BENCH))?,
    })
}

/// Starts the device, measures, ends the device.
fn script(
    program: &Path,
    case: &Case,
    right: &str,
    result: &Path,
    captured: Option<&Path>,
) -> String {
    let (program, dir) = (program.display(), sh::out("accuracy"));
    let log = dir.join("serve.log");
    let (log, measured) = (log.display(), dir.join("measured"));
    let command = case.command.replace("DEVICE", DEVICE);
    let capture = captured.map_or_else(String::new, capture::script);
    // It has said so of each protocol when it listens.
    format!(
        ": >{log}; ip netns exec {right} {program} serve --bind {DEVICE} --udp-on-request \
         --seconds 110 2>>{log} & device=$!; {capture} \
         trap 'kill $device $capture; wait $device $capture' EXIT; \
         trap 'exit 1' TERM INT; \
         until [ \"$(grep -c ' on {DEVICE}:' {log})\" -ge 5 ]; do \
         kill -0 $device || exit 1; sleep 0.05; done; \
         {program} {command} --out {} --json {}",
        measured.display(),
        result.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use cases::{Stated, Unit};

    /// What is a procedure among the modules of the bench, and not a part of one or of all.
    const NO_PROCEDURES: [&str; 6] = [
        // It has no figure that could be off.
        "conformance",
        "mod",
        "scripted",
        "session",
        "steps",
        "sweep_trials",
    ];

    #[test]
    fn every_procedure_is_held_to_account() {
        let folder = sh::root().join("bench/src/procedure");
        let mut procedures = 0;
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_stem().and_then(|it| it.to_str()).expect("a name");
            if NO_PROCEDURES.contains(&name) {
                continue;
            }
            procedures += 1;
            let is_held = |chapter: &Chapter| {
                chapter.words.contains(&name)
                    && chapter.cases.iter().any(|it| !it.figures.is_empty())
            };
            assert!(CHAPTERS.iter().any(is_held), "{name} is in no chapter");
        }
        assert!(procedures >= 8, "{procedures}");
    }

    fn row(stated: Option<Stated>, times: &[f64]) -> Row {
        let figure = Box::leak(Box::new(Figure {
            name: "goodput",
            unit: Unit::Count,
            reported: |_| None,
            known: Known::Value(100.0),
            stated,
        }));
        let times = times.iter().map(|it| (100.0, *it)).collect();
        Row::new(&CHAPTERS[0], &CHAPTERS[0].cases[0], figure, times)
    }

    #[test]
    fn the_middle_one_of_three_counts() {
        assert_eq!(row(None, &[90.0, 101.0, 99.0]).median(), (100.0, 99.0));
        assert!(row(None, &[90.0, 101.0, 99.0]).holds());
        assert!(!row(None, &[90.0, 97.0, 99.0]).holds());
        assert!(!row(None, &[103.0]).holds());
    }

    #[test]
    fn a_stated_error_has_two_sides() {
        let stated = Stated {
            below: 10.0,
            above: 1.0,
            why: "it is rounded",
        };
        let holds = |reported| row(Some(stated), &[reported]).holds();
        assert!(holds(90.0) && holds(101.0));
        assert!(!holds(89.0) && !holds(102.0));
    }
}
