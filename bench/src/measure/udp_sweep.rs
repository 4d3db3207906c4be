//! Datagrams from a host to a board with an ENET, whose program `udp_sink` receives them.

use std::collections::BTreeMap;
use std::sync::Arc;

use linerate_results::record::{
    CountedAt, Datagrams, Direction, Flow, Ledger, Measurement, Setting, UdpSweep, UdpSweepMetrics,
    UdpSweepParams,
};
use serde::Deserialize;

use super::plan::scaled;
use super::{MeasureError, Observer, Section};
use crate::machine::{DatagramLoad, Environment, Event, MachineConfig, Record};

/// From power-on to the first datagram, milliseconds: the program is ready by then.
const FROM_MS: u64 = 10;

/// A load, and the settings of the program.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Payload that the host sends, Mbit/s.
    pub mbit_per_s: f64,
    /// Payload of a datagram, octets.
    #[serde(default = "payload_bytes")]
    pub payload_bytes: u64,
    /// Mean number of datagrams that are sent back to back.
    #[serde(default = "burst")]
    pub burst: f64,
    /// Octets that the switch queues for the board.
    #[serde(default = "queue_bytes")]
    pub queue_bytes: u64,
    /// From the first datagram to the measurement, milliseconds.
    #[serde(default = "settles_ms")]
    pub settles_ms: u64,
    /// Duration of the measurement, milliseconds.
    #[serde(default = "measured_ms")]
    pub measured_ms: u64,
    /// Settings of the program, by name.
    #[serde(default)]
    pub boot: BTreeMap<String, toml::Value>,
}

const fn payload_bytes() -> u64 {
    1470
}
const fn burst() -> f64 {
    1.0
}
const fn queue_bytes() -> u64 {
    65_536
}
const fn settles_ms() -> u64 {
    20
}
const fn measured_ms() -> u64 {
    100
}

impl Plan {
    const fn begins_ms(&self) -> u64 {
        FROM_MS + self.settles_ms
    }

