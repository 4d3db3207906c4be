//! What can be written behind the commands that make this machine a part of the network: `serve`,
//! `relay`, `blast`.

use std::net::IpAddr;
use std::path::PathBuf;

use linerate_host::load::Rate;
use linerate_host::load::counters::parse_mac;
use linerate_host::serve::Protocol;

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
