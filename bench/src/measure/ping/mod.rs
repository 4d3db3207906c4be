//! The device pings the peer; its program is `ping`.

use std::collections::BTreeMap;
use std::sync::Arc;

use linerate_capture::wire::{Echo, Frame, Packet, Side};
use linerate_explain::cause;
use linerate_results::line;
use linerate_results::record::{
    Measurement, Ping, PingLimits, PingMetrics, PingParams, PingSamples, RttNs, Setting,
};
use serde::Deserialize;

use super::{MeasureError, Observer, Section, console};
use crate::machine::{Event, MachineConfig};

/// The plan of a ping measurement.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Requests that the firmware sends.
    pub count: u64,
    /// Timeout in virtual seconds.
    #[serde(default = "limit_s")]
    pub limit_s: u64,
}

const fn limit_s() -> u64 {
    120
}

impl Section for Plan {
    fn plans(self) -> Result<Vec<Arc<dyn super::Plan>>, String> {
        if !(1..=u64::from(u16::MAX)).contains(&self.count) {
            return Err("`count` must be between 1 and 65535".into());
        }
        Ok(vec![Arc::new(self)])
    }
}

impl super::Plan for Plan {
    fn program(&self) -> &'static str {
        "ping"
    }

    fn label(&self) -> String {
        "ping".to_owned()
    }

    fn limit_s(&self) -> u64 {
        self.limit_s
    }

    fn arrange(&self, config: &mut MachineConfig) {
        config.boot = format!("pings={}", self.count);
    }

    fn observer(&self, _: &MachineConfig) -> Box<dyn Observer> {
        Box::new(observer(self))
    }
}

/// Events of the program.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ProgramEvent {
    /// A ping was answered.
    Ping {
        /// Round trip on the device's clock.
        rtt_us: u64,
    },
    /// A ping was not answered in time.
    PingLost,
    /// The counters, from power-on.
    Counters(BTreeMap<String, u64>),
    #[serde(other)]
    Other,
}

/// Collects the replies.
pub struct PingObserver {
    plan: Plan,
    rtt_ns: Vec<u64>,
    lost: u64,
    frames: Vec<Frame>,
    counters: BTreeMap<String, u64>,
}

/// The observer for `plan`.
pub fn observer(plan: &Plan) -> impl Observer + use<> {
    PingObserver {
        plan: plan.clone(),
        rtt_ns: Vec::new(),
        lost: 0,
        frames: Vec::new(),
        counters: BTreeMap::new(),
    }
}

impl Observer for PingObserver {
    fn observe(&mut self, event: Event) -> Result<(), MeasureError> {
        match event {
            Event::Frame(frame) => self.frames.push(frame),
            Event::Debug(_) | Event::Uploaded(_) => {}
            Event::Console { line, .. } => match console::read(&line)? {
                Some(ProgramEvent::Ping { rtt_us }) => self.rtt_ns.push(rtt_us * 1_000),
                Some(ProgramEvent::PingLost) => self.lost += 1,
                Some(ProgramEvent::Counters(counters)) => self.counters = counters,
                Some(ProgramEvent::Other) | None => {}
            },
        }
        Ok(())
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
        ping.findings = cause::explain_ping(&ping);
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
