//! The station, as a target.

use std::io::ErrorKind;
use std::time::Duration;

use linerate_agent::frame::{LONGEST, Mac, SHORTEST};
use linerate_ether::fcs;
use linerate_ring::RingError;

use super::exchange::{Exchanged, Order, Stopped, exchange};
use super::matched::Wanted;
use crate::endpoint::{
    Answers, Frames, Outcome, RoundTrips, Target, TargetError, Trial, Unwatched, Watch, unable,
};
use linerate_host::load::LoadError;
use linerate_host::load::counters::mac_of;
use linerate_host::load::line_rate::interface_line_rate;

/// Destination, source and type.
const HEADER_OCTETS: usize = 14;
/// Octets of frames, FCS included.
const FRAME_OCTETS: std::ops::RangeInclusive<u16> = 64..=1518;
/// What is remembered of each frame that is answered takes memory: 1.6 GB for so many.
const MOST: u64 = 100_000_000;
/// Frames by which it is seen whether the station answers at all.
const PROBES: u64 = 3;
/// From one of them to the next.
const PROBE_INTERVAL: Duration = Duration::from_millis(50);

/// A station on the line at an interface, whose agent sends frames back.
pub(super) struct Station {
    interface: String,
    to: Mac,
    patience: Duration,
    /// Tells a trial's frames from those of the one before.
    stream: u8,
    /// It has answered before.
    has_answered: bool,
}

impl Station {
    pub(super) fn new(interface: &str, to: Mac, patience: Duration) -> Self {
        Self {
            interface: interface.to_owned(),
            to,
            patience,
            stream: std::process::id() as u8,
            has_answered: false,
        }
    }

    fn failed(&self, what: String) -> TargetError {
        TargetError::Failed {
            target: self.name(),
            what,
        }
    }

    /// Sends so many frames of `octets` without FCS, and gathers the answers.
    fn exchange(
        &mut self,
        octets: usize,
        count: u64,
        interval_ns: f64,
        watch: &mut dyn Watch,
    ) -> Result<Exchanged, TargetError> {
        let own = self.own_address()?;
        self.stream = self.stream.wrapping_add(1);
        let order = Order {
            interface: &self.interface,
            wanted: Wanted {
                own,
                station: self.to,
                stream: self.stream,
                octets,
                count,
            },
            interval_ns,
            line_bits_per_s: self.line_bits_per_s(),
            patience: self.patience,
        };
        let exchanged = exchange(&order, watch).map_err(|stopped| match stopped {
            Stopped::Load(error) => error.into(),
            Stopped::Slow(what) => self.failed(what),
        })?;
        self.has_answered |= exchanged.matched.answered() > 0;
        Ok(exchanged)
    }

    fn own_address(&self) -> Result<Mac, TargetError> {
        let own = mac_of(&self.interface).map_err(|error| match error {
            LoadError::Interface {
                interface, source, ..
            } if source.kind() == ErrorKind::NotFound => RingError::Missing { interface }.into(),
            error => error,
        })?;
        if own == self.to {
            let what = format!(
                "that is the address of {} itself; name the station at the other end of its line",
                self.interface
            );
            return Err(self.failed(what));
        }
        Ok(own)
    }

    fn silent(&self, sent: u64) -> TargetError {
        self.failed(format!(
            "none of {sent} frames came back; is it on this line, and does its agent send frames of EtherType \
             0x88B5 back?"
        ))
    }

    fn frames(&mut self, asked: &Frames, watch: &mut dyn Watch) -> Result<Outcome, TargetError> {
        let octets = usize::from(asked.octets) - fcs::LEN;
        let exchanged = self.exchange(octets, asked.count, asked.interval_ns, watch)?;
        // A device under too much load may answer nothing, and be there.
        if !self.has_answered && !exchanged.is_cut {
            let interval_ns = PROBE_INTERVAL.as_nanos() as f64;
            self.exchange(octets, PROBES, interval_ns, &mut Unwatched)?;
            if !self.has_answered {
                return Err(self.silent(exchanged.sent + PROBES));
            }
        }
        Ok(outcome(exchanged))
    }

    fn round_trips(
        &mut self,
        asked: &RoundTrips,
        watch: &mut dyn Watch,
    ) -> Result<Outcome, TargetError> {
        let octets = HEADER_OCTETS + usize::from(asked.payload_octets);
        let octets = octets.clamp(SHORTEST, LONGEST);
        let interval_ns = asked.interval.as_nanos() as f64;
        let exchanged = self.exchange(octets, asked.count.into(), interval_ns, watch)?;
        if exchanged.matched.answered() == 0 && !exchanged.is_cut {
            return Err(self.silent(exchanged.sent));
        }
        Ok(outcome(exchanged))
    }
}

fn outcome(exchanged: Exchanged) -> Outcome {
    let Exchanged {
        sent,
        matched,
        notes,
        ..
    } = exchanged;
    Outcome {
        round_trips: Some(Answers {
            sent,
            lost_either: sent.saturating_sub(matched.answered()),
            out_of_order: matched.out_of_order,
            duplicates: matched.duplicates,
            samples: matched.samples,
            ..Answers::default()
        }),
        notes,
        ..Outcome::default()
    }
}

impl Target for Station {
    fn name(&self) -> String {
        let octets: Vec<String> = self.to.iter().map(|it| format!("{it:02x}")).collect();
        format!("station {} at {}", octets.join(":"), self.interface)
    }

    fn can(&self, trial: &Trial) -> Result<(), &'static str> {
        const TOO_MANY: &str =
            "100,000,000 frames at most are matched by number; take a shorter trial";
        match trial {
            Trial::Stream(_) => Err("raw frames are no TCP; use iperf2://, iperf3:// or http://"),
            Trial::Datagrams(_) => Err("raw frames are no UDP; use iperf2:// or iperf3://"),
            Trial::RoundTrips(RoundTrips { under: Some(_), .. }) => Err(
                "a station that is sent frames is loaded by nothing else; name what loads it, too",
            ),
            Trial::RoundTrips(asked) if u64::from(asked.count) > MOST => Err(TOO_MANY),
            Trial::Frames(asked) if !asked.reflected => Err(
                "nobody tells this machine what the device has counted; frames that are sent back can be measured",
            ),
            Trial::Frames(asked) if !FRAME_OCTETS.contains(&asked.octets) => {
                Err("a frame has 64 to 1518 octets")
            }
            Trial::Frames(asked) if asked.count > MOST => Err(TOO_MANY),
            Trial::RoundTrips(_) | Trial::Frames(_) => Ok(()),
        }
    }

    fn run(&mut self, trial: &Trial, watch: &mut dyn Watch) -> Result<Outcome, TargetError> {
        match (self.can(trial), trial) {
            (Ok(()), Trial::Frames(asked)) => self.frames(asked, watch),
            (Ok(()), Trial::RoundTrips(asked)) => self.round_trips(asked, watch),
            (Ok(()), _) => Ok(Outcome::default()),
            (Err(why), _) => Err(unable(self, trial, why)),
        }
    }

    fn line_bits_per_s(&self) -> Option<u64> {
        interface_line_rate(&self.interface).ok()
    }
}
