//! A board with its firmware as a target, simulated or emulated.

use std::path::PathBuf;
use std::time::Duration;

use linerate_results::record::Direction;
use linerate_sim::peer::tcp;

use super::session::{BoardSession, START_TIMEOUT};
use crate::board::{self, Board};
use crate::endpoint::iperf2::check_amount;
use crate::endpoint::{self, TestBoard};
use crate::endpoint::{
    Datagrams, Options, Outcome, RoundTrips, Stream, TargetError, Trial, TrialMonitor, Url,
};
use crate::firmware::{self, Image};
use crate::machine::{Identity, Machine, MachineError};

/// The program that serves all trials.
pub(super) const PROGRAM: &str = "bench_agent";
/// A Linux system in its place, with stock iperf.
const LINUX: &str = "linux";
/// Maximum number of concurrent iperf 2 tests of `bench_agent`, both directions together.
const TESTS: u8 = 2;
/// Maximum octets of a STAMP packet that it answers.
const STAMP_OCTETS: u16 = 256;
/// Octets of a datagram: from the size of iperf 2's fields to a full frame.
const DATAGRAM_OCTETS: std::ops::RangeInclusive<u16> = 60..=1_472;
/// Octets of a frame with FCS (IEEE 802.3 clause 4.4.2).
const FRAME_OCTETS: std::ops::RangeInclusive<u16> = 64..=1_518;

/// The trial for which a board is started if none matters.
const ANY: Trial = Trial::Frames(crate::endpoint::Frames {
    octets: 64,
    count: 0,
    interval_ns: 0.0,
    reflected: true,
});

/// A board and its runner.
pub(super) struct BoardTarget {
    pub(super) board: Board,
    pub(super) elf_dir: PathBuf,
    pub(super) seed: u64,
    pub(super) timeout: Duration,
    /// See [`Options::records_frames`].
    pub(super) records_frames: bool,
    pub(super) runner: Runner,
}

/// A runner of boards: the simulator or QEMU.
#[derive(Clone, Copy)]
pub(super) struct Runner {
    /// Its participle, for messages.
    pub(super) how: &'static str,
    /// See [`endpoint::Target::is_simulated`].
    pub(super) is_simulated: bool,
    /// See [`endpoint::Target::is_half_duplex`].
    pub(super) is_half_duplex: fn(&Board) -> bool,
    /// See [`endpoint::Target::line_bits_per_s`].
    pub(super) line_bits_per_s: fn(&Board) -> Option<u64>,
    /// True if it supports this board.
    pub(super) runs: fn(&Board) -> bool,
    /// Switches on a board for a trial.
    pub(super) switch_on: SwitchOn,
    /// The components of a board.
    pub(super) identify: fn(&Board) -> Identity,
}

pub(super) type SwitchOn = fn(&BoardTarget, &Trial) -> Result<Box<dyn Machine>, TargetError>;

/// Opens the board that `url` names; its firmware is read when it is first switched on.
pub(super) fn open(
    url: &Url,
    options: &Options,
    runner: Runner,
) -> Result<Box<dyn endpoint::Target>, TargetError> {
    Ok(Box::new(find(url, options, runner)?))
}

pub(super) fn find(
    url: &Url,
    options: &Options,
    runner: Runner,
) -> Result<BoardTarget, TargetError> {
    url.check_query(&[])?;
    let wrong = |what: String| TargetError::Url {
        url: url.text.clone(),
        what,
    };
    if url.port.is_some() || !matches!(url.path.as_str(), "" | "/") {
        return Err(wrong("nothing may follow the board's name".to_owned()));
    }
    // The scheme is `qemu` already.
    let full = format!("{}-{}", url.scheme, url.host);
    let board = board::find(&url.host)
        .or_else(|error| board::find(&full).map_err(|_| error))
        .map_err(|error| wrong(error.to_string()))?;
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
    Ok(BoardTarget {
        board,
        elf_dir: options.elf_dir.clone(),
        seed: options.seed,
        timeout: options.timeout,
        records_frames: options.records_frames,
        runner,
    })
}

/// Trials that stock programs serve.
fn supported_by_linux(trial: &Trial) -> Result<(), &'static str> {
    match trial {
        Trial::Stream(asked) => check_amount(asked.amount),
        Trial::Datagrams(asked) => datagrams(asked),
        Trial::RoundTrips(_) => Err("Debian's Linux has no STAMP reflector"),
        Trial::Frames(_) => Err("Linux has no counters for raw frames that iperf can query"),
    }
}

const fn stream(asked: &Stream) -> Result<(), &'static str> {
    let each = match asked.direction {
        Direction::Both => 2,
        Direction::ToDevice | Direction::FromDevice => 1,
    };
    if asked.streams.saturating_mul(each) > TESTS {
        return Err("bench_agent takes two streams at a time, both ways together");
    }
    check_amount(asked.amount)
}

fn datagrams(asked: &Datagrams) -> Result<(), &'static str> {
    if !DATAGRAM_OCTETS.contains(&asked.payload_octets) {
        return Err("a datagram has 60 octets, as iperf 2 needs, to 1472, which fill a frame");
    }
    check_amount(asked.amount)
}

