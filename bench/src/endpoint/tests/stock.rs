//! Our targets against stock servers, over loopback.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use linerate_results::record::{self, Direction, Flow};

use super::super::*;
use linerate_host::testing::{free_port, has_tool};

/// Attempts at a trial whose stock server crashes, or that a busy machine disturbs.
const ATTEMPTS: usize = 5;
/// Longest time in which a server begins to listen, or a process that has closed its sockets ends.
const DEADLINE: Duration = Duration::from_secs(30);

/// A stock server, killed with the test.
struct Server {
    tool: &'static str,
    udp: bool,
    port: u16,
    child: Child,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(tool: &'static str, udp: bool, port: u16) -> Self {
        let child = spawn(tool, udp, port);
        Self {
            tool,
            udp,
            port,
            child,
        }
    }

    /// True if a signal of its own making ended the server within a time that is ample for a process whose sockets
    /// are already closed. The one of iperf 2.1.8 aborts now and then on a busy machine when a test begins or ends
    /// while it closes another: an assertion of glibc's `pthread_mutex_lock`, `mutex->__data.__owner == 0`, fails.
    fn has_crashed(&mut self) -> bool {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.signal().is_some();
            }
            std::thread::yield_now();
        }
        false
    }

    /// Runs `trial`; begins again with a new server if it crashes.
    fn run(&mut self, target: &mut dyn Target, trial: &Trial) -> Outcome {
        for _ in 0..ATTEMPTS {
            match target.run(trial, &mut NoMonitor) {
                Ok(outcome) => return outcome,
                Err(error) => assert!(self.has_crashed(), "{}: {error}", trial.label()),
            }
            eprintln!("again: the stock server crashed: {}", trial.label());
            self.child = spawn(self.tool, self.udp, self.port);
        }
        panic!("{ATTEMPTS} crashes of the stock server: {}", trial.label());
    }
}

/// True if `port` is bound, by `/proc/net`: a connection to it would count as a test.
fn is_bound(protocol: &str, port: u16) -> bool {
    let table = std::fs::read_to_string(format!("/proc/net/{protocol}")).unwrap_or_default();
    let table6 = std::fs::read_to_string(format!("/proc/net/{protocol}6")).unwrap_or_default();
    let wanted = format!(":{port:04X}");
    let local = |line: &str| line.split_whitespace().nth(1).map(str::to_owned);
    let mut lines = table.lines().chain(table6.lines()).filter_map(local);
    lines.any(|address| address.ends_with(&wanted))
}

fn spawn(tool: &str, udp: bool, port: u16) -> Child {
    let port_text = port.to_string();
    let mut command = Command::new(tool);
    command.args(["-s", "-p", &port_text]);
    if udp && tool == "iperf" {
        command.arg("-u");
    }
    let silent = command.stdout(Stdio::null()).stderr(Stdio::null());
    let server = silent.spawn().expect("it starts");
    let protocol = if udp && tool == "iperf" { "udp" } else { "tcp" };
    let deadline = Instant::now() + DEADLINE;
    while !is_bound(protocol, port) {
        assert!(Instant::now() < deadline, "{tool} does not listen");
        std::thread::yield_now();
    }
    server
}

fn open_at(scheme: &str, port: u16) -> Box<dyn Target> {
    let options = Options {
        timeout: Duration::from_secs(30),
        ..Options::default()
    };
    open(&format!("{scheme}://127.0.0.1:{port}"), &options).expect("a target")
}

fn stream(direction: Direction, streams: u8) -> Trial {
    Trial::Stream(Stream {
        direction,
        amount: Amount::Span(Duration::from_secs(1)),
        streams,
        write_octets: 0,
        window_octets: None,
    })
}

fn datagrams(direction: Direction, payload_octets: u16) -> Trial {
    Trial::Datagrams(Datagrams {
        direction,
        amount: Amount::Span(Duration::from_secs(1)),
        payload_octets,
        payload_bits_per_s: 2_000_000,
    })
}

/// Runs `trial` and returns the flows of its directions.
fn flows(
    server: &mut Server,
    target: &mut dyn Target,
    trial: &Trial,
    direction: Direction,
) -> Vec<Flow> {
    let outcome = server.run(target, trial);
    let to = outcome
        .to_device
        .filter(|_| direction != Direction::FromDevice);
    let from = outcome
        .from_device
        .filter(|_| direction != Direction::ToDevice);
    let flows: Vec<Flow> = to.into_iter().chain(from).collect();
    let ways = if direction == Direction::Both { 2 } else { 1 };
    assert_eq!(flows.len(), ways, "{}", trial.label());
    flows
}

