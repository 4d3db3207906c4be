//! A simulated board: the firmware's own ELF on a simulated chip, a wire exact to the half-bit, and
//! a peer in virtual time or on a TAP interface.

mod capture;
mod convert;
mod enet;
mod events;
mod fault;
mod peer;
mod soft;
#[cfg(target_os = "linux")]
mod tap;

use std::collections::BTreeMap;

use linerate_capture::wire::BusyPeriod;
use linerate_ether::ledger::Counter;
use linerate_explain::report;
use linerate_host::tap::TapError;
use linerate_results::record::{CaptureCounts, Duplex, Edges, FrameCounts, UnheardCounts};
use linerate_sim::board::{self as simulated, Pins};
use linerate_sim::chip::{TimingTable, esp32c6};
use linerate_sim::elf::Elf;
use linerate_sim::peer::host::program::Programs;
use linerate_sim::peer::{Counted, Peer, host};
use linerate_sim::time::{Instant, Span};
use linerate_sim::wire;

use self::events::Events;
use self::fault::{after, asleep, error as fault, unusable};
use crate::board::Board;

use super::{Event, Identity, Machine, MachineConfig, MachineError, RunArtifacts, StationTraffic};

/// Each part's seed is derived from the run's seed by its own constant, so that their random
/// numbers are independent.
const WIRE_SEED: u64 = 0x7769_7265;
pub(crate) const PEER_SEED: u64 = 0x7065_6572;

/// The variable with a program's settings, `name=value` words.
const BOOT_LINE: &str = "BOOT_LINE";

/// Switches on a simulated board, with the peer that `config` selects at the other end of its
/// cable.
///
/// # Errors
/// [`MachineError`] if the firmware, the board or the peer cannot be used.
pub fn open(config: &MachineConfig) -> Result<Box<dyn Machine>, MachineError> {
    if let Some(load) = &config.datagrams {
        return enet::switch_on(config, load);
    }
    switch_on(config, peer::of(config)?)
}

/// The same, with its cable connected to the TAP interface `interface`.
///
/// # Errors
/// [`MachineError`] if firmware, board or interface cannot be used.
pub fn open_on_tap(
    config: &MachineConfig,
    interface: &str,
) -> Result<Box<dyn Machine>, MachineError> {
    switch_on(config, open_tap(interface)?)
}

/// The TAP interface `name` as the station at the other end of the cable.
#[cfg(target_os = "linux")]
fn open_tap(name: &str) -> Result<Box<dyn Peer>, TapError> {
    Ok(Box::new(tap::Tap::open(name)?))
}

/// linerate supports no TAP interfaces on other systems.
#[cfg(not(target_os = "linux"))]
fn open_tap(_: &str) -> Result<Box<dyn Peer>, TapError> {
    Err(TapError::Unsupported)
}

/// The board of `config` with `peer` at the other end of its cable.
///
/// # Errors
/// [`MachineError`] if the firmware or the board cannot be used.
fn chip_board(
    config: &MachineConfig,
    peer: Box<dyn Peer>,
) -> Result<simulated::Board, MachineError> {
    let about = &config.board;
    let Some(simulated) = &about.simulated else {
        let what = format!("board {} is not simulated; qemu://{0} runs it", about.name);
        return Err(MachineError::Board(what));
    };
    if simulated.timing_table != "esp32c6" {
        let what = format!(
            "board {}: there is no timing table `{}`; there is esp32c6",
            about.name, simulated.timing_table
        );
        return Err(MachineError::Board(what));
    }
    let elf = image(config)?;
    let pins = simulated.pins;
    let environment = &config.environment;
    let config = simulated::Config {
        name: config.board.name.clone(),
        chip: esp32c6::Config {
            seed: config.seed,
            timing: config.timing.clone().unwrap_or_else(esp32c6::timing_table),
            ..esp32c6::Config::default()
        },
        pins: Pins {
            tx: pins.tx,
            rx: pins.rx,
            rx_inverted: pins.rx_inverted,
            debug: pins.debug,
        },
        link: wire::Config {
            duplex: environment.duplex,
            impairments: environment.wire,
            partner: environment.partner,
            hub: environment.hub,
            seed: config.seed ^ WIRE_SEED,
            ..wire::Config::default()
        },
        ledger_symbol: config
            .board
            .firmware
            .ledger_symbol
            .clone()
            .unwrap_or_default(),
        profile: config.record.profile,
        sample_edges: true,
        waveform: (config.record.vcd_ms > 0).then(|| Span::from_ms(config.record.vcd_ms)),
    };
    simulated::Board::new(config, &elf, peer).map_err(unusable)
}

