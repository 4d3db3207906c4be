//! What can be written behind `linerate sweep`, `linerate latency` and `linerate rfc6349`.

use clap::ValueEnum;

use super::{Link, quantity};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate sweep iperf2://192.0.2.7                               UDP load, each way\n  \
    linerate sweep iperf2://192.0.2.7 load --from 1M --to 10M --step 1M\n  \
    linerate sweep iperf3://192.0.2.7 load --from 1M --to 1G --steps 16 --geometric -R\n  \
    linerate sweep iperf2://192.0.2.7 size -R                       TCP, 64 to 65,536 octets a write\n  \
    linerate sweep iperf2://192.0.2.7 size -u -b 5M --from 64 --to 1470\n  \
    linerate sweep iperf2://192.0.2.7 window --probe stamp://192.0.2.7\n  \
    linerate sweep iperf2://192.0.2.7 gaps -b 2M -t 5               what the device sends\n  \
    linerate sweep iperf2://192.0.2.7 latency --probe stamp://192.0.2.7 --from 1M --to 10M\n\n\
    --from, --to and --step are bits of payload a second for load and latency, octets for size, gaps\n\
    and window. The load sweep finds where a link saturates and whether it collapses beyond; without\n\
    --from and --to it looks for the range itself: each load twice the one before, until no more\n\
    arrives. What the figures mean: docs/measuring.md.")]
pub struct Sweep {
    #[command(flatten)]
    pub link: Link,
    /// What to sweep
    #[arg(value_enum, default_value_t = Swept::Load)]
    pub what: Swept,
    /// The first value (suffixes k, M, G: decimal)
    #[arg(long, value_name = "VALUE", value_parser = quantity, requires = "to")]
    pub from: Option<u64>,
    /// The last value
    #[arg(long, value_name = "VALUE", value_parser = quantity, requires = "from")]
    pub to: Option<u64>,
    /// From one value to the next
    #[arg(long, value_name = "VALUE", value_parser = quantity, requires = "from", conflicts_with_all = ["steps", "geometric"])]
    pub step: Option<u64>,
    /// How many values there are, both ends included
    #[arg(long, value_name = "N", default_value_t = 10, requires = "from", value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub steps: u32,
    /// Each value the same multiple of the one before, instead of as far from it
    #[arg(long, requires = "from")]
    pub geometric: bool,
    /// Only to the target
    #[arg(long, conflicts_with = "reverse")]
    pub forward: bool,
    /// Only from the target
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// size: UDP instead of TCP; load, gaps and latency are UDP, window is TCP in any case
    #[arg(long, short = 'u')]
    pub udp: bool,
    /// size -u, gaps: payload offered, bits a second (suffixes k, M, G); 0: as fast as it goes
    /// [default: 1M]
    #[arg(long, short = 'b', value_name = "BITS", value_parser = quantity)]
    pub bandwidth: Option<u64>,
    /// Seconds of each trial
    #[arg(long, short = 't', value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub time: u64,
    /// load: octets of a datagram's payload [default: 1470]
    #[arg(long, short = 'l', value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(16..=65_507))]
    pub length: Option<u16>,
    /// Milliseconds from one trial to the next, for queues to become empty
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(0..=60_000))]
    pub settle: u64,
}

/// What a sweep goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Swept {
    /// UDP at one rate after another: knee, saturation, collapse
    Load,
    /// Octets of a send: what each costs, whatever is in it
    Size,
    /// TCP's window, as socket buffers of this end
    Window,
    /// Times between datagrams as they arrive, by their size
    Gaps,
    /// Round trips under one load after another
    Latency,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate latency stamp://192.0.2.7                              without load\n  \
    linerate latency iperf2://192.0.2.7 --probe stamp://192.0.2.7   idle, and under TCP each way\n  \
    linerate latency sim://esp32c6-bitbang --count 200\n\n\
    Prints this machine's own noise floor first: what is not well above is not the link's.")]
pub struct Latency {
    #[command(flatten)]
    pub link: Link,
    /// Requests without load, and as many under each
    #[arg(long, short = 'n', value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub count: u32,
    /// Milliseconds from one request to the next
    #[arg(long, short = 'i', value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub interval: u64,
    /// Octets of payload of each
    #[arg(long, short = 'l', value_name = "OCTETS", default_value_t = 44, value_parser = clap::value_parser!(u16).range(44..=1_472))]
    pub length: u16,
    /// Without load only
    #[arg(long)]
    pub idle: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate rfc6349 iperf2://192.0.2.7 --probe stamp://192.0.2.7          short\n  \
    linerate rfc6349 iperf3://192.0.2.7 --probe stamp://192.0.2.7 --full   transfers of 30 s\n\n\
    Measures path MTU, round trip and bottleneck, then TCP with windows of 25 to 125 per cent of the\n\
    bandwidth-delay product. Without a --probe there are no round trips and no windows to try.")]
pub struct Rfc6349 {
    #[command(flatten)]
    pub link: Link,
    /// Transfers of 30 s, as the RFC has it
    #[arg(long, conflicts_with = "time")]
    pub full: bool,
    /// Only to the target
    #[arg(long, conflicts_with = "reverse")]
    pub forward: bool,
    /// Only from the target
    #[arg(long, short = 'R')]
    pub reverse: bool,
    /// Seconds of each transfer; from 30 on it is the full procedure
    #[arg(long, short = 't', value_name = "SECONDS", default_value_t = 4, value_parser = clap::value_parser!(u64).range(2..=3_600))]
    pub time: u64,
    /// Connections that together find the bottleneck
    #[arg(long, short = 'P', value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u8).range(1..=60))]
    pub parallel: u8,
}
