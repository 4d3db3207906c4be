//! A device that sends at a given load, on a hub with other stations; its program is `station`.

use std::collections::BTreeMap;
use std::sync::Arc;

use linerate_capture::wire::{Frame, Side};
use linerate_ether::ledger::DropCause;
use linerate_results::line;
use linerate_results::record::{
    HubShare, HubShareMetrics, HubShareParams, Ledger, Measurement, Setting,
};
use linerate_results::stats;
use serde::Deserialize;

use super::plan::scaled;
use super::{MeasureError, Observer, Section};
use crate::machine::{Event, MachineConfig, StationTraffic};
use crate::scenario::Environment;

/// The plan of a hub measurement. The other stations and their load are set by the run's `hub`; the
/// device offers its share of the same load.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Duration of the measurement, milliseconds.
    pub measured_ms: u64,
    /// From power-on to the device's first frame, milliseconds.
    #[serde(default = "warm_up_ms")]
    pub warm_up_ms: u64,
}

const fn warm_up_ms() -> u64 {
    2_500
}

/// Time from the device's first frame to the start of the measurement: pending back-offs are over.
const SETTLE_MS: u64 = 500;

impl Plan {
    const fn begins_ms(&self) -> u64 {
        self.warm_up_ms + SETTLE_MS
    }

    const fn ends_ms(&self) -> u64 {
        self.begins_ms() + self.measured_ms
    }
}

impl Section for Plan {
    fn plans(self) -> Result<Vec<Arc<dyn super::Plan>>, String> {
        if self.measured_ms == 0 {
            return Err("`measured_ms` must be at least 1".into());
        }
        Ok(vec![Arc::new(self)])
    }
}

impl super::Plan for Plan {
    fn program(&self) -> &'static str {
        "station"
    }

    fn label(&self) -> String {
        "hub_share".to_owned()
    }

    fn limit_s(&self) -> u64 {
        (self.warm_up_ms + self.measured_ms) / 1_000 + 30
    }

    fn check(&self, environment: &Environment) -> Result<(), String> {
        if environment.hub.stations == 0 {
            return Err("hub_share needs a hub: give `hub` its `stations`".into());
        }
        Ok(())
    }

    /// Makes the peer silent, so that only the stations use the hub.
    fn arrange(&self, config: &mut MachineConfig) {
        "silent".clone_into(&mut config.environment.peer.kind);
    }

    fn observer(&self, config: &MachineConfig) -> Box<dyn Observer> {
        Box::new(observer(self, config))
    }

    fn scaled(&self, factor: f64) -> Option<Arc<dyn super::Plan>> {
        Some(Arc::new(Self {
            measured_ms: scaled(self.measured_ms, factor, 1_000),
            ..self.clone()
        }))
    }
}

/// The observer's phase.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Booting,
    Sending,
    Stopped,
    Ended,
}

struct HubShareObserver {
    plan: Plan,
    stations: u64,
    offered_load: f64,
    octets: u64,
    phase: Phase,
    now_ns: u64,
    frames: u64,
    collisions: u64,
    others_before: Option<Vec<StationTraffic>>,
    others_after: Option<Vec<StationTraffic>>,
    ledger: Ledger,
}

/// The observer for `plan` on the hub of `order`.
pub fn observer(plan: &Plan, config: &MachineConfig) -> impl Observer + use<> {
    let hub = config.environment.hub;
    HubShareObserver {
        plan: plan.clone(),
        stations: u64::from(hub.stations) + 1,
        offered_load: hub.offered_load,
        octets: u64::from(hub.frame_octets),
        phase: Phase::Booting,
        now_ns: 0,
        frames: 0,
        collisions: 0,
        others_before: None,
        others_after: None,
        ledger: Ledger::default(),
    }
}

