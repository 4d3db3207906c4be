//! Raw frames: the agent's own generator on the peer, and what the board's console says of them.

use std::time::Duration;

use linerate_agent::frame::{Fill, OVERHEAD, Plan};
use linerate_ether::fcs;
use linerate_results::record::{self, CountedAt, Flow};
use linerate_sim::peer::generator::DEVICE;
use linerate_sim::peer::host;
use linerate_sim::peer::host::program::{Blaster, LENGTHS};
use serde::Deserialize;

use super::runner::Target;
use super::session::Session;
use crate::endpoint::{Answer, Answers, Frames, Outcome, TargetError, Watch};

/// Which stream the frames are of.
const STREAM: u8 = 1;
/// More than any link has.
const UNLIMITED_BITS_PER_S: u64 = 100_000_000_000;
/// How long frames are waited for after the last one.
const LAST: Duration = Duration::from_millis(100);

/// What the board has counted of the stream.
#[derive(Debug, Deserialize)]
struct Said {
    frames: u64,
    octets: u64,
    out_of_order: u64,
    duplicates: u64,
    reflected: u64,
    span_us: u64,
    jitter_ns: u64,
}

impl Target {
    /// Sends, and asks what came.
    pub(super) fn frames(
        &self,
        asked: &Frames,
        session: &mut Session,
        watch: &mut dyn Watch,
    ) -> Result<Outcome, TargetError> {
        session.tell(&format!("frames {STREAM}"));
        // Commands are done in the order in which they come: when this one is answered, it counts.
        let _: Said = session.ask("frames", "frames")?;
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
            LAST,
        ))?;
        session.run_until(watch, |session| {
            let now = session.now();
            let (is_over, sent) = session.with(handle, |it: &mut Blaster| {
                let is_over = host::program::Program::poll_finished(it, now);
                (is_over, it.sent().1)
            })?;
            session.moved(sent);
            Ok(is_over)
        })?;
        let sent = session.stop::<Blaster>(handle)?.counts();
        let said: Said = session.ask("frames", "frames")?;
        let different = said.frames.saturating_sub(said.duplicates);
        let lost = sent.sent.0.saturating_sub(different);
        let to_device = Flow::datagrams(
            said.octets + said.frames * fcs::LEN as u64,
            said.span_us * 1_000,
            CountedAt::Device,
            record::Datagrams {
                sent: sent.sent.0,
                received: different,
                lost,
                out_of_order: Some(said.out_of_order),
                duplicates: Some(said.duplicates),
                jitter_ns: said.jitter_ns,
                lost_by_host: None,
            },
        );
        let back = sent.reflections.len() as u64;
        let samples = sent.reflections.iter().map(|it| Answer {
            sent_ns: it.sent.since(began).as_nanos() as u64,
            round_trip_ns: it.round_trip.as_nanos() as u64,
        });
        let answers = Answers {
            sent: sent.sent.0,
            samples: samples.collect(),
            lost_forward: lost,
            lost_back: said.reflected.saturating_sub(back),
            duplicates: sent.duplicates,
            ..Answers::default()
        };
        Ok(Outcome {
            to_device: Some(to_device),
            round_trips: asked.reflected.then_some(answers),
            ..Outcome::default()
        })
    }
}

/// Bits on the wire in a second, gaps included. What is to go back to back goes at the line's rate.
fn rate(asked: &Frames, octets: usize, line_bits_per_s: Option<u64>) -> u64 {
    let most = line_bits_per_s.unwrap_or(UNLIMITED_BITS_PER_S);
    if asked.interval_ns <= 0.0 {
        return most;
    }
    let bits = (octets + OVERHEAD) as f64 * 8.0;
    ((bits * 1e9 / asked.interval_ns).round() as u64).clamp(1, most)
}
