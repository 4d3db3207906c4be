//! What can be written behind `linerate`.

mod sweep;

pub use sweep::{Latency, Rfc6349, Sweep, Swept};

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use linerate_bench::load::Rate;
use linerate_bench::load::counters::parse_mac;
use linerate_bench::scenario::{Ability, Partner, Pulses};
use linerate_bench::serve::Protocol;

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
    /// Run a scenario again with each guess of the timing table changed alone
    Sensitivity(Sensitivity),
    /// Be the other end for a device that measures: iperf 2, iperf 3, HTTP, STAMP, UDP echo
    Serve(Serve),
    /// Be a cable with faults between two TAP interfaces: loss, delay, rate, and the truth about them
    Relay(Relay),
    /// Send raw Ethernet frames out of an interface, at a constant rate or as fast as it goes
    Blast(Blast),
    /// Run a firmware on a simulated board, alone or on a network interface of this machine
    Sim(Sim),
    /// Hold what `cycle_counting` counted on a chip against the built-in timing table
    Timing(Timing),
    /// Make the report again from results, without measuring
    Report(Report),
    /// Hold results against earlier ones: exit code 1 when something got worse
    Compare(Compare),
    /// Compare results with the published figures (docs/fidelity.md)
    Fidelity(Fidelity),
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

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate run scenarios/niccle.toml\n  \
    linerate run scenarios/niccle.toml --seed 2 --out results/seed-2\n  \
    linerate run scenarios/phy-conformance.toml --scale 0.01   a short version\n  \
    linerate run scenarios/niccle.toml --json - | jq .results[0].metrics\n\n\
    Writes run.json, report.html, report.md, results.csv, junit.xml, results.prom (OpenMetrics),\n\
    results.hdr (HdrHistogram log), captures and waveforms to the --out folder, and trials.ndjson\n\
    while it runs, so that what was measured survives a kill.")]
