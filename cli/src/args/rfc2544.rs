//! Arguments of `linerate rfc2544`.

use clap::ValueEnum;

use super::{Link, quantity};

/// The frame sizes of RFC 2544 section 9.1, written as on the command line.
const DEFAULT_SIZES: &str = "64,128,256,512,1024,1280,1518";

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate rfc2544 sim://esp32c6-bitbang\n  \
    linerate rfc2544 raw://eth0/02:00:00:00:00:01 --sizes 64,512,1518\n  \
    linerate rfc2544 iperf2://192.0.2.7 --line-rate 100M --only throughput,loss\n  \
    linerate rfc2544 iperf2://192.0.2.7 --line-rate eth0 --probe stamp://192.0.2.7\n  \
    linerate rfc2544 raw://eth0/02:00:00:00:00:01 --full      trial lengths of the RFC: many hours\n\n\
    Frames are sent to the device, whose agent counts them (sim://) or sends them back (raw://, which\n\
    requires Linux and CAP_NET_RAW); without an agent, its iperf counts UDP datagrams. Without --full\n\
    trials are short (docs/rfc2544.md discusses their accuracy). The report lists the deviations from\n\
    the RFC.")]
pub struct Rfc2544 {
    #[command(flatten)]
    pub link: Link,
    /// Line rate in bit/s (suffixes k, M, G), or the interface of this host that is connected to the
    /// line [default: reported by the target]
    #[arg(long, value_name = "BITS|IF", value_parser = line_rate)]
    pub line_rate: Option<LineRate>,
    /// Frame sizes in octets including FCS, 64 to 1518
    #[arg(long, value_name = "OCTETS", value_delimiter = ',', value_parser = clap::value_parser!(u16).range(64..=1518), default_value = DEFAULT_SIZES)]
    pub sizes: Vec<u16>,
    /// Run only these tests; latency and burst also measure the throughput, on which they depend
    #[arg(long, value_enum, value_name = "TESTS", value_delimiter = ',')]
    pub only: Vec<Rfc2544Test>,
    /// Where frames are counted [default: the first of these that the target supports]
    #[arg(long, value_enum)]
    pub by: Option<CountedBy>,
    /// Use the trial lengths and repetitions of the RFC
    #[arg(long)]
    pub full: bool,
    /// Duration of each trial in seconds [default: 2, on a simulated board 0.5]
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "full")]
    pub trial: Option<f64>,
    /// Resolution of the rate search, in percent of the line rate [default: 1, with --full 0.1]
    #[arg(long, value_name = "PERCENT", value_parser = resolution)]
    pub resolution: Option<f64>,
}

/// A test of RFC 2544.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Rfc2544Test {
    /// Highest rate without loss (section 26.1)
    Throughput,
    /// Round-trip times at that rate (26.2)
    Latency,
    /// Frame loss from the line rate downwards (26.3)
    Loss,
    /// Longest burst without loss (26.4, RFC 9004)
    Burst,
}

/// Where frames are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CountedBy {
    /// By the agent on the device
    Agent,
    /// By this host, from frames that the device sends back
    Reflector,
    /// By the device's iperf, as UDP datagrams
    Udp,
}

/// Line rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineRate {
    /// In bit/s.
    Bits(u64),
    /// Rate of this interface.
    Interface(String),
}

fn line_rate(written: &str) -> Result<LineRate, String> {
    match quantity(written) {
        Ok(0) => Err("the line rate must be greater than 0".to_owned()),
        Ok(bits) => Ok(LineRate::Bits(bits)),
        Err(_) if written.starts_with(|first: char| first.is_ascii_digit()) => Err(
            "expected a rate in bit/s, optionally with suffix k, M or G, or an interface"
                .to_owned(),
        ),
        Err(_) => Ok(LineRate::Interface(written.to_owned())),
    }
}

fn seconds(written: &str) -> Result<f64, String> {
    in_range(written, 0.05..=3_600.0).ok_or_else(|| "expected 0.05 to 3600 seconds".to_owned())
}

fn resolution(written: &str) -> Result<f64, String> {
    in_range(written, 0.01..=50.0).ok_or_else(|| "expected 0.01 to 50 percent".to_owned())
}

fn in_range(written: &str, range: std::ops::RangeInclusive<f64>) -> Option<f64> {
    written.parse().ok().filter(|number| range.contains(number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        rfc2544: Rfc2544,
    }

    fn sizes(arguments: &[&str]) -> Vec<u16> {
        let line = ["linerate", "sim://esp32c6-bitbang"];
        Line::parse_from(line.iter().chain(arguments)).rfc2544.sizes
    }

    #[test]
    fn the_default_sizes_can_be_given_as_help_prints_them() {
        let default = linerate_bench::procedure::rfc2544::SIZES;
        assert_eq!(sizes(&[]), default);
        assert_eq!(sizes(&["--sizes", DEFAULT_SIZES]), default);
    }
}
