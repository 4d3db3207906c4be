//! Command line arguments of `linerate`, one file per group of commands.

mod conformance;
mod explain;
mod flood;
mod host;
mod profile;
mod record;
mod regs;
mod results;
mod rfc2544;
mod scenario;
mod sim;
mod sweep;
mod target;

pub use conformance::Conformance;
pub use explain::Explain;
pub use flood::Flood;
pub use host::{Blast, Relay, Serve, Served};
pub use profile::Profile;
pub use record::Record;
pub use regs::{
    Decode as RegsDecode, Diff as RegsDiff, List as RegsList, Maps, Place, Regs, RegsCommand,
    ResumeUntil, Show as RegsShow,
};
pub use results::{Compare, Fidelity, Report, Thresholds};
pub use rfc2544::{CountedBy, LineRate, Rfc2544, Rfc2544Test};
pub use scenario::{Merge, Run, Sensitivity};
pub use sim::{Sim, Timing, partner};
pub use sweep::{Latency, Rfc6349, Sweep, Swept};
pub use target::{Link, Required, Test};

use clap::{Parser, Subcommand};

/// How fast is your embedded link, and why is it not faster?
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        linerate test iperf2://192.0.2.7                   measure a device on the network\n  \
        linerate sweep iperf2://192.0.2.7                  find its saturation point, and collapse beyond\n  \
        linerate run scenarios/niccle.toml --out results   measure, explain, report\n  \
        linerate explain slow.pcapng                       find the cause in a capture\n  \
        linerate report results/run.json                   create the report again\n  \
        linerate sim esp32c6-bitbang --program hello       show the console of a firmware\n\n\
        Exit codes: 0 success and all limits met, 1 a limit or expectation not met,\n\
        2 invalid usage or input, 3 target failed."
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario: measure, find the causes, write results and a report
    Run(Run),
    /// Join results of cells of a matrix, from several folders, into one run
    Merge(Merge),
    /// Measure TCP or UDP throughput to and from a target, in each direction and both at once
    Test(Test),
    /// Benchmark an end station by RFC 2544: throughput, latency, frame loss, back-to-back frames
    Rfc2544(Rfc2544),
    /// Measure round-trip times, idle and under TCP load in each direction
    Latency(Latency),
    /// Measure a target over a range of values: UDP load, send size, window, gaps or latency
    Sweep(Sweep),
    /// Measure TCP by RFC 6349, with windows around the bandwidth-delay product
    Rfc6349(Rfc6349),
    /// Run the driver conformance tests on a board
    Conformance(Conformance),
    /// Repeat a scenario with each guessed entry of the timing table changed individually
    Sensitivity(Sensitivity),
    /// Run servers for devices that measure: iperf 2, iperf 3, HTTP, STAMP, UDP echo
    Serve(Serve),
    /// Emulate an impaired link between two TAP interfaces and report each frame's fate
    Relay(Relay),
    /// Send raw Ethernet frames on an interface, at a constant rate or as fast as possible
    Blast(Blast),
    /// Overload boards emulated by QEMU and account for every frame
    Flood(Flood),
    /// Run firmware on a simulated board, standalone or on a network interface of this host
    Sim(Sim),
    /// Count the instructions per frame on a board emulated by QEMU, by layer and function
    Profile(Profile),
    /// Compare the measurements of `cycle_counting` on a chip with the built-in timing table
    Timing(Timing),
    /// Find the causes of low throughput in captures, with their cost and remedy
    Explain(Explain),
    /// Create the report from results, without measuring again
    Report(Report),
    /// Compare results with earlier ones; exit code 1 if any got worse
    Compare(Compare),
    /// Compare results with the published figures (docs/fidelity.md)
    Fidelity(Fidelity),
    /// Decode registers of a dump or a running device, compare dumps, list register maps
    Regs(Regs),
    /// List boards with their programs and variants
    Boards,
    /// Print the JSON schema of results
    Schema,
    /// Print a shell completion script
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
}

/// Parses `5M` or `1500000`.
fn quantity(written: &str) -> Result<u64, String> {
    let number = linerate_host::quantity::parse_number(written).filter(|number| *number <= MAX);
    number.ok_or_else(|| "expected a number, optionally with suffix k, M or G".to_owned())
}

/// Upper bound of all quantities.
const MAX: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn text_after_help_fits_a_hundred_columns() {
        for command in Args::command().get_subcommands() {
            let below = command.get_after_help().map(ToString::to_string);
            let below = below.unwrap_or_default();
            // An example is one line to be copied.
            for line in below.lines().filter(|line| !line.starts_with("  ")) {
                assert!(line.chars().count() <= 100, "{line}");
            }
        }
    }
}
