//! The device pings the peer; its program is `ping`.

use linerate_explain::cause;
use linerate_explain::line;
use linerate_explain::record::{
    Measurement, Ping, PingLimits, PingMetrics, PingParams, PingSamples, RttNs, Setting,
};
use linerate_explain::wire::{Echo, Frame, Packet, Side};
use serde::Deserialize;

use super::{DeviceEvent, MeasureError, Procedure};
use crate::target::Event;

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Requests that the firmware sends.
    pub count: u64,
    /// Virtual seconds after which it has failed.
    #[serde(default = "limit_s")]
    pub limit_s: u64,
}

const fn limit_s() -> u64 {
    120
}

impl Plan {
    /// What is wrong with it.
    ///
    /// # Errors
    /// One sentence.
    pub fn check(&self) -> Result<(), String> {
        if self.count == 0 {
            Err("`count` must be at least 1".into())
        } else {
            Ok(())
        }
    }
}

/// Collects the replies.
pub struct Pinging {
    variant: String,
    plan: Plan,
    rtt_ns: Vec<u64>,
    lost: u64,
    frames: Vec<Frame>,
    counters: std::collections::BTreeMap<String, u64>,
}

/// The procedure for `plan` on a firmware of `variant`.
pub fn procedure(variant: &str, plan: &Plan) -> impl Procedure + use<> {
    Pinging {
        variant: variant.to_owned(),
        plan: plan.clone(),
        rtt_ns: Vec::new(),
        lost: 0,
        frames: Vec::new(),
        counters: std::collections::BTreeMap::new(),
    }
}

impl Procedure for Pinging {
    fn observe(&mut self, event: Event) -> Result<(), MeasureError> {
        match event {
            Event::Frame(frame) => self.frames.push(frame),
            Event::Debug(_) | Event::Uploaded(_) => {}
            Event::Console { line, .. } => match DeviceEvent::parse(&line) {
                Some(Ok(DeviceEvent::Ping { rtt_us, .. })) => self.rtt_ns.push(rtt_us * 1_000),
                Some(Ok(DeviceEvent::PingLost { .. })) => self.lost += 1,
                Some(Ok(DeviceEvent::Counters(counters))) => self.counters = counters,
                _ => {}
            },
        }
        Ok(())
    }

    fn take(&mut self) -> Vec<Measurement> {
        Vec::new()
    }

    fn progress(&self) -> (u64, u64) {
        (self.rtt_ns.len() as u64 + self.lost, self.plan.count)
    }

    fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError> {
        let (done, asked) = self.progress();
        if done != asked {
            let what = format!("the firmware sent {done} pings, the scenario asks for {asked}");
            return Err(MeasureError::Unexpected { what });
        }
        self.frames.sort_by_key(|frame| frame.start_ns);
        let ledger = super::ledger(&self.frames, std::mem::take(&mut self.counters));
        let payload_bytes = self
            .frames
            .iter()
            .find_map(|frame| echo(frame, true))
            .map_or(0, |echo| u64::from(echo.len));
        let wire_rtt_ns = wire_rtt_ns(&self.frames);
        let mut ping = Ping {
            params: PingParams {
                variant: self.variant.clone(),
                setting: Setting::default(),
                count: asked,
                payload_bytes,
            },
            metrics: PingMetrics {
                rtt_ns: RttNs::of(&self.rtt_ns),
                wire_rtt_ns: RttNs::of(&wire_rtt_ns),
                sent: asked,
                received: self.rtt_ns.len() as u64,
            },
            limits: PingLimits {
                line_rtt_ns: line::ping_ns(payload_bytes),
            },
            ledger,
            samples: PingSamples {
                rtt_ns: std::mem::take(&mut self.rtt_ns),
                wire_rtt_ns,
            },
            findings: Vec::new(),
        };
        ping.findings = cause::of_ping(&ping);
        Ok(vec![Measurement::Ping(ping)])
    }
}

fn echo(frame: &Frame, request: bool) -> Option<Echo> {
    match frame.packet {
        Packet::Echo(echo) if echo.request == request => Some(echo),
        _ => None,
    }
}

/// First bit of each request of the device to the last bit of its reply.
fn wire_rtt_ns(frames: &[Frame]) -> Vec<u64> {
    let requests = frames.iter().filter(|frame| frame.from == Side::Device);
    let rtt = |sent: &Frame| {
        let request = echo(sent, true)?;
        let answers = |frame: &&Frame| {
            frame.from == Side::Peer
                && frame.start_ns >= sent.end_ns
                && echo(frame, false).is_some_and(|reply| {
                    (reply.identifier, reply.sequence) == (request.identifier, request.sequence)
                })
        };
        frames
            .iter()
            .find(answers)
            .map(|reply| reply.end_ns - sent.start_ns)
    };
    requests.filter_map(rtt).collect()
}

#[cfg(test)]
mod tests;
