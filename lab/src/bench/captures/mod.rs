//! `linerate explain` compared with tcptrace and tshark: packets per second of one core, and memory.

mod generate;

use super::history::{self, Figure, Run, cell, ratio_cell};
use super::load::machine::Busy;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use xtask::{demo, sh};

/// Title of the document's section.
pub const TITLE: &str = "\n## Capture analysis\n";

const PACKETS: u64 = 1_000_000;
const TIMES_AS_MANY: u64 = 10;
/// Runs of each program, interleaved; the median counts.
const ROUNDS: usize = 5;

/// tshark's TCP analysis of each packet.
const EACH: [&str; 11] = [
    "tshark",
    "-n",
    "-T",
    "fields",
    "-e",
    "frame.number",
    "-e",
    "tcp.analysis.flags",
    "-e",
    "tcp.analysis.ack_rtt",
    "-r",
];
/// A summary of the same analysis.
const SUMS: [&str; 6] = ["tshark", "-n", "-q", "-z", "expert", "-r"];

const TCPTRACE_TARGET: f64 = 2.0;
const TSHARK_TARGET: f64 = 100.0;
const MEMORY_TARGET_MIB: f64 = 64.0;

/// Results of a program's runs.
#[derive(Clone, Default)]
struct Runs {
    /// Per second of CPU time, user and system.
    packets_per_s: Vec<f64>,
    /// Maximum resident memory of all runs.
    mib: f64,
}

/// Generates the captures, measures and removes them; returns the section of the document.
pub fn measure() -> Result<String> {
    for (tool, package) in [
        ("tcptrace", "tcptrace"),
        ("tshark", "tshark"),
        ("taskset", "util-linux"),
        ("time", "time"),
    ] {
        if !sh::has(tool) {
            bail!("this benchmark needs {tool}: apt-get install {package}");
        }
    }
    let linerate = demo::optimised(None)?;
    let folder = sh::out("bench-captures");
    fs::create_dir_all(&folder)?;
    let [all, many] = [("all", PACKETS), ("many", TIMES_AS_MANY * PACKETS)]
        .map(|(name, packets)| (folder.join(name).with_extension("pcap"), packets));
    for (file, packets) in [&all, &many] {
        let mut to = BufWriter::new(File::create(file)?);
        generate::capture(*packets, &mut to)?;
    }
    let linerate = linerate.to_string_lossy().into_owned();
    let explain = [linerate.as_str(), "explain"];
    let flags = [linerate.as_str(), "explain", "--flags"];
    let mut all_runs: [Runs; 6] = Default::default();
    let mut busy = Busy::default();
    for _ in 0..ROUNDS {
        let runs: [(&[&str], &(PathBuf, u64)); 6] = [
            (&explain, &all),
            (&["tcptrace"], &all),
            (&EACH, &all),
            (&SUMS, &all),
            (&flags, &all),
            (&explain, &many),
        ];
        for (of_program, (program, capture)) in all_runs.iter_mut().zip(runs) {
            busy.sample();
            of_program.add(program, capture, &folder)?;
        }
    }
    fs::remove_dir_all(&folder)?;
    let earlier = history::record("captures", &busy.to_string(), figures(&all_runs))?;
    section(&all_runs, &busy, &earlier)
}

impl Runs {
    /// Runs `program` on a capture, pinned to one core.
    fn add(&mut self, program: &[&str], capture: &(PathBuf, u64), folder: &Path) -> Result<()> {
        let memory = folder.join("memory");
        let mut bash = sh::cmd("bash");
        bash.args([
            "-c",
            r#"TIMEFORMAT="%3U %3S"; time "$@" > /dev/null 2> "$0""#,
        ])
        .arg(folder.join("errors"))
        .args(["time", "--format=%M", "--output"])
        .arg(&memory)
        .args(["taskset", "-c", "0"])
        .args(program)
        .arg(&capture.0);
        let output = bash.output()?;
        if !output.status.success() {
            bail!("{} failed", program.join(" "));
        }
        let times = String::from_utf8(output.stderr)?;
        let seconds = times.split_whitespace().map(str::parse::<f64>);
        let seconds: f64 = seconds
            .sum::<Result<_, _>>()
            .context("bash printed no times")?;
        let kib: f64 = fs::read_to_string(&memory)?.trim().parse()?;
        self.packets_per_s.push(capture.1 as f64 / seconds);
        self.mib = self.mib.max(kib / 1024.0);
        Ok(())
    }
}

