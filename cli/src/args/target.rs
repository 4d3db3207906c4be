//! What every command on a target has, and what can be written behind `linerate test`.

use std::path::PathBuf;
use std::time::Duration;

use super::{Thresholds, quantity};

/// What every command on a target has.
#[derive(Debug, clap::Args)]
pub struct Link {
    #[arg(
        help = "iperf2://HOST[:PORT], iperf3://HOST, http://HOST/PATH, stamp://HOST, sim://BOARD or qemu://BOARD"
    )]
    pub target: String,
    #[arg(
        long,
        value_name = "TARGET",
        help = "Another target at the same device for round trips: stamp://HOST"
    )]
    pub probe: Option<String>,
    /// Write the results to this file too; `-` for stdout
    #[arg(long, short = 'J', value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// A line of JSON on stdout for each result as soon as it is there, instead of the summary
    #[arg(long, conflicts_with = "json")]
    pub ndjson: bool,
    /// Folder for everything that is written [default: linerate-out/COMMAND]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Results of an earlier run to be held against: exit code 1 when something got worse
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    #[command(flatten)]
    pub limits: Thresholds,
    /// How long the target may say nothing, seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub patience: u64,
    /// Folder with the firmware for sim:// and qemu://, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
    /// Seed of everything random in sim://
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate test iperf2://192.0.2.7              TCP each way, then both at once\n  \
    linerate test iperf2://192.0.2.7 -u -b 5M     UDP at 5 Mbit/s\n  \
    linerate test iperf3://192.0.2.7 -R -P 4 -t 30\n  \
    linerate test iperf2://192.0.2.7 --probe stamp://192.0.2.7    latency, too: idle and loaded\n  \
    linerate test http://192.0.2.7/ -n 3M --json -\n\n\
    The letters are iperf's. Directions are seen from this machine, as iperf sees them: -R is what\n\
    the target sends. Rates on the screen are payload in bytes a second; --json has them in full.")]
pub struct Test {
    #[command(flatten)]
    pub link: Link,
    /// Only to the target
    #[arg(long)]
    pub forward: bool,
    /// Only from the target
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// Only both at once
    #[arg(long, short = 'd')]
    pub bidir: bool,
    /// UDP instead of TCP
    #[arg(long, short = 'u')]
    pub udp: bool,
    /// Seconds of each transfer
    #[arg(long, short = 't', value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub time: u64,
    /// Octets of each transfer, instead of a time (suffixes k, M, G: decimal)
    #[arg(long, short = 'n', value_name = "OCTETS", value_parser = quantity, conflicts_with = "time")]
    pub bytes: Option<u64>,
    /// Payload that UDP offers, bits a second (suffixes k, M, G); 0: as fast as it goes [default: 1M]
    #[arg(long, short = 'b', value_name = "BITS", value_parser = quantity, requires = "udp")]
    pub bandwidth: Option<u64>,
    /// Octets of a write or of a datagram's payload [default: the protocol's; UDP 1470]
    #[arg(long, short = 'l', value_name = "OCTETS", value_parser = clap::value_parser!(u32).range(1..=65_507))]
    pub length: Option<u32>,
    /// TCP connections in each direction
    #[arg(long, short = 'P', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=60))]
    pub parallel: u8,
    /// This end's socket buffers, octets, which bound the window [default: the system's]
    #[arg(long, short = 'w', value_name = "OCTETS", value_parser = clap::value_parser!(u32).range(1_000..=1_000_000_000))]
    pub window: Option<u32>,
    /// Print what was moved every so many seconds
    #[arg(long, short = 'i', value_name = "SECONDS", value_parser = interval)]
    pub interval: Option<Duration>,
}

/// `1` or `0.5`.
fn interval(written: &str) -> Result<Duration, String> {
    match written.parse::<f64>() {
        Ok(seconds) if (0.1..=3_600.0).contains(&seconds) => Ok(Duration::from_secs_f64(seconds)),
        _ => Err("seconds from 0.1 to 3600 are needed".to_owned()),
    }
}
