//! A board that is switched on for a trial, and the programs of its peer.

use std::time::Duration;

use linerate_agent::Instant;
use linerate_sim::peer::host::program::{Handle, Program, Programs};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::console::Console;
use crate::endpoint::{BoardObservation, CANCELLED, TargetError, TrialMonitor};
use crate::machine::MachineError;

/// Interval at which a trial's progress is polled.
pub(crate) const STEP: Duration = Duration::from_millis(1);
/// Timeouts for the board's start, and for the answer to a command.
const BOOT_TIMEOUT: Duration = Duration::from_secs(20);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// A board that is switched on, with a host at the other end of its cable.
pub(crate) trait RunningBoard {
    /// The board's time.
    fn now(&self) -> Instant;

    /// Runs it for [`STEP`] of its time; its console output is appended to `console`.
    ///
    /// # Errors
    /// Why it cannot continue.
    fn step(&mut self, console: &mut Vec<String>) -> Result<(), StepError>;

    /// Types on its console.
    fn type_in(&mut self, text: &str);

    /// Calls `with` on the programs of the host.
    fn with_programs(&mut self, with: &mut dyn FnMut(&mut Programs));

    /// Takes the link down, or up again.
    ///
    /// # Errors
    /// The reason if it can't, for messages.
    fn set_link(&mut self, _is_up: bool) -> Result<(), String> {
        Err("its link can't be taken down".to_owned())
    }

    /// Notes on the fate of lost frames, if known.
    fn notes(&self) -> Vec<String>;

    /// Observations from power-on until now, if it is observed; frames under way are lost in flight. It runs no more.
    fn observe(&mut self) -> Option<BoardObservation> {
        None
    }
}

/// Why a board cannot continue.
pub(crate) enum StepError {
    /// A reason, printed after the board's name.
    Reason(String),
    /// An error of its machine.
    Machine(MachineError),
}

impl From<MachineError> for StepError {
    fn from(error: MachineError) -> Self {
        Self::Machine(error)
    }
}

/// The board's message at its start.
#[derive(Deserialize)]
struct Boot {
    burst: Option<usize>,
}

/// A board that is ready, with its console.
pub(crate) struct BoardSession {
    board: Box<dyn RunningBoard>,
    name: String,
    console: Console,
    /// When the trial began, and its payload so far.
    pub(super) began: Instant,
    octets: u64,
    /// The user has cancelled.
    pub(super) is_cancelled: bool,
    /// Timeout for an answer on the console.
    pub(crate) timeout: Duration,
    /// Number of maximum-length frames that the device receives in a burst, as reported at its
    /// start.
    pub(crate) burst: usize,
}

impl BoardSession {
    /// Waits until the board called `name` is ready.
    pub(crate) fn begin(board: Box<dyn RunningBoard>, name: String) -> Result<Self, TargetError> {
        let mut session = Self {
            board,
            name,
            console: Console::default(),
            began: Instant::from_ns(0),
            octets: 0,
            is_cancelled: false,
            timeout: ANSWER_TIMEOUT,
            burst: 1,
        };
        let boot: Boot = session.read_event_within(BOOT_TIMEOUT, "boot")?;
        session.burst = boot.burst.unwrap_or(1);
        session.read_event_within::<IgnoredAny>(BOOT_TIMEOUT, "listening")?;
        session.began = session.now();
        Ok(session)
    }

    /// The board's time.
    pub(crate) fn now(&self) -> Instant {
        self.board.now()
    }

    /// Since the trial began.
    pub(super) fn elapsed(&self) -> Duration {
        self.now().since(self.began)
    }

    fn step(&mut self) -> Result<(), TargetError> {
        match self.board.step(&mut self.console.0) {
            Ok(()) => Ok(()),
            Err(StepError::Machine(error)) => Err(error.into()),
            Err(StepError::Reason(what)) => Err(self.failed(&what)),
        }
    }

    /// Runs the board until `is_over`, or until the user cancels.
    pub(crate) fn run_until(
        &mut self,
        monitor: &mut dyn TrialMonitor,
        mut is_over: impl FnMut(&mut Self) -> Result<bool, TargetError>,
    ) -> Result<(), TargetError> {
        while !self.is_cancelled && !is_over(self)? {
            self.step()?;
            monitor.update(self.elapsed(), self.octets);
            self.is_cancelled = monitor.is_cancelled();
        }
        Ok(())
    }

