//! A board that is switched on for a trial, and the programs of its peer.

use std::time::Duration;

use linerate_agent::Instant;
use linerate_sim::peer::host::program::{Handle, Program, Programs};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::console::Console;
use crate::endpoint::{TargetError, TrialMonitor};
use crate::machine::MachineError;

/// How often it is looked how far a trial is.
pub(crate) const STEP: Duration = Duration::from_millis(1);
/// The board says that it listens within this time; a command's answer comes within the other.
const BOOT: Duration = Duration::from_secs(20);
const ANSWER: Duration = Duration::from_secs(2);

/// A board that is switched on, with a host at the other end of its cable.
pub(crate) trait RunningBoard {
    /// The board's time.
    fn now(&self) -> Instant;

    /// Lets [`STEP`] of its time pass; what its console says meanwhile is appended to `console`.
    ///
    /// # Errors
    /// What happened to it, for a sentence, or why it cannot go on.
    fn step(&mut self, console: &mut Vec<String>) -> Result<(), StepError>;

    /// Types on its console.
    fn type_in(&mut self, text: &str);

    /// Does something with the programs of the host.
    fn with_programs(&mut self, with: &mut dyn FnMut(&mut Programs));

    /// Lets the link go down, or come up again.
    ///
    /// # Errors
    /// Why it can't, for a sentence.
    fn set_link(&mut self, _is_up: bool) -> Result<(), String> {
        Err("nobody can pull its cable".to_owned())
    }

    /// What became of frames that did not get through, where that is known.
    fn notes(&self) -> Vec<String>;
}

/// Why a board does not go on.
pub(crate) enum StepError {
    /// In words, behind the board's name.
    Reason(String),
    /// Its machine says it.
    Machine(MachineError),
}

impl From<MachineError> for StepError {
    fn from(error: MachineError) -> Self {
        Self::Machine(error)
    }
}

/// What a board says when it starts.
#[derive(Deserialize)]
struct Boot {
    burst: Option<usize>,
}

/// A board that listens.
pub(crate) struct BoardSession {
    board: Box<dyn RunningBoard>,
    name: String,
    console: Console,
    /// When the trial began, and its payload so far.
    pub(super) began: Instant,
    octets: u64,
    /// The user has had enough.
    pub(super) is_cancelled: bool,
    /// An answer of the console comes within this time.
    pub(crate) patience: Duration,
    /// So many of the longest frames the device takes in a row, as it says when it starts.
    pub(crate) burst: usize,
}

impl BoardSession {
    /// Waits until the board called `name` listens.
    pub(crate) fn begin(board: Box<dyn RunningBoard>, name: String) -> Result<Self, TargetError> {
        let mut session = Self {
            board,
            name,
            console: Console::default(),
            began: Instant::from_ns(0),
            octets: 0,
            is_cancelled: false,
            patience: ANSWER,
            burst: 1,
        };
        let boot: Boot = session.read_event_within(BOOT, "boot")?;
        session.burst = boot.burst.unwrap_or(1);
        session.read_event_within::<IgnoredAny>(BOOT, "listening")?;
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

    /// Lets time pass until `is_over`, or until the user has had enough.
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

    /// Says how much payload has come and gone.
    pub(super) fn set_octets(&mut self, octets: u64) {
        self.octets = octets;
    }

    /// Lets time pass.
    pub(crate) fn run_for(&mut self, span: Duration) -> Result<(), TargetError> {
        let until = self.now().after(span);
        while self.now() < until {
            self.step()?;
        }
        Ok(())
    }

    /// What the console's next line with `event` says.
    pub(crate) fn read_event<T: DeserializeOwned>(
        &mut self,
        event: &str,
    ) -> Result<T, TargetError> {
        self.read_event_within(self.patience, event)
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
                    "its console does not say `{event}` within {} s; the last line is {:?}",
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

    /// Types `command` and reads what `event` answers.
    pub(crate) fn query<T: DeserializeOwned>(
        &mut self,
        command: &str,
        event: &str,
    ) -> Result<T, TargetError> {
        self.clear_console();
        self.type_command(command);
        self.read_event(event)
    }

    /// Forgets what the console has said.
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
    /// The peer runs none.
    pub(crate) fn start<P: Program>(&mut self, program: P) -> Result<Handle, TargetError> {
        let handle = self.programs(|all| all.start(Box::new(program)));
        handle.ok_or_else(|| self.wrong_program())
    }

    /// Does something with the program that `handle` names.
    ///
    /// # Errors
    /// It is none of this kind.
    pub(crate) fn with<P: Program, R>(
        &mut self,
        handle: Handle,
        with: impl FnOnce(&mut P) -> R,
    ) -> Result<R, TargetError> {
        let done = self.programs(|all| all.get_mut::<P>(handle).map(with));
        done.flatten().ok_or_else(|| self.wrong_program())
    }

    /// Stops the program and takes it back.
    ///
    /// # Errors
    /// It is none of this kind.
    pub(crate) fn stop<P: Program>(&mut self, handle: Handle) -> Result<P, TargetError> {
        let program = self.programs(|all| all.stop::<P>(handle)).flatten();
        program.map_or_else(|| Err(self.wrong_program()), |program| Ok(*program))
    }

    fn wrong_program(&self) -> TargetError {
        self.failed("its peer runs another program")
    }

    /// The board did not do what it should.
    pub(crate) fn failed(&self, what: &str) -> TargetError {
        TargetError::Failed {
            target: self.name.clone(),
            what: what.to_owned(),
        }
    }

    /// Lets the link go down, or come up again.
    ///
    /// # Errors
    /// It can't.
    pub(crate) fn set_link(&mut self, is_up: bool) -> Result<(), TargetError> {
        let done = self.board.set_link(is_up);
        done.map_err(|why| self.failed(&why))
    }

    /// What became of frames that did not get through, and of the trial.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut notes = self.board.notes();
        if self.is_cancelled {
            notes.push("ended by the user before its time".to_owned());
        }
        notes
    }
}
