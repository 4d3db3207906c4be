//! The `blast` measurement: raw frames sent from an interface of this machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Describe, Distribution, Ledger, Observation, ReportRow, Setting};
use crate::format;

/// Raw Ethernet frames sent at a constant rate, or as fast as possible.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Blast {
    /// Parameters of the request.
    pub params: BlastParams,
    /// Results.
    pub metrics: BlastMetrics,
    /// Limits of the measurement.
    pub limits: BlastLimits,
    /// Not in the file: a sender does not observe the fate of its frames.
    #[serde(skip)]
    pub ledger: Ledger,
    /// The interface while frames were sent: its link and its counters, which include the frames of other programs.
    #[serde(default, skip_serializing_if = "Observation::is_empty")]
    pub observation: Observation,
}

/// Parameters of a blast.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlastParams {
    /// Run and conditions.
    #[serde(flatten)]
    pub setting: Setting,
    /// Interface that sends.
    pub interface: String,
    /// MAC address of the destination.
    pub destination: String,
    /// Octets of each frame with FCS.
    pub frame_octets: u64,
    /// Requested rate; left out for as many frames as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_frames_per_s: Option<u64>,
    /// Requested duration.
    pub span_ns: u64,
    /// Number of the stream, which identifies it to receivers.
    pub stream: u64,
    /// True if the receiver is asked to send the frames back.
    pub is_reflected: bool,
    /// CPU core of the sending thread; left out if the system places it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core: Option<u64>,
}

/// Metrics of a blast.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlastMetrics {
    /// Frames handed to the interface.
    pub sent_frames: u64,
    /// Time from the first frame to the end.
    pub span_ns: u64,
    /// Frames divided by time.
    pub frames_per_s: f64,
    /// Frames that were due but not sent: the rate was not reached.
    pub missing_frames: u64,
    /// Frames sent after the next one was due.
    pub late_frames: u64,
    /// Method by which frames are handed to the system.
    pub method: String,
    /// Frames per system call.
    pub frames_per_call: u64,
    /// Gaps between system calls; left out after fewer than two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Distribution>,
    /// Absolute deviation from the gap of the requested rate; left out without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Distribution>,
}

/// Limits of a blast.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BlastLimits {
    /// Line rate of the interface for frames of this size; left out if it is virtual or reports no speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_frames_per_s: Option<f64>,
    /// Noise of this machine before the blast: no gap is more accurate.
    pub noise: HostNoise,
}

/// Contribution of this machine to every time that it measures.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HostNoise {
    /// Cores that this process may use.
    pub cores: u64,
    /// Duration for which a thread polled the clock.
    pub watched_ns: u64,
    /// Times between two readings of the clock.
    pub read_intervals: Distribution,
    /// Number of these times above 10 us: the system, or its hypervisor, ran something else.
    pub preemptions: u64,
    /// Sum of those times.
    pub preempted_ns: u64,
    /// Round trips over loopback; left out if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loopback_rtt: Option<Distribution>,
    /// True if both ends polled for these round trips, false if they slept.
    pub loopback_spins: bool,
}

impl Blast {
    /// What the interface counted, and the gaps: further lines for the console.
    pub fn details(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(it) = &self.observation.interface_counters {
            lines.push(format!(
                "{} counted {} packets sent, {} dropped before sending, {} received",
                self.params.interface,
                format::count(it.sent_frames),
                format::count(it.send_drops),
                format::count(it.received_frames),
            ));
        }
        let spreads = [
            ("gap", &self.metrics.gap),
            ("deviation from the ideal gap", &self.metrics.deviation),
        ];
        let spreads = spreads
            .into_iter()
            .filter_map(|(name, it)| Some((name, it.as_ref()?)));
        lines.extend(spreads.map(|(name, it)| {
            format!(
                "{name}: {} (p50), {} (p99), {} (p99.9), {} (max)",
                format::time(it.p50_ns),
                format::time(it.p99_ns),
                format::time(it.p999_ns),
                format::time(it.max_ns),
            )
        }));
        lines
    }
}