    /// The settings as the program reads them.
    fn boot_line(&self) -> String {
        let words = self.boot.iter().map(|(name, value)| match value {
            toml::Value::String(text) => format!("{name}={text}"),
            toml::Value::Boolean(true) => format!("{name}=on"),
            toml::Value::Boolean(false) => format!("{name}=off"),
            other => format!("{name}={other}"),
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

impl Section for Plan {
    fn plans(self) -> Result<Vec<Arc<dyn super::Plan>>, String> {
        if !(self.mbit_per_s > 0.0 && self.mbit_per_s <= 1_000.0) {
            return Err("`mbit_per_s` must be greater than 0 and at most 1000".into());
        }
        if !(64..=1472).contains(&self.payload_bytes) {
            return Err("`payload_bytes` must be between 64 and 1472".into());
        }
        if !(self.burst >= 1.0 && self.burst <= 1_000.0) {
            return Err("`burst` must be between 1 and 1000".into());
        }
        // Counters are read at multiples of 10 ms.
        let are_steps = [self.measured_ms, self.settles_ms]
            .iter()
            .all(|it| it.is_multiple_of(10));
        if self.measured_ms < 10 || !are_steps {
            return Err("`measured_ms` and `settles_ms` must be multiples of 10".into());
        }
        let is_word = |it: &toml::Value| !it.is_array() && !it.is_table();
        if !self.boot.values().all(is_word) {
            return Err("a value of `boot` must be a number, a word, or true or false".into());
        }
        Ok(vec![Arc::new(self)])
    }
}

impl super::Plan for Plan {
    fn program(&self) -> &'static str {
        "udp_sink"
    }

    fn label(&self) -> String {
        "udp_sweep".to_owned()
    }

    fn limit_s(&self) -> u64 {
        (self.begins_ms() + self.measured_ms) / 1_000 + 10
    }

    fn check(&self, environment: &Environment) -> Result<(), String> {
        if *environment != Environment::default() {
            let what = "udp_sweep has a host and a switch of its own";
            return Err(format!(
                "{what}: remove duplex, peer, wire, partner, hub and traffic"
            ));
        }
        Ok(())
    }

    fn arrange(&self, config: &mut MachineConfig) {
        config.record = Record::NONE;
        config.datagrams = Some(DatagramLoad {
            bits_per_s: (self.mbit_per_s * 1e6).round() as u64,
            payload_bytes: self.payload_bytes as usize,
            burst_millis: (self.burst * 1e3).round() as u64,
            queue_bytes: self.queue_bytes as usize,
            from_ms: FROM_MS,
        });
        config.boot = self.boot_line();
    }

    fn observer(&self, _: &MachineConfig) -> Box<dyn Observer> {
        Box::new(DatagramObserver {
            plan: self.clone(),
            now_ms: 0,
            before: None,
            after: None,
        })
    }

    fn scaled(&self, factor: f64) -> Option<Arc<dyn super::Plan>> {
        let measured_ms = scaled(self.measured_ms, factor, 10) / 10 * 10;
        Some(Arc::new(Self {
            measured_ms: measured_ms.max(10),
            ..self.clone()
        }))
    }
}

struct DatagramObserver {
    plan: Plan,
    now_ms: u64,
    before: Option<BTreeMap<String, u64>>,
    after: Option<BTreeMap<String, u64>>,
}

impl Observer for DatagramObserver {
    fn observe(&mut self, _: Event) -> Result<(), MeasureError> {
        Ok(())
    }

    fn wants_counters(&mut self, now_ns: u64) -> bool {
        self.now_ms = now_ns / 1_000_000;
        let begins = self.plan.begins_ms();
        (self.now_ms >= begins && self.before.is_none())
            || (self.now_ms >= begins + self.plan.measured_ms && self.after.is_none())
    }

    fn sample(&mut self, counters: BTreeMap<String, u64>) {
        match &self.before {
            None => self.before = Some(counters),
            Some(_) => self.after = Some(counters),
        }
    }

    fn poll_complete(&mut self) -> bool {
        self.after.is_some()
    }

    fn progress(&self) -> (u64, u64) {
        let all = self.plan.begins_ms() + self.plan.measured_ms;
        (self.now_ms.min(all), all)
    }

    fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError> {
        let (Some(before), Some(after)) = (&self.before, &self.after) else {
            return Err(MeasureError::Unexpected {
                what: "the machine has no counters".to_owned(),
            });
        };
        let value = |all: &BTreeMap<String, u64>, name: &str| all.get(name).copied().unwrap_or(0);
        if value(before, "ready") != 1 {
            return Err(MeasureError::Unexpected {
                what: "the program was not ready: it may refuse a word of `boot`".to_owned(),
            });
        }
        let change = |name: &str| value(after, name).saturating_sub(value(before, name));
        let (sent, received) = (change("sent"), change("received"));
        let params = UdpSweepParams {
            setting: Setting::default(),
            direction: Direction::ToDevice,
            payload_bytes: self.plan.payload_bytes,
            offered_bytes_per_s: self.plan.mbit_per_s * 1e6 / 8.0,
            span_ns: self.plan.measured_ms * 1_000_000,
        };
        let datagrams = Datagrams {
            sent,
            received,
            lost: sent.saturating_sub(received),
            jitter_ns: Some(value(after, "jitter_ns")),
            ..Datagrams::default()
        };
        let octets = received * params.payload_bytes;
        let flow = Flow::datagrams(octets, params.span_ns, CountedAt::Device, datagrams);
        let names = after
            .keys()
            .filter(|name| !["ready", "jitter_ns"].contains(&name.as_str()));
        let counters = names.map(|name| (name.clone(), change(name))).collect();
        Ok(vec![Measurement::UdpSweep(UdpSweep {
            metrics: UdpSweepMetrics::of(&params, flow),
            params,
            ledger: Ledger {
                counters,
                ..Ledger::default()
            },
        })])
    }
}
