//! Speed of the simulator compared with QEMU.

use super::history::{self, Figure, Run, cell, ratio_cell};
use super::soft_soc;
use anyhow::{Context, Result, anyhow, bail};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use xtask::{board, demo, firmware, sh, tools};

/// Bit mask that selects all kernels of the image.
const ALL_KERNELS: u32 = 0x3F;
/// Rounds of all kernels in a short and a long run of QEMU: the difference excludes its start.
const QEMU_ROUNDS: [u32; 2] = [10, 1010];
/// Number of runs: their median counts.
const RUNS: usize = 5;
/// Address of the RAM of QEMU's `virt` machine.
const RAM: &str = "0x80000000";

/// Downloads of the saturated receive: bytes and number.
const DOWNLOAD: (u64, u64) = (3_000_000, 5);

/// The figures of the ESP32-C6 and the table, run by run.
type Harts = Vec<([f64; 2], String)>;

/// Runs the kernels on simulated harts; the slowest run comes first.
fn harts(image: &Path) -> Result<Harts> {
    println!("hart, with timing and flash cache, and behind caches and DDR:");
    let mut harts = Vec::new();
    for _ in 0..RUNS {
        let table = hart(image)?;
        print!("{table}");
        harts.push((mips(&table)?, table));
    }
    harts.sort_by(|(a, _), (b, _)| a[0].total_cmp(&b[0]));
    Ok(harts)
}

/// The figure from the RAM of the ESP32-C6.
fn from_ram(harts: &Harts) -> Figure {
    Figure {
        what: "simulated instructions from RAM".to_owned(),
        unit: "million/s".to_owned(),
        ours: harts.iter().map(|(mips, _)| mips[0]).collect(),
        ..Figure::default()
    }
}

/// Records the figures of soft `SoCs`; returns their section.
fn soft_socs_of(harts: &Harts) -> Result<String> {
    let tables: Vec<&str> = harts.iter().map(|(_, table)| table.as_str()).collect();
    let figures = soft_soc::figures(&tables)?;
    let earlier = history::record("soft-socs", "", figures.clone())?;
    soft_soc::section(&figures, &from_ram(harts), &earlier)
}

/// Measures soft `SoCs` only; returns their section.
pub fn soft_socs() -> Result<String> {
    soft_socs_of(&harts(&kernels()?)?)
}

/// Measures the simulator's speed; returns the start of the document, and the section on soft `SoCs`.
pub fn speed() -> Result<(String, String)> {
    let image = kernels()?;
    let harts = harts(&image)?;
    println!("QEMU -icount, the same kernels:");
    let qemu = qemu(&image)?;
    if qemu.is_empty() {
        println!("skipped: qemu-system-riscv32 is missing: cargo xtask setup");
    }
    println!("saturated receive:");
    let receive = receive()?;
    let of = |memory: usize| {
        harts
            .iter()
            .map(|(mips, _)| mips[memory])
            .collect::<Vec<f64>>()
    };
    let figure = |what: &str, unit: &str, ours: Vec<f64>| Figure {
        what: what.to_owned(),
        unit: unit.to_owned(),
        ours,
        ..Figure::default()
    };
    let from_ram = Figure {
        rival: "QEMU -icount shift=0".to_owned(),
        theirs: qemu,
        ..from_ram(&harts)
    };
    let speeds = receive.iter().map(|it| it.virtual_s / it.wall_s).collect();
    let figures = [
        from_ram,
        figure("simulated instructions from flash", "million/s", of(1)),
        figure("saturated receive", "virtual s per s", speeds),
    ];
    let earlier = history::record("simulator", "", figures.to_vec())?;
    let median = receive
        .into_iter()
        .nth(RUNS / 2)
        .context("no run succeeded")?;
    let start = document(&harts[RUNS / 2].1, &figures, &median, &earlier)?;
    Ok((start, soft_socs_of(&harts)?))
}