impl BoardTarget {
    /// The firmware, or the kernel.
    pub(super) fn image(&self) -> Result<Image, MachineError> {
        let Some(linux) = &self.board.linux else {
            return self.image_of(PROGRAM);
        };
        let kernel = firmware::find_linux(&self.elf_dir, &self.board.name, &linux.kernel);
        kernel.map_err(|error| MachineError::Firmware(error.to_string()))
    }

    const fn program(&self) -> &'static str {
        if self.board.has_firmware() {
            PROGRAM
        } else {
            LINUX
        }
    }

    pub(super) fn image_of(&self, program: &str) -> Result<Image, MachineError> {
        let variant = &self.board.firmware.default_variant;
        firmware::find(&self.elf_dir, &self.board.name, program, variant)
            .map_err(|error| MachineError::Firmware(error.to_string()))
    }

    /// Switches on the board and waits until it is ready.
    pub(super) fn switch_on(&self, trial: &Trial) -> Result<BoardSession, TargetError> {
        let running = (self.runner.switch_on)(self, trial)?;
        let linux = self.board.linux.as_ref();
        let start_timeout =
            linux.map_or(START_TIMEOUT, |it| Duration::from_secs(it.start_timeout_s));
        BoardSession::begin(running, endpoint::Target::name(self), start_timeout)
    }
}

impl endpoint::Target for BoardTarget {
    fn name(&self) -> String {
        format!(
            "{} ({}, {})",
            self.board.name,
            self.runner.how,
            self.program()
        )
    }

    fn supports(&self, trial: &Trial) -> Result<(), &'static str> {
        if !self.board.has_firmware() {
            return supported_by_linux(trial);
        }
        match trial {
            Trial::Stream(asked) => stream(asked),
            Trial::Datagrams(asked) => datagrams(asked),
            Trial::RoundTrips(RoundTrips { payload_octets, .. })
                if *payload_octets > STAMP_OCTETS =>
            {
                Err("bench_agent answers STAMP packets of 256 octets at most")
            }
            Trial::RoundTrips(RoundTrips {
                load: Some(load), ..
            }) => match &**load {
                Trial::Stream(_) | Trial::Datagrams(_) => self.supports(load),
                _ => Err("only TCP and UDP can run during round trips"),
            },
            Trial::Frames(frames) if !FRAME_OCTETS.contains(&frames.octets) => {
                Err("a frame has 64 to 1518 octets")
            }
            Trial::RoundTrips(RoundTrips { load: None, .. }) | Trial::Frames(_) => Ok(()),
        }
    }

    fn measure(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        let mut session = self.switch_on(trial)?;
        let mut outcome = match trial {
            Trial::Stream(_) | Trial::Datagrams(_) => {
                // Linux prints none on its console; a stream has no place for them in its result.
                let is_counted = matches!(trial, Trial::Datagrams(_)) && self.board.has_firmware();
                let before = is_counted.then(|| session.device_counters());
                let before = before.transpose()?;
                let mut transfer = self.start_transfer(trial, &mut session)?;
                session.run_until(monitor, |session| transfer.poll_done(session))?;
                let mut outcome = transfer.finish(&mut session)?;
                if let Some(before) = before {
                    match session.device_counters() {
                        Ok(after) => outcome.device_counters = after.since(&before),
                        // After an overload it may not answer; its datagrams are counted.
                        Err(error) => outcome.notes.push(error.to_string()),
                    }
                }
                outcome
            }
            Trial::RoundTrips(asked) => self.round_trips(asked, &mut session, monitor)?,
            Trial::Frames(asked) => self.frames(asked, &mut session, monitor)?,
        };
        session.finish(&mut outcome);
        Ok(outcome)
    }

    fn test_board(&self) -> Option<TestBoard<'_>> {
        if !self.board.has_firmware() {
            return None;
        }
        let switch_on = || self.switch_on(&ANY);
        Some(TestBoard::new(
            &self.board.unsupported_cases,
            Box::new(switch_on),
        ))
    }

    fn identity(&self) -> Option<Identity> {
        let mut identity = (self.runner.identify)(&self.board);
        identity.address = Some(self.board.link.ipv4.into());
        // Without an image the first trial fails with the reason.
        let image = self.image().ok();
        identity.images = image
            .map(|image| (image.name, firmware::sha256(&image.elf)))
            .into_iter()
            .collect();
        Some(identity)
    }

    fn is_half_duplex(&self) -> bool {
        (self.runner.is_half_duplex)(&self.board)
    }

    fn line_bits_per_s(&self) -> Option<u64> {
        (self.runner.line_bits_per_s)(&self.board)
    }

    fn is_simulated(&self) -> bool {
        self.runner.is_simulated
    }
}

/// The host's TCP, with the trial's buffer sizes.
pub(super) fn tcp_of(trial: &Trial) -> tcp::Config {
    let default = tcp::Config::default();
    let trial = match trial {
        Trial::RoundTrips(RoundTrips {
            load: Some(load), ..
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
