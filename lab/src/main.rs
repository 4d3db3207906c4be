//! Experiments that generate tables of `docs/`: `cargo xtask accuracy`, `causes`, `explanations` and `bench` run them.
//!
//! | module | experiment |
//! |---|---|
//! | `an440` | the matrix of AN 440 on the RV32 soft SoC: docs/an440.md |
//! | `answers` | throttled links, and the causes that `linerate test` names |
//! | `accuracy` | every procedure compared with links of known properties: docs/accuracy.md |
//! | `causes` | provoked causes, explained: docs/explain-scores.md |
//! | `explanations` | captures of other links, explained: lab/links/README.md |
//! | `udp_path` | datagrams from a program to the line by several ways: docs/udp-path.md |
//! | `bench` | speed and memory compared with other tools: docs/performance.md |
//! | `footprint` | RAM and flash of a firmware's PHY and MAC |
//! | `functions` | functions of a firmware by address |
//! | `symbols` | functions and variables of a firmware |
#![forbid(unsafe_code)]

mod accuracy;
mod an440;
mod answers;
mod bench;
mod board_file;
mod causes;
mod explanations;
mod footprint;
mod functions;
mod symbols;
mod udp_path;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use xtask::firmware;

/// Experiments that generate tables of docs/.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    experiment: Experiment,
}

#[derive(Subcommand)]
enum Experiment {
    /// Compare every procedure with links of known properties, and write docs/accuracy.md (needs root)
    Accuracy {
        /// Only the procedures whose name contains one of these words; the other parts of the page stay unchanged
        procedures: Vec<String>,
        /// Use this linerate
        #[arg(long, value_name = "PROGRAM")]
        linerate: Option<std::path::PathBuf>,
    },
    /// Run the matrix of AN 440 on the RV32 soft SoC: lwIP on `FreeRTOS`, 64 cells beside the published ones (needs the
    /// RISC-V cross compiler)
    An440(an440::Arguments),
    /// Test over throttled links, without and with a capture, and count how often the right cause comes first (needs
    /// root, iperf, iperf3, Python, nftables and QEMU)
    Answers {
        /// Only the links whose name contains one of these words
        links: Vec<String>,
        /// Use this linerate
        #[arg(long, value_name = "PROGRAM")]
        linerate: Option<std::path::PathBuf>,
    },
    /// Provoke each cause of scenarios/causes, explain the captures, and count how often the right cause comes first
    /// (needs root and dumpcap)
    Causes {
        /// Part of the runs
        #[arg(long, value_enum, default_value = "all")]
        set: causes::Set,
        /// Only the causes whose file name contains one of these words
        #[arg(long = "only", value_name = "NAME")]
        only: Vec<String>,
        /// Use this linerate; the board's firmware must also be built already
        #[arg(long, value_name = "PROGRAM")]
        linerate: Option<std::path::PathBuf>,
    },
    /// One end of a connection, for `causes`
    #[command(hide = true)]
    CausesEnd {
        /// Its task
        words: Vec<String>,
    },
    /// Score the explanations of captures that lab/links made without linerate's own relay and programs
    Explanations {
        #[command(subcommand)]
        action: explanations::Action,
    },
    /// Send datagrams by several ways on the RV32 with flash cache, beside a published measurement (needs the RISC-V
    /// cross compiler)
    UdpPath(udp_path::Arguments),
    /// Compare the simulator with QEMU and measure the firmware's RAM and flash; write docs/performance.md
    Bench {
        /// Only RAM and flash
        #[arg(long, group = "what")]
        footprint: bool,
        /// Only RAM and flash of the agent's services
        #[arg(long, group = "what")]
        agent: bool,
        /// Only the host's load generator, compared with iperf3 and trafgen (needs root)
        #[arg(long, group = "what")]
        load: bool,
        /// Only the instructions per frame on the boards that QEMU emulates
        #[arg(long, group = "what")]
        instructions: bool,
        /// Only the instructions per frame on simulated boards
        #[arg(long, group = "what")]
        simulated: bool,
        /// Only the instructions per frame with lwIP, beside smoltcp (needs the cross compilers)
        #[arg(long, group = "what")]
        lwip: bool,
        /// Only `linerate explain`, compared with tcptrace and tshark
        #[arg(long, group = "what")]
        captures: bool,
        /// Only the readers of a byte link in Rust and in Python
        #[arg(long, group = "what")]
        readers: bool,
        /// Only the speed of simulated harts behind caches and DDR
        #[arg(long, group = "what")]
        soft_socs: bool,
    },
}

fn main() -> ExitCode {
    if let Some(code) = firmware::wrapper::run_as_wrapper() {
        return code;
    }
    let result = match Cli::parse().experiment {
        Experiment::Accuracy {
            procedures,
            linerate,
        } => accuracy::run(&procedures, linerate),
        Experiment::An440(arguments) => an440::run(&arguments),
        Experiment::Answers { links, linerate } => answers::run(&links, linerate),
        Experiment::Causes {
            set,
            only,
            linerate,
        } => causes::run(set, &only, linerate),
        Experiment::CausesEnd { words } => causes::programs::run(&words),
        Experiment::Explanations { action } => explanations::run(action),
        Experiment::UdpPath(arguments) => udp_path::run(&arguments),
        Experiment::Bench { readers: true, .. } => bench::run(bench::Selection::Readers),
        Experiment::Bench {
            simulated: true, ..
        } => bench::run(bench::Selection::Simulated),
        Experiment::Bench { lwip: true, .. } => bench::run(bench::Selection::Lwip),
        Experiment::Bench {
            soft_socs: true, ..
        } => bench::run(bench::Selection::SoftSocs),
        Experiment::Bench {
            footprint,
            agent,
            load,
            instructions,
            captures,
            readers: false,
            simulated: false,
            lwip: false,
            soft_socs: false,
        } => bench::run(match (footprint, agent, load, instructions, captures) {
            (true, ..) => bench::Selection::Footprint,
            (_, true, ..) => bench::Selection::Agent,
            (_, _, true, ..) => bench::Selection::Load,
            (.., true, _) => bench::Selection::Instructions,
            (.., true) => bench::Selection::Captures,
            _ => bench::Selection::Simulator,
        }),
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
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
