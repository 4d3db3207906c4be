//! Offering frames to a target and counting them, for each counting method.

use std::time::Duration;

use linerate_results::record::{
    Counting, Direction, FrameRoundTrips, Rfc2544Metrics, line_frames_per_s,
};

use crate::endpoint::{
    Amount, Datagrams, Frames, Outcome, RoundTripReport, RoundTripSample, RoundTrips, Target,
    TargetError, Trial,
};
use linerate_results::stats::percentile;

/// Overhead of a frame with a UDP datagram: Ethernet header and FCS, IPv4 without options, UDP.
pub const DATAGRAM_OVERHEAD: u16 = 18 + 20 + 8;
/// Preamble and SFD.
const PREAMBLE_OCTETS: u64 = 8;
/// Probes during a load of datagrams.
const PROBES: u32 = 20;
/// Minimum ratio of received to offered rate: allows for the receiver's clock and its last frame.
const TOLERANCE: f64 = 0.95;
/// Minimum duration for a check of the rate: in a shorter trial, buffered frames are too large a
/// part.
const MIN_RATE_SPAN: Duration = Duration::from_millis(450);
/// Growth of the round trips during a trial, as a share of its duration, from which a queue grows: more is offered than
/// comes back. A longer trial would fill the queue and lose frames.
const MAX_GROWTH: f64 = 0.01;
/// Reflected frames with fewer samples show no growth.
const MIN_GROWTH_SAMPLES: usize = 40;

/// Frames of one size for one line, with one counting method.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The counting method.
    pub counting: Counting,
    /// Octets, FCS included.
    pub octets: u16,
    /// The line rate.
    pub line_bits_per_s: u64,
}

impl Offer {
    /// The line rate in frames of this size per second.
    pub fn line_frames_per_s(&self) -> f64 {
        line_frames_per_s(self.line_bits_per_s, u64::from(self.octets))
    }

    /// A trial of `frames` at this rate; `None`: back to back.
    pub fn trial(&self, frames: u64, frames_per_s: Option<f64>) -> Trial {
        match self.counting {
            Counting::Agent | Counting::Reflector => Trial::Frames(Frames {
                octets: self.octets,
                count: frames,
                interval_ns: frames_per_s.map_or(0.0, |rate| 1e9 / rate),
                reflected: self.counting == Counting::Reflector,
            }),
            Counting::Datagrams => {
                let payload_octets = self.octets.saturating_sub(DATAGRAM_OVERHEAD);
                let bits = f64::from(payload_octets) * 8.0;
                Trial::Datagrams(Datagrams {
                    direction: Direction::ToDevice,
                    amount: Amount::Octets(frames * u64::from(payload_octets)),
                    payload_octets,
                    payload_bits_per_s: frames_per_s
                        .map_or(0, |rate| ((rate * bits).round() as u64).max(1)),
                })
            }
        }
    }

    /// The same with round trips.
    pub fn with_round_trips(&self, frames: u64, frames_per_s: f64) -> Trial {
        let trial = self.trial(frames, Some(frames_per_s));
        match self.counting {
            Counting::Agent | Counting::Reflector => trial,
            Counting::Datagrams => Trial::RoundTrips(RoundTrips {
                count: PROBES,
                interval: RoundTrips::interval_within(
                    Duration::from_secs_f64(frames as f64 / frames_per_s),
                    PROBES,
                ),
                payload_octets: self.octets.saturating_sub(DATAGRAM_OVERHEAD),
                load: Some(Box::new(trial)),
            }),
        }
    }

    /// Checks that `target` supports it.
    ///
    /// # Errors
    /// The reason why it does not.
    pub fn check_support(&self, target: &dyn Target) -> Result<(), &'static str> {
        if self.counting == Counting::Datagrams && self.octets <= DATAGRAM_OVERHEAD {
            return Err("it is too small for a datagram");
        }
        target.supports(&self.trial(1, Some(1.0)))
    }

    /// The metrics of `outcome`, for `frames` offered at this rate.
    ///
    /// # Errors
    /// [`InvalidOutcome`] if it has no valid figures.
    pub fn evaluate(
        &self,
        target: &dyn Target,
        outcome: &Outcome,
        frames: u64,
        frames_per_s: f64,
    ) -> Result<Rfc2544Metrics, InvalidOutcome> {
        let mut metrics = match self.counting {
            Counting::Reflector => self.reflected(outcome),
            Counting::Agent | Counting::Datagrams => counted(outcome),
        }
        .ok_or_else(|| {
            InvalidOutcome::Failed(target.failure("it did not report what it received".to_owned()))
        })?;
        self.check_size(outcome, &metrics)?;
        if self.counting == Counting::Datagrams {
            // A server that counts up to the highest number received misses losses at the end; the
            // number sent is known here.
            let unseen = frames.saturating_sub(metrics.sent_frames);
            metrics.sent_frames += unseen;
            metrics.lost_frames += unseen;
            metrics.round_trips = outcome
                .round_trips
                .as_ref()
                .and_then(|answers| round_trips(answers, 0));
        }
        let span = frames as f64 / frames_per_s;
        let arrived = metrics.received_frames.max(1) as f64;
        // Lost frames occupied the line, too.
        let sent_rate = metrics.received_frames_per_s * metrics.sent_frames as f64 / arrived;
        let is_slow = span >= MIN_RATE_SPAN.as_secs_f64()
            && sent_rate > 0.0
            && sent_rate < frames_per_s * TOLERANCE;
        metrics.is_below_offered |= is_slow;
        Ok(metrics)
    }

    fn reflected(&self, outcome: &Outcome) -> Option<Rfc2544Metrics> {
        let answers = outcome.round_trips.as_ref()?;
        let samples = &answers.samples;
        let received = samples.len() as u64;
        let came = || samples.iter().map(|it| it.sent_ns + it.round_trip_ns);
        let span_ns = came().max().unwrap_or(0) - came().min().unwrap_or(0);
        // Both directions.
        let bits = (u64::from(self.octets) + PREAMBLE_OCTETS) * 8 * 2;
        let serialisation_ns = bits as f64 * 1e9 / self.line_bits_per_s as f64;
        Some(Rfc2544Metrics {
            sent_frames: answers.sent,
            received_frames: received,
            lost_frames: answers.sent.saturating_sub(received),
            out_of_order_frames: answers.out_of_order,
            duplicate_frames: answers.duplicates,
            received_frames_per_s: per_second(received, span_ns),
            is_below_offered: is_queue_growing(answers, serialisation_ns),
            round_trips: round_trips(answers, serialisation_ns as u64),
        })
    }

    /// Rejects larger datagrams, which a protocol sends if it has a minimum size: frames of another
    /// size are not what was requested.
    fn check_size(
        &self,
        outcome: &Outcome,
        metrics: &Rfc2544Metrics,
    ) -> Result<(), InvalidOutcome> {
        let Some(flow) = &outcome.to_device else {
            return Ok(());
        };
        if self.counting != Counting::Datagrams || metrics.received_frames == 0 {
            return Ok(());
        }
        let asked = f64::from(self.octets.saturating_sub(DATAGRAM_OVERHEAD));
        let came = flow.octets as f64 / metrics.received_frames as f64;
        if came > asked * 1.05 + 1.0 {
            return Err(InvalidOutcome::UnsupportedSize(format!(
                "its datagrams have {came:.0} octets at least, not {asked}"
            )));
        }
        Ok(())
    }
}

