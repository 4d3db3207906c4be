use super::counters::InterfaceCounters;
use super::gaps::{GapSummary, Gaps};
use super::pace::Rate;
use serde::Serialize;

/// Result of a sender.
#[derive(Debug, Clone, Serialize)]
pub struct SendReport {
    /// Datagrams or frames.
    pub packets: u64,
    /// Payload of datagrams, or frames without FCS.
    pub octets: u64,
    /// Time from the first packet to the end.
    pub span_ns: u64,
    /// Packets divided by time.
    pub packets_per_s: f64,
    /// Requested rate; absent at the maximum rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_packets_per_s: Option<u64>,
    /// Packets due but not sent: the rate was not reached.
    pub missing_packets: u64,
    /// Packets sent after the next one was due.
    pub late_packets: u64,
    /// ICMP port unreachable messages of the target.
    pub refused_packets: u64,
    /// Method by which packets were handed to the system.
    pub method: String,
    /// Packets per system call.
    pub packets_per_call: usize,
    /// Gaps between system calls; absent after fewer than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<GapSummary>,
    /// Counters of the interface over the same time, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceCounters>,
    /// Features that were unavailable, and limits of the figures.
    pub notes: Vec<String>,
    /// Full histogram of the gaps.
    #[serde(skip)]
    pub all_gaps: Gaps,
}

/// Counters while sending.
pub(super) struct SendCounts {
    pub packets: u64,
    pub octets: u64,
    pub late: u64,
    pub refused: u64,
    pub method: String,
    pub packets_per_call: usize,
    pub gaps: Gaps,
    pub notes: Vec<String>,
}

impl SendCounts {
    pub fn new(rate: Rate) -> Self {
        Self {
            packets: 0,
            octets: 0,
            late: 0,
            refused: 0,
            method: String::new(),
            packets_per_call: 1,
            gaps: Gaps::new(rate.per_s()),
            notes: Vec::new(),
        }
    }

    /// Ends the run: `due` packets were due in `span_ns`.
    pub fn finish(
        mut self,
        rate: Rate,
        due: u64,
        span_ns: u64,
        interface: Option<InterfaceCounters>,
    ) -> SendReport {
        let missing = due.saturating_sub(self.packets);
        let packets_per_s = self.packets as f64 * 1e9 / span_ns.max(1) as f64;
        if let (Some(offered), 1..) = (rate.per_s(), missing) {
            self.notes.push(format!(
                "rate not reached: {packets_per_s:.0} packets/s of {offered}, {missing} of {due} not sent"
            ));
        }
        if self.refused > 0 {
            self.notes.push(format!(
                "no listener at the target's port: {} ICMP port unreachable messages",
                self.refused
            ));
        }
        if let Some(it) = &interface
            && it.counters.tx_packets < self.packets / 10 * 9
        {
            self.notes.push(format!(
                "{} counted {} packets for {} datagrams: super-packets were not segmented, so this is not a \
                 packet rate (`ethtool -K {} tx-udp-segmentation off` enforces segmentation)",
                it.name, it.counters.tx_packets, self.packets, it.name
            ));
        }
        SendReport {
            packets: self.packets,
            octets: self.octets,
            span_ns,
            packets_per_s,
            offered_packets_per_s: rate.per_s(),
            missing_packets: missing,
            late_packets: self.late,
            refused_packets: self.refused,
            method: self.method,
            packets_per_call: self.packets_per_call,
            gaps: self.gaps.summary(),
            interface,
            notes: self.notes,
            all_gaps: self.gaps,
        }
    }
}