impl HubShareObserver {
    fn frame(&mut self, frame: &Frame) {
        if frame.from == Side::Peer {
            self.ledger.count(frame.lost);
            return;
        }
        let measured = self.plan.begins_ms() * 1_000_000..self.plan.ends_ms() * 1_000_000;
        if measured.contains(&frame.start_ns) {
            self.frames += u64::from(frame.delivered());
            self.collisions += u64::from(frame.lost == Some(DropCause::Collision));
        }
    }
}

impl Observer for HubShareObserver {
    fn observe(&mut self, event: Event) -> Result<(), MeasureError> {
        if let Event::Frame(frame) = event {
            self.frame(&frame);
        }
        Ok(())
    }

    fn command(&mut self, now_ns: u64) -> Option<String> {
        self.now_ns = now_ns;
        let now_ms = now_ns / 1_000_000;
        match self.phase {
            Phase::Booting if now_ms >= self.plan.warm_up_ms => {
                self.phase = Phase::Sending;
                // At saturation each station always has a frame to send.
                let percent = if self.offered_load >= 1.0 {
                    100.0
                } else {
                    100.0 * self.offered_load / self.stations as f64
                };
                Some(format!("load {percent:.0} {}", self.octets))
            }
            Phase::Sending if now_ms >= self.plan.ends_ms() => {
                self.phase = Phase::Stopped;
                Some("load 0 64".to_owned())
            }
            Phase::Stopped if now_ms >= self.plan.ends_ms() + SETTLE_MS => {
                self.phase = Phase::Ended;
                Some("end".to_owned())
            }
            _ => None,
        }
    }

    fn stations(&mut self, at_ns: u64, traffic: Vec<StationTraffic>) {
        let at_ms = at_ns / 1_000_000;
        if at_ms >= self.plan.begins_ms() && self.others_before.is_none() {
            self.others_before = Some(traffic.clone());
        }
        if at_ms >= self.plan.ends_ms() && self.others_after.is_none() {
            self.others_after = Some(traffic);
        }
    }

    fn counters(&mut self, counters: BTreeMap<String, u64>) {
        self.ledger.counters = counters;
    }

    fn progress(&self) -> (u64, u64) {
        let to_ms = self.plan.ends_ms();
        ((self.now_ns / 1_000_000).min(to_ms), to_ms)
    }

    fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError> {
        let ledger = std::mem::take(&mut self.ledger);
        let before = self.others_before.take().unwrap_or_default();
        let after = self.others_after.take().unwrap_or_default();
        let since = |(after, before): (&StationTraffic, &StationTraffic)| {
            after.good_octets.saturating_sub(before.good_octets) as f64
        };
        let device_octets = (self.frames * self.octets) as f64;
        let mut octets = vec![device_octets];
        octets.extend(after.iter().zip(&before).map(since));
        let all: f64 = octets.iter().sum();
        let frame_ns = line::frame_ns(self.octets.saturating_sub(18)) + line::inter_packet_gap_ns();
        let line_octets =
            (self.plan.measured_ms * 1_000_000) as f64 / frame_ns as f64 * self.octets as f64;
        let device_share = stats::ratio(device_octets, all);
        let fair_share = 1.0 / self.stations as f64;
        let counted = |name: &str| ledger.counters.get(name).copied().unwrap_or(0);
        let metrics = HubShareMetrics {
            shares: octets.iter().map(|part| stats::ratio(*part, all)).collect(),
            device_share,
            fair_share,
            deviation: device_share / fair_share - 1.0,
            utilisation: all / line_octets,
            device_frames: self.frames,
            device_collisions: self.collisions,
            device_frames_given_up: counted("TxExcessiveCollisions") + counted("TxLateCollisions"),
            uncounted_frames: ledger.missing_frames(),
        };
        Ok(vec![Measurement::HubShare(HubShare {
            params: HubShareParams {
                setting: Setting::default(),
                measured_ms: self.plan.measured_ms,
                stations: self.stations,
                offered_load: self.offered_load,
                frame_octets: self.octets,
            },
            metrics,
            ledger,
        })])
    }
}
