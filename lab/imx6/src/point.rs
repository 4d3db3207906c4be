//! One point of a curve: a board, a program, and a host that sends at one rate.

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use linerate_sim::chip::soft_soc::Config;
use linerate_sim::chip::soft_soc::models;
use linerate_sim::elf::Elf;
use linerate_sim::lan::{DatagramSource, EnetBoard, SourceConfig, Stop, SwitchConfig, SwitchPort};
use linerate_sim::time::{Instant, Span};
use serde::Serialize;

/// Registers of the MAC.
mod enet {
    linerate_regs::constants!(linerate_regs::IMX6, "ENET": IEEE_T_FDXFC IEEE_R_MACERR);
}

/// Symbols of the firmware, and the octets of the boot line.
const COUNTS: &str = "UDP_SINK";
const BOOT_LINE: &str = "BOOT_LINE";
const BOOT_LINE_LEN: usize = 384;
/// Words of [`COUNTS`] (`boards/rv32-enet/src/udp_sink/datagrams.rs`).
const READY: usize = 0;
const DATAGRAMS: usize = 1;
const JITTER: usize = 4;
const INTERRUPTS: usize = 5;
const TURNS: usize = 6;
const BACKLOG_FULL: usize = 7;
const BAD_FRAMES: usize = 8;
const SLEEPS: usize = 9;
const SOCKET_FULL: usize = 10;
const PARTS: usize = 11;
const WORDS: usize = 12;

/// Payload of iperf's datagrams.
pub const PAYLOAD: usize = 1470;
const DEVICE: ([u8; 6], [u8; 4], u16) = ([2, 0, 0, 0, 0, 2], [10, 0, 0, 2], 5001);
const HOST: ([u8; 6], [u8; 4], u16) = ([2, 0, 0, 0, 0, 1], [10, 0, 0, 1], 40_000);
/// The program is ready by then.
const BOOT: Span = Span::from_ms(5);

/// What is simulated.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The board.
    pub board: Config,
    /// The boot line of the program.
    pub boot: String,
    /// The switch.
    pub switch: SwitchConfig,
    /// Payload that the host sends, in bit/s.
    pub bits_per_s: u64,
    /// Mean burst, in thousandths of a datagram.
    pub burst_millis: u64,
    /// Seed of the bursts.
    pub seed: u64,
    /// Time before the measurement, and of it.
    pub settles: Span,
    /// See `settles`.
    pub measures: Span,
}

impl Setup {
    /// Sets a parameter of the ENET, or `wfi_exit_ns`, `wfi_ignores`, `burst_millis` or `seed`.
    ///
    /// # Errors
    /// There is no such parameter.
    pub fn set(&mut self, name: &str, value: f64) -> Result<()> {
        let whole = value.round().max(0.0) as u64;
        match name {
            "wfi_exit_ns" => self.board.wfi_exit = Span::from_ns(whole),
            "wfi_ignores" => self.board.wfi_ignores = whole as u32,
            "burst_millis" => self.burst_millis = whole,
            "seed" => self.seed = whole,
            _ => {
                let model = models().find(|it| it.name == "enet").context("no model")?;
                let index = model.parameters.iter().position(|it| it.name == name);
                let index = index.with_context(|| format!("no parameter {name}"))?;
                let enet = self.board.devices.iter_mut().find(|it| it.model == "enet");
                enet.context("no ENET")?.parameters[index] = whole;
            }
        }
        Ok(())
    }
}

/// What was measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Point {
    /// Payload that the host was to send, and sent, in Mbit/s.
    pub to_send_mbit_per_s: f64,
    /// See `to_send_mbit_per_s`.
    pub offered_mbit_per_s: f64,
    /// Payload that the program received.
    pub received_mbit_per_s: f64,
    /// Datagrams sent, received and lost.
    pub datagrams: u64,
    /// See `datagrams`.
    pub received: u64,
    /// See `datagrams`.
    pub lost: u64,
    /// RFC 3550 jitter.
    pub jitter_ms: f64,
    /// Overruns of the receive FIFO (`R_MACERR`), and pause frames sent (`T_FDXFC`), with their full width.
    pub overruns: u64,
    /// See `overruns`.
    pub pause_frames: u64,
    /// Frames that the switch dropped.
    pub switch_drops: u64,
    /// Interrupts, turns of polling, sleeps of the program.
    pub interrupts: u64,
    /// See `interrupts`.
    pub turns: u64,
    /// See `interrupts`.
    pub sleeps: u64,
    /// Frames without room in the backlog.
    pub backlog_drops: u64,
    /// Datagrams without room in the socket.
    pub socket_drops: u64,
    /// Frames with an overrun, and parts of frames, that reached the stack.
    pub bad_frames: u64,
    /// Frames whose end an overrun lost, so that the next one was joined to them.
    pub lost_ends: u64,
    /// Buffers in which no frame ended: lines of the log.
    pub parts: u64,
    /// Datagrams that the program received since the host began.
    pub received_in_all: u64,
    /// Times from then to the first and the last of them, to 1 ms.
    pub first_received_s: f64,
    /// See `first_received_s`.
    pub last_received_s: f64,
    /// The program received nothing in the second half of the measurement.
    pub is_starved: bool,
    /// Time of the measurement.
    pub seconds: f64,
}

