//! Raw frames: the agent's generator on the peer, and the counts on the board's console.

use std::time::Duration;

use linerate_agent::frame::{Fill, OVERHEAD, Plan};
use linerate_ether::fcs;
use linerate_results::record::{self, CountedAt, Flow};
use linerate_sim::peer::generator::DEVICE;
use linerate_sim::peer::host;
use linerate_sim::peer::host::program::{Blaster, LENGTHS};
use serde::Deserialize;

use super::runner::BoardTarget;
use super::session::BoardSession;
use crate::endpoint::{
    Frames, Outcome, RoundTripReport, RoundTripSample, TargetError, TrialMonitor,
};

/// The stream of the frames.
const STREAM: u8 = 1;
/// More than any link has.
const UNLIMITED_BITS_PER_S: u64 = 100_000_000_000;
/// Time to wait for frames after the last one.
const LAST_FRAME_TIMEOUT: Duration = Duration::from_millis(100);

/// The board's counts of the stream.
#[derive(Debug, Deserialize)]
struct FrameCounts {
    frames: u64,
    octets: u64,
    out_of_order: u64,
    duplicates: u64,
    reflected: u64,
    span_us: u64,
    jitter_ns: u64,
}

impl BoardTarget {
    /// Sends the frames, and queries the board's counts.
    pub(super) fn frames(
        &self,
        asked: &Frames,
        session: &mut BoardSession,
        monitor: &mut dyn TrialMonitor,
    ) -> Result<Outcome, TargetError> {
        session.type_command(&format!("frames {STREAM}"));
        // Commands are executed in order: once this one is answered, the board counts.
        let _: FrameCounts = session.query("frames", "frames")?;
        let began = session.now();
        let octets = usize::from(asked.octets) - fcs::LEN;
        let handle = session.start(Blaster::new(
            Plan {
                to: DEVICE,
                from: host::Config::default().mac.0,
                stream: STREAM,
                sizes: &LENGTHS[octets..=octets],
                fill: Fill::Pattern,
                reflect: asked.reflected,
                count: asked.count,
                rate_bits_per_s: rate(asked, octets, self.runner.line_bits_per_s),
            },
            LAST_FRAME_TIMEOUT,
        ))?;
        session.run_until(monitor, |session| {
            let now = session.now();
            let (is_over, sent) = session.with(handle, |it: &mut Blaster| {
                let is_over = host::program::Program::poll_finished(it, now);
                (is_over, it.sent().1)
            })?;
            session.set_octets(sent);
            Ok(is_over)
        })?;
        let sent = session.stop::<Blaster>(handle)?.counts();
        let counts: FrameCounts = session.query("frames", "frames")?;
        let received = counts.frames.saturating_sub(counts.duplicates);
        let lost = sent.sent.0.saturating_sub(received);
        let to_device = Flow::datagrams(
            counts.octets + counts.frames * fcs::LEN as u64,
            counts.span_us * 1_000,
            CountedAt::Device,
            record::Datagrams {
                sent: sent.sent.0,
                received,
                lost,
                out_of_order: Some(counts.out_of_order),
                duplicates: Some(counts.duplicates),
                jitter_ns: Some(counts.jitter_ns),
                lost_by_host: None,
            },
        );
        let back = sent.reflections.len() as u64;
        let samples = sent.reflections.iter().map(|it| RoundTripSample {
            sent_ns: it.sent.since(began).as_nanos() as u64,
            round_trip_ns: it.round_trip.as_nanos() as u64,
        });
        let answers = RoundTripReport {
            sent: sent.sent.0,
            samples: samples.collect(),
            lost_forward: lost,
            lost_backward: counts.reflected.saturating_sub(back),
            duplicates: sent.duplicates,
            ..RoundTripReport::default()
        };
        Ok(Outcome {
            to_device: Some(to_device),
            round_trips: asked.reflected.then_some(answers),
            ..Outcome::default()
        })
    }
}

/// Bits on the wire per second, gaps included. Back-to-back frames use the line rate.
fn rate(asked: &Frames, octets: usize, line_bits_per_s: Option<u64>) -> u64 {
    let most = line_bits_per_s.unwrap_or(UNLIMITED_BITS_PER_S);
    if asked.interval_ns <= 0.0 {
        return most;
    }
    let bits = (octets + OVERHEAD) as f64 * 8.0;
    ((bits * 1e9 / asked.interval_ns).round() as u64).clamp(1, most)
}
