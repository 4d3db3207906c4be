//! `cargo xtask`: the command line.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use xtask::{
    board, captures, demo, docs, firmware, foreign, imx6, lab, links, linux_board, repro,
    scenarios, setup, steps, tap, test,
};

/// Builds, checks and demonstrates linerate.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build everything and run the main scenario; the report is written to target/demo
    Demo,
    /// Build board firmware into target/firmware; the ELF files are identical from any folder
    Firmware {
        /// Program to build (default: every program)
        program: Option<String>,
        /// Variant to build (default: every variant)
        variant: Option<String>,
        /// Board folder under boards/
        #[arg(long, default_value = board::DEFAULT)]
        board: String,
    },
    /// Run the checks: the quick tier, or all of them with --long
    Test {
        /// Add longer fuzzing, million-frame runs, a job array on Slurm and the dependency audit
        #[arg(long)]
        long: bool,
        /// Run only the steps whose name contains one of these words
        steps: Vec<String>,
    },
    /// Build in two clones, each with its own `CARGO_HOME`, and compare ELFs and traces
    Repro,
    /// Build third-party ESP32-C6 programs and run them in the simulator
    Foreign,
    /// Fetch published captures into target/captures (from Debian source packages)
    Captures {
        /// Instead compare the flags of the captures in this folder with tshark's
        #[arg(long, value_name = "DIR", conflicts_with = "copies")]
        compare: Option<std::path::PathBuf>,
        /// Also copy the captures with labels to this folder, with a labels.ndjson for each part
        #[arg(long, value_name = "DIR")]
        copies: Option<std::path::PathBuf>,
    },
    /// Build the firmware of scenarios/beat-niccle.toml and run it
    Beat,
    /// Measure with each guess of the timing table changed, and report which results depend on it
    Sensitivity,
    /// Run ping, curl and a stock HTTP server against the firmware over TAP (needs root)
    Tap,
    /// Compare every procedure with links of known properties, and write docs/accuracy.md (needs root)
    #[command(disable_help_flag = true)]
    Accuracy(Forwarded),
    /// Run the matrix of AN 440 on the RV32 soft SoC: 64 cells beside the published ones; write
    /// target/an440/scores.json (needs the RISC-V cross compiler)
    #[command(disable_help_flag = true)]
    An440(Forwarded),
    /// Test over throttled links and count how often the right cause comes first (needs root)
    Answers(Forwarded),
    /// Provoke each cause of scenarios/causes, explain the captures, and count how often the right cause comes first
    /// (needs root and dumpcap)
    #[command(disable_help_flag = true)]
    Causes(Forwarded),
    /// Score the explanations of captures that lab/links made without linerate's own relay and programs
    #[command(disable_help_flag = true)]
    Explanations(Forwarded),
    /// Send messages through noise, and compare the link layer with COBS and a CRC, postcard-rpc and ergot over a
    /// simulated UART; write target/links/scores.json
    Links {
        /// 10,000,000 messages instead of 100,000
        #[arg(long)]
        long: bool,
    },
    /// Download Debian's kernel and programs for armhf (50 MB), and make the images of the board `linux-sabrelite`
    LinuxBoard,
    /// Benchmark the simulator, the load generator, the drivers and the capture analysis; write docs/performance.md
    #[command(disable_help_flag = true)]
    Bench(Forwarded),
    /// Simulate the published receive curves of an i.MX 6 (`LINERATE_DATA` names the folder of published data)
    #[command(disable_help_flag = true)]
    Imx6(Forwarded),
    /// Send datagrams by several ways on the simulated board "RV32, 240 MHz, flash cache", beside a published
    /// measurement; write target/udp-path/scores.json (needs the RISC-V cross compiler)
    #[command(disable_help_flag = true)]
    UdpPath(Forwarded),
    /// Write docs/fidelity.md, the README's figures and the pictures, from the last demo, the last loss
    /// surface and a capture (needs chromium)
    Docs,
    /// Install the tools that the checks use besides Rust (Debian packages, targets, nightly)
    Setup {
        /// Also install the tools that only `test --long` uses
        #[arg(long)]
        long: bool,
    },
}

/// An experiment of `lab/`, with its own arguments.
#[derive(clap::Args)]
struct Forwarded {
    /// Arguments of the experiment; --help lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

fn main() -> ExitCode {
    if let Some(code) = firmware::wrapper::run_as_wrapper() {
        return code;
    }
    let result = match Cli::parse().command {
        Command::Demo => demo::run(),
        Command::Firmware {
            program,
            variant,
            board,
        } => firmware::command(&board, program.as_deref(), variant.as_deref()),
        Command::Test { long, steps } => test::run(long, &steps),
        Command::Repro => repro::run(None).map(steps::Outcome::print),
        Command::Foreign => foreign::run(None),
        Command::Captures { compare, copies } => {
            captures::run(compare.as_deref(), copies.as_deref())
        }
        Command::Beat => scenarios::beat(),
        Command::Sensitivity => scenarios::sensitivity(),
        Command::Tap => tap::run(None).map(steps::Outcome::print),
        Command::Accuracy(it) => lab::run("accuracy", &it.arguments),
        Command::An440(it) => lab::run("an440", &it.arguments),
        Command::Answers(it) => lab::run("answers", &it.arguments),
        Command::Causes(it) => lab::run("causes", &it.arguments),
        Command::Explanations(it) => lab::run("explanations", &it.arguments),
        Command::Links { long } => links::run(long),
        Command::LinuxBoard => linux_board::run(),
        Command::Bench(it) => lab::run("bench", &it.arguments),
        Command::Imx6(it) => imx6::run(&it.arguments),
        Command::UdpPath(it) => lab::run("udp-path", &it.arguments),
        Command::Docs => docs::run(),
        Command::Setup { long } => setup::run(long),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use std::fs;
    use std::path::{Path, PathBuf};
    use xtask::sh;

    /// All files below `dir` with this extension, sorted, without build output and hidden folders.
    fn files_below(dir: &Path, extension: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![dir.to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                let name = entry.file_name();
                if path.is_dir() {
                    if name != "target" && !name.to_string_lossy().starts_with('.') {
                        folders.push(path);
                    }
                } else if path.extension().is_some_and(|e| e == extension) {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    /// Documents name no removed command.
    #[test]
    fn every_xtask_command_that_a_document_names_exists() {
        let known: Vec<String> = Cli::command()
            .get_subcommands()
            .map(|c| c.get_name().to_owned())
            .collect();
        let mut seen = 0;
        for file in files_below(&sh::root(), "md") {
            let text = std::fs::read_to_string(&file).expect("readable");
            for (at, _) in text.match_indices("cargo xtask ") {
                let rest = &text[at + "cargo xtask ".len()..];
                let name: String = rest
                    .chars()
                    .take_while(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-')
                    .collect();
                if name.is_empty() {
                    continue;
                }
                seen += 1;
                assert!(
                    known.contains(&name),
                    "{} names `cargo xtask {name}`, which does not exist",
                    file.display()
                );
            }
        }
        assert!(seen > 0, "no document names a command");
    }
}
