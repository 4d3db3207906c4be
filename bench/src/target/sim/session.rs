//! A board that is switched on for a trial, and the programs of its peer.

use std::time::Duration;

use linerate_agent::Instant;
use linerate_ether::ledger::Drop;
use linerate_sim::board::{Board, Event, Stop};
use linerate_sim::chip::esp32c6::Port;
use linerate_sim::peer::host::program::{Handle, Program, Programs};
use linerate_sim::peer::host::{self, Host};
use linerate_sim::peer::tcp;
use linerate_sim::time::Span;
use serde::de::DeserializeOwned;

use super::super::{RoundTrips, Stream, TargetError, Trial, Watch};
use super::{PROGRAM, Simulated};
use crate::firmware;
use crate::machine::{self, MachineError, Order};
use crate::scenario::{Record, Surroundings};

/// How often it is looked how far a trial is.
const STEP: Span = Span::from_ms(1);
/// The board says that it listens within this time; a command's answer comes within the other.
const BOOT: Duration = Duration::from_secs(20);
const ANSWER: Duration = Duration::from_secs(2);

/// A board that listens.
pub(super) struct Session {
    board: Board,
    name: String,
    console: Vec<String>,
    /// When the trial began, and its payload so far.
    pub(super) began: Instant,
    octets: u64,
    /// The user has had enough.
    pub(super) is_cut: bool,
}

impl Simulated {
    /// Switches the board on and waits until it listens.
    pub(super) fn switch_on(&self, trial: &Trial) -> Result<Session, TargetError> {
        let variant = &self.board.firmware.default_variant;
        let image = firmware::find(&self.elf_dir, &self.board.name, PROGRAM, variant)
            .map_err(|error| MachineError::Firmware(error.to_string()))?;
        let order = Order {
            board: self.board.clone(),
            name: image.name,
            elf: image.elf,
            seed: self.seed,
            surroundings: Surroundings::default(),
            pings: None,
            fetches: Vec::new(),
            timing: None,
            record: Record {
                pcapng: false,
                vcd_ms: 0,
                profile: false,
            },
        };
        let host = Host::new(host::Config {
            seed: order.seed ^ machine::sim::PEER_SEED,
            http_server: None,
            tcp: tcp_of(trial),
            ..host::Config::default()
        });
        let board = machine::sim::board(&order, Box::new(host))?;
        let mut session = Session {
            board,
            name: self.name(),
            console: Vec::new(),
            began: Instant::from_ns(0),
            octets: 0,
            is_cut: false,
        };
        session.wait_for(BOOT, "listening")?;
        session.began = session.now();
        Ok(session)
    }

    fn name(&self) -> String {
        super::Target::name(self)
    }
}

/// The host's TCP, with the buffers that the trial asks for.
fn tcp_of(trial: &Trial) -> tcp::Config {
    let default = tcp::Config::default();
    let trial = match trial {
        Trial::RoundTrips(RoundTrips {
            under: Some(load), ..
        }) => load,
        trial => trial,
    };
    let Trial::Stream(Stream {
        window_octets: Some(window),
        ..
    }) = trial
    else {
        return default;
    };
    tcp::Config {
        send_buffer: *window as usize,
        receive_buffer: *window as usize,
        ..default
    }
}

impl Session {
    /// The board's time.
    pub(super) fn now(&self) -> Instant {
        Instant::from_ns(self.board.now().as_ns())
    }

    /// Since the trial began.
    pub(super) fn elapsed(&self) -> Duration {
        self.now().since(self.began)
    }

    fn step(&mut self) -> Result<(), TargetError> {
        let until = self.board.now() + STEP;
        match self.board.run(until) {
            Stop::Reached => {}
            Stop::Fault(report) => return Err(machine::sim::fault(&report).into()),
            Stop::Asleep => {
                return Err(self.failed("the program sleeps and nothing will ever wake it"));
            }
        }
        while let Some(event) = self.board.poll_event() {
            if let Event::Line { text, .. } = event {
                self.console.push(text);
            }
        }
        // Nobody looks at these.
        self.board.take_edges();
        Ok(())
    }

    /// Lets time pass until `is_over`, or until the user has had enough.
    pub(super) fn run_until(
        &mut self,
        watch: &mut dyn Watch,
        mut is_over: impl FnMut(&mut Self) -> Result<bool, TargetError>,
    ) -> Result<(), TargetError> {
        while !self.is_cut && !is_over(self)? {
            self.step()?;
            watch.at(self.elapsed(), self.octets);
            self.is_cut = watch.is_over();
        }
        Ok(())
    }