    /// Sets the payload transferred so far.
    pub(super) fn set_octets(&mut self, octets: u64) {
        self.octets = octets;
    }

    /// Runs the board for `span`.
    pub(crate) fn run_for(&mut self, span: Duration) -> Result<(), TargetError> {
        let until = self.now().after(span);
        while self.now() < until {
            self.step()?;
        }
        Ok(())
    }

    /// Waits for the console's next line with `event`.
    pub(crate) fn read_event<T: DeserializeOwned>(
        &mut self,
        event: &str,
    ) -> Result<T, TargetError> {
        self.read_event_within(self.timeout, event)
    }

    fn read_event_within<T: DeserializeOwned>(
        &mut self,
        limit: Duration,
        event: &str,
    ) -> Result<T, TargetError> {
        let until = self.now().after(limit);
        loop {
            let event_read = self.console.take_event(event);
            if let Some(data) = event_read.map_err(|what| self.failed(&what))? {
                return Ok(data);
            }
            if self.now() >= until {
                return Err(self.failed(&format!(
                    "its console did not report `{event}` within {} s; the last line is {:?}",
                    limit.as_secs(),
                    self.console.last()
                )));
            }
            self.step()?;
        }
    }

    /// Types `command` on the console.
    pub(crate) fn type_command(&mut self, command: &str) {
        self.board.type_in(&format!("{command}\n"));
    }

    /// Types `command` and reads the answer `event`.
    pub(crate) fn query<T: DeserializeOwned>(
        &mut self,
        command: &str,
        event: &str,
    ) -> Result<T, TargetError> {
        self.clear_console();
        self.type_command(command);
        self.read_event(event)
    }

    /// Drops all unread lines of the console.
    pub(crate) fn clear_console(&mut self) {
        self.console.0.clear();
    }

    fn programs<R>(&mut self, with: impl FnOnce(&mut Programs) -> R) -> Option<R> {
        let mut with = Some(with);
        let mut result = None;
        self.board.with_programs(&mut |programs| {
            result = with.take().map(|with| with(programs));
        });
        result
    }

    /// Starts `program` on the peer.
    ///
    /// # Errors
    /// The peer runs no programs.
    pub(crate) fn start<P: Program>(&mut self, program: P) -> Result<Handle, TargetError> {
        let handle = self.programs(|all| all.start(Box::new(program)));
        handle.ok_or_else(|| self.wrong_program())
    }

    /// Calls `with` on the program that `handle` names.
    ///
    /// # Errors
    /// It is not of this type.
    pub(crate) fn with<P: Program, R>(
        &mut self,
        handle: Handle,
        with: impl FnOnce(&mut P) -> R,
    ) -> Result<R, TargetError> {
        let done = self.programs(|all| all.get_mut::<P>(handle).map(with));
        done.flatten().ok_or_else(|| self.wrong_program())
    }

    /// Stops the program and returns it.
    ///
    /// # Errors
    /// It is not of this type.
    pub(crate) fn stop<P: Program>(&mut self, handle: Handle) -> Result<P, TargetError> {
        let program = self.programs(|all| all.stop::<P>(handle)).flatten();
        program.map_or_else(|| Err(self.wrong_program()), |program| Ok(*program))
    }

    fn wrong_program(&self) -> TargetError {
        self.failed("its peer runs another program")
    }

    /// An error of the board.
    pub(crate) fn failed(&self, what: &str) -> TargetError {
        TargetError::Failed {
            target: self.name.clone(),
            what: what.to_owned(),
        }
    }

    /// Takes the link down, or up again.
    ///
    /// # Errors
    /// It can't.
    pub(crate) fn set_link(&mut self, is_up: bool) -> Result<(), TargetError> {
        let done = self.board.set_link(is_up);
        done.map_err(|why| self.failed(&why))
    }

    /// Switches the board off and returns its observations.
    pub(super) fn finish(mut self) -> Option<BoardObservation> {
        self.board.observe()
    }

    /// Notes on lost frames and on the trial.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.board.notes();
        if self.is_cancelled {
            notes.push(CANCELLED.to_owned());
        }
        notes
    }
}
