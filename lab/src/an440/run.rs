//! Runs a cell: the firmware on a soft SoC, a network line, and a workstation at its other end, in virtual time.

use super::cells::{Cell, Direction};
use super::explain::Observer;
use super::peer::Workstation;
use super::system::{Parameters, Path};
use anyhow::{Context, Result, bail};
use core::net::Ipv4Addr;
use linerate_sim::chip::soft_soc::{Config, SoftSoc, Stop};
use linerate_sim::device::{LineFrame, LinkMode, Partner};
use linerate_sim::elf::Elf;
use linerate_sim::memsys::PortStatistics;
use linerate_sim::peer::host::{self, Host};
use linerate_sim::peer::{Outgoing, Peer as _, Station as _};
use linerate_sim::time::{Instant, Span, TICKS_PER_SECOND};
use serde::Deserialize;

/// Bytes before the measured ones: slow start, empty caches.
pub const SKIPPED: u32 = 200_000;
/// Bytes of a send, and of a segment.
pub const SEND: f64 = 1458.0;
/// A cell that is not done by then has failed.
const LIMIT: Instant = Instant::from_ns(60_000_000_000);
/// A program that has not received its datagrams by then receives next to nothing.
const LIMIT_OF_DATAGRAMS: Instant = Instant::from_ns(3_000_000_000);
/// The longest time that the SoC runs ahead of the workstation, whose reaction takes longer than that.
const QUANTUM: Span = Span::from_us(40);
const CONSOLE: &str = "console";
/// From the end of a frame at a switch to its start on the other line: the order of magnitude of one with a processor's
/// queue; a guess.
const FORWARDING: Span = Span::from_us(10);

/// Counters at a moment.
#[derive(Debug, Clone, Copy, Default)]
struct Counters {
    cycles: u64,
    instructions: u64,
    idle: u64,
    ports: PortStatistics,
}

/// Result of a cell.
#[derive(Debug, Clone, Copy, Default)]
pub struct Measured {
    pub mbit_per_s: f64,
    /// Per segment of 1458 bytes.
    pub per_segment: PerSegment,
}

/// Cycles of the hart by what it did; they add up to all of them.
#[derive(Debug, Clone, Copy, Default, serde::Serialize)]
pub struct PerSegment {
    pub cycles: f64,
    /// Executes instructions: all other cycles.
    pub execution: f64,
    /// Waits for lines of instructions.
    pub fetch_misses: f64,
    /// Waits for lines of data.
    pub data_misses: f64,
    /// Waits for accesses that bypass the cache: packets, descriptors, registers.
    pub direct_accesses: f64,
    /// Sleeps: waits for the line, or the workstation.
    pub idle: f64,
    pub instructions: f64,
    pub fetch_lines: f64,
    pub data_lines: f64,
    pub direct_count: f64,
}

/// A line of the firmware's console.
#[derive(Debug, Deserialize)]
struct Event {
    #[serde(rename = "event")]
    name: String,
    bytes: Option<u64>,
    cycle: Option<u32>,
}

/// The workstation and the line to it.
struct Link {
    host: Host,
    mode: LinkMode,
    path: Path,
    /// Frames to the SoC.
    sent: u64,
    /// The workstation's line is free again then.
    free: Instant,
    /// The line from the switch to the SoC.
    forwarded: Instant,
    /// The time until which the workstation has acted.
    now: Instant,
}

/// Speed of the line of `cell`.
fn line_mbit_per_s(cell: Cell, parameters: &Parameters) -> u32 {
    let own = cell.system.link_mbit_per_s();
    parameters.link_mbit_per_s.unwrap_or(own)
}

impl Link {
    fn new(cell: Cell, bytes: u64, parameters: &Parameters) -> Self {
        let config = host::Config {
            http_server: None,
            turnaround: Span::from_us(parameters.workstation_us),
            ..host::Config::default().at(Ipv4Addr::new(10, 0, 0, 1), 24)
        };
        let mut host = Host::new(config);
        if let Some(programs) = host.programs() {
            let workstation = match parameters.datagrams {
                Some(offered) => Workstation::of_datagrams(offered.mbit_per_s),
                None => Workstation::new(bytes),
            };
            programs.start(Box::new(workstation));
        }
        Self {
            host,
            mode: LinkMode {
                mbit_per_s: line_mbit_per_s(cell, parameters),
            },
            path: parameters.path,
            sent: 0,
            free: Instant::ZERO,
            forwarded: Instant::ZERO,
            now: Instant::ZERO,
        }
    }

