//! Runs a variant: the firmware on the SoC, until a number of datagrams is on the line.

use super::layers::Functions;
use super::observe::{Observed, Observer};
use super::variant::Variant;
use anyhow::{Context, Result, anyhow, bail};
use linerate_ether::checksum;
use linerate_sim::chip::soft_soc::{Config, SoftSoc, Stop};
use linerate_sim::device::{LineFrame, LinkMode, Partner};
use linerate_sim::elf::Elf;
use linerate_sim::memsys::PortStatistics;
use linerate_sim::time::{Instant, Span, TICKS_PER_SECOND};
use std::collections::BTreeMap;

/// Payload of a datagram (`settings.h`).
pub const DATAGRAM: usize = 1000;
const HEADERS: usize = 42;
const LINE: LinkMode = LinkMode { mbit_per_s: 100 };
/// A run that is not done by then has failed.
const LIMIT: Instant = Instant::from_ns(20_000_000_000);
const QUANTUM: Span = Span::from_us(100);
/// Datagrams before the measured ones: empty caches, the first turn of the ring.
const SKIPPED: usize = 24;

/// A firmware.
#[derive(Debug)]
pub struct Firmware {
    pub elf: Elf,
    pub functions: Functions,
}

/// How many datagrams a run counts, and how many it then observes instruction by instruction.
#[derive(Debug, Clone, Copy)]
pub struct Length {
    pub counted: usize,
    pub observed: usize,
}

/// Result of a run.
#[derive(Debug, Clone)]
pub struct Measured {
    pub per_second: f64,
    /// Processor cycles from a datagram to the next.
    pub cycles: f64,
    /// Part of the time in which the line is busy, its gaps between frames included.
    pub line_busy: f64,
    /// Waits of the processor for lines of flash, in cycles for each datagram.
    pub fetch_waits: f64,
    pub instructions: f64,
    pub fetch_lines: f64,
    pub observed: Option<Observed>,
}

impl Measured {
    /// Payload.
    pub fn mbit_per_s(&self) -> f64 {
        self.per_second * DATAGRAM as f64 * 8.0 / 1e6
    }
}

/// Counters at a moment.
#[derive(Debug, Clone, Copy)]
struct Counters {
    instructions: u64,
    ports: PortStatistics,
}

/// The SoC and the line's other end, which checks each frame.
struct Machine<'a> {
    soc: SoftSoc,
    variant: &'a Variant,
    /// The next number of each source port.
    numbers: BTreeMap<u16, u32>,
    /// Start of each frame.
    starts: Vec<Instant>,
    /// Time that each takes on the line, with the gap behind it.
    frame_time: Span,
}