/// When the program received.
#[derive(Default)]
struct Arrivals {
    all: u32,
    first_s: f64,
    last_s: f64,
}

impl Arrivals {
    /// At `now_s` it had received `all`.
    fn observe(&mut self, all: u32, now_s: f64) {
        if all > self.all {
            if self.all == 0 {
                self.first_s = now_s;
            }
            self.last_s = now_s;
            self.all = all;
        }
    }
}

/// Counts at one time.
struct Counts {
    words: [u32; WORDS],
    sent: u64,
    overruns: u64,
    pauses: u64,
    drops: u64,
    lost_ends: u64,
}

/// Simulates a point.
///
/// # Errors
/// The program does not fit, or fails.
pub fn run(setup: &Setup, elf: &Elf) -> Result<Point> {
    let source = DatagramSource::new(
        SourceConfig {
            bits_per_s: setup.bits_per_s,
            payload: PAYLOAD,
            burst_millis: setup.burst_millis,
            seed: setup.seed,
            ends: [DEVICE, HOST],
        },
        Instant::ZERO + BOOT,
    );
    let port = SwitchPort::new(setup.switch, source);
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
    let advance = |board: &mut EnetBoard<DatagramSource>, until: Instant| match board.run(until) {
        Stop::Reached => Ok(()),
        Stop::Fault(fault) => Err(anyhow!("the program stopped: {fault:?}")),
    };
    let counts = |board: &mut EnetBoard<DatagramSource>| Counts {
        words: core::array::from_fn(|index| {
            let at = counts_at + 4 * index as u32;
            board.soc.memory().read_u32(at).unwrap_or_default()
        }),
        sent: board.port.station.sent().into(),
        overruns: board.counter(enet::IEEE_R_MACERR.offset),
        pauses: board.counter(enet::IEEE_T_FDXFC.offset),
        drops: board.port.statistics().dropped,
        lost_ends: board.lost_ends(),
    };
    let start = Instant::ZERO + BOOT;
    let begin = start + setup.settles;
    let mut arrivals = Arrivals::default();
    let mut run_until = |board: &mut _, from: Instant, until: Instant| {
        let mut now = from;
        while now < until {
            now = until.min(now + Span::from_ms(1));
            advance(board, now)?;
            let all = counts(board).words[DATAGRAMS];
            arrivals.observe(all, now.since(start).as_secs_f64());
        }
        Ok::<_, anyhow::Error>(())
    };
    run_until(&mut board, start, begin)?;
    let before = counts(&mut board);
    if before.words[READY] != 1 {
        let console = board.soc.console();
        bail!(
            "the program is not ready: {}",
            String::from_utf8_lossy(&console)
        );
    }
    run_until(&mut board, begin, begin + setup.measures)?;
    let after = counts(&mut board);
    let seconds = setup.measures.as_secs_f64();
    let mbit = |datagrams: u64| datagrams as f64 * 8.0 * PAYLOAD as f64 / seconds / 1e6;
    let of = |index: usize| u64::from(after.words[index].wrapping_sub(before.words[index]));
    let sent = after.sent - before.sent;
    Ok(Point {
        to_send_mbit_per_s: setup.bits_per_s as f64 / 1e6,
        offered_mbit_per_s: mbit(sent),
        received_mbit_per_s: mbit(of(DATAGRAMS)),
        datagrams: sent,
        received: of(DATAGRAMS),
        lost: sent.saturating_sub(of(DATAGRAMS)),
        jitter_ms: f64::from(after.words[JITTER]) / 1e6,
        overruns: after.overruns - before.overruns,
        pause_frames: after.pauses - before.pauses,
        switch_drops: after.drops - before.drops,
        interrupts: of(INTERRUPTS),
        turns: of(TURNS),
        sleeps: of(SLEEPS),
        backlog_drops: of(BACKLOG_FULL),
        socket_drops: of(SOCKET_FULL),
        bad_frames: of(BAD_FRAMES),
        lost_ends: after.lost_ends - before.lost_ends,
        parts: of(PARTS),
        received_in_all: arrivals.all.into(),
        first_received_s: arrivals.first_s,
        last_received_s: arrivals.last_s,
        is_starved: arrivals.last_s < setup.settles.as_secs_f64() + seconds / 2.0,
        seconds,
    })
}

/// Simulates all, in their order, on all cores.
///
/// # Errors
/// As [`run`].
pub fn run_all(setups: &[Setup], elf: &Elf) -> Result<Vec<Point>> {
    in_parallel(setups, |setup| run(setup, elf))
}

/// Calls `work` with each of `items` on all cores; the results are in their order.
///
/// # Errors
/// Those of `work`.
pub fn in_parallel<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let next = std::sync::atomic::AtomicUsize::new(0);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return done;
            };
            done.push((index, work(item)));
        }
    };
    let mut all: Vec<_> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|it| it.join().unwrap_or_default())
            .collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}