/// True if the round trips grow during the trial: frames queue on the way.
fn is_queue_growing(answers: &RoundTripReport, serialisation_ns: f64) -> bool {
    let mut samples = answers.samples.clone();
    if samples.len() < MIN_GROWTH_SAMPLES {
        return false;
    }
    samples.sort_unstable_by_key(|it| it.sent_ns);
    let tenth = samples.len() / 10;
    let median = |part: &[RoundTripSample]| {
        let times: Vec<u64> = part.iter().map(|it| it.round_trip_ns).collect();
        percentile(&times, 50.0).unwrap_or(0) as f64
    };
    let growth = median(&samples[samples.len() - tenth..]) - median(&samples[..tenth]);
    let span = samples[samples.len() - 1].sent_ns - samples[0].sent_ns;
    // A frame that waits for another one is no queue.
    growth > span as f64 * MAX_GROWTH && growth > 3.0 * serialisation_ns
}

/// Why an outcome has no valid figures.
#[derive(Debug)]
pub enum InvalidOutcome {
    /// The target does not support this size.
    UnsupportedSize(String),
    /// The trial failed.
    Failed(TargetError),
}

fn counted(outcome: &Outcome) -> Option<Rfc2544Metrics> {
    let flow = outcome.to_device.as_ref()?;
    let datagrams = flow.datagrams?;
    Some(Rfc2544Metrics {
        sent_frames: datagrams.sent,
        received_frames: datagrams.received,
        lost_frames: datagrams.lost,
        out_of_order_frames: datagrams.out_of_order.unwrap_or(0),
        duplicate_frames: datagrams.duplicates.unwrap_or(0),
        received_frames_per_s: per_second(datagrams.received, flow.span_ns),
        is_below_offered: false,
        round_trips: None,
    })
}

/// The time starts with the first frame, which is not counted.
fn per_second(frames: u64, span_ns: u64) -> f64 {
    match span_ns {
        0 => 0.0,
        span_ns => frames.saturating_sub(1) as f64 * 1e9 / span_ns as f64,
    }
}

/// Round trips of all reflected frames; the tagged one is the first of the stream's second half.
fn round_trips(answers: &RoundTripReport, serialisation_ns: u64) -> Option<FrameRoundTrips> {
    let times: Vec<u64> = answers.samples.iter().map(|it| it.round_trip_ns).collect();
    let sent = || answers.samples.iter().map(|it| it.sent_ns);
    let half = u64::midpoint(sent().min()?, sent().max()?);
    let tagged = answers.samples.iter().filter(|it| it.sent_ns >= half);
    let tagged = tagged.min_by_key(|it| it.sent_ns);
    FrameRoundTrips::of(&times, tagged.map(|it| it.round_trip_ns), serialisation_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Round trips of frames sent each 1.3 ms that come back each `ms_back`.
    fn reflected(ms_back: f64) -> RoundTripReport {
        let sample = |number: u32| {
            let sent = f64::from(number) * 1.3e6;
            let back = (f64::from(number) * ms_back * 1e6).max(sent) + 2.6e6;
            RoundTripSample {
                sent_ns: sent as u64,
                round_trip_ns: (back - sent) as u64,
            }
        };
        RoundTripReport {
            sent: 400,
            samples: (0..400).map(sample).collect(),
            ..RoundTripReport::default()
        }
    }

    #[test]
    fn a_queue_that_grows_shows_in_a_short_trial() {
        assert!(!is_queue_growing(&reflected(1.3), 2.5e6));
        // 4 per cent more than comes back, as 52 per cent each way on a half-duplex line.
        assert!(is_queue_growing(&reflected(1.3 * 1.04), 2.5e6));
    }
}