impl Machine<'_> {
    /// Runs until `until`, and takes the frames and the console's output.
    fn step(&mut self, until: Instant) -> Result<()> {
        match self.soc.run(until) {
            Stop::Fault(fault) => bail!(
                "{}: {fault:?} at {:#x}",
                self.variant.name,
                self.soc.hart().pc()
            ),
            Stop::Asleep => self.soc.sleep_until(until),
            Stop::Deadline | Stop::Sent => {}
        }
        while let Some(frame) = self.soc.take_frame() {
            self.receive(&frame)
                .with_context(|| format!("{}: frame {}", self.variant.name, self.starts.len()))?;
        }
        Ok(())
    }

    fn report(&mut self) -> Result<()> {
        let text = String::from_utf8_lossy(&self.soc.console()).into_owned();
        if text.contains("\"error\"") {
            bail!("{}: the firmware reports {text}", self.variant.name);
        }
        if self.soc.now() > LIMIT {
            let (frames, pc) = (self.starts.len(), self.soc.hart().pc());
            bail!(
                "{}: not done; {frames} frames, pc {pc:#x}",
                self.variant.name
            );
        }
        Ok(())
    }

    /// A frame must be the next datagram of its sender, and its checksums right.
    fn receive(&mut self, frame: &LineFrame) -> Result<()> {
        let len = frame.octets.len().saturating_sub(4);
        let octets = &frame.octets[..len];
        if let Some(fault) = frame.fault {
            bail!("the line reports {fault:?}");
        }
        if len != HEADERS + DATAGRAM || octets[12..15] != [8, 0, 0x45] || octets[23] != 17 {
            bail!("{len} bytes, not a datagram of {DATAGRAM}");
        }
        let word = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        if !checksum::is_good(&octets[14..34]) {
            bail!("the checksum of IP is wrong");
        }
        let mut udp = octets[26..34].to_vec();
        udp.extend([0, 17]);
        udp.extend(((len - 34) as u16).to_be_bytes());
        udp.extend(&octets[34..]);
        if word(40) != 0 && !checksum::is_good(&udp) {
            bail!("the checksum of UDP is wrong");
        }
        let number = u32::from_be_bytes([octets[42], octets[43], octets[44], octets[45]]);
        let next = self.numbers.entry(word(34)).or_default();
        if number != *next {
            bail!("datagram {number} instead of {next}");
        }
        *next += 1;
        self.starts.push(frame.start);
        self.frame_time = frame.next_start().since(frame.start);
        Ok(())
    }

    fn run_until(&mut self, frames: usize) -> Result<()> {
        while self.starts.len() < frames {
            self.step(self.soc.now() + QUANTUM)?;
            self.report()?;
        }
        Ok(())
    }

    fn observe_until(&mut self, frames: usize, observer: &mut Observer<'_>) -> Result<()> {
        let mut steps = 0_u32;
        while self.starts.len() < frames {
            observer.before(&self.soc);
            self.step(self.soc.now() + Span::from_ticks(1))?;
            observer.after(&self.soc);
            steps += 1;
            if steps.is_multiple_of(1 << 20) {
                self.report()?;
            }
        }
        Ok(())
    }

    fn counters(&self) -> Counters {
        Counters {
            instructions: self.soc.hart().instret(),
            ports: self.soc.ports(),
        }
    }
}

/// Runs `variant` on the SoC that `config` describes.
///
/// # Errors
/// The program fails, sends wrong frames, or does not send enough.
pub fn run(
    variant: &Variant,
    firmware: &Firmware,
    config: &Config,
    length: Length,
) -> Result<Measured> {
    let mut soc = SoftSoc::new(config, &firmware.elf).map_err(|error| anyhow!("{error}"))?;
    let partner = Partner {
        mbit_per_s: LINE.mbit_per_s,
        pause: false,
    };
    soc.connect(Some(partner))
        .map_err(|error| anyhow!("{error}"))?;
    let settings = firmware.elf.symbol("settings");
    let settings = settings.context("the firmware has no settings")?.addr;
    let hertz = TICKS_PER_SECOND / config.ports.period;
    let uart = config.devices.iter().find(|it| it.name == "uart");
    let uart_hertz = uart.context("the board has no uart")?.hertz;
    let timer = config.devices.iter().find(|it| it.name == "timer");
    let timer_hertz = timer.context("the board has no timer")?.hertz;
    soc.load(settings, &variant.settings(timer_hertz, uart_hertz))
        .map_err(|error| anyhow!("{error:?}"))?;
    let mut machine = Machine {
        soc,
        variant,
        numbers: BTreeMap::new(),
        starts: Vec::new(),
        frame_time: Span::ZERO,
    };
    machine.run_until(SKIPPED)?;
    let before = machine.counters();
    machine.run_until(SKIPPED + length.counted)?;
    let after = machine.counters();
    let (first, last) = (
        machine.starts[SKIPPED - 1],
        machine.starts[SKIPPED + length.counted - 1],
    );
    let seconds = last.since(first).as_secs_f64();
    let per_second = length.counted as f64 / seconds;
    let per = |count: fn(&Counters) -> u64| {
        (count(&after) - count(&before)) as f64 / length.counted as f64
    };
    let observed = match length.observed {
        0 => None,
        observed => {
            let mut observer = Observer::new(firmware, &machine.soc)?;
            machine.observe_until(SKIPPED + length.counted + observed, &mut observer)?;
            Some(observer.observed(observed as f64))
        }
    };
    Ok(Measured {
        per_second,
        cycles: hertz as f64 / per_second,
        line_busy: per_second * machine.frame_time.as_secs_f64(),
        fetch_waits: per(|it| it.ports.fetch_waited) / config.ports.period as f64,
        instructions: per(|it| it.instructions),
        fetch_lines: per(|it| it.ports.fetch_misses),
        observed,
    })
}
