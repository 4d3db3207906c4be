//! A storm of frames, and the device's service during and after it; its program is `http_server`.
//!
//! The peer starts the download of a long file before the storm, and continues it afterwards. At the
//! storm's end it pings the device and starts a short download over a new connection.

use std::collections::BTreeMap;
use std::sync::Arc;

use linerate_capture::wire::{Frame, Packet, Segment, Side};
use linerate_results::record::{
    FrameCounts, Measurement, Pulse, Setting, Storm, StormMetrics, StormParams,
};
use linerate_sim::peer::generator;
use linerate_sim::wire::config::Destination;
use serde::Deserialize;

use super::plan::{check_frame_octets, scaled};
use super::{MeasureError, Observer, Section};
use crate::machine::{Event, MachineConfig, PeerDownload, PeerPings};

/// The plan of a storm.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Duration of the storm, milliseconds.
    pub storm_ms: u64,
    /// Octets of each frame with FCS.
    #[serde(default = "minimum")]
    pub octets: u16,
    /// Destination of its frames.
    #[serde(default = "everyone")]
    pub destination: Destination,
    /// Time from power-on to its first frame, milliseconds.
    #[serde(default = "from_ms")]
    pub from_ms: u64,
    /// Timeout for the old connection, milliseconds.
    #[serde(default = "timeout_ms", alias = "patience_ms")]
    pub timeout_ms: u64,
}

const fn minimum() -> u16 {
    64
}

const fn everyone() -> Destination {
    Destination::Broadcast
}

const fn from_ms() -> u64 {
    4_000
}

const fn timeout_ms() -> u64 {
    130_000
}

/// Time from the start of the first download to the storm.
const LEAD_MS: u64 = 500;
/// Bytes of the two downloads.
const OLD_BYTES: u64 = 3_000_000;
const NEW_BYTES: u64 = 10_000;
const PINGS: PeerPings = PeerPings {
    from_ms: 0,
    every_ms: 10,
    count: 200,
};

impl Plan {
    const fn end_ms(&self) -> u64 {
        self.from_ms + self.storm_ms
    }
}

impl Section for Plan {
    fn plans(self) -> Result<Vec<Arc<dyn super::Plan>>, String> {
        if self.storm_ms < 100 {
            return Err("`storm_ms` must be at least 100".into());
        }
        if self.from_ms < LEAD_MS {
            return Err(format!(
                "`from_ms` must be at least {LEAD_MS}: the first download begins this long before"
            ));
        }
        check_frame_octets(self.octets)?;
        Ok(vec![Arc::new(self)])
    }
}

impl super::Plan for Plan {
    fn program(&self) -> &'static str {
        "http_server"
    }

    fn label(&self) -> String {
        "storm".to_owned()
    }

    fn limit_s(&self) -> u64 {
        (self.from_ms + self.storm_ms + self.timeout_ms) / 1_000 + 30
    }

    /// Configures the storm, the downloads and the pings.
    fn arrange(&self, config: &mut MachineConfig) {
        config.environment.traffic = Some(generator::Config {
            from_ms: self.from_ms,
            for_ms: self.storm_ms,
            frame_octets: self.octets,
            destination: self.destination,
            ..generator::Config::default()
        });
        let timeout_ms = self.storm_ms + self.timeout_ms;
        config.downloads = vec![
            PeerDownload {
                from_ms: self.from_ms - LEAD_MS,
                bytes: OLD_BYTES,
                timeout_ms,
            },
            PeerDownload {
                from_ms: self.end_ms(),
                bytes: NEW_BYTES,
                timeout_ms,
            },
        ];
        config.pings = Some(PeerPings {
            from_ms: self.end_ms(),
            ..PINGS
        });
    }

    fn observer(&self, _: &MachineConfig) -> Box<dyn Observer> {
        Box::new(observer(self))
    }

    fn scaled(&self, factor: f64) -> Option<Arc<dyn super::Plan>> {
        Some(Arc::new(Self {
            storm_ms: scaled(self.storm_ms, factor, 500),
            ..self.clone()
        }))
    }
}