pub struct Run {
    /// The scenario, a TOML file
    pub scenario: PathBuf,
    /// Write the results to this file too; `-` for stdout
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Folder for everything that is written [default: linerate-out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder with the firmware, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
    /// Seed of everything random, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Measure only the run with this name; may be given several times
    #[arg(long = "run", value_name = "NAME")]
    pub runs: Vec<String>,
    /// Multiply numbers of frames and seconds by this: a short or long version
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub scale: Option<f64>,
    /// What things cost on the chip: a timing table in place of the built-in one, or the console's
    /// log of `cycle_counting`
    #[arg(long, value_name = "FILE")]
    pub timing: Option<PathBuf>,
    /// Firmwares to run at the same time [default: one a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
    /// Results of an earlier run to be held against: exit code 1 when something got worse
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    #[command(flatten)]
    pub limits: Thresholds,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate sensitivity scenarios/sensitivity.toml\n  \
    linerate sensitivity scenarios/sensitivity.toml --entry cpu.mmio_load --scale 0.1\n\n\
    Each entry of the timing table that is a guess is changed alone: by one, down and up, and to\n\
    130 percent; the cache's sizes to half and twice. Prints a table (Markdown) of the goodput and\n\
    of the conformance frames lost, and writes the results of every change to the --out folder.")]
pub struct Sensitivity {
    /// The scenario, a TOML file
    pub scenario: PathBuf,
    /// Folder for the results [default: linerate-out/NAME]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder with the firmware, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
    /// Change only this entry; may be given several times [default: every guess]
    #[arg(long = "entry", value_name = "NAME")]
    pub entries: Vec<String>,
    /// Multiply numbers of frames and seconds by this
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub scale: Option<f64>,
    /// The timing table to begin from [default: the board's]
    #[arg(long, value_name = "FILE")]
    pub timing: Option<PathBuf>,
    /// Firmwares to run at the same time [default: one a processor]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub threads: Option<u16>,
}

/// How much worse a figure may get.
#[derive(Debug, clap::Args)]
pub struct Thresholds {
    /// How much worse a figure may get: `5%` or `0.05`
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    pub threshold: f64,
    /// The same of one metric, by its name or the end of it: `rtt_ns.p99=20%`; several times
    #[arg(long = "metric", value_name = "NAME=SHARE", value_parser = metric_share)]
    pub metrics: Vec<(String, f64)>,
}

/// `5%` or `0.05`.
fn share(written: &str) -> Result<f64, String> {
    let (digits, unit) = match written.strip_suffix('%') {
        Some(digits) => (digits, 100.0),
        None => (written, 1.0),
    };
    match digits.trim().parse::<f64>() {
        Ok(share) if share >= 0.0 && share.is_finite() => Ok(share / unit),
        _ => Err("a share is needed, as 5% or 0.05".to_owned()),
    }
}

/// `NAME=5%`.
fn metric_share(written: &str) -> Result<(String, f64), String> {
    let (name, limit) = written
        .split_once('=')
        .ok_or("a name, `=` and a share are needed, as rtt_ns.p99=20%")?;
    Ok((name.to_owned(), share(limit)?))
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate compare last/run.json run.json\n  \
    linerate compare last/run.json run.json --threshold 2% --metric rtt_ns.p99=20%\n\n\
    Results belong together when they measure the same under the same conditions. A goodput is worse\n\
    when it falls, a loss or a latency when it grows; what only describes is not judged. A result\n\
    that is missing counts as worse.")]
pub struct Compare {
    /// The earlier results: run.json, or trials.ndjson
    pub before: PathBuf,
    /// The later ones
    pub after: PathBuf,
    #[command(flatten)]
    pub limits: Thresholds,
    /// Every figure as JSON instead of a table of those that differ
    #[arg(long)]
    pub json: bool,
}

/// What every command on a target has.
#[derive(Debug, clap::Args)]
pub struct Link {
    #[arg(
        help = "iperf2://HOST[:PORT], iperf3://HOST, http://HOST/PATH, stamp://HOST or sim://BOARD"
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
    /// Folder with the firmware for sim://, BOARD/PROGRAM-VARIANT.elf
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

/// `5M` or `1500000`.
fn quantity(written: &str) -> Result<u64, String> {
    let (digits, factor) = match written.char_indices().last() {
        Some((at, 'k' | 'K')) => (&written[..at], 1e3),
        Some((at, 'm' | 'M')) => (&written[..at], 1e6),
        Some((at, 'g' | 'G')) => (&written[..at], 1e9),
        _ => (written, 1.0),
    };
    match digits.parse::<f64>() {
        Ok(number) if number >= 0.0 && number * factor <= 1e15 => Ok((number * factor) as u64),
        _ => Err("a number is needed, with k, M or G behind it if it is large".to_owned()),
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate serve --bind 0.0.0.0                 everything, for the boards on this network\n  \
    linerate serve iperf2 http:8000               two protocols, one at another port\n  \
    linerate serve iperf3 --json | jq .octets     a line of JSON for each test\n\n\
    Protocols and ports: iperf2 5001, iperf3 5201, http 8080 (GET /N sends N bytes, PUT takes\n\
    any), stamp 8620 (RFC 8762), echo 7007 (RFC 862). With --standard-ports, http is at 80, stamp\n\
    at 862 and echo at 7, which takes root.")]
pub struct Serve {
    /// What to serve, each with `:PORT` if it is to be at another [default: everything]
    #[arg(value_name = "PROTOCOL", value_parser = protocol)]
    pub protocols: Vec<(Protocol, Option<u16>)>,
    /// Address to listen on: 0.0.0.0 for whoever reaches this machine
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,
    /// TCP connections of each protocol at a time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub clients: u16,
    /// Use the standards' ports
    #[arg(long)]
    pub standard_ports: bool,
    /// Send UDP on request (iperf with -u and -R, -r, -d or --bidir) beyond this machine, too: a forged
    /// request could turn it on others
    #[arg(long)]
    pub udp_on_request: bool,
    /// Stop after so long
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<u64>,
    /// A line of JSON for each test
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sudo linerate relay --namespaces left,right --both delay=5ms,rate=10M,queue=50\n  \
    sudo linerate relay --namespaces left,right --forward loss=1% -- ping -c 3 10.0.0.2\n  \
    linerate relay tap0 tap1 --both loss=0.1% --backward delay=20ms,jitter=5ms --json truth.json\n\n\
    The first makes two network namespaces, 10.0.0.1 in `left` and 10.0.0.2 in `right`, with a cable\n\
    between them. Then, in other terminals:\n  \
    sudo ip netns exec right linerate serve --bind 10.0.0.2\n  \
    sudo ip netns exec left iperf3 -c 10.0.0.2 -u -b 5M\n\
    Ctrl-C ends it, removes them, and says what became of every frame.\n\n\
    Settings, joined by commas (docs/relay.md says what each of them does exactly):\n  \
    spare=20                 the first frames meet only delay, jitter, rate and queue\n  \
    loss=1%                  share of the frames that is lost\n  \
    burst_loss=0.5%/20%      bursts: how likely one begins, and ends; /LOSS in it [100%]\n  \
    bit_errors=1e-6          share of the bits; a frame with a wrong one is lost by its FCS\n  \
    corrupt=1e-6             share of the bits that are turned over in frames that arrive\n  \
    duplicate=0.5%           share of the frames that is sent twice\n  \
    reorder=1%/3             share that is held back until so many have passed [1]\n  \
    delay=5ms jitter=1ms     each frame's delay lies so far from 5 ms, in the same order\n  \
    overtake=yes             or in the order that the delays make\n  \
    rate=10M                 bit/s of Ethernet, with preamble, FCS and gap\n  \
    queue=50 queue=64kB      frames or octets that wait for the link; more is lost [1000]\n\n\
    Without network namespaces of its own it needs interfaces that exist, or the right to make\n\
    them; sudo ip tuntap add dev tap0 mode tap user $USER makes one for a user.")]
pub struct Relay {
    /// The two TAP interfaces, each with `@NAMESPACE` if it is in another network namespace; one that
    /// does not exist is made, and goes with the relay
    #[arg(
        value_name = "TAP",
        num_args = 2,
        required_unless_present = "namespaces"
    )]
    pub interfaces: Vec<String>,
    /// Make two network namespaces with these names, with an interface and an address each; they go
    /// with the relay (takes root)
    #[arg(
        long,
        value_name = "LEFT,RIGHT",
        value_delimiter = ',',
        num_args = 1,
        conflicts_with = "interfaces"
    )]
    pub namespaces: Vec<String>,
    /// What to do to frames of both directions
    #[arg(
        long,
        value_name = "SETTINGS",
        default_value = "",
        hide_default_value = true
    )]
    pub both: String,
    /// What to do to frames from the first end to the second, beside or in place of what `--both` says
    #[arg(
        long,
        value_name = "SETTINGS",
        default_value = "",
        hide_default_value = true
    )]
    pub forward: String,
    /// What to do to frames from the second end to the first, in the same way
    #[arg(
        long,
        value_name = "SETTINGS",
        default_value = "",
        hide_default_value = true
    )]
    pub backward: String,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Never sleep: takes up a processor, and sees a frame after a pause sooner
    #[arg(long)]
    pub busy: bool,
    /// Stop after so long
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    /// Write what became of the frames to this file; `-` for stdout, in place of the text
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Run this (with --namespaces in the first of them), and stop when it ends
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sudo linerate blast eth1 --mac 02:00:00:00:00:07 --rate 10k   10 000 frames a second to a board\n  \
    sudo linerate blast eth1 --size 1514 --seconds 1              as many full frames as go, to everybody\n  \
    sudo linerate blast eth1 --rate 500 --json | jq .sent.gaps\n\n\
    The frames have EtherType 0x88B5 (local experiments), a number and a time; linerate-agent counts\n\
    or reflects them. Sending raw frames takes CAP_NET_RAW, and Linux. Mind who else is on the wire:\n\
    without --rate they take all of it.")]
