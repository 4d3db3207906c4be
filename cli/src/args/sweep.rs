//! Arguments of `linerate sweep`, `linerate latency` and `linerate rfc6349`.

use clap::ValueEnum;

use super::{Link, quantity};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate sweep iperf2://192.0.2.7                               UDP load, each direction\n  \
    linerate sweep iperf2://192.0.2.7 load --from 1M --to 10M --step 1M\n  \
    linerate sweep iperf3://192.0.2.7 load --from 1M --to 1G --steps 16 --geometric -R\n  \
    linerate sweep iperf2://192.0.2.7 size -R                       TCP, 64 to 65,536 octets per write\n  \
    linerate sweep iperf2://192.0.2.7 size -u -b 5M --from 64 --to 1470\n  \
    linerate sweep iperf2://192.0.2.7 window --probe stamp://192.0.2.7\n  \
    linerate sweep iperf2://192.0.2.7 gaps -b 2M -t 5               datagrams sent by the device\n  \
    linerate sweep iperf2://192.0.2.7 latency --probe stamp://192.0.2.7 --from 1M --to 10M\n\n\
    --from, --to and --step are payload rates in bit/s for load and latency, and octets for size,\n\
    gaps and window. The load sweep finds where a link saturates and whether it collapses beyond;\n\
    without --from and --to it searches the range by doubling the load until the received rate no\n\
    longer rises. docs/measuring.md describes the figures.")]
pub struct Sweep {
    #[command(flatten)]
    pub link: Link,
    /// Quantity to sweep
    #[arg(value_enum, default_value_t = Swept::Load)]
    pub what: Swept,
    /// First value (decimal suffixes k, M, G)
    #[arg(long, value_name = "VALUE", value_parser = quantity, requires = "to")]
    pub from: Option<u64>,
    /// Last value
    #[arg(long, value_name = "VALUE", value_parser = quantity, requires = "from")]
    pub to: Option<u64>,
    /// Difference between values
    #[arg(long, value_name = "VALUE", value_parser = quantity, requires = "from", conflicts_with_all = ["steps", "geometric"])]
    pub step: Option<u64>,
    /// Number of values, including both ends
    #[arg(long, value_name = "N", default_value_t = 10, requires = "from", value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub steps: u32,
    /// Use a constant ratio between values instead of a constant difference
    #[arg(long, requires = "from")]
    pub geometric: bool,
    /// Measure only to the target
    #[arg(long, conflicts_with = "reverse")]
    pub forward: bool,
    /// Measure only from the target
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// size: use UDP instead of TCP; load, gaps and latency always use UDP, window always TCP
    #[arg(long, short = 'u')]
    pub udp: bool,
    /// size -u, gaps: offered payload rate in bit/s (suffixes k, M, G), 0 for maximum [default: 1M]
    #[arg(long, short = 'b', value_name = "BITS", value_parser = quantity)]
    pub bandwidth: Option<u64>,
    /// Duration of each trial in seconds
    #[arg(long, short = 't', value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub time: u64,
    /// load: datagram payload in octets [default: 1470]
    #[arg(long, short = 'l', value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(16..=65_507))]
    pub length: Option<u16>,
    /// Pause between trials in milliseconds, for queues to drain
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub settle: u64,
    /// load: command that prints the device's counters, run before and after each trial: ssh BOARD with ethtool -S,
    /// devregs, ifconfig, ip -s link or cat /proc/net/dev
    #[arg(long, value_name = "COMMAND")]
    pub counters: Option<String>,
}

/// Quantity of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Swept {
    /// UDP rate: knee, saturation, collapse
    Load,
    /// Send size in octets: fixed cost per send
    Size,
    /// TCP window, set by this end's socket buffers
    Window,
    /// Datagram size: gaps between arriving datagrams
    Gaps,
    /// UDP load: round-trip times
    Latency,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate latency stamp://192.0.2.7                              idle\n  \
    linerate latency iperf2://192.0.2.7 --probe stamp://192.0.2.7   idle, and under TCP load\n  \
    linerate latency sim://esp32c6-bitbang --count 200\n\n\
    First prints the noise floor of this host: figures close to it do not describe the link.")]
pub struct Latency {
    #[command(flatten)]
    pub link: Link,
    /// Number of requests when idle, and under each load
    #[arg(long, short = 'n', value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
    /// Interval between requests in milliseconds
    #[arg(long, short = 'i', value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub interval: u64,
    /// Payload of a request in octets
    #[arg(long, short = 'l', value_name = "OCTETS", default_value_t = 44, value_parser = clap::value_parser!(u16).range(44..=1_472))]
    pub length: u16,
    /// Measure without load only
    #[arg(long)]
    pub idle: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate rfc6349 iperf2://192.0.2.7 --probe stamp://192.0.2.7          short\n  \
    linerate rfc6349 iperf3://192.0.2.7 --probe stamp://192.0.2.7 --full   30 s transfers\n\n\
    Measures path MTU, round-trip time and bottleneck bandwidth, then TCP with windows of 25 to 125\n\
    percent of the bandwidth-delay product. Without --probe, round-trip times and windows are omitted.")]
pub struct Rfc6349 {
    #[command(flatten)]
    pub link: Link,
    /// Use 30 s transfers, as in the RFC
    #[arg(long, conflicts_with = "time")]
    pub full: bool,
    /// Measure only to the target
    #[arg(long, conflicts_with = "reverse")]
    pub forward: bool,
    /// Measure only from the target
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// Duration of each transfer in seconds; 30 or more is the full procedure
    #[arg(long, short = 't', value_name = "SECONDS", default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..=3_600))]
    pub time: u64,
    /// Number of parallel connections that measure the bottleneck bandwidth
    #[arg(long, short = 'P', value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=60))]
    pub parallel: u8,
}
