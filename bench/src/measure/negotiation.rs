//! Auto-negotiation of the device and a link partner; its program is `station`.
//!
//! The peer pings the device once the link should be up: its answers, or their absence, verify the
//! link.

use std::collections::BTreeMap;
use std::sync::Arc;

use linerate_capture::wire::{Frame, Packet, Side};
use linerate_results::record::{
    Ledger, Measurement, Negotiation, NegotiationMetrics, NegotiationParams, Setting,
};
use serde::Deserialize;

use super::{MeasureError, Observer, Section, console};
use crate::machine::{Event, MachineConfig, PeerPings};
use crate::scenario::{Duplex, Environment};

/// The plan of a negotiation.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// `up` or `down`.
    pub expect_link: LinkState,
    /// The expected duplex.
    pub expect_duplex: Option<linerate_results::record::Duplex>,
    /// Minimum number of remote faults to be counted.
    #[serde(default)]
    pub expect_remote_faults: u64,
    /// Duration of the measurement, milliseconds.
    #[serde(default = "for_ms")]
    pub for_ms: u64,
}

/// State of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LinkState {
    /// It carries frames.
    Up,
    /// It carries no frames.
    Down,
}

impl LinkState {
    const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

const fn for_ms() -> u64 {
    6_000
}

const PINGS: u16 = 5;
const PING_EVERY_MS: u64 = 100;
/// Time of the first ping before the end.
const PINGS_BEFORE_END_MS: u64 = 900;

impl Section for Plan {
    fn plans(self) -> Result<Vec<Arc<dyn super::Plan>>, String> {
        if self.for_ms < 1_000 {
            return Err("`for_ms` must be at least 1000".into());
        }
        Ok(vec![Arc::new(self)])
    }
}

impl super::Plan for Plan {
    fn program(&self) -> &'static str {
        "station"
    }

    fn label(&self) -> String {
        "negotiation".to_owned()
    }

    fn limit_s(&self) -> u64 {
        self.for_ms / 1_000 + 5
    }

    fn check(&self, environment: &Environment) -> Result<(), String> {
        if environment.duplex != Duplex::Auto {
            return Err("negotiation needs `duplex = \"auto\"`".into());
        }
        Ok(())
    }

    /// Makes the peer ping the device at the end.
    fn arrange(&self, config: &mut MachineConfig) {
        config.pings = Some(PeerPings {
            from_ms: self.for_ms - PINGS_BEFORE_END_MS,
            every_ms: PING_EVERY_MS,
            count: PINGS,
        });
    }

    fn observer(&self, _: &MachineConfig) -> Box<dyn Observer> {
        Box::new(observer(self))
    }
}

/// Events of the program.
#[derive(Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ProgramEvent {
    /// The link came up, went down or changed.
    Link(LinkReport),
    /// Something went wrong.
    Error { what: String },
    #[serde(other)]
    Other,
}

/// The device's report of its link.
#[derive(Default, Deserialize)]
#[serde(default)]
struct LinkReport {
    /// `up` or `down`.
    state: String,
    /// `half` or `full`.
    duplex: String,
    /// "auto-negotiation", "parallel detection" or "forced".
    by: String,
    /// The partner's abilities, as text.
    partner: String,
}

/// Observes the reports of the link.
struct NegotiationObserver {
    plan: Plan,
    now_ns: u64,
    end_requested: bool,
    metrics: NegotiationMetrics,
    frames: Vec<Frame>,
    counters: BTreeMap<String, u64>,
}

/// The observer for `plan`.
pub fn observer(plan: &Plan) -> impl Observer + use<> {
    NegotiationObserver {
        plan: plan.clone(),
        now_ns: 0,
        end_requested: false,
        metrics: NegotiationMetrics {
            pings_sent: u64::from(PINGS),
            ..NegotiationMetrics::default()
        },
        frames: Vec::new(),
        counters: BTreeMap::new(),
    }
}

impl Observer for NegotiationObserver {
    fn observe(&mut self, event: Event) -> Result<(), MeasureError> {
        match event {
            Event::Frame(frame) => {
                let reply = matches!(frame.packet, Packet::Echo(echo) if !echo.request);
                let answered = frame.from == Side::Device && reply && frame.delivered();
                self.metrics.pings_answered += u64::from(answered);
                self.frames.push(frame);
            }
            Event::Console { at_ns, line } => {
                match console::read(&line)? {
                    Some(ProgramEvent::Link(link)) => {
                        if link.state == "up" {
                            self.metrics
                                .up_after_ms
                                .get_or_insert(at_ns as f64 / 1_000_000.0);
                        }
                        self.metrics.link = link.state;
                        self.metrics.device_duplex = link.duplex;
                        self.metrics.by = link.by;
                        self.metrics.partner = link.partner;
                    }
                    // Without a link pulse there is no change of the link to report before.
                    Some(ProgramEvent::Error { what }) if self.may_fail(&what) => {
                        LinkState::Down.name().clone_into(&mut self.metrics.link);
                    }
                    _ => {}
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn command(&mut self, now_ns: u64) -> Option<String> {
        self.now_ns = now_ns;
        let due = now_ns >= self.plan.for_ms * 1_000_000;
        (due && !std::mem::replace(&mut self.end_requested, due)).then(|| "end".to_owned())
    }

    fn may_fail(&self, what: &str) -> bool {
        self.plan.expect_link == LinkState::Down && what.contains("no link")
    }

    fn counters(&mut self, counters: BTreeMap<String, u64>) {
        self.counters = counters;
    }

    fn progress(&self) -> (u64, u64) {
        let for_ms = self.plan.for_ms;
        ((self.now_ns / 1_000_000).min(for_ms), for_ms)
    }

    fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError> {
        self.frames.sort_by_key(|frame| frame.start_ns);
        let counters = std::mem::take(&mut self.counters);
        let mut metrics = std::mem::take(&mut self.metrics);
        metrics.remote_faults = counters.get("RemoteFaults").copied().unwrap_or(0);
        let ledger: Ledger = super::ledger(&self.frames, counters);
        let expected_pings = match self.plan.expect_link {
            LinkState::Up => u64::from(PINGS),
            LinkState::Down => 0,
        };
        let duplex = self.plan.expect_duplex.map(|duplex| duplex.to_string());
        metrics.passed = metrics.link == self.plan.expect_link.name()
            && metrics.pings_answered == expected_pings
            && metrics.remote_faults >= self.plan.expect_remote_faults
            && duplex
                .as_ref()
                .is_none_or(|duplex| *duplex == metrics.device_duplex);
        Ok(vec![Measurement::Negotiation(Negotiation {
            params: NegotiationParams {
                setting: Setting::default(),
                expected_link: self.plan.expect_link.name().to_owned(),
                expected_duplex: duplex,
            },
            metrics,
            ledger,
        })])
    }
}