impl Describe for Blast {
    fn detail(&self) -> String {
        let params = &self.params;
        format!(
            "frames of {} octets from {} to {}",
            params.frame_octets, params.interface, params.destination
        )
    }

    fn one_line(&self) -> String {
        let metrics = &self.metrics;
        let offered = self.params.offered_frames_per_s;
        let offered = offered.map_or_else(String::new, |it| {
            format!(" of {} requested", format::count(it))
        });
        let line = self.limits.line_frames_per_s;
        let line = line.map_or_else(String::new, |it| {
            format!(", line rate {}", format::count(it as u64))
        });
        format!(
            "{} frames in {}: {} frames/s{offered}{line}; {}",
            format::count(metrics.sent_frames),
            format::time(metrics.span_ns),
            format::count(metrics.frames_per_s as u64),
            metrics.method,
        )
    }

    fn row(&self) -> Option<ReportRow> {
        let mut words = vec![self.one_line()];
        words.extend(self.details());
        Some(ReportRow::new("blast", words.join("; "), true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution;
    use crate::export::figures;
    use crate::record::{Duplex, InterfaceCounters, Measurement, Provenance, Run};

    fn blast() -> Blast {
        Blast {
            params: BlastParams {
                setting: Setting {
                    duplex: Duplex::Full,
                    notes: vec!["rate not reached".to_owned()],
                    ..Setting::default()
                },
                interface: "eth1".to_owned(),
                destination: "02:00:00:00:00:07".to_owned(),
                frame_octets: 64,
                offered_frames_per_s: Some(10_000),
                span_ns: 5_000_000_000,
                stream: 3,
                is_reflected: true,
                core: Some(1),
            },
            metrics: BlastMetrics {
                sent_frames: 49_990,
                span_ns: 5_000_000_000,
                frames_per_s: 9_998.0,
                missing_frames: 10,
                late_frames: 2,
                method: "one frame at each deadline (TX_RING)".to_owned(),
                frames_per_call: 1,
                gap: distribution::of([100_000; 10]),
                deviation: distribution::of([400; 10]),
            },
            limits: BlastLimits {
                line_frames_per_s: Some(148_809.5),
                noise: HostNoise::default(),
            },
            ledger: Ledger::default(),
            observation: Observation {
                interface_counters: Some(InterfaceCounters {
                    sent_frames: 49_991,
                    ..InterfaceCounters::default()
                }),
                ..Observation::default()
            },
        }
    }

    #[test]
    fn a_blast_survives_the_file_and_its_row_has_rate_interface_and_gaps() {
        let mut run = Run::new("blast", String::new(), Provenance::default());
        run.results = vec![Measurement::Blast(blast())];
        assert_eq!(Run::from_json(&run.to_json()).expect("readable"), run);
        let row = blast().row().expect("a row");
        for part in [
            "49,990 frames in 5 s: 9,998 frames/s of 10,000 requested, line rate 148,809",
            "eth1 counted 49,991 packets sent",
            "gap: 100 µs (p50)",
            "deviation from the ideal gap: 400 ns (p50)",
        ] {
            assert!(row.outcome.contains(part), "{part}: {}", row.outcome);
        }
        let missed = "a rate that is not reached is a note";
        assert!(row.passed && blast().failures().is_empty(), "{missed}");
    }

    /// Other programs and the noise of the machine change them from run to run.
    #[test]
    fn only_the_sender_s_own_figures_are_compared() {
        let figures = figures(&Measurement::Blast(blast()));
        let names: Vec<&str> = figures.iter().map(|it| it.metric.as_str()).collect();
        assert!(names.contains(&"frames_per_s") && names.contains(&"gap.p99_ns"));
        let foreign = |name: &&&str| name.contains("interface") || name.contains("noise");
        assert_eq!(names.iter().find(foreign), None);
    }
}