pub struct Blast {
    /// The interface to send from; none is chosen for you
    #[arg(value_name = "IFACE")]
    pub interface: String,
    /// Destination [default: everybody, ff:ff:ff:ff:ff:ff]
    #[arg(long, value_name = "DST", value_parser = mac)]
    pub mac: Option<[u8; 6]>,
    /// Length of a frame without FCS, octets
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(60..=1514))]
    pub size: u16,
    /// Frames a second (50000, 50k), or max
    #[arg(long, value_name = "PPS", default_value = "max")]
    pub rate: Rate,
    /// How long
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Number of the stream, by which receivers tell them apart
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub stream: u8,
    /// Ask who receives them to send them back
    #[arg(long)]
    pub reflect: bool,
    /// Keep the sending thread on this core
    #[arg(long, value_name = "N")]
    pub core: Option<usize>,
    /// Everything as JSON
    #[arg(long)]
    pub json: bool,
}

/// `02:00:00:00:00:07`.
fn mac(written: &str) -> Result<[u8; 6], String> {
    parse_mac(written)
        .ok_or_else(|| format!("`{written}` is no address of Ethernet: 02:00:00:00:00:07 is"))
}

/// `iperf2` or `iperf2:5001`.
fn protocol(written: &str) -> Result<(Protocol, Option<u16>), String> {
    let (name, port) = match written.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (written, None),
    };
    let protocol: Protocol = name.parse().map_err(|error| format!("{error}"))?;
    let port = port.map(|port| {
        let number = port.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("`{port}` is no port: 1 to 65535"))
    });
    Ok((protocol, port.transpose()?))
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate sim esp32c6-bitbang --program http_get --variant zero-copy --pcap get.pcapng\n  \
    linerate sim esp32c6-bitbang --elf my-firmware.elf --seconds 5 --vcd pins.vcd\n  \
    linerate sim esp32c6-bitbang --program http_get --profile target/get.txt\n  \
    linerate sim esp32c6-bitbang --program http_server --tap tap0\n  \
    linerate sim esp32c6-bitbang --program ping --partner 100base-tx-half,100base-tx-full\n\n\
    With --tap, programs on this machine talk to the firmware (ping, curl). Make the interface\n\
    once: sudo ip tuntap add dev tap0 mode tap user $USER &&\n\
    sudo ip address add 169.254.10.1/16 dev tap0 && sudo ip link set tap0 up")]