/// The firmware of `config`, with its settings.
///
/// # Errors
/// [`MachineError`] if it is no firmware, or if it has no or not enough room for its settings.
fn image(config: &MachineConfig) -> Result<Elf, MachineError> {
    let mut elf = Elf::parse(&config.elf).map_err(unusable)?;
    if !config.boot.is_empty() {
        elf.set_variable(BOOT_LINE, config.boot.as_bytes())
            .map_err(|error| unusable(format!("{error}, for the settings {}", config.boot)))?;
    }
    Ok(elf)
}

/// The components of a simulated board.
pub(crate) fn identity_of(board: &Board) -> Identity {
    if board.soft_soc.is_some() {
        soft::identity(board, None)
    } else {
        identity(&board.name, &esp32c6::timing_table())
    }
}

/// The addresses of a host on the network of a board.
pub(crate) fn host_addresses(board: &Board) -> host::Config {
    let config = host::Config::default();
    if board.soft_soc.is_some() {
        let [a, b, c, _] = board.link.ipv4.octets();
        config.at([a, b, c, 1].into(), 24)
    } else {
        config
    }
}

/// Switches on the board of `config` with `peer` at the other end of its cable.
///
/// # Errors
/// [`MachineError`] if the firmware or the board cannot be used.
pub(crate) fn switch_on(
    config: &MachineConfig,
    peer: Box<dyn Peer>,
) -> Result<Box<dyn Machine>, MachineError> {
    if config.board.soft_soc.is_some() {
        return soft::switch_on(config, peer);
    }
    Ok(Box::new(Sim {
        name: config.board.name.clone(),
        board: chip_board(config, Box::new(Counted::new(peer)))?,
        can_be_unplugged: config.environment.wire.flap.every_ms > 0,
        events: Events::new(config),
        asleep: false,
    }))
}

/// The components of a simulated board with this name and timing table.
pub(crate) fn identity(name: &str, table: &TimingTable) -> Identity {
    Identity {
        board: name.to_owned(),
        timing_table: table.name().to_owned(),
        timing: table.entries().map(convert::timing_entry).collect(),
        ..Identity::default()
    }
}

/// A board that is switched on.
struct Sim {
    name: String,
    board: simulated::Board,
    can_be_unplugged: bool,
    events: Events,
    asleep: bool,
}

impl Sim {
    /// Frames as counted at the cable, at the peer, by the device and in the capture.
    fn frame_counts(&self, capture: Option<CaptureCounts>) -> FrameCounts {
        FrameCounts {
            wire: convert::wire_counts(&self.board, self.can_be_unplugged),
            peer: convert::peer_counts(&self.board),
            capture,
            device: self.counters(),
            unheard: UnheardCounts::default(),
        }
    }

    /// Passes the board's events to `sink`.
    fn drain(&mut self, sink: &mut dyn FnMut(Event)) {
        self.events.report_uploads(self.board.peer(), sink);
        while let Some(event) = self.board.poll_event() {
            self.events.pass(event, sink);
        }
    }
}

impl Machine for Sim {
    fn identity(&self) -> Identity {
        identity(&self.name, self.board.chip().timing())
    }

    fn now_ns(&self) -> u64 {
        self.board.now().as_ns()
    }

