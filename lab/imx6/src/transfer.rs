//! Transfers between the board and a host whose TCP resembles Linux's: TCP in either direction, UDP in both at once, ping.
//! The board runs the program `kernel_agent` of boards/rv32-enet.

use core::time::Duration;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use linerate_agent::iperf2;
use linerate_sim::elf::Elf;
use linerate_sim::lan::{EnetBoard, Stop, SwitchPort};
use linerate_sim::peer::Peer as _;
use linerate_sim::peer::host::program::{Handle, Programs};
use linerate_sim::peer::host::{Config, Host, ping};
use linerate_sim::peer::tcp::RetransmitReason;
use linerate_sim::time::{Instant, Span};
use serde::Serialize;
use smoltcp::wire::Ipv4Address;

use crate::point::Setup;

/// Registers of the MAC.
mod enet {
    linerate_regs::constants!(linerate_regs::IMX6, "ENET": IEEE_T_FDXFC IEEE_R_MACERR);
}

const COUNTS: &str = "KERNEL_AGENT";
const BOOT_LINE: &str = "BOOT_LINE";
const BOOT_LINE_LEN: usize = 384;
/// Words of [`COUNTS`] (`boards/rv32-enet/src/kernel_agent/counts.rs`).
const INTERRUPTS: usize = 1;
const SLEEPS: usize = 2;
const WORDS: usize = 5;
const PORT: u16 = 5001;
/// Octets of a write to TCP, and of a datagram, as iperf 2 sends them.
const WRITE_OCTETS: u32 = 128 << 10;
const DATAGRAM_OCTETS: u32 = 1470;
/// Clock of the board's hart.
const HERTZ: f64 = 800e6;
/// Time of the host's interrupt, driver and stack: a guess.
const TURNAROUND: Span = Span::from_us(80);
/// The program is ready by then.
const BOOT: Span = Span::from_ms(20);
/// Time between two looks at the host.
const STEP: Span = Span::from_us(500);
/// The test is given up if it takes this much longer.
const GRACE: Span = Span::from_ms(3_000);
const IDLE: Duration = Duration::from_secs(2);

/// Direction of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// The board receives.
    Receive,
    /// The board sends.
    Send,
    /// Both at once.
    Both,
}

/// A test with iperf 2.
#[derive(Clone, Copy, Debug)]
pub struct Transfer {
    /// Direction of the data.
    pub direction: Direction,
    /// Payload of UDP in bit/s; `None`: TCP. With both directions the board sends by TCP.
    pub udp_bits_per_s: Option<u64>,
    /// Time in which data are sent.
    pub lasts: Span,
    /// The host reacts up to this much later, at random.
    pub jitter: Span,
}

/// Counts of a test.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Payload that the board received, in Mbit/s; of TCP, up to the time at which it had read everything.
    pub received_mbit_per_s: f64,
    /// Payload that the host received, in Mbit/s.
    pub sent_mbit_per_s: f64,
    /// Overruns of the receive FIFO (`R_MACERR`).
    pub overruns: u64,
    /// Pause frames sent (`T_FDXFC`).
    pub pause_frames: u64,
    /// Ends of an idle time of the board, and those of the WAIT mode.
    pub wakes: u64,
    /// See `wakes`.
    pub sleeps: u64,
    /// Part of the time in which the hart waited for an interrupt.
    pub asleep: f64,
    /// Segments that the host sent again, and those of them that waited for its timer.
    pub retransmissions: u64,
    /// See `retransmissions`.
    pub timeouts: u64,
    /// Duration of the test.
    pub seconds: f64,
}

/// A board with a host behind a switch.
struct Bench {
    board: EnetBoard<Host>,
    counts_at: u32,
}

impl Bench {
    fn new(setup: &Setup, elf: &Elf, jitter: Span, ping: Option<ping::Config>) -> Result<Self> {
        let config = Config {
            http_server: None,
            ping,
            turnaround: TURNAROUND,
            turnaround_jitter: jitter,
            seed: setup.seed,
            ..Config::default().at(Ipv4Address::new(10, 0, 0, 1), 24)
        };
        let port = SwitchPort::new(setup.switch, Host::new(config));
        let mut board = EnetBoard::new(&setup.board, elf, port)?;
        let address = |name: &str| {
            let symbol = elf.symbol(name);
            symbol
                .map(|it| it.addr)
                .with_context(|| format!("the firmware has no {name}"))
        };
        let (counts_at, boot_at) = (address(COUNTS)?, address(BOOT_LINE)?);
        ensure!(
            setup.boot.len() < BOOT_LINE_LEN,
            "the boot line is too long: {}",
            setup.boot
        );
        board
            .soc
            .load(boot_at, setup.boot.as_bytes())
            .map_err(|_| anyhow!("no memory for the boot line"))?;
        let mut bench = Self { board, counts_at };
        bench.advance(BOOT)?;
        ensure!(
            bench.words()[0] == 1,
            "the program is not ready: {}",
            String::from_utf8_lossy(&bench.board.soc.console())
        );
        Ok(bench)
    }

    fn advance(&mut self, by: Span) -> Result<()> {
        match self.board.run(self.board.soc.now() + by) {
            Stop::Reached => Ok(()),
            Stop::Fault(fault) => bail!("the program failed: {fault:?}"),
        }
    }

