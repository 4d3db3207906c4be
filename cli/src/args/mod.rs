//! What can be written behind `linerate`: a file here has the commands of one kind.

mod conformance;
mod explain;
mod flood;
mod host;
mod profile;
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
pub use host::{Blast, Relay, Serve};
pub use profile::Profile;
pub use regs::{
    Decode as RegsDecode, Diff as RegsDiff, List as RegsList, Maps, Place, Regs, RegsCommand,
    Show as RegsShow, Then,
};
pub use results::{Compare, Fidelity, Report, Thresholds};
pub use rfc2544::{CountedBy, LineRate, Rfc2544, Rfc2544Test};
pub use scenario::{Run, Sensitivity};
pub use sim::{Sim, Timing, partner};
pub use sweep::{Latency, Rfc6349, Sweep, Swept};
pub use target::{Link, Test};

use clap::{Parser, Subcommand};

/// How fast is your embedded link, and why is it not faster?
#[derive(Debug, Parser)]
#[command(
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    after_help = "Examples:\n  \
        linerate test iperf2://192.0.2.7                   measure a board on this network\n  \
        linerate sweep iperf2://192.0.2.7                  where it saturates, and what comes beyond\n  \
        linerate run scenarios/niccle.toml --out results   measure, explain, report\n  \
        linerate explain slow.pcapng                       name the cause from a capture\n  \
        linerate report results/run.json                   make the report again\n  \
        linerate sim esp32c6-bitbang --program hello       watch a firmware's console\n\n\
        Exit codes: 0 measured and within limits, 1 an expectation was not met,\n\
        2 wrong usage or input, 3 the target failed."
)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a scenario: measure, find the causes, write results and report
    Run(Run),
    /// Measure a link to a target: throughput by TCP or UDP, each way and both at once
    Test(Test),
    /// Benchmark an end station by RFC 2544: throughput, latency, loss, bursts
    Rfc2544(Rfc2544),
    /// Measure round trips: idle, and under TCP each way where the target can
    Latency(Latency),
    /// Measure a target at one value after another: UDP load, send size, window, gaps, latency
    Sweep(Sweep),
    /// Measure TCP as RFC 6349 has it: windows around the bandwidth-delay product
    Rfc6349(Rfc6349),
    /// Put a board's network driver through what every driver has to do
    Conformance(Conformance),
    /// Run a scenario again with each guess of the timing table changed alone
    Sensitivity(Sensitivity),
    /// Be the other end for a device that measures: iperf 2, iperf 3, HTTP, STAMP, UDP echo
    Serve(Serve),
    /// Be a cable with faults between two TAP interfaces: loss, delay, rate, and the truth about them
    Relay(Relay),
    /// Send raw Ethernet frames out of an interface, at a constant rate or as fast as it goes
    Blast(Blast),
    /// Offer boards that QEMU emulates more than they can take, and account for each frame
    Flood(Flood),
    /// Run a firmware on a simulated board, alone or on a network interface of this machine
    Sim(Sim),
    /// Count where a frame's instructions go on a board that QEMU emulates, by layer and function
    Profile(Profile),
    /// Hold what `cycle_counting` counted on a chip against the built-in timing table
    Timing(Timing),
    /// Say why it is slow: read captures, name the causes with what they cost and what to change
    Explain(Explain),
    /// Make the report again from results, without measuring
    Report(Report),
    /// Hold results against earlier ones: exit code 1 when something got worse
    Compare(Compare),
    /// Compare results with the published figures (docs/fidelity.md)
    Fidelity(Fidelity),
    /// Name the bits of registers: of a dump, of a device that runs; what changed; the maps
    Regs(Regs),
    /// List the boards with their programs and variants
    Boards,
    /// Print the JSON schema of results
    Schema,
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `5M` or `1500000`.
fn quantity(written: &str) -> Result<u64, String> {
    let number = linerate_host::quantity::parse_number(written).filter(|number| *number <= MOST);
    number.ok_or_else(|| "a number is needed, with k, M or G behind it if it is large".to_owned())
}

/// More than any quantity here makes sense.
const MOST: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn what_stands_below_help_fits_a_hundred_columns() {
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