pub struct Sim {
    /// The board (linerate boards)
    pub board: String,
    /// The firmware, an ELF file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["program", "variant", "elf_dir"])]
    pub elf: Option<PathBuf>,
    /// The board's program to run
    #[arg(long, value_name = "NAME", default_value = "hello")]
    pub program: String,
    /// Its variant [default: the board's]
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// Folder with the firmware, BOARD/PROGRAM-VARIANT.elf
    #[arg(long, value_name = "DIR", default_value = linerate_bench::firmware::DEFAULT_DIR)]
    pub elf_dir: PathBuf,
    /// Connect the board to this TAP interface, at the pace of the clock
    #[arg(long, value_name = "IF")]
    pub tap: Option<String>,
    /// Write a capture of the wire (pcapng)
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Write a waveform of the pins (VCD)
    #[arg(long, value_name = "FILE")]
    pub vcd: Option<PathBuf>,
    /// Length of the waveform from the first frame on, milliseconds
    #[arg(long, value_name = "MS", default_value_t = 50, requires = "vcd")]
    pub vcd_ms: u64,
    /// Count cycles by function: write a table to FILE, and beside it folded stacks (.folded) and a
    /// flame graph (.svg); the simulation is several times slower
    #[arg(long, value_name = "FILE")]
    pub profile: Option<PathBuf>,
    /// Stop after so many seconds of the board's time [default: when the program ends]
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    /// How the link partner comes to a link, several words joined by commas [default: it does not
    /// negotiate and takes the link to be up]
    #[arg(long, value_enum, value_name = "WORDS", value_delimiter = ',')]
    pub partner: Vec<PartnerWord>,
    /// Duplex of the link partner [default: half; with --partner auto]
    #[arg(long, value_enum)]
    pub duplex: Option<Duplex>,
    /// What things cost on the chip: a timing table in place of the built-in one, or the console's
    /// log of `cycle_counting`
    #[arg(long, value_name = "FILE")]
    pub timing: Option<PathBuf>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  \
    espflash flash --monitor target/firmware/esp32c6-bitbang/cycle_counting-line-rate.elf | tee chip.log\n  \
    linerate timing chip.log\n  \
    linerate run scenarios/beat-niccle.toml --timing chip.log")]
pub struct Timing {
    /// The log of its console, or a timing table
    pub log: PathBuf,
}

/// What can be said of a link partner, in the words of `partner` in a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PartnerWord {
    /// It offers 10BASE-T in half duplex
    #[value(name = "10base-t-half")]
    TenHalf,
    /// It offers 10BASE-T in full duplex
    #[value(name = "10base-t-full")]
    TenFull,
    /// It offers 100BASE-TX in half duplex, which comes to no link on this cable
    #[value(name = "100base-tx-half")]
    HundredHalf,
    /// It offers 100BASE-TX in full duplex
    #[value(name = "100base-tx-full")]
    HundredFull,
    /// With what it offers: it reports a fault at its end
    RemoteFault,
    /// Alone: it offers nothing and sends link pulses only
    Nlp,
    /// Alone: it sends no pulse at all, as without a cable
    None,
}

