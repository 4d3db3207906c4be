//! Arguments of the commands that make this host part of the network: `serve`, `relay`, `blast`.

use std::net::IpAddr;

use linerate_host::load::Rate;
use linerate_host::load::counters::parse_mac;
use linerate_host::serve::Protocol;

use super::Record;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    linerate serve --bind 0.0.0.0                 all protocols, for devices on the network\n  \
    linerate serve iperf2 http:8000               two protocols, HTTP on port 8000\n  \
    linerate serve iperf3 --json | jq .octets     one line of JSON per test\n  \
    linerate serve pty://                         the other end of a byte link, to try linerate test pty://PATH\n  \
    linerate serve serial:///dev/ttyUSB1?baud=1M  the same on a serial port\n\n\
    Default ports: iperf2 5001, iperf3 5201, http 8080 (GET /N sends N bytes, PUT accepts any\n\
    body), stamp 8620 (RFC 8762), echo 7007 (RFC 862). --standard-ports selects 80 for http, 862\n\
    for stamp and 7 for echo, which requires root.")]
pub struct Serve {
    /// Protocols to serve, each optionally with `:PORT` [default: all], or one byte link: pty://, serial://, tcp://:PORT
    #[arg(value_name = "PROTOCOL", value_parser = served)]
    pub served: Vec<Served>,
    /// Address to listen on; 0.0.0.0 for all interfaces
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub bind: IpAddr,
    /// Maximum simultaneous TCP connections of each protocol
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=192))]
    pub clients: u16,
    /// Use the standard ports
    #[arg(long)]
    pub standard_ports: bool,
    /// Send UDP on request (iperf -u with -R, -r, -d or --bidir) to other hosts, too; a request with a
    /// forged source address could direct it at a third party
    #[arg(long)]
    pub udp_on_request: bool,
    /// Stop after this time
    #[arg(long, value_name = "SECONDS")]
    pub seconds: Option<u64>,
    /// Print one line of JSON per test
    #[arg(long)]
    pub json: bool,
}

/// Something to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Served {
    /// A protocol, and its port if it is not the default.
    Protocol(Protocol, Option<u16>),
    /// A byte link, by its URL.
    Link(String),
}

/// Parses a protocol or the URL of a byte link.
fn served(written: &str) -> Result<Served, String> {
    if written.contains("://") {
        return Ok(Served::Link(written.to_owned()));
    }
    protocol(written).map(|(protocol, port)| Served::Protocol(protocol, port))
}

/// Parses `iperf2` or `iperf2:5001`.
fn protocol(written: &str) -> Result<(Protocol, Option<u16>), String> {
    let (name, port) = match written.split_once(':') {
        Some((name, port)) => (name, Some(port)),
        None => (written, None),
    };
    let protocol: Protocol = name.parse().map_err(|error| format!("{error}"))?;
    let port = port.map(|port| {
        let number = port.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("invalid port `{port}`: the range is 1 to 65535"))
    });
    Ok((protocol, port.transpose()?))
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sudo linerate relay --namespaces left,right --both delay=5ms,rate=10M,queue=50\n  \
    sudo linerate relay --namespaces left,right --forward loss=1% -- ping -c 3 10.0.0.2\n  \
    linerate relay tap0 tap1 --both loss=0.1% --backward delay=20ms,jitter=5ms --json report.json\n\n\
    The first example creates two network namespaces with a link between them: 10.0.0.1 in `left`,\n\
    10.0.0.2 in `right`. In other terminals:\n  \
    sudo ip netns exec right linerate serve --bind 10.0.0.2\n  \
    sudo ip netns exec left iperf3 -c 10.0.0.2 -u -b 5M\n\
    Ctrl-C stops the relay, removes the namespaces and prints the fate of the frames.\n\n\
    Settings, separated by commas (docs/relay.md defines each of them):\n  \
    spare=20                 apply only delay, jitter, rate and queue to the first 20 frames\n  \
    loss=1%                  random loss\n  \
    burst_loss=0.5%/20%      Gilbert-Elliott: P(good to bad)/P(bad to good)[/loss in bad, 100%]\n  \
    bit_errors=1e-6          bit error rate; a frame with an error is dropped by its FCS\n  \
    corrupt=1e-6             rate of bits flipped in frames that are still delivered\n  \
    duplicate=0.5%           share of frames sent twice\n  \
    reorder=1%/3             share of frames held back until 3 later ones have passed [1]\n  \
    delay=5ms jitter=1ms     delay of each frame uniform in 5 ms +/- 1 ms, order preserved\n  \
    overtake=yes             let frames with a shorter delay overtake\n  \
    rate=10M                 link rate in bit/s, including preamble, FCS and gap\n  \
    queue=50 queue=64kB      queue limit in frames or octets, drop tail [1000]\n\n\
    Without --namespaces the relay needs existing interfaces, or the privilege to create them; sudo\n\
    ip tuntap add dev tap0 mode tap user $USER creates one for a user.")]
