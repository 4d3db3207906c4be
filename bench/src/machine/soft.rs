//! A soft SoC with an ENET, and a host behind a switch.
//!
//! Over the link of `sim`, which has a propagation delay, the case `lengths` of the conformance suite loses frames of more
//! than 1411 octets; the reason is not known yet. `linerate sim` uses that link.

use linerate_sim::elf::Elf;
use linerate_sim::lan::{EnetBoard, Stop, SwitchConfig, SwitchPort};
use linerate_sim::peer::Peer as _;
use linerate_sim::peer::host::Host;
use linerate_sim::peer::host::program::Programs;
use linerate_sim::time::Instant;

use super::{Event, Identity, Machine, MachineError, RunArtifacts, sim};
use crate::board::Board;

/// True if the network controller of `board` is an ENET, which has a switch at the other end of its line.
pub(crate) fn has_enet(board: &Board) -> bool {
    sim::describe(board).is_ok_and(|it| it.config.devices.iter().any(|it| it.model == "enet"))
}

/// Switches on `board` with the program `elf`, and `host` at the other end of the line.
///
/// # Errors
/// [`MachineError`] if the board or the program cannot be used.
pub(crate) fn switch_on(
    board: &Board,
    elf: &[u8],
    host: Host,
) -> Result<Box<dyn Machine>, MachineError> {
    let unusable =
        |what: String| MachineError::Firmware(format!("the firmware cannot be run: {what}"));
    let console = board.soft_soc.as_ref().map(|it| it.console.clone());
    let elf = Elf::parse(elf).map_err(|error| unusable(error.to_string()))?;
    let port = SwitchPort::new(SwitchConfig::default(), host);
    let simulated = EnetBoard::new(&sim::describe(board)?.config, &elf, port);
    Ok(Box::new(SoftBoard {
        about: board.clone(),
        board: simulated.map_err(|error| unusable(error.to_string()))?,
        console: console.unwrap_or_default(),
        line: Vec::new(),
    }))
}

/// A board that is switched on.
struct SoftBoard {
    about: Board,
    board: EnetBoard<Host>,
    /// Name of its console.
    console: String,
    /// The line of the console that is not complete.
    line: Vec<u8>,
}

impl Machine for SoftBoard {
    fn identity(&self) -> Identity {
        sim::identity_of(&self.about)
    }

    fn now_ns(&self) -> u64 {
        self.board.soc.now().as_ns()
    }

    fn advance(&mut self, until_ns: u64, sink: &mut dyn FnMut(Event)) -> Result<(), MachineError> {
        let stop = self.board.run(Instant::from_ns(until_ns));
        let at_ns = self.now_ns();
        for byte in self.board.soc.console() {
            if byte == b'\n' {
                let line = String::from_utf8_lossy(&core::mem::take(&mut self.line)).into_owned();
                sink(Event::Console { at_ns, line });
            } else {
                self.line.push(byte);
            }
        }
        match stop {
            Stop::Reached => Ok(()),
            Stop::Fault(fault) => Err(MachineError::Fault {
                at_ns,
                what: format!("{fault:?}"),
            }),
        }
    }

    fn position(&self) -> Option<String> {
        Some(format!("{:#010x}", self.board.soc.hart().pc()))
    }

    fn type_line(&mut self, line: &str) {
        let line = format!("{line}\n");
        self.board.soc.send(&self.console, line.as_bytes());
    }

    fn with_programs(&mut self, with: &mut dyn FnMut(&mut Programs)) {
        self.board.port.station.programs().map(with);
    }

    fn set_link(&mut self, is_up: bool) -> Result<(), MachineError> {
        self.board.plug(is_up);
        Ok(())
    }

    /// The line reports no fates of frames.
    fn finish(self: Box<Self>, _: &mut dyn FnMut(Event)) -> RunArtifacts {
        RunArtifacts::default()
    }
}