/// The link partner that `words` describe; `None` where they contradict each other.
pub fn partner(words: &[PartnerWord]) -> Option<Partner> {
    let ability = |word: &PartnerWord| match word {
        PartnerWord::TenHalf => Some(Ability::TenHalf),
        PartnerWord::TenFull => Some(Ability::TenFull),
        PartnerWord::HundredHalf => Some(Ability::HundredHalf),
        PartnerWord::HundredFull => Some(Ability::HundredFull),
        _ => None,
    };
    let offers: Vec<Ability> = words.iter().filter_map(ability).collect();
    let pulses = match words {
        [PartnerWord::Nlp] => Some(Pulses::Nlp),
        [PartnerWord::None] => Some(Pulses::None),
        _ if offers.is_empty() => return None,
        _ if words.contains(&PartnerWord::Nlp) || words.contains(&PartnerWord::None) => {
            return None;
        }
        _ => None,
    };
    Some(Partner {
        advertise: offers.into(),
        remote_fault: words.contains(&PartnerWord::RemoteFault),
        pulses,
        link_test: Some(true),
        ..Partner::default()
    })
}

/// Duplex of the link partner.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Duplex {
    /// One station at a time
    Half,
    /// Both at once
    Full,
    /// What negotiation comes to
    Auto,
}

impl From<Duplex> for linerate_bench::scenario::Duplex {
    fn from(duplex: Duplex) -> Self {
        match duplex {
            Duplex::Half => Self::Half,
            Duplex::Full => Self::Full,
            Duplex::Auto => Self::Auto,
        }
    }
}

/// A factor that makes sense.
fn factor(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(factor) if factor > 0.0 && factor <= 1_000.0 => Ok(factor),
        _ => Err("a number greater than 0 and at most 1000 is needed".to_owned()),
    }
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate report results/run.json\n  \
    linerate report results/trials.ndjson --out partial.html   what a killed run measured\n  \
    linerate report results/run.json --markdown                the summary on stdout")]
pub struct Report {
    /// run.json, or trials.ndjson of a run that did not end
    pub results: PathBuf,
    /// The page [default: report.html beside the results]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Print the summary as Markdown instead of writing a page
    #[arg(long, conflicts_with = "out")]
    pub markdown: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  linerate fidelity results/run.json > docs/fidelity.md")]
pub struct Fidelity {
    /// run.json
    pub results: PathBuf,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use linerate_bench::scenario::Scenario;

    /// What a scenario makes of a `[partner]` with these fields.
    fn in_a_scenario(fields: &str) -> Partner {
        let text = format!(
            "schema = 1\nname = \"x\"\nboard = \"esp32c6-bitbang\"\n[partner]\n{fields}\n\
             [[run]]\nvariant = \"line-rate\"\nping = {{ count = 1 }}\n"
        );
        let scenario = Scenario::parse(&text, "x").unwrap_or_else(|error| panic!("{error}"));
        scenario.common.partner
    }

    #[test]
    fn a_partner_s_words_mean_what_they_mean_in_a_scenario() {
        let half = PartnerWord::TenHalf;
        let mut offers = Vec::new();
        for &word in PartnerWord::value_variants() {
            let value = word.to_possible_value().expect("a word");
            let name = value.get_name();
            let (words, fields) = match word {
                PartnerWord::Nlp | PartnerWord::None => {
                    (vec![word], format!("pulses = \"{name}\""))
                }
                PartnerWord::RemoteFault => (
                    vec![half, word],
                    "advertise = [\"10base-t-half\"]\nremote_fault = true".to_owned(),
                ),
                offered => {
                    offers.push(offered);
                    (vec![word], format!("advertise = [\"{name}\"]"))
                }
            };
            let told = in_a_scenario(&format!("{fields}\nlink_test = true"));
            assert_eq!(partner(&words), Some(told), "{name}");
        }
        // And nothing that a scenario's partner can offer has no word.
        let all = partner(&offers).expect("they go together").advertise;
        assert_eq!(Vec::from(all), Ability::ALL);
    }

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