/// Observes the wire before, during and after the storm.
struct StormObserver {
    plan: Plan,
    now_ns: u64,
    /// The storm's frames: start, end, true if accepted.
    storm: Vec<(u64, u64, bool)>,
    /// All other frames.
    frames: Vec<Frame>,
    busy_ns: u64,
    ledger: linerate_results::record::Ledger,
    counters: BTreeMap<String, u64>,
    counts: Option<FrameCounts>,
    recovery: Recovery,
}

/// Recovery after the storm.
#[derive(Default)]
struct Recovery {
    ping_ns: Option<u64>,
    /// The peer's ports, in the order of their first SYN.
    ports: Vec<u16>,
    old_ns: Option<u64>,
    new_ns: Option<u64>,
    old_completed: bool,
}

/// The observer for `plan`.
pub fn observer(plan: &Plan) -> impl Observer + use<> {
    StormObserver {
        plan: plan.clone(),
        now_ns: 0,
        storm: Vec::new(),
        frames: Vec::new(),
        busy_ns: 0,
        ledger: linerate_results::record::Ledger::default(),
        counters: BTreeMap::new(),
        counts: None,
        recovery: Recovery::default(),
    }
}

impl StormObserver {
    const fn end_ns(&self) -> u64 {
        self.plan.end_ms() * 1_000_000
    }

    fn pulse(&mut self, pulse: Pulse) {
        let from = pulse.start_ns.max(self.plan.from_ms * 1_000_000);
        let to = pulse.end_ns.min(self.end_ns());
        self.busy_ns += to.saturating_sub(from);
    }

    fn frame(&mut self, frame: Frame) {
        if frame.from == Side::Peer {
            self.ledger.count(frame.lost);
        }
        let of_storm = frame.from == Side::Peer
            && frame.packet == Packet::Other
            && frame.octets == u64::from(self.plan.octets)
            && frame.start_ns >= self.plan.from_ms * 1_000_000
            && frame.start_ns <= self.end_ns();
        if of_storm {
            let accepted = frame.delivered();
            self.storm.push((frame.start_ns, frame.end_ns, accepted));
        } else {
            self.frames.push(frame);
        }
    }

    /// Evaluates the frames after the storm's last one, in chronological order.
    fn analyze_recovery(&mut self) {
        let end_ns = self
            .storm
            .iter()
            .map(|(_, end_ns, _)| *end_ns)
            .max()
            .unwrap_or_else(|| self.end_ns());
        self.frames.sort_by_key(|frame| frame.start_ns);
        let mut recovery = Recovery::default();
        for frame in self.frames.iter().filter(|frame| frame.delivered()) {
            let since = frame.end_ns.checked_sub(end_ns);
            match (&frame.packet, frame.from) {
                (Packet::Echo(echo), Side::Device) if !echo.request => {
                    recovery.ping_ns = recovery.ping_ns.or(since);
                }
                (Packet::Tcp(segment), Side::Peer)
                    if segment.is_initial_syn() && !recovery.ports.contains(&segment.source) =>
                {
                    recovery.ports.push(segment.source);
                }
                (Packet::Tcp(segment), Side::Device) => {
                    let port = segment.destination;
                    let is_old = recovery.ports.first() == Some(&port);
                    let is_new = recovery.ports.get(1) == Some(&port);
                    let closes = segment.has_any(Segment::FIN);
                    if is_old && segment.sequence_len() > 0 {
                        recovery.old_ns = recovery.old_ns.or(since);
                    }
                    recovery.old_completed |= is_old && closes;
                    if is_new && closes {
                        recovery.new_ns = recovery.new_ns.or(since);
                    }
                }
                _ => {}
            }
        }
        self.recovery = recovery;
    }

    /// Longest time between two accepted frames of the storm.
    fn longest_standstill_ns(&self) -> u64 {
        let from_ns = self.storm.first().map_or(0, |(start_ns, ..)| *start_ns);
        let mut last_ns = from_ns;
        let mut longest_ns = 0;
        for (start_ns, end_ns, accepted) in &self.storm {
            if *accepted {
                longest_ns = longest_ns.max(start_ns.saturating_sub(last_ns));
                last_ns = *end_ns;
            }
        }
        let end_ns = self.storm.last().map_or(0, |(_, end_ns, _)| *end_ns);
        longest_ns.max(end_ns.saturating_sub(last_ns))
    }

