use super::counters::Interface;
use super::gaps::{Gaps, Summary};
use super::pace::Rate;
use serde::Serialize;

/// What was sent.
#[derive(Debug, Clone, Serialize)]
pub struct Sent {
    /// Datagrams or frames.
    pub packets: u64,
    /// Payload of datagrams; of frames, all without FCS.
    pub octets: u64,
    /// From the first to the end.
    pub span_ns: u64,
    /// The quotient.
    pub packets_per_s: f64,
    /// What was asked for; absent where it was as much as goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offered_packets_per_s: Option<u64>,
    /// How many were due and not sent: the rate could not be kept.
    pub missing_packets: u64,
    /// How many were sent later than the next one was due.
    pub late_packets: u64,
    /// Answers that nobody listens at the target's port.
    pub refused_packets: u64,
    /// How they were handed to the system.
    pub method: String,
    /// How many a system call took.
    pub packets_per_call: usize,
    /// Gaps from one system call to the next; absent where there was one at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Summary>,
    /// What the interface has counted meanwhile, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<Interface>,
    /// What could not be had, or is to be known of the figures.
    pub notes: Vec<String>,
    /// All of the gaps.
    #[serde(skip)]
    pub all_gaps: Gaps,
}

/// What is counted while it is sent.
pub(super) struct Sending {
    pub packets: u64,
    pub octets: u64,
    pub late: u64,
    pub refused: u64,
    pub method: String,
    pub packets_per_call: usize,
    pub gaps: Gaps,
    pub notes: Vec<String>,
}

impl Sending {
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

    /// It is over: `due` packets were due in these `span_ns`.
    pub fn end(mut self, rate: Rate, due: u64, span_ns: u64, interface: Option<Interface>) -> Sent {
        let missing = due.saturating_sub(self.packets);
        let packets_per_s = self.packets as f64 * 1e9 / span_ns.max(1) as f64;
        if let (Some(offered), 1..) = (rate.per_s(), missing) {
            self.notes.push(format!(
                "the rate was not kept: {packets_per_s:.0} packets/s of {offered}, {missing} of {due} not sent"
            ));
        }
        if self.refused > 0 {
            self.notes.push(format!(
                "nobody listens at the target's port: it was said {} times",
                self.refused
            ));
        }
        if let Some(it) = &interface
            && it.counters.tx_packets < self.packets / 10 * 9
        {
            self.notes.push(format!(
                "{} took {} packets for {} datagrams: super-packets went through whole, and this is no \
                 packet rate (`ethtool -K {} tx-udp-segmentation off` makes it one)",
                it.name, it.counters.tx_packets, self.packets, it.name
            ));
        }
        Sent {
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
