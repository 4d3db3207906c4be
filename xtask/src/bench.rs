//! `cargo xtask bench`: how fast the simulator is, beside QEMU; writes `docs/performance.md`.

use crate::{board, demo, firmware, sh, tools};
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Width of the kernels' names in the example's table.
const NAME: usize = 32;
/// Each figure is the best of so many runs: everything that disturbs one makes it slower.
const RUNS: usize = 3;
/// What the saturated receive downloads, and how often (`LINERATE_SIZES` of the firmware).
const DOWNLOAD: (&str, u64, u64) = ("3000000x5", 3_000_000, 5);

/// The command.
pub fn run() -> Result<()> {
    let image = kernels()?;
    println!("instructions per second, with timing and flash cache, beside QEMU -icount:");
    let table = hart(&image)?;
    print!("{table}");
    let hart = Hart::read(&table)?;
    println!("{hart}\nsaturated receive:");
    let receive = receive()?;
    println!("{receive}");
    let document = document(&table, &hart, &receive)?;
    fs::write(sh::root().join("docs/performance.md"), document)?;
    println!("written: docs/performance.md");
    Ok(())
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

/// The table that the simulator's example prints, one kernel a line.
fn hart(image: &Path) -> Result<String> {
    let mut build = sh::cargo();
    build.args(["run", "--release", "--locked", "--package", "linerate-sim"]);
    sh::read(build.args(["--example", "hart", "--"]).arg(image))
}

/// The hart over all kernels.
struct Hart {
    /// Millions of instructions per second with code in RAM, and from flash behind the cache.
    mips: [f64; 2],
    /// Its speed over QEMU's; `None` where QEMU is not there.
    ratio: Option<f64>,
}

impl Hart {
    /// Reads the example's table: a kernel's name, then the figures from RAM and from flash.
    fn read(table: &str) -> Result<Self> {
        let mut seconds = [0.0; 2];
        let mut kernels = 0.0;
        let mut ratio = None;
        for line in table.lines() {
            if let Some((_, figure)) = line.split_once("over all kernels: ") {
                ratio = figure.trim().parse().ok();
            }
            let columns = line.get(NAME..).unwrap_or_default().split_whitespace();
            let figures: Vec<f64> = columns.filter_map(|word| word.parse().ok()).collect();
            if let [ram, flash, ..] = figures[..] {
                kernels += 1.0;
                seconds[0] += 1.0 / ram;
                seconds[1] += 1.0 / flash;
            }
        }
        if kernels < 1.0 {
            bail!("no figures in:\n{table}");
        }
        // As many instructions of each kernel.
        Ok(Self {
            mips: seconds.map(|sum| kernels / sum),
            ratio,
        })
    }

    fn ratio(&self) -> String {
        self.ratio
            .map_or_else(|| "no QEMU here".into(), |ratio| format!("{ratio:.2}"))
    }
}

impl std::fmt::Display for Hart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [ram, flash] = self.mips;
        let ratio = self.ratio();
        write!(
            f,
            "all kernels: {ram:.0} MIPS from RAM, {flash:.0} from flash; ratio {ratio}"
        )
    }
}

/// What downloading as fast as the firmware can came to.
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

/// Runs only the large downloads of the fastest variant.
fn receive() -> Result<Receive> {
    let board = board::read(board::DEFAULT)?;
    let (sizes, bytes, requests) = DOWNLOAD;
    let elf = firmware::build_with(
        &board,
        &["http_get".to_owned()],
        &["windowed".to_owned()],
        &[("LINERATE_SIZES", sizes)],
        &sh::out("bench"),
        None,
    )?;
    let linerate = demo::linerate(None)?;
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
    let mut best: Option<Receive> = None;
    for _ in 0..RUNS {
        let mut run = sh::cmd(&linerate);
        run.arg("run").arg(&scenario).arg("--elf-dir").arg(&folder);
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
        if best.as_ref().is_none_or(|b| this.wall_s < b.wall_s) {
            best = Some(this);
        }
    }
    drop(elf);
    best.context("no run")
}

/// `docs/performance.md`.
fn document(table: &str, hart: &Hart, receive: &Receive) -> Result<String> {
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = cpu
        .lines()
        .find_map(|l| l.strip_prefix("model name")?.split_once(": "))
        .map_or("unknown processor", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut text = String::from("# Performance of the simulator\n\n");
    writeln!(
        text,
        "Written by `cargo xtask bench` on {cpu}, {cores} cores; each figure is the best of \
         {RUNS} runs or more.\n"
    )?;
    writeln!(
        text,
        "| figure | measured | target | floor |\n|---|---:|---:|---:|"
    )?;
    let [ram, flash] = hart.mips;
    writeln!(
        text,
        "| simulated instructions per second, with timing and flash cache | {ram:.0} million from \
         RAM, {flash:.0} million from flash | 480 million | 240 million |"
    )?;
    writeln!(
        text,
        "| speed over that of QEMU `-icount shift=0`, same image | {} | 0.25 | |",
        hart.ratio()
    )?;
    writeln!(
        text,
        "| virtual seconds per wall second, saturated receive | {:.2} | 3 | 1.5 |\n",
        receive.virtual_s / receive.wall_s
    )?;
    writeln!(
        text,
        "The instructions are those of `sim/tests/kernels`, as many of each kernel. In millions of \
         instructions per second, by `cargo run --release -p linerate-sim --example hart`:\n\n\
         ```\n{table}```\n"
    )?;
    writeln!(
        text,
        "The saturated receive is the `windowed` firmware downloading {} bytes {} times: {receive}. \
         Everything that a measurement does is in it: hart, wire, peer, ledger, results.",
        DOWNLOAD.1, DOWNLOAD.2
    )?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::Hart;

    #[test]
    fn averages_the_kernels_of_the_table() {
        let table = "\
MIPS                              from RAM     flash      QEMU  ratio
CRC-32, 1 KiB of tables                400       300      2000   0.20
protocol-like (branches, calls)        600       300
ratio to QEMU -icount over all kernels: 0.21
";
        let hart = Hart::read(table).expect("a table");
        assert!((hart.mips[0] - 480.0).abs() < 1e-9 && (hart.mips[1] - 300.0).abs() < 1e-9);
        assert_eq!(hart.ratio(), "0.21");
        assert!(Hart::read("nothing\n").is_err());
    }
}