    /// The workstation's frame as it arrives at the SoC.
    fn forward(&mut self, mut frame: LineFrame) -> LineFrame {
        let duration = frame.end.since(frame.start);
        if self.path.is_switched {
            frame.start = (frame.end + FORWARDING).max(self.forwarded);
            frame.end = frame.start + duration;
            self.forwarded = frame.next_start();
        }
        let latency = Span::from_us(self.path.latency_us);
        (frame.start, frame.end) = (frame.start + latency, frame.end + latency);
        frame
    }

    /// End of the SoC's frame at the workstation.
    fn arrival(&self, frame: &LineFrame) -> Instant {
        let latency = Span::from_us(self.path.latency_us);
        if self.path.is_switched {
            return frame.end + latency + FORWARDING + frame.end.since(frame.start);
        }
        frame.end + latency
    }

    /// Lets the workstation act until `until`; its frames are put on the line.
    fn advance(&mut self, until: Instant, soc: &mut SoftSoc) {
        loop {
            // A busy line takes no frame.
            let at = self.host.poll_timeout().max(self.now).max(self.free);
            if at > until {
                return;
            }
            self.now = at;
            let Some(octets) = self.host.poll_transmit(at) else {
                // Nothing is due; its next timeout is later.
                if self.host.poll_timeout() <= at {
                    self.now = at + Span::from_us(1);
                }
                continue;
            };
            let octets = Outgoing::frame(octets).complete();
            let start = at.max(soc.now());
            let frame = LineFrame::new(octets, start, self.mode);
            self.free = frame.next_start();
            self.sent += 1;
            soc.receive_frame(self.forward(frame));
        }
    }
}

/// Lets the SoC run until `until`, or until it has sent a frame; `observer` sees each instruction.
fn step(soc: &mut SoftSoc, until: Instant, observer: Option<&mut Observer<'_>>) -> Stop {
    let Some(observer) = observer else {
        return soc.run(until);
    };
    loop {
        let next = if soc.is_waiting() {
            until
        } else {
            until.min(soc.now() + Span::from_ticks(1))
        };
        observer.before(soc);
        let stop = soc.run(next);
        observer.after(soc);
        if !matches!(stop, Stop::Deadline) || soc.now() >= until {
            return stop;
        }
    }
}

