//! A board that is switched on for a trial, and the programs of its peer.

use std::collections::BTreeMap;
use std::time::Duration;

use linerate_agent::Instant;
use linerate_ether::ledger::{Counter, DropCause};
use linerate_results::record::{DeviceCounters, Ledger};
use linerate_sim::peer::host::program::{Handle, Program, Programs};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::Value;

use super::console::Console;
use crate::endpoint::{CANCELLED, Outcome, TargetError, TrialMonitor};
use crate::machine::{Event, FrameAccount, Machine, MachineError, MachineRecord};

/// Interval at which a trial's progress is polled.
const STEP: Duration = Duration::from_millis(1);
/// Timeout for the start of a board with firmware.
pub(crate) const START_TIMEOUT: Duration = Duration::from_secs(20);
/// Timeout for the answer to a command.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The board's message at its start.
#[derive(Deserialize)]
struct Boot {
    burst: Option<usize>,
}

/// A board that is ready, with its console.
pub(crate) struct BoardSession {
    machine: Box<dyn Machine>,
    name: String,
    console: Console,
    frames: FrameAccount,
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
    /// Waits for `start_timeout` until the board called `name` is ready.
    pub(crate) fn begin(
        machine: Box<dyn Machine>,
        name: String,
        start_timeout: Duration,
    ) -> Result<Self, TargetError> {
        let mut session = Self {
            machine,
            name,
            console: Console::default(),
            frames: FrameAccount::default(),
            began: Instant::from_ns(0),
            octets: 0,
            is_cancelled: false,
            timeout: ANSWER_TIMEOUT,
            burst: 1,
        };
        let boot: Boot = session.read_event_within(start_timeout, "boot")?;
        session.burst = boot.burst.unwrap_or(1);
        session.read_event_within::<IgnoredAny>(start_timeout, "listening")?;
        session.began = session.now();
        Ok(session)
    }

    /// The board's time.
    pub(crate) fn now(&self) -> Instant {
        Instant::from_ns(self.machine.now_ns())
    }

    /// Since the trial began.
    pub(super) fn elapsed(&self) -> Duration {
        self.now().since(self.began)
    }

    /// Runs the board for [`STEP`] of its time.
    fn step(&mut self) -> Result<(), TargetError> {
        let until_ns = self.machine.now_ns() + STEP.as_nanos() as u64;
        let (console, frames) = (&mut self.console.0, &mut self.frames);
        let advanced = self.machine.advance(until_ns, &mut |event| {
            frames.observe(&event);
            if let Event::Console { line, .. } = event {
                console.push(line);
            }
        });
        // These are not used.
        self.machine.edges();
        advanced.map_err(|error| self.stopped(error))
    }

    fn stopped(&self, error: MachineError) -> TargetError {
        match error {
            MachineError::Failed(what) => self.failed(&what),
            error => error.into(),
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
        self.machine.type_line(command);
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

    /// The device's counters, by those of its driver: from its memory, or from its console.
    ///
    /// # Errors
    /// It does not answer on its console.
    pub(super) fn device_counters(&mut self) -> Result<DeviceCounters, TargetError> {
        let counters = match self.machine.counters() {
            Some(counters) => counters,
            None => self
                .query::<BTreeMap<String, Value>>("counters", "counters")?
                .into_iter()
                .filter_map(|(name, value)| Some((name, value.as_u64()?)))
                .collect(),
        };
        Ok(device_counters(&counters))
    }

    /// Drops all unread lines of the console.
    pub(crate) fn clear_console(&mut self) {
        self.console.0.clear();
    }

    fn programs<R>(&mut self, with: impl FnOnce(&mut Programs) -> R) -> Option<R> {
        let mut with = Some(with);
        let mut result = None;
        self.machine.with_programs(&mut |programs| {
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
        let done = self.machine.set_link(is_up);
        done.map_err(|error| self.stopped(error))
    }

    /// Switches off the board and adds its record and notes to `outcome`.
    pub(super) fn finish(self, outcome: &mut Outcome) {
        let duplex = self.machine.duplex();
        let virtual_ns = self.machine.now_ns();
        let mut frames = self.frames;
        let mut artifacts = self.machine.finish(&mut |event| frames.observe(&event));
        if let Some(frames) = frames.finish(artifacts.frames.take()) {
            outcome.notes.extend(lost_frames(&frames.ledger));
            outcome.board = Some(MachineRecord {
                virtual_ns,
                duplex,
                frames: Some(frames),
                artifacts,
            });
        }
        if self.is_cancelled {
            outcome.notes.push(CANCELLED.to_owned());
        }
    }
}

/// Counters of a driver's ledger by name; one that is not in it is 0.
fn device_counters(ledger: &BTreeMap<String, u64>) -> DeviceCounters {
    let of = |counter: Counter| Some(ledger.get(counter.name()).copied().unwrap_or_default());
    let no_room = [Counter::RxQueueFull, Counter::RxRingFull].map(of);
    DeviceCounters {
        rx_frames: of(Counter::RxFrames),
        rx_fifo_overruns: of(Counter::RxFifoOverruns),
        rx_dropped: Some(no_room.into_iter().flatten().sum()),
        rx_fcs_errors: of(Counter::RxBadFcs),
        tx_pause_frames: None,
        rx_pause_frames: None,
        tx_frames: of(Counter::TxFrames),
    }
}

/// A note on the lost frames in `ledger`.
fn lost_frames(ledger: &Ledger) -> Option<String> {
    // Collided frames are sent again, the others are still in transit.
    let open = [
        DropCause::Collision,
        DropCause::InFlight,
        DropCause::LeftInQueue,
    ];
    let causes: Vec<String> = DropCause::ALL
        .into_iter()
        .filter(|cause| !open.contains(cause) && ledger.lost_for(*cause) > 0)
        .map(|cause| format!("{} {}", cause.name(), ledger.lost_for(cause)))
        .collect();
    (!causes.is_empty()).then(|| {
        format!(
            "of {} frames to the device some were lost: {}",
            ledger.sent_frames,
            causes.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::device_counters;
    use linerate_ether::ledger::Counter;
    use linerate_results::record::DeviceCounters;

    #[test]
    fn a_ledger_gives_the_counters_that_a_driver_keeps_and_no_others() {
        let ledger = [
            (Counter::RxFrames, 90),
            (Counter::RxFifoOverruns, 7),
            (Counter::RxQueueFull, 2),
            (Counter::RxRingFull, 3),
        ];
        let ledger = ledger.map(|(counter, count)| (counter.name().to_owned(), count));
        let ledger = ledger.into();
        let expected = DeviceCounters {
            rx_frames: Some(90),
            rx_fifo_overruns: Some(7),
            rx_dropped: Some(5),
            rx_fcs_errors: Some(0),
            tx_frames: Some(0),
            ..DeviceCounters::default()
        };
        assert_eq!(device_counters(&ledger), expected);
    }
}
