//! The `linerate` command line. The commands are implemented in `linerate-bench` and `linerate-explain`.
#![forbid(unsafe_code)]
// They panic if the output is closed: see `output`.
#![deny(clippy::print_stdout, clippy::print_stderr)]

#[macro_use]
mod output;

mod args;
mod command;
mod failure;
mod input;
mod lines;

use std::process::ExitCode;

use args::{Args, Command};
use clap::Parser;

fn main() -> ExitCode {
    let outcome = match Args::parse().command {
        Command::Run(args) => command::run::run(&args),
        Command::Merge(args) => command::merge::run(&args),
        Command::Sensitivity(args) => command::sensitivity::run(&args),
        Command::Test(args) => command::test::run(&args),
        Command::Rfc2544(args) => command::rfc2544::run(&args),
        Command::Latency(args) => command::sweep::idle_and_loaded(&args),
        Command::Sweep(args) => command::sweep::run(&args),
        Command::Rfc6349(args) => command::sweep::rfc6349(&args),
        Command::Conformance(args) => command::conformance::run(&args),
        Command::Serve(args) => command::serve::run(&args),
        Command::Relay(args) => command::relay::run(&args),
        Command::Blast(args) => command::blast::run(&args),
        Command::Flood(args) => command::flood::run(&args),
        Command::Sim(args) => command::sim::run(&args),
        Command::Profile(args) => command::profile::run(&args),
        Command::Timing(args) => command::timing::run(&args),
        Command::Explain(args) => command::explain::run(&args),
        Command::Report(args) => command::report::run(&args),
        Command::Compare(args) => command::compare::run(&args),
        Command::Fidelity(args) => command::fidelity::run(&args),
        Command::Regs(args) => command::regs::run(&args),
        Command::Boards => command::boards::run(),
        Command::Schema => output::print(&linerate_results::record::schema_json()),
        Command::Completions { shell } => command::completions::run(shell),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
