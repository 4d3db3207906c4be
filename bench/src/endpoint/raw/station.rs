//! The station, as a target.

use std::io::ErrorKind;
use std::time::Duration;

use linerate_agent::frame::{MAX_LEN, MIN_LEN, Mac};
use linerate_ether::fcs;
use linerate_ring::RingError;

use super::exchange::{ExchangeConfig, ExchangeError, ExchangeResult, exchange, limit};
use super::matcher::ExpectedReplies;
use crate::endpoint::{
    Frames, NoMonitor, Outcome, RoundTripReport, RoundTrips, Target, TargetError, Trial,
    TrialMonitor,
};
use linerate_host::load::LoadError;
use linerate_host::load::counters::mac_of;
use linerate_host::load::line_rate::interface_line_rate;

/// Destination, source and type.
const HEADER_OCTETS: usize = 14;
/// Octets of frames, FCS included.
const FRAME_OCTETS: std::ops::RangeInclusive<u16> = 64..=1518;
/// Maximum number of frames: samples of this many answers take 1.6 GB of memory.
const MAX_FRAMES: u64 = 100_000_000;
/// Frames that check if the station answers at all.
const PROBES: u64 = 3;
/// From one of them to the next.
const PROBE_INTERVAL: Duration = Duration::from_millis(50);

/// A station on the line at an interface, whose agent sends frames back.
pub(super) struct Station {
    interface: String,
    to: Mac,
    timeout: Duration,
    /// Distinguishes a trial's frames from those of the previous one.
    stream: u8,
    /// It has answered before.
    has_answered: bool,
}

impl Station {
    pub(super) fn new(interface: &str, to: Mac, timeout: Duration) -> Self {
        Self {
            interface: interface.to_owned(),
            to,
            timeout,
            stream: std::process::id() as u8,
            has_answered: false,
        }
    }

    /// Sends `count` frames of `octets` without FCS, and collects the answers.
    fn exchange(
        &mut self,
        octets: usize,
        count: u64,
        interval_ns: f64,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<ExchangeResult, TargetError> {
        let own = self.own_address()?;
        self.stream = self.stream.wrapping_add(1);
        let config = self.config(own, octets, count, interval_ns);
        let exchanged = exchange(&config, monitor).map_err(|error| match error {
            ExchangeError::Load(error) => error.into(),
            ExchangeError::Slow(what) => self.failure(what),
        })?;
        self.has_answered |= exchanged.matched.answered() > 0;
        Ok(exchanged)
    }

    fn config(&self, own: Mac, octets: usize, count: u64, interval_ns: f64) -> ExchangeConfig<'_> {
        ExchangeConfig {
            interface: &self.interface,
            expected: ExpectedReplies {
                own,
                station: self.to,
                stream: self.stream,
                octets,
                count,
            },
            interval_ns,
            line_bits_per_s: self.line_bits_per_s(),
            timeout: self.timeout,
        }
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
            return Err(self.failure(what));
        }
        Ok(own)
    }

    fn silent(&self, sent: u64) -> TargetError {
        self.failure(format!(
            "none of {sent} frames came back; is it on this line, and does its agent send frames of EtherType \
             0x88B5 back?"
        ))
    }

    fn frames(
        &mut self,
        asked: &Frames,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        let octets = usize::from(asked.octets) - fcs::LEN;
        let exchanged = self.exchange(octets, asked.count, asked.interval_ns, monitor)?;
        // An overloaded device may answer nothing, although it is present.
        if !self.has_answered && !exchanged.is_cancelled {
            let interval_ns = PROBE_INTERVAL.as_nanos() as f64;
            self.exchange(octets, PROBES, interval_ns, &mut NoMonitor)?;
            if !self.has_answered {
                return Err(self.silent(exchanged.sent + PROBES));
            }
        }
        Ok(outcome(exchanged))
    }

    fn round_trips(
        &mut self,
        asked: &RoundTrips,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        let interval_ns = asked.interval.as_nanos() as f64;
        let count = asked.count.into();
        let exchanged = self.exchange(request_octets(asked), count, interval_ns, monitor)?;
        if exchanged.matched.answered() == 0 && !exchanged.is_cancelled {
            return Err(self.silent(exchanged.sent));
        }
        Ok(outcome(exchanged))
    }
}

/// Octets of the frame of a request, without FCS.
fn request_octets(asked: &RoundTrips) -> usize {
    let octets = HEADER_OCTETS + usize::from(asked.payload_octets);
    octets.clamp(MIN_LEN, MAX_LEN)
}

fn outcome(exchanged: ExchangeResult) -> Outcome {
    let ExchangeResult {
        sent,
        matched,
        notes,
        ..
    } = exchanged;
    Outcome {
        round_trips: Some(RoundTripReport {
            sent,
            lost_unknown: sent.saturating_sub(matched.answered()),
            out_of_order: matched.out_of_order,
            duplicates: matched.duplicates,
            samples: matched.samples,
            ..RoundTripReport::default()
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

    fn supports(&self, trial: &Trial) -> Result<(), &'static str> {
        const TOO_MANY: &str =
            "100,000,000 frames at most are matched by number; take a shorter trial";
        match trial {
            Trial::Stream(_) => Err("raw frames are no TCP; use iperf2://, iperf3:// or http://"),
            Trial::Datagrams(_) => Err("raw frames are no UDP; use iperf2:// or iperf3://"),
            Trial::RoundTrips(RoundTrips { load: Some(_), .. }) => {
                Err("raw frames can't load a station during round trips; name what loads it, too")
            }
            Trial::RoundTrips(asked) if u64::from(asked.count) > MAX_FRAMES => Err(TOO_MANY),
            Trial::Frames(asked) if !asked.reflected => Err(
                "this host can't read what the device has counted; only reflected frames can be measured",
            ),
            Trial::Frames(asked) if !FRAME_OCTETS.contains(&asked.octets) => {
                Err("a frame has 64 to 1518 octets")
            }
            Trial::Frames(asked) if asked.count > MAX_FRAMES => Err(TOO_MANY),
            Trial::RoundTrips(_) | Trial::Frames(_) => Ok(()),
        }
    }

    fn measure(
        &mut self,
        trial: &Trial,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        match trial {
            Trial::Frames(asked) => self.frames(asked, monitor),
            Trial::RoundTrips(asked) => self.round_trips(asked, monitor),
            Trial::Stream(_) | Trial::Datagrams(_) => Ok(Outcome::default()),
        }
    }

    fn line_bits_per_s(&self) -> Option<u64> {
        interface_line_rate(&self.interface).ok()
    }

    fn deadline(&self, trial: &Trial) -> Option<Duration> {
        let of =
            |octets, count, interval_ns| limit(&self.config(self.to, octets, count, interval_ns));
        match trial {
            Trial::Frames(asked) => {
                let octets = usize::from(asked.octets).saturating_sub(fcs::LEN);
                let probes = of(octets, PROBES, PROBE_INTERVAL.as_nanos() as f64);
                Some(of(octets, asked.count, asked.interval_ns).saturating_add(probes))
            }
            Trial::RoundTrips(asked) => {
                let interval_ns = asked.interval.as_nanos() as f64;
                Some(of(request_octets(asked), asked.count.into(), interval_ns))
            }
            Trial::Stream(_) | Trial::Datagrams(_) => None,
        }
    }
}