const WAYS: [Direction; 3] = [Direction::ToDevice, Direction::FromDevice, Direction::Both];

fn tcp_every_way(tool: &'static str, scheme: &str) {
    if !has_tool(tool) {
        return;
    }
    let port = free_port();
    let mut server = Server::start(tool, false, port);
    let mut target = open_at(scheme, port);
    for way in WAYS {
        for flow in flows(&mut server, target.as_mut(), &stream(way, 1), way) {
            assert!(flow.octets > 0 && flow.goodput_bytes_per_s > 0.0, "{way:?}");
            assert_eq!(flow.datagrams, None);
        }
    }
    let parallel = stream(Direction::ToDevice, 3);
    assert!(flows(&mut server, target.as_mut(), &parallel, Direction::ToDevice)[0].octets > 0);
}

/// True if the datagrams were sent at their times, and most of them arrived. Both ends send by the clock: what a busy host
/// keeps them from sending is not sent, and a stock receiver's small buffer overflows there.
fn is_in_time(counts: &record::Datagrams, offered: u64) -> bool {
    counts.sent.abs_diff(offered) <= 2 + offered / 20 && counts.received > counts.sent / 2
}

/// The flows of the first of some attempts that all are in time; those of the last one if none is.
fn flows_in_time(
    server: &mut Server,
    target: &mut dyn Target,
    trial: &Trial,
    way: Direction,
    offered: u64,
) -> Vec<Flow> {
    let mut kept = Vec::new();
    for _ in 0..ATTEMPTS {
        kept = flows(server, target, trial, way);
        let mut counts = kept.iter().filter_map(|flow| flow.datagrams.as_ref());
        if counts.all(|counts| is_in_time(counts, offered)) {
            return kept;
        }
    }
    println!(
        "inconclusive: {}: {ATTEMPTS} attempts were not in time: this machine is too busy",
        trial.label()
    );
    kept
}

/// The offered datagrams are sent, and each is reported received or lost.
fn udp_every_way(tool: &'static str, scheme: &str) {
    if !has_tool(tool) {
        return;
    }
    let port = free_port();
    let mut server = Server::start(tool, true, port);
    let mut target = open_at(scheme, port);
    for octets in [64, 1470] {
        for way in WAYS {
            let sent = 250_000 / u64::from(octets);
            let trial = datagrams(way, octets);
            for flow in flows_in_time(&mut server, target.as_mut(), &trial, way, sent) {
                let counts = flow.datagrams.expect("datagrams");
                // The first datagram of iperf 2 has 76 octets at least.
                let excess = flow.octets - counts.received * u64::from(octets);
                assert!(excess <= 12, "{excess} octets too many");
                assert_eq!(counts.received + counts.lost, counts.sent, "{way:?}");
                assert!(counts.received > 0, "{counts:?}");
                assert_eq!(counts.out_of_order.unwrap_or(0), 0, "{way:?}");
                // Not decades: the offset between both ends' clocks is not jitter.
                assert!(
                    counts.jitter_ns < Some(1_000_000_000),
                    "{:?}",
                    counts.jitter_ns
                );
            }
        }
    }
}

#[test]
fn stock_iperf_2_by_tcp() {
    tcp_every_way("iperf", "iperf2");
}

#[test]
fn stock_iperf_2_by_udp() {
    udp_every_way("iperf", "iperf2");
}

#[test]
fn stock_iperf_3_by_tcp() {
    tcp_every_way("iperf3", "iperf3");
}

#[test]
fn stock_iperf_3_by_udp() {
    udp_every_way("iperf3", "iperf3");
}

#[test]
fn a_tradeoff_makes_the_server_send_afterwards() {
    if !has_tool("iperf") {
        return;
    }
    let port = free_port();
    let mut server = Server::start("iperf", false, port);
    let url = format!("iperf2://127.0.0.1:{port}?from=tradeoff");
    let mut target = open(&url, &Options::default()).expect("a target");
    let trial = stream(Direction::FromDevice, 1);
    assert!(flows(&mut server, target.as_mut(), &trial, Direction::FromDevice)[0].octets > 0);
}