    fn words(&self) -> [u32; WORDS] {
        let mut words = [0; WORDS];
        for (index, word) in words.iter_mut().enumerate() {
            let at = self.counts_at + 4 * index as u32;
            *word = self.board.soc.memory().read_u32(at).unwrap_or_default();
        }
        words
    }
}

/// The client of a test: the host sends, or the board does.
fn client(transfer: &Transfer, reverse: bool) -> iperf2::Client {
    // The agent serves a stream and datagrams at once.
    let is_udp = !reverse || transfer.direction != Direction::Both;
    let udp_bits_per_s = transfer.udp_bits_per_s.filter(|_| is_udp);
    iperf2::Client::new(iperf2::Plan {
        to: SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 2)), PORT),
        udp: udp_bits_per_s.is_some(),
        test: iperf2::Test {
            port: PORT,
            buffer_octets: if udp_bits_per_s.is_some() {
                DATAGRAM_OCTETS
            } else {
                WRITE_OCTETS
            },
            amount: iperf2::Amount::Span(Duration::from_nanos(transfer.lasts.as_ns())),
            rate_bits_per_s: udp_bits_per_s.unwrap_or(0),
            return_test: iperf2::ReturnTest::No,
            reverse,
            full_duplex: false,
        },
        timeout: IDLE,
    })
}

/// Runs a test on a board.
///
/// # Errors
/// The program does not fit or fails, or the test does not end.
pub fn run(setup: &Setup, elf: &Elf, transfer: &Transfer) -> Result<Outcome> {
    let mut bench = Bench::new(setup, elf, transfer.jitter, None)?;
    let started = bench.board.soc.now();
    let before = bench.words();
    let asleep = bench.board.soc.asleep_cycles();
    let macerr = enet::IEEE_R_MACERR.offset;
    let pauses = enet::IEEE_T_FDXFC.offset;
    let (overruns, paused) = (bench.board.counter(macerr), bench.board.counter(pauses));
    let programs = bench.board.port.station.programs();
    let programs = programs.context("the host runs no programs")?;
    let forward = transfer.direction != Direction::Send;
    let reverse = transfer.direction != Direction::Receive;
    let mut start = |wanted: bool, reverse: bool| {
        wanted.then(|| programs.start(Box::new(client(transfer, reverse))))
    };
    let handles = [start(forward, false), start(reverse, true)];
    let latest = started + transfer.lasts + GRACE;
    while bench.board.soc.now() < latest {
        let programs = bench.board.port.station.programs();
        let is_over = |it: &mut Programs| handles.iter().flatten().all(|at| it.is_finished(*at));
        if programs.is_none_or(is_over) {
            break;
        }
        bench.advance(STEP)?;
    }
    let ended = bench.board.soc.now();
    let after = bench.words();
    let now = linerate_agent::Instant::from_ns(ended.as_ns());
    let mut outcome = |handle: Option<Handle>| {
        let programs = bench.board.port.station.programs()?;
        let client = programs.get_mut::<iperf2::Client>(handle?)?;
        Some(client.outcome(now))
    };
    let [to_board, from_board] = handles.map(|it| outcome(it).unwrap_or_default());
    let seconds = ended.since(started).as_ns() as f64 / 1e9;
    let rate = |octets: u64, span: Duration| octets as f64 * 8e-6 / span.as_secs_f64();
    let of = |report: iperf2::Report| rate(report.octets, report.span);
    let received = if transfer.udp_bits_per_s.is_some() {
        to_board.reported.map_or(0.0, of)
    } else {
        let sent = to_board.sent.map_or(0, |it| it.octets);
        let until_read = to_board.read_after;
        until_read.map_or(0.0, |span| rate(sent, span))
    };
    let host = &bench.board.port.station;
    let again = RetransmitReason::ALL.map(|reason| host.retransmissions(reason));
    let timeouts = host.retransmissions(RetransmitReason::Timeout);
    Ok(Outcome {
        received_mbit_per_s: received,
        sent_mbit_per_s: from_board.received.map_or(0.0, of),
        overruns: bench.board.counter(macerr) - overruns,
        pause_frames: bench.board.counter(pauses) - paused,
        wakes: after[INTERRUPTS].wrapping_sub(before[INTERRUPTS]).into(),
        sleeps: after[SLEEPS].wrapping_sub(before[SLEEPS]).into(),
        asleep: (bench.board.soc.asleep_cycles() - asleep) as f64 / (seconds * HERTZ),
        retransmissions: again.iter().sum(),
        timeouts,
        seconds,
    })
}

/// Round trips of echo requests, in ms, in the order of their times; those without a reply are missing.
///
/// # Errors
/// The program does not fit or fails.
pub fn pings(setup: &Setup, elf: &Elf, count: u16, interval: Span) -> Result<Vec<f64>> {
    let start = Instant::ZERO + BOOT + Span::from_ms(10);
    let config = ping::Config {
        target: Ipv4Address::new(10, 0, 0, 2),
        start,
        interval,
        count,
        octets: 56,
    };
    let mut bench = Bench::new(setup, elf, Span::ZERO, Some(config))?;
    let lasts = Span::from_ticks(interval.ticks() * (u64::from(count) + 1));
    bench.advance(lasts + Span::from_ms(200))?;
    let report = bench.board.port.station.report();
    let times = report.pings.iter().filter_map(|it| it.round_trip);
    Ok(times.map(|it| it.as_ns() as f64 / 1e6).collect())
}
