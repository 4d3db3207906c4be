//! A board with the program `bench_agent` that runs on this machine, and the clients of its services on
//! the host at the other end of its cable. Each trial switches the board on anew.
//!
//! - [`sim`]: `sim://BOARD`, simulated, in virtual time.
//! - `qemu`: `qemu://BOARD`, emulated by QEMU, on Linux.
//! - [`session`]: a board that is switched on, whatever runs it.
//! - [`transfers`], [`round_trips`], [`frames`]: the trials.

mod console;
mod frames;
#[cfg(target_os = "linux")]
pub(super) mod qemu;
mod round_trips;
pub(in crate::endpoint) mod session;
pub(super) mod sim;
#[cfg(test)]
mod tests;
mod transfers;

use std::path::PathBuf;
use std::time::Duration;

use linerate_results::record::Direction;
use linerate_sim::peer::tcp;

use self::session::{Running, Session};
use super::{
    Amount, Datagrams, Options, Outcome, RoundTrips, Stream, TargetError, Trial, Url, Watch,
};
use crate::board::{self, Board};
use crate::conformance::Stand;
use crate::firmware::{self, Image};
use crate::machine::MachineError;

/// The program that carries everything that is asked for.
const PROGRAM: &str = "bench_agent";
/// Tests of iperf 2 that it takes at a time, of either direction.
const TESTS: u8 = 2;
/// Octets of a STAMP packet that it answers.
const STAMP_OCTETS: u16 = 256;
/// Octets of a datagram that iperf 2's own fields take, and of one that fills a frame.
const DATAGRAM_OCTETS: std::ops::RangeInclusive<u16> = 60..=1_472;
/// Octets of a frame with FCS (IEEE 802.3 clause 4.4.2).
const FRAME_OCTETS: std::ops::RangeInclusive<u16> = 64..=1_518;

/// What a board is switched on for where nothing depends on it.
const ANY: Trial = Trial::Frames(super::Frames {
    octets: 64,
    count: 0,
    interval_ns: 0.0,
    reflected: true,
});

/// A board, and what runs it.
struct Target {
    board: Board,
    elf_dir: PathBuf,
    seed: u64,
    patience: Duration,
    runner: Runner,
}

/// What runs boards.
#[derive(Clone, Copy)]
struct Runner {
    /// For a sentence.
    how: &'static str,
    /// See [`super::Target::is_simulated`].
    is_simulated: bool,
    /// See [`super::Target::line_bits_per_s`].
    line_bits_per_s: Option<u64>,
    /// Whether it has this board.
    runs: fn(&Board) -> bool,
    /// Switches a board on that is asked for such a trial.
    switch_on: SwitchOn,
}

type SwitchOn = fn(&Target, &Trial) -> Result<Box<dyn Running>, TargetError>;

/// Opens the board that `url` names; its firmware is looked for when it is first switched on.
fn open(
    url: &Url,
    options: &Options,
    runner: Runner,
) -> Result<Box<dyn super::Target>, TargetError> {
    Ok(Box::new(find(url, options, runner)?))
}

fn find(url: &Url, options: &Options, runner: Runner) -> Result<Target, TargetError> {
    url.knows_only(&[])?;
    let wrong = |what: String| TargetError::Url {
        url: url.whole.clone(),
        what,
    };
    if url.port.is_some() || !matches!(url.path.as_str(), "" | "/") {
        return Err(wrong("nothing follows the board's name".to_owned()));
    }
    let board = board::find(&url.host).map_err(|error| wrong(error.to_string()))?;
    if !(runner.runs)(&board) {
        let boards = board::all();
        let known: Vec<&str> = boards
            .iter()
            .filter(|board| (runner.runs)(board))
            .map(|board| board.name.as_str())
            .collect();
        return Err(wrong(format!(
            "{} is not {}; these are: {}",
            board.name,
            runner.how,
            known.join(", ")
        )));
    }
    Ok(Target {
        board,
        elf_dir: options.elf_dir.clone(),
        seed: options.seed,
        patience: options.patience,
        runner,
    })
}