pub struct Relay {
    /// Two TAP interfaces, each with `@NAMESPACE` if it is in another network namespace; a missing one
    /// is created, and removed at the end
    #[arg(
        value_name = "TAP",
        num_args = 2,
        required_unless_present = "namespaces"
    )]
    pub interfaces: Vec<String>,
    /// Create two network namespaces with these names, each with an interface and an address, and
    /// remove them at the end (requires root)
    #[arg(
        long,
        value_name = "LEFT,RIGHT",
        value_delimiter = ',',
        num_args = 1,
        conflicts_with = "interfaces"
    )]
    pub namespaces: Vec<String>,
    /// Impairments of both directions
    #[arg(
        long,
        value_name = "SETTINGS",
        default_value = "",
        hide_default_value = true
    )]
    pub both: String,
    /// Impairments from the first end to the second, overriding `--both`
    #[arg(
        long,
        value_name = "SETTINGS",
        default_value = "",
        hide_default_value = true
    )]
    pub forward: String,
    /// Impairments from the second end to the first, overriding `--both`
    #[arg(
        long,
        value_name = "SETTINGS",
        default_value = "",
        hide_default_value = true
    )]
    pub backward: String,
    /// Seed of all random decisions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Poll instead of sleeping: uses a full processor, but forwards a frame after a pause sooner
    #[arg(long)]
    pub busy: bool,
    /// Stop after N seconds
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    #[command(flatten)]
    pub record: Record,
    /// Run this command (in the first of the --namespaces) and stop when it exits
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sudo linerate blast eth1 --mac 02:00:00:00:00:07 --rate 10k   10,000 frames/s to one device\n  \
    sudo linerate blast eth1 --size 1514 --seconds 1              maximum rate of full frames, broadcast\n  \
    sudo linerate blast eth1 --rate 500 --json | jq '.results[0].metrics.gap'\n\n\
    Frames have EtherType 0x88B5 (local experimental), a sequence number and a timestamp;\n\
    linerate-agent counts or reflects them. Requires Linux and CAP_NET_RAW. Warning: without --rate\n\
    the frames saturate the network.")]
pub struct Blast {
    /// Interface to send from
    #[arg(value_name = "IFACE")]
    pub interface: String,
    /// Destination MAC address [default: broadcast, ff:ff:ff:ff:ff:ff]
    #[arg(long, value_name = "DST", value_parser = mac)]
    pub mac: Option<[u8; 6]>,
    /// Frame size without FCS, in octets
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u16).range(60..=1514))]
    pub size: u16,
    /// Frames per second (50000, 50k), or max
    #[arg(long, value_name = "PPS", default_value = "max")]
    pub rate: Rate,
    /// Duration in seconds
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub seconds: u64,
    /// Stream number, which identifies the stream to receivers
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub stream: u8,
    /// Request the receiver to send the frames back
    #[arg(long)]
    pub reflect: bool,
    /// Pin the sending thread to this CPU core
    #[arg(long, value_name = "N")]
    pub core: Option<usize>,
    #[command(flatten)]
    pub record: Record,
}

/// Parses `02:00:00:00:00:07`.
fn mac(written: &str) -> Result<[u8; 6], String> {
    parse_mac(written)
        .ok_or_else(|| format!("invalid MAC address `{written}`; example: 02:00:00:00:00:07"))
}
