//! A board with a soft SoC.

use std::collections::BTreeMap;
use std::sync::Arc;

use linerate_ether::ledger::Counter;
use linerate_results::record::{Duplex, SourceKind, TimingEntry};
use linerate_sim::board::SoftBoard;
use linerate_sim::chip::soft_soc::file::{self, Description};
use linerate_sim::peer::Peer;
use linerate_sim::peer::host::program::Programs;
use linerate_sim::time::Instant;
use linerate_sim::wire::FrameLinkConfig;

use super::events::Events;
use super::fault::{after, asleep, unusable};
use crate::board::{self, Board};
use crate::machine::{
    Environment, Event, Identity, LinkPartnerStatus, Machine, MachineConfig, MachineError,
    RunArtifacts,
};

/// The description of the soft SoC of `board`.
pub(super) fn describe(board: &Board, own: Option<&str>) -> Result<Description, MachineError> {
    let file = format!("boards/{}/system.toml", board.name);
    let Some(text) = own.or_else(|| board::system(&board.name)) else {
        let what = format!("board {} has no {file}", board.name);
        return Err(MachineError::Board(what));
    };
    file::parse(text, &file).map_err(|error| MachineError::Board(error.to_string()))
}

/// The components of the board: its figures are the timing table.
pub(super) fn identity(board: &Board, own: Option<&str>) -> Identity {
    // The file is part of the program, and a test reads it.
    let figures = describe(board, own)
        .map(|it| it.figures)
        .unwrap_or_default();
    let entries = figures.into_iter().map(|figure| TimingEntry {
        kind: if figure.is_guess() {
            SourceKind::Guess
        } else {
            SourceKind::Datasheet
        },
        name: figure.field,
        value: figure.value as f64,
        source: figure.source,
        fitted: None,
    });
    Identity {
        board: board.name.clone(),
        timing_table: format!("{}/system.toml", board.name),
        timing: entries.collect(),
        ..Identity::default()
    }
}

/// Switches on the board of `config` with `peer` at the other end of its cable.
///
/// # Errors
/// [`MachineError`] if the firmware, the board or the environment cannot be used.
pub(super) fn switch_on(
    config: &MachineConfig,
    peer: Box<dyn Peer>,
) -> Result<Box<dyn Machine>, MachineError> {
    check(config)?;
    let description = describe(&config.board, config.system.as_deref())?;
    let elf = super::image(config)?;
    let soft_soc = config.board.soft_soc.as_ref();
    let console = soft_soc.map_or_else(String::new, |it| it.console.clone());
    let symbol = config.board.firmware.ledger_symbol.as_deref();
    let symbol = symbol.unwrap_or_default();
    let link = FrameLinkConfig::default();
    let mut board =
        SoftBoard::new(&description.config, &elf, link, peer, symbol).map_err(unusable)?;
    if let Some(counts) = config.counts.clone() {
        board.observe(move |it| counts.executed(it.address, it.accesses));
    }
    Ok(Box::new(Soft {
        about: config.board.clone(),
        system: config.system.clone(),
        console,
        board,
        events: Events::new(config),
        asleep: false,
    }))
}

/// Rejects what only a chip with a wire of half-bits has.
fn check(config: &MachineConfig) -> Result<(), MachineError> {
    let Environment {
        wire, partner, hub, ..
    } = &config.environment;
    let default = Environment::default();
    let wrong = [
        (config.timing.is_some(), "a timing table: edit system.toml"),
        (config.record.vcd_ms > 0, "a waveform"),
        (config.record.profile, "a profile"),
        (*wire != default.wire, "impairments of the signal"),
        (*partner != default.partner, "link pulses"),
        (*hub != default.hub, "a hub"),
    ];
    let Some((_, what)) = wrong.into_iter().find(|(is_set, _)| *is_set) else {
        return Ok(());
    };
    let what = format!("board {} cannot have {what}", config.board.name);
    Err(MachineError::Board(what))
}

/// A board that is switched on.
struct Soft {
    about: Board,
    system: Option<Arc<str>>,
    console: String,
    board: SoftBoard,
    events: Events,
    asleep: bool,
}

impl Soft {
    fn drain(&mut self, sink: &mut dyn FnMut(Event)) {
        self.events.report_uploads(self.board.peer(), sink);
        while let Some(event) = self.board.poll_event() {
            self.events.pass(event, sink);
        }
    }
}

impl Machine for Soft {
    fn identity(&self) -> Identity {
        identity(&self.about, self.system.as_deref())
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
        let at_ns = self.now_ns();
        after(stop, &mut self.asleep, |fault| MachineError::Fault {
            at_ns,
            what: fault.to_string(),
        })
    }

    fn position(&self) -> Option<String> {
        Some(format!("{:#010x}", self.board.soc().hart().pc()))
    }

    fn type_line(&mut self, line: &str) {
        let text = format!("{line}\n");
        self.board.send(&self.console, text.as_bytes());
    }

    fn with_programs(&mut self, with: &mut dyn FnMut(&mut Programs)) {
        self.board.with_peer(|peer| peer.programs().map(with));
    }

    fn set_link(&mut self, is_up: bool) -> Result<(), MachineError> {
        let done = self.board.set_cable(is_up);
        done.map_err(|error| MachineError::Failed(error.to_string()))
    }

    fn duplex(&self) -> Option<Duplex> {
        Some(match self.board.link().mode() {
            Some(_) => Duplex::Full,
            None => Duplex::None,
        })
    }

    fn counters(&self) -> Option<BTreeMap<String, u64>> {
        let value = |counter: Counter| self.board.counter(counter).map(u64::from);
        value(Counter::RxFrames)?;
        let counted = Counter::ALL
            .into_iter()
            .filter_map(|counter| Some((counter.name().to_owned(), value(counter)?)))
            .filter(|(_, count)| *count > 0);
        Some(counted.collect())
    }

    /// The fate of a frame behind the line is not known: only the driver's counters have it.
    fn finish(mut self: Box<Self>, sink: &mut dyn FnMut(Event)) -> RunArtifacts {
        self.board.finish();
        self.drain(sink);
        let counts = self.board.link().statistics();
        let link = LinkPartnerStatus {
            up: self.board.link().mode().is_some(),
            duplex: Duplex::Full,
            resolution: "auto-negotiation",
            frames_sent: counts.frames_sent,
            frames_received: counts.frames_received,
            collisions: 0,
            frames_withheld: counts.frames_withheld,
        };
        let capture = self.events.finish_capture();
        RunArtifacts {
            trace_hash: self.board.trace_hash().to_string(),
            files: capture
                .map(|(file, _)| ("pcapng", file))
                .into_iter()
                .collect(),
            link: Some(link),
            ..RunArtifacts::default()
        }
    }
}