/// Builds the flat image of the kernels.
fn kernels() -> Result<PathBuf> {
    let std = tools::ensure_target(tools::RISCV)?;
    let made = sh::out("kernels");
    let mut build = sh::cargo();
    build
        .args(["build", "--release", "--locked", "--target", tools::RISCV])
        .current_dir(sh::root().join("sim/tests/kernels"))
        .env("CARGO_TARGET_DIR", &made)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    std.apply(&mut build);
    sh::run(&mut build)?;
    Ok(made.join(tools::RISCV).join("release/linerate-sim-kernels"))
}

/// The table printed by the simulator's example, one kernel per line.
fn hart(image: &Path) -> Result<String> {
    let mut build = sh::cargo();
    build.args(["run", "--release", "--locked", "--package", "linerate-sim"]);
    sh::read(build.args(["--example", "hart", "--"]).arg(image))
}

/// Million instructions per second over all kernels in that table: from RAM, from flash.
fn mips(table: &str) -> Result<[f64; 2]> {
    let line = table.lines().find(|l| l.starts_with("all "));
    let words: Vec<&str> = line.unwrap_or_default().split_whitespace().collect();
    let figures: Vec<f64> = words
        .windows(2)
        .filter(|pair| pair[1] == "MIPS")
        .filter_map(|pair| pair[0].parse().ok())
        .collect();
    <[f64; 2]>::try_from(figures)
        .map_err(|_| anyhow!("no line `all` with two figures in:\n{table}"))
}

/// Million instructions per second of QEMU on the same image, run by run; none if it is not installed.
fn qemu(image: &Path) -> Result<Vec<f64>> {
    let mut runs = Vec::new();
    if !sh::has("qemu-system-riscv32") {
        return Ok(runs);
    }
    for _ in 0..RUNS {
        let (few, short) = qemu_run(image, QEMU_ROUNDS[0])?;
        let (many, long) = qemu_run(image, QEMU_ROUNDS[1])?;
        let seconds = long.saturating_sub(short).as_secs_f64();
        runs.push(f64::from(many - few) / seconds / 1e6);
    }
    Ok(runs)
}

/// Instructions retired by the kernels, and run time of QEMU.
fn qemu_run(image: &Path, rounds: u32) -> Result<(u32, Duration)> {
    let mut bytes = fs::read(image)?;
    // The image's second and third word select the kernels and the number of rounds.
    bytes[4..8].copy_from_slice(&ALL_KERNELS.to_le_bytes());
    bytes[8..12].copy_from_slice(&rounds.to_le_bytes());
    let patched = sh::out("kernels").join("patched.bin");
    fs::write(&patched, bytes)?;
    let loader = format!("loader,file={},addr={RAM},force-raw=on", patched.display());
    let started = Instant::now();
    let run = sh::cmd("qemu-system-riscv32")
        .args([
            "-M", "virt", "-m", "16M", "-bios", "none", "-icount", "shift=0",
        ])
        .args(["-display", "none", "-monitor", "none", "-serial", "stdio"])
        .args(["-device", &loader])
        .stdin(Stdio::null())
        .output()?;
    let took = started.elapsed();
    let Some((_, last)) = run.stdout.split_last_chunk::<4>() else {
        bail!(
            "QEMU printed no result: {}",
            String::from_utf8_lossy(&run.stderr)
        );
    };
    Ok((u32::from_le_bytes(*last), took))
}

/// Result of the saturated receive.
struct Receive {
    virtual_s: f64,
    wall_s: f64,
    goodput: f64,
    share_of_line: f64,
}

impl std::fmt::Display for Receive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:.2} virtual seconds per wall second ({:.1} s in {:.1} s, at {:.0} B/s, {:.0}% of \
             the line's limit)",
            self.virtual_s / self.wall_s,
            self.virtual_s,
            self.wall_s,
            self.goodput,
            self.share_of_line * 100.0
        )
    }
}

