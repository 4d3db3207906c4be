//! `sim://BOARD`: a simulated board with the program `bench_agent`, and the clients of its services on
//! the host at the other end of the simulated cable, all in virtual time. Each trial switches the board
//! on anew.

mod frames;
mod round_trips;
mod session;
#[cfg(test)]
mod tests;
mod transfers;

use std::path::PathBuf;
use std::time::Duration;

use linerate_explain::record::Direction;

use super::{
    Amount, Datagrams, Options, Outcome, RoundTrips, Stream, Target, TargetError, Trial, Url, Watch,
};
use crate::board::{self, Board};

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

struct Simulated {
    board: Board,
    elf_dir: PathBuf,
    seed: u64,
    patience: Duration,
}

/// Opens the board that `url` names; its firmware is looked for when it is first switched on.
pub(super) fn open(url: &Url, options: &Options) -> Result<Box<dyn Target>, TargetError> {
    url.knows_only(&[])?;
    let wrong = |what: String| TargetError::Url {
        url: url.whole.clone(),
        what,
    };
    if url.port.is_some() || !matches!(url.path.as_str(), "" | "/") {
        return Err(wrong("nothing follows the board's name".to_owned()));
    }
    Ok(Box::new(Simulated {
        board: board::find(&url.host).map_err(|error| wrong(error.to_string()))?,
        elf_dir: options.elf_dir.clone(),
        seed: options.seed,
        patience: options.patience,
    }))
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

impl Target for Simulated {
    fn name(&self) -> String {
        format!("{} (simulated, {PROGRAM})", self.board.name)
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
            Trial::Frames(asked) => frames::run(asked, &mut session, watch)?,
        };
        outcome.notes.extend(session.notes());
        Ok(outcome)
    }

    fn line_bits_per_s(&self) -> Option<u64> {
        Some(frames::LINE_BITS_PER_S)
    }

    fn is_simulated(&self) -> bool {
        true
    }
}