    /// True if all parties count the same frames, and every loss that the device counts belongs to a frame.
    fn counters_exact(&self) -> bool {
        self.counts.as_ref().is_some_and(|counts| {
            counts.discrepancies(&self.ledger).is_empty()
                && counts.losses_without_a_frame(&self.ledger).is_empty()
        })
    }
}

impl Observer for StormObserver {
    fn observe(&mut self, event: Event) -> Result<(), MeasureError> {
        match event {
            Event::Frame(frame) => self.frame(frame),
            Event::Debug(pulse) => self.pulse(pulse),
            _ => {}
        }
        Ok(())
    }

    fn command(&mut self, now_ns: u64) -> Option<String> {
        self.now_ns = now_ns;
        None
    }

    fn poll_complete(&mut self) -> bool {
        let over = self.now_ns > self.end_ns() + 1_000_000_000;
        if !over {
            return false;
        }
        // Not at every step, as this is expensive: once per second of the machine's time.
        if (self.now_ns / 10_000_000).is_multiple_of(100) {
            self.analyze_recovery();
        }
        let recovery = &self.recovery;
        let all = recovery.ping_ns.is_some() && recovery.new_ns.is_some() && recovery.old_completed;
        all || self.now_ns > self.end_ns() + self.plan.timeout_ms * 1_000_000
    }

    fn counters(&mut self, counters: BTreeMap<String, u64>) {
        self.counters = counters;
    }

    fn frame_counts(&mut self, counts: &FrameCounts) {
        self.counts = Some(counts.clone());
    }

    fn progress(&self) -> (u64, u64) {
        let end_ms = self.plan.end_ms();
        ((self.now_ns / 1_000_000).min(end_ms), end_ms)
    }

    fn finish(&mut self) -> Result<Vec<Measurement>, MeasureError> {
        if self.storm.is_empty() {
            let what = "no frame of the storm was on the wire".to_owned();
            return Err(MeasureError::Unexpected { what });
        }
        self.storm.sort_unstable();
        self.analyze_recovery();
        let ms = |ns: u64| ns as f64 / 1e6;
        let first_ns = self.storm.first().map_or(0, |(start_ns, ..)| *start_ns);
        let last_ns = self.storm.last().map_or(0, |(_, end_ns, _)| *end_ns);
        let accepted = self.storm.iter().filter(|(.., accepted)| *accepted).count();
        let counters_exact = self.counters_exact();
        let mut ledger = std::mem::take(&mut self.ledger);
        ledger.counters = std::mem::take(&mut self.counters);
        let busy = self.busy_ns as f64 / (last_ns - first_ns).max(1) as f64;
        let metrics = StormMetrics {
            storm_frames: self.storm.len() as u64,
            storm_frames_received: accepted as u64,
            longest_standstill_ms: ms(self.longest_standstill_ns()),
            free_share: (1.0 - busy).max(0.0),
            ping_after_ms: self.recovery.ping_ns.map(ms),
            new_connection_after_ms: self.recovery.new_ns.map(ms),
            old_connection_after_ms: self.recovery.old_ns.map(ms),
            old_connection_completed: self.recovery.old_completed,
            uncounted_frames: ledger.missing_frames(),
            counters_exact,
        };
        let destination = match self.plan.destination {
            Destination::Device => "device",
            Destination::Foreign => "foreign",
            Destination::Broadcast => "broadcast",
            Destination::Multicast => "multicast",
        };
        Ok(vec![Measurement::Storm(Storm {
            params: StormParams {
                setting: Setting::default(),
                storm_ms: self.plan.storm_ms,
                frame_octets: u64::from(self.plan.octets),
                destination: destination.to_owned(),
            },
            metrics,
            ledger,
        })])
    }
}