/// Runs only the large downloads of the variant `windowed`; the slowest run comes first.
fn receive() -> Result<Vec<Receive>> {
    let board = board::read(board::DEFAULT)?;
    let (bytes, requests) = DOWNLOAD;
    let get = ["http_get".to_owned()];
    let elf = firmware::build(&board, &get, &["windowed".to_owned()], None)?;
    let linerate = demo::optimised(None)?;
    let folder = sh::out("bench");
    let scenario = folder.join("receive.toml");
    fs::write(
        &scenario,
        format!(
            "schema = 1\nname = \"receive\"\ntitle = \"Saturated receive\"\n\
             board = \"{}\"\nseed = 1\n\
             [record]\npcapng = false\nvcd_ms = 0\n\
             [[run]]\nvariant = \"windowed\"\n\
             http_get = {{ bytes = [{bytes}], requests = {requests} }}\n",
            board.name
        ),
    )?;
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let mut run = sh::cmd(&linerate);
        run.arg("run").arg(&scenario);
        run.arg("--out").arg(folder.join("out"));
        let started = Instant::now();
        sh::read(&mut run)?;
        let wall_s = started.elapsed().as_secs_f64();
        let text = fs::read_to_string(folder.join("out/run.json"))?;
        let json: serde_json::Value = serde_json::from_str(&text)?;
        let result = &json["results"][0];
        let number = |value: &serde_json::Value| value.as_f64().unwrap_or(f64::NAN);
        let goodput = number(&result["metrics"]["goodput_bytes_per_s_p50"]);
        let this = Receive {
            virtual_s: number(&json["provenance"]["virtual_ns"]) / 1e9,
            wall_s,
            goodput,
            share_of_line: goodput / number(&result["limits"]["line_goodput_bytes_per_s"]),
        };
        println!("{this}");
        runs.push(this);
    }
    drop(elf);
    runs.sort_by(|a, b| b.wall_s.total_cmp(&a.wall_s));
    Ok(runs)
}

/// The start of `docs/performance.md`; `hart` and `receive` are of the median run.
fn document(
    hart: &str,
    [ram, flash, speed]: &[Figure; 3],
    receive: &Receive,
    earlier: &[Run],
) -> Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = String::from("# Performance of the simulator\n\n");
    writeln!(
        text,
        "Written by `cargo xtask bench` on {cpu}, {cores} cores; median, minimum and maximum of {RUNS} runs.\n"
    )?;
    writeln!(
        text,
        "| figure | measured | target | floor |\n|---|---:|---:|---:|"
    )?;
    writeln!(
        text,
        "| simulated instructions per second, with timing and flash cache | {} million from \
         RAM, {} million from flash | 480 million | 240 million |",
        cell(&ram.ours),
        cell(&flash.ours)
    )?;
    writeln!(
        text,
        "| ratio to QEMU `-icount shift=0` on the same image ({} million) | {} | 0.25 | |",
        cell(&ram.theirs),
        ratio_cell(ram.ratio())
    )?;
    writeln!(
        text,
        "| virtual seconds per wall second, saturated receive | {} | 3 | 1.5 |\n",
        cell(&speed.ours)
    )?;
    writeln!(
        text,
        "The instructions are those of `sim/tests/kernels` (CRC-32 by tables and by bits, \
         `memcpy`, checksum, branches), run in sequence. Single kernels of the median run, \
         by `cargo run --release -p linerate-sim --example hart -- \
         target/kernels/{}/release/linerate-sim-kernels`:\n\n```\n{}```\n",
        tools::RISCV,
        hart
    )?;
    writeln!(
        text,
        "The saturated receive is the `windowed` firmware downloading {} bytes {} times: {receive}. \
         The time includes the complete measurement: hart, wire, peer, ledger, results.",
        DOWNLOAD.0, DOWNLOAD.1
    )?;
    text.push_str(&history::table(earlier));
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::mips;

    #[test]
    fn finds_the_figures_of_all_kernels() {
        let table = "memcpy   RAM   900 MIPS 1.1 cycles/instruction  flash   800 MIPS 1.2\n\
                     all      RAM   500 MIPS 1.3 cycles/instruction  flash   444 MIPS 1.4\n";
        let [ram, flash] = mips(table).expect("there");
        assert!((ram - 500.0).abs() < 1e-9 && (flash - 444.0).abs() < 1e-9);
        assert!(mips("nothing").is_err());
    }
}