    fn advance(&mut self, until_ns: u64, sink: &mut dyn FnMut(Event)) -> Result<(), MachineError> {
        if self.asleep {
            return Err(asleep(self.now_ns()));
        }
        let stop = self.board.run(Instant::from_ns(until_ns));
        self.drain(sink);
        after(stop, &mut self.asleep, |report| fault(&report))
    }

    fn busy(&mut self) -> Vec<BusyPeriod> {
        self.board.activities().iter().map(convert::busy).collect()
    }

    fn edges(&mut self) -> Vec<Edges> {
        convert::edges(&self.board.take_edges())
    }

    fn flash_wait_ns(&self) -> Option<u64> {
        let chip = self.board.chip();
        Some(chip.stats().flash_misses * chip.timing().chip("flash_miss_ns"))
    }

    fn position(&self) -> Option<String> {
        Some(self.board.chip().position())
    }

    fn type_line(&mut self, line: &str) {
        let text = format!("{line}\n");
        self.board
            .console_input(esp32c6::Port::UsbSerial, text.as_bytes());
    }

    fn with_programs(&mut self, with: &mut dyn FnMut(&mut Programs)) {
        self.board.with_peer(|peer| peer.programs().map(with));
    }

    fn duplex(&self) -> Option<Duplex> {
        let link = self.board.link();
        Some(if link.up {
            convert::duplex(&link)
        } else {
            Duplex::None
        })
    }

    fn counters(&self) -> Option<BTreeMap<String, u64>> {
        let value = |counter: Counter| u64::from(self.board.counter(counter));
        let counted = Counter::ALL
            .into_iter()
            .filter(|counter| value(*counter) > 0)
            .map(|counter| (counter.name().to_owned(), value(counter)));
        self.board.has_ledger().then(|| counted.collect())
    }

    fn stations(&self) -> Vec<StationTraffic> {
        // The first is the peer's own.
        let others = self.board.wire().stations.iter().skip(1);
        others
            .map(|station| StationTraffic {
                good_octets: station.octets_sent,
                collisions: station.collisions,
            })
            .collect()
    }

    fn finish(mut self: Box<Self>, sink: &mut dyn FnMut(Event)) -> RunArtifacts {
        let link = convert::partner_status(&self.board.link(), self.board.wire());
        self.board.finish();
        self.drain(sink);
        let mut files = Vec::new();
        let capture = self.events.finish_capture();
        let frames = self.frame_counts(capture.as_ref().map(|(_, counts)| counts.clone()));
        files.extend(capture.map(|(file, _)| ("pcapng", file)));
        if let Some(waveform) = self.board.waveform() {
            let mut vcd = Vec::new();
            // Writing to memory cannot fail.
            let _ = waveform.write_vcd(&mut vcd, &self.name);
            files.push(("vcd", vcd));
        }
        let hertz = self.board.chip().cpu_hertz();
        let profile = self.board.profile();
        let profile =
            profile.map(|profile| convert::profile(&profile, hertz, self.events.accepted));
        if let Some(profile) = &profile {
            let text = report::profile_text(profile).into_bytes();
            files.push(("profile.txt", text));
            files.push(("folded", report::folded(profile).into_bytes()));
            files.push(("flame.svg", report::flame_file(profile).into_bytes()));
        }
        let mut warnings = std::mem::take(&mut self.events.warnings);
        let serious = self
            .board
            .chip()
            .reports()
            .iter()
            .filter(|report| report.is_serious());
        warnings.extend(serious.map(ToString::to_string));
        if !self.board.has_ledger() {
            warnings
                .push("this firmware keeps no counters: the fate of its frames is unknown".into());
        }
        RunArtifacts {
            profile,
            trace_hash: self.board.trace_hash().to_string(),
            files,
            link: Some(link),
            frames: Some(frames),
            warnings,
            plain_registers: self.board.chip().plain_registers(),
        }
    }
}

#[cfg(test)]
mod tests;