/// Runs `cell` on the SoC that `config` describes; the firmware sends or receives `bytes`. `observer` sees each
/// instruction of the measured part. Datagrams that the firmware does not receive in time have a throughput of 0.
///
/// # Errors
/// The program reports an error, or does not finish.
pub fn run(
    cell: Cell,
    config: &Config,
    elf: &Elf,
    bytes: u32,
    parameters: &Parameters,
    mut observer: Option<&mut Observer<'_>>,
) -> Result<Measured> {
    let mut soc = SoftSoc::new(config, elf).map_err(|error| anyhow::anyhow!("{error}"))?;
    soc.connect(Some(Partner {
        mbit_per_s: line_mbit_per_s(cell, parameters),
        pause: false,
    }))
    .map_err(|error| anyhow::anyhow!("{error}"))?;
    let hertz = TICKS_PER_SECOND / config.ports.period;
    let direction = match cell.direction {
        Direction::Tx => "tx",
        Direction::Rx => "rx",
    };
    let total = bytes + SKIPPED;
    let cache_bytes = config.ports.data_cache.map_or(0, |it| it.geometry.size);
    soc.send(
        CONSOLE,
        format!(
            "{} {direction} {} {total} {SKIPPED} {} {hertz} {} {} {} {}\n",
            cell.system.device(),
            if parameters.datagrams.is_some() {
                "udp"
            } else {
                "tcp"
            },
            cell.optimisation.name(),
            parameters.blocks_sent,
            parameters.blocks_received,
            u8::from(parameters.copies_received),
            if parameters.flushes_cache {
                cache_bytes
            } else {
                0
            },
        )
        .as_bytes(),
    );
    let mut link = Link::new(cell, total.into(), parameters);
    let mut text = Vec::new();
    let mut received = 0_u64;
    let mut begin: Option<(Event, Counters)> = None;
    loop {
        let until = soc.now() + QUANTUM;
        link.advance(until, &mut soc);
        let observing = observer.as_deref_mut().filter(|_| begin.is_some());
        match step(&mut soc, until, observing) {
            Stop::Fault(fault) => bail!("{cell}: {fault:?}"),
            Stop::Asleep => soc.sleep_until(until),
            Stop::Deadline | Stop::Sent => {}
        }
        while let Some(frame) = soc.take_frame() {
            if frame.fault.is_none() {
                let len = frame.octets.len().saturating_sub(4);
                received += 1;
                let arrival = link.arrival(&frame);
                link.host.receive(&frame.octets[..len], arrival);
            }
        }
        text.extend(soc.console());
        while let Some(end) = text.iter().position(|&octet| octet == b'\n') {
            let line: Vec<u8> = text.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            let json = line.trim_start_matches("@ ");
            let event: Event =
                serde_json::from_str(json).with_context(|| format!("{cell}: console: {line}"))?;
            match event.name.as_str() {
                "begin" => {
                    begin = Some((event, counters(&soc)));
                    if let Some(observer) = &mut observer {
                        observer.begin(&soc);
                    }
                }
                "end" => {
                    if let Some(observer) = &mut observer {
                        observer.end(&soc);
                    }
                    let (begin, before) = begin.take().context("the end without a begin")?;
                    return measured(&begin, &event, before, counters(&soc), hertz);
                }
                "error" => bail!("{cell}: the firmware reports {line}"),
                _ => {}
            }
        }
        if parameters.datagrams.is_some() && soc.now() > LIMIT_OF_DATAGRAMS {
            return Ok(Measured::default());
        }
        if soc.now() > LIMIT {
            bail!(
                "{cell}: not done after a minute of its time, {} frames to the SoC and {received} from it",
                link.sent
            );
        }
    }
}

fn counters(soc: &SoftSoc) -> Counters {
    Counters {
        cycles: soc.hart().cycle(),
        instructions: soc.hart().instret(),
        idle: soc.asleep_cycles(),
        ports: soc.ports(),
    }
}

fn measured(
    begin: &Event,
    end: &Event,
    before: Counters,
    after: Counters,
    hertz: u64,
) -> Result<Measured> {
    let number = |event: &Event| {
        event
            .bytes
            .zip(event.cycle)
            .context("an event without figures")
    };
    let ((bytes_before, cycle_before), (bytes_after, cycle_after)) = (number(begin)?, number(end)?);
    let bytes = (bytes_after - bytes_before) as f64;
    let seconds = f64::from(cycle_after.wrapping_sub(cycle_before)) / hertz as f64;
    let period = TICKS_PER_SECOND / hertz;
    let segments = bytes / SEND;
    let per = |count: fn(&Counters) -> u64| (count(&after) - count(&before)) as f64 / segments;
    let ticks = |count: fn(&Counters) -> u64| per(count) / period as f64;
    let cycles = per(|it| it.cycles);
    let fetch_misses = ticks(|it| it.ports.fetch_waited);
    let data_misses = ticks(|it| it.ports.data_waited);
    let direct_accesses = ticks(|it| it.ports.direct_waited);
    let idle = per(|it| it.idle);
    Ok(Measured {
        mbit_per_s: bytes * 8.0 / seconds / 1e6,
        per_segment: PerSegment {
            cycles,
            execution: cycles - fetch_misses - data_misses - direct_accesses - idle,
            fetch_misses,
            data_misses,
            direct_accesses,
            idle,
            instructions: per(|it| it.instructions),
            fetch_lines: per(|it| it.ports.fetch_misses),
            data_lines: per(|it| it.ports.data_misses),
            direct_count: per(|it| it.ports.direct),
        },
    })
}