    /// Says how much payload has come and gone.
    pub(super) fn moved(&mut self, octets: u64) {
        self.octets = octets;
    }

    /// Lets time pass.
    pub(super) fn pass(&mut self, span: Duration) -> Result<(), TargetError> {
        let until = self.now().after(span);
        while self.now() < until {
            self.step()?;
        }
        Ok(())
    }

    /// The console's next line with `event`.
    fn wait_for(&mut self, limit: Duration, event: &str) -> Result<String, TargetError> {
        let until = self.now().after(limit);
        let key = format!("\"event\":\"{event}\"");
        loop {
            let found = self.console.iter().position(|line| line.contains(&key));
            if let Some(at) = found {
                return Ok(self.console.drain(..=at).next_back().unwrap_or_default());
            }
            if self.now() >= until {
                let last = self.console.last().map_or("nothing", String::as_str);
                return Err(self.failed(&format!(
                    "its console does not say `{event}` within {} s; the last line is {last:?}",
                    limit.as_secs()
                )));
            }
            self.step()?;
        }
    }

    /// Types `command` on the console.
    pub(super) fn tell(&mut self, command: &str) {
        let line = format!("{command}\n");
        self.board.console_input(Port::UsbSerial, line.as_bytes());
    }

    /// Types `command` and reads what `event` answers.
    pub(super) fn ask<T: DeserializeOwned>(
        &mut self,
        command: &str,
        event: &str,
    ) -> Result<T, TargetError> {
        self.console.clear();
        self.tell(command);
        let line = self.wait_for(ANSWER, event)?;
        let json = line.split_once("@ ").map_or("", |(_, json)| json);
        serde_json::from_str(json).map_err(|error| {
            self.failed(&format!(
                "the console line {line:?} cannot be read: {error}"
            ))
        })
    }

    fn programs<R>(&mut self, with: impl FnOnce(&mut Programs) -> R) -> Option<R> {
        self.board.with_peer(|peer| peer.programs().map(with))
    }

    /// Starts `program` on the peer.
    ///
    /// # Errors
    /// The peer runs none.
    pub(super) fn start<P: Program>(&mut self, program: P) -> Result<Handle, TargetError> {
        let handle = self.programs(|all| all.start(Box::new(program)));
        handle.ok_or_else(|| self.stranger())
    }

    /// Does something with the program that `handle` names.
    ///
    /// # Errors
    /// It is none of this kind.
    pub(super) fn with<P: Program, R>(
        &mut self,
        handle: Handle,
        with: impl FnOnce(&mut P) -> R,
    ) -> Result<R, TargetError> {
        let done = self.programs(|all| all.get_mut::<P>(handle).map(with));
        done.flatten().ok_or_else(|| self.stranger())
    }

    /// Stops the program and takes it back.
    ///
    /// # Errors
    /// It is none of this kind.
    pub(super) fn stop<P: Program>(&mut self, handle: Handle) -> Result<P, TargetError> {
        let program = self.programs(|all| all.stop::<P>(handle)).flatten();
        program.map_or_else(|| Err(self.stranger()), |program| Ok(*program))
    }

    fn stranger(&self) -> TargetError {
        self.failed("its peer runs another program")
    }

    /// The board did not do what it should.
    pub(super) fn failed(&self, what: &str) -> TargetError {
        TargetError::Failed {
            target: self.name.clone(),
            what: what.to_owned(),
        }
    }

    /// What became of frames that did not get through, as the simulation saw it.
    pub(super) fn notes(&self) -> Vec<String> {
        let tally = self.board.tally();
        // The first is sent again, the others are not over.
        let open = [Drop::Collision, Drop::InFlight, Drop::LeftInQueue];
        let lost = tally.lost.iter().filter(|(cause, _)| !open.contains(cause));
        let causes: Vec<String> = lost
            .map(|(cause, count)| format!("{} {count}", cause.name()))
            .collect();
        let mut notes = Vec::new();
        if !causes.is_empty() {
            notes.push(format!(
                "of {} frames to the device some were lost: {}",
                tally.sent,
                causes.join(", ")
            ));
        }
        if self.is_cut {
            notes.push("ended by the user before its time".to_owned());
        }
        notes
    }
}