/// The figures for the table of earlier runs.
fn figures([all, tcptrace, each, sums, flags, many]: &[Runs; 6]) -> Vec<Figure> {
    let figure = |program: &str, packets: u64, runs: &Runs| Figure {
        what: format!("{program}, {packets} packets"),
        unit: "packets/s".to_owned(),
        ours: runs.packets_per_s.clone(),
        ..Figure::default()
    };
    let compared = [
        ("tcptrace", tcptrace),
        ("tshark -T fields -e tcp.analysis.flags …", each),
        ("tshark -q -z expert", sums),
    ];
    let compared = compared.map(|(rival, theirs)| Figure {
        rival: rival.to_owned(),
        theirs: theirs.packets_per_s.clone(),
        ..figure("linerate explain", PACKETS, all)
    });
    let alone = [
        figure("linerate explain --flags", PACKETS, flags),
        figure("linerate explain", TIMES_AS_MANY * PACKETS, many),
    ];
    compared.into_iter().chain(alone).collect()
}

fn section(
    [all, tcptrace, each, sums, flags, many]: &[Runs; 6],
    busy: &Busy,
    earlier: &[Run],
) -> Result<String> {
    let mut table = String::from(
        "| program | packets | packets/s | linerate's ratio | target | peak memory, MiB |\n\
         |---|---:|---:|---:|---:|---:|\n",
    );
    let rows = [
        ("`linerate explain`", PACKETS, all, None),
        ("tcptrace", PACKETS, tcptrace, Some(TCPTRACE_TARGET)),
        (
            "`tshark -T fields -e tcp.analysis.flags …`",
            PACKETS,
            each,
            Some(TSHARK_TARGET),
        ),
        ("`tshark -q -z expert`", PACKETS, sums, None),
        ("`linerate explain --flags`", PACKETS, flags, None),
        (
            "`linerate explain`",
            TIMES_AS_MANY * PACKETS,
            many,
            Some(1.0),
        ),
    ];
    for (name, packets, runs, target) in rows {
        let ratio = Figure {
            ours: all.packets_per_s.clone(),
            theirs: runs.packets_per_s.clone(),
            ..Figure::default()
        };
        let target = target.map_or(String::new(), |target| target.to_string());
        writeln!(
            table,
            "| {name} | {packets} | {} | {} | {target} | {:.1} |",
            cell(&runs.packets_per_s),
            ratio_cell(ratio.ratio()),
            runs.mib
        )?;
    }
    print!("{table}");
    Ok(format!(
        "{TITLE}\n\
         Written by `cargo xtask bench --captures` (this section only). The captures are generated: headers \
         of downloads over 64 concurrent TCP connections, with a loss in a fifth of the flights. Each program runs \
         {ROUNDS} times, interleaved with the others and pinned to one core, with its output discarded. Packets per \
         second of CPU time; median, minimum and maximum. {busy}\n\n{table}\n\
         The first tshark row prints the TCP analysis of each packet; the second, which is less work, prints a summary. \
         linerate names causes from its own analysis; with `--flags` it prints the flags that tshark would set, for \
         packets that have any. The memory target is {MEMORY_TARGET_MIB} MiB at most. The ratio of the last row is 1 if \
         ten times as many packets need the same time per packet.\n{}",
        history::table(earlier)
    ))
}