const fn stream(asked: &Stream) -> Result<(), &'static str> {
    let each = match asked.direction {
        Direction::Both => 2,
        Direction::ToDevice | Direction::FromDevice => 1,
    };
    if asked.streams.saturating_mul(each) > TESTS {
        return Err("bench_agent takes two streams at a time, both ways together");
    }
    amount(asked.amount)
}

const fn amount(amount: Amount) -> Result<(), &'static str> {
    match amount {
        // Signed on the wire, negative for a time.
        Amount::Octets(octets) if octets > i32::MAX as u64 => {
            Err("iperf 2 can be asked for 2 GiB at most; give a time instead")
        }
        _ => Ok(()),
    }
}

fn datagrams(asked: &Datagrams) -> Result<(), &'static str> {
    if !DATAGRAM_OCTETS.contains(&asked.payload_octets) {
        return Err("a datagram has 60 octets, as iperf 2 needs, to 1472, which fill a frame");
    }
    amount(asked.amount)
}

impl Target {
    /// The firmware.
    fn image(&self) -> Result<Image, MachineError> {
        self.image_of(PROGRAM)
    }

    fn image_of(&self, program: &str) -> Result<Image, MachineError> {
        let variant = &self.board.firmware.default_variant;
        firmware::find(&self.elf_dir, &self.board.name, program, variant)
            .map_err(|error| MachineError::Firmware(error.to_string()))
    }

    /// Switches the board on and waits until it listens.
    fn switch_on(&self, trial: &Trial) -> Result<Session, TargetError> {
        let running = (self.runner.switch_on)(self, trial)?;
        Session::begin(running, super::Target::name(self))
    }
}

impl super::Target for Target {
    fn name(&self) -> String {
        format!("{} ({}, {PROGRAM})", self.board.name, self.runner.how)
    }

    fn can(&self, trial: &Trial) -> Result<(), &'static str> {
        match trial {
            Trial::Stream(asked) => stream(asked),
            Trial::Datagrams(asked) => datagrams(asked),
            Trial::RoundTrips(RoundTrips { payload_octets, .. })
                if *payload_octets > STAMP_OCTETS =>
            {
                Err("bench_agent answers STAMP packets of 256 octets at most")
            }
            Trial::RoundTrips(RoundTrips {
                under: Some(load), ..
            }) => match &**load {
                Trial::Stream(_) | Trial::Datagrams(_) => self.can(load),
                _ => Err("only TCP and UDP go on beside round trips"),
            },
            Trial::Frames(frames) if !FRAME_OCTETS.contains(&frames.octets) => {
                Err("a frame has 64 to 1518 octets")
            }
            Trial::RoundTrips(RoundTrips { under: None, .. }) | Trial::Frames(_) => Ok(()),
        }
    }

    fn run(&mut self, trial: &Trial, watch: &mut dyn Watch) -> Result<Outcome, TargetError> {
        if let Err(why) = self.can(trial) {
            return Err(super::unable(self, trial, why));
        }
        let mut session = self.switch_on(trial)?;
        let mut outcome = match trial {
            Trial::Stream(_) | Trial::Datagrams(_) => {
                let mut transfer = self.begin(trial, &mut session)?;
                session.run_until(watch, |session| transfer.is_over(session))?;
                transfer.end(&mut session)?
            }
            Trial::RoundTrips(asked) => self.round_trips(asked, &mut session, watch)?,
            Trial::Frames(asked) => self.frames(asked, &mut session, watch)?,
        };
        outcome.notes.extend(session.notes());
        Ok(outcome)
    }

    fn stand(&self) -> Option<Stand<'_>> {
        let switch_on = || self.switch_on(&ANY);
        Some(Stand::new(&self.board.lacks, Box::new(switch_on)))
    }

    fn line_bits_per_s(&self) -> Option<u64> {
        self.runner.line_bits_per_s
    }

    fn is_simulated(&self) -> bool {
        self.runner.is_simulated
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
