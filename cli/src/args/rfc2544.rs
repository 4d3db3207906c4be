//! What can be written behind `linerate rfc2544`.

use clap::ValueEnum;

use super::{Link, quantity};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate rfc2544 sim://esp32c6-bitbang\n  \
    linerate rfc2544 raw://eth0/02:00:00:00:00:01 --sizes 64,512,1518\n  \
    linerate rfc2544 iperf2://192.0.2.7 --line-rate 100M --only throughput,loss\n  \
    linerate rfc2544 iperf2://192.0.2.7 --line-rate eth0 --probe stamp://192.0.2.7\n  \
    linerate rfc2544 raw://eth0/02:00:00:00:00:01 --full      the RFC's lengths: many hours\n\n\
    Frames go to the device, whose agent counts them (sim://) or sends them back (raw://, which\n\
    takes Linux and CAP_NET_RAW); where it has neither, UDP datagrams are counted by its iperf.\n\
    Without --full trials are short (docs/rfc2544.md says what they are worth). The report says in\n\
    what the run departs from the RFC.")]
pub struct Rfc2544 {
    #[command(flatten)]
    pub link: Link,
    /// What the line carries, bits a second (suffixes k, M, G), or the interface of this machine that
    /// it is at [default: what the target says]
    #[arg(long, value_name = "BITS|IF", value_parser = line_rate)]
    pub line_rate: Option<LineRate>,
    /// Octets of the frames with FCS, 64 to 1518
    #[arg(long, value_name = "OCTETS", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(64..=1518), default_values_t = linerate_bench::procedure::rfc2544::SIZES)]
    pub sizes: Vec<u16>,
    /// Only these tests; latency and burst measure the throughput, too, which they rest on
    #[arg(long, value_enum, value_name = "TESTS", value_delimiter = ',')]
    pub only: Vec<Rfc2544Test>,
    /// How frames are counted [default: the first of these that the target can]
    #[arg(long, value_enum)]
    pub by: Option<CountedBy>,
    /// The RFC's own lengths and repetitions
    #[arg(long)]
    pub full: bool,
    /// Seconds of each trial, instead of 2, or of 0.5 on a simulated board
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "full")]
    pub trial: Option<f64>,
    /// Steps of the searched rate, per cent of the line's [default: 1; with --full 0.1]
    #[arg(long, value_name = "PERCENT", value_parser = resolution)]
    pub resolution: Option<f64>,
}

/// A test of RFC 2544.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rfc2544Test {
    /// The highest rate without loss (section 26.1)
    Throughput,
    /// Round trips at that rate (26.2)
    Latency,
    /// Loss from the line's rate down (26.3)
    Loss,
    /// The longest burst without loss (26.4, RFC 9004)
    Burst,
}

/// Who counts frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CountedBy {
    /// An agent on the device
    Agent,
    /// This machine, of those that the device sends back
    Reflector,
    /// The device's iperf, as UDP datagrams
    Udp,
}

/// What a line carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineRate {
    /// Bits a second.
    Bits(u64),
    /// As much as this interface.
    Of(String),
}

fn line_rate(written: &str) -> Result<LineRate, String> {
    match quantity(written) {
        Ok(0) => Err("a line carries something".to_owned()),
        Ok(bits) => Ok(LineRate::Bits(bits)),
        Err(_) if written.starts_with(|first: char| first.is_ascii_digit()) => {
            Err("bits a second are needed, with k, M or G behind, or an interface".to_owned())
        }
        Err(_) => Ok(LineRate::Of(written.to_owned())),
    }
}

fn seconds(written: &str) -> Result<f64, String> {
    in_range(written, 0.05..=3_600.0).ok_or_else(|| "0.05 to 3600 seconds are needed".to_owned())
}

fn resolution(written: &str) -> Result<f64, String> {
    in_range(written, 0.01..=50.0).ok_or_else(|| "0.01 to 50 per cent are needed".to_owned())
}

fn in_range(written: &str, range: std::ops::RangeInclusive<f64>) -> Option<f64> {
    written.parse().ok().filter(|number| range.contains(number))
}
