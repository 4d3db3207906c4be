//! Common arguments of all commands on a target, and arguments of `linerate test`.

use std::path::PathBuf;
use std::time::Duration;

use super::{Thresholds, quantity};

/// Common arguments of all commands on a target.
#[derive(Debug, clap::Args)]
pub struct Link {
    #[arg(
        help = "iperf2://HOST[:PORT], iperf3://HOST, http://HOST/PATH, stamp://HOST, sim://BOARD, qemu://BOARD, \
                serial:///dev/TTY?baud=N, pty://PATH, tcp://HOST:PORT or spidev://BUS.SELECT?hz=N"
    )]
    pub target: String,
    #[arg(
        long,
        value_name = "TARGET",
        help = "Second target on the same device, for round-trip times: stamp://HOST"
    )]
    pub probe: Option<String>,
    /// Capture the headers of each transfer on an interface and explain them; without IFACE, on the interface of the
    /// route. Give it after the target
    #[arg(long, value_name = "IFACE", num_args = 0..=1, default_missing_value = "")]
    pub capture: Option<String>,
    /// Also write the results as JSON to this file; `-` for stdout
    #[arg(long, short = 'J', value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Print each result as one line of JSON when available, instead of the summary
    #[arg(long, conflicts_with = "json")]
    pub ndjson: bool,
    /// Output folder [default: linerate-out/COMMAND]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Earlier results to compare with; exit code 1 if any got worse
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    #[command(flatten)]
    pub limits: Thresholds,
    /// Timeout for an answer of the target, in seconds
    #[arg(long, alias = "patience", value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub timeout: u64,
    /// Folder with the firmware images for sim:// and qemu://, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
    /// Random seed for sim://
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

/// What a link has to be good for.
#[derive(Debug, Default, clap::Args)]
pub struct Required {
    /// Goodput that each direction needs, in bit/s (suffixes k, M, G): prints yes or no with the margin; exit code 1 for
    /// no
    #[arg(long, value_name = "BITS", value_parser = quantity)]
    pub require: Option<u64>,
    /// Longest time that 99% of the round trips may take, without load and under each load: 1ms, 500us
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub p99: Option<u64>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate test iperf2://192.0.2.7              TCP in each direction, then both at once\n  \
    linerate test iperf2://192.0.2.7 -u -b 5M     UDP at 5 Mbit/s\n  \
    linerate test iperf3://192.0.2.7 -R -P 4 -t 30\n  \
    linerate test iperf2://192.0.2.7 --probe stamp://192.0.2.7    also latency, idle and loaded\n  \
    linerate test iperf2://192.0.2.7 --capture    also capture the headers, and explain them\n  \
    linerate test http://192.0.2.7/ -n 3M --json -\n  \
    linerate test serial:///dev/ttyACM0?baud=3M --require 1M --p99 5ms    yes or no, with the margin\n\n\
    Short options are those of iperf. Directions are seen from this host, as in iperf: with -R the\n\
    target sends. Printed rates are payload; --json has full precision. The summary names what\n\
    limits each direction; where the figures do not decide, it states what would.")]
pub struct Test {
    #[command(flatten)]
    pub link: Link,
    #[command(flatten)]
    pub required: Required,
    /// Measure only to the target
    #[arg(long)]
    pub forward: bool,
    /// Measure only from the target
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// Measure only both directions at once
    #[arg(long, short = 'd')]
    pub bidir: bool,
    /// Use UDP instead of TCP
    #[arg(long, short = 'u')]
    pub udp: bool,
    /// Duration of each transfer in seconds
    #[arg(long, short = 't', value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub time: u64,
    /// Octets of each transfer, instead of a duration (decimal suffixes k, M, G)
    #[arg(long, short = 'n', value_name = "OCTETS", value_parser = quantity, conflicts_with = "time")]
    pub bytes: Option<u64>,
    /// Offered UDP payload rate in bit/s (suffixes k, M, G), 0 for maximum [default: 1M]
    #[arg(long, short = 'b', value_name = "BITS", value_parser = quantity, requires = "udp")]
    pub bandwidth: Option<u64>,
    /// Octets of a write or a datagram's payload [default: set by the protocol, UDP 1470]
    #[arg(long, short = 'l', value_name = "OCTETS", value_parser = clap::value_parser!(u32).range(1..=65_507))]
    pub length: Option<u32>,
    /// Number of TCP connections in each direction
    #[arg(long, short = 'P', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=60))]
    pub parallel: u8,
    /// Socket buffers of this end in octets (suffixes k, M), which limit the window [default: the system's]
    #[arg(long, short = 'w', value_name = "OCTETS", value_parser = window)]
    pub window: Option<u32>,
    /// Interval between progress lines in seconds
    #[arg(long, short = 'i', value_name = "SECONDS", value_parser = interval)]
    pub interval: Option<Duration>,
}

/// Parses `8k`.
fn window(written: &str) -> Result<u32, String> {
    let octets = quantity(written)?;
    match u32::try_from(octets) {
        Ok(octets) if (1_000..=1_000_000_000).contains(&octets) => Ok(octets),
        _ => Err("expected 1000 (1k) to 1000000000 (1G) octets".to_owned()),
    }
}

/// Parses `1ms` to nanoseconds.
fn time(written: &str) -> Result<u64, String> {
    let parsed = linerate_host::quantity::TIME.parse(written);
    parsed
        .filter(|ns| *ns > 0)
        .ok_or_else(|| "expected a time such as 1ms or 500us".to_owned())
}

/// Parses `1` or `0.5`.
fn interval(written: &str) -> Result<Duration, String> {
    match written.parse::<f64>() {
        Ok(seconds) if (0.1..=3_600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("expected 0.1 to 3600 seconds".to_owned()),
    }
}
