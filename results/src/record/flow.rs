//! One direction of a transfer: part of the results of targets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;

/// Direction of the payload, as seen from the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The device receives.
    #[default]
    ToDevice,
    /// The device sends.
    FromDevice,
    /// Both at the same time.
    Both,
}

impl Direction {
    /// Label for sentences.
    pub const fn label(self) -> &'static str {
        match self {
            Self::ToDevice => "to the device",
            Self::FromDevice => "from the device",
            Self::Both => "in both directions",
        }
    }
}

/// TCP or UDP; on byte links, what corresponds to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// RFC 9293.
    #[default]
    Tcp,
    /// RFC 768.
    Udp,
    /// A reliable channel of linerate-link.
    LinkStream,
    /// An unreliable channel of linerate-link.
    LinkDatagrams,
}

impl Transport {
    /// Name of the protocol.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::LinkStream => "stream",
            Self::LinkDatagrams => "datagrams",
        }
    }

    /// True over a byte link (UART, USB serial, pseudoterminal): no IP, and none of its queues.
    pub const fn is_byte_link(self) -> bool {
        matches!(self, Self::LinkStream | Self::LinkDatagrams)
    }
}

/// The end that made a count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "End")]
pub enum CountedAt {
    /// This machine.
    #[default]
    Host,
    /// The device.
    Device,
}

/// One direction of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Payload received, as counted by the receiver; without a report (TCP), the payload that it
    /// acknowledged.
    pub octets: u64,
    /// Duration: for datagrams from the first to the last one, for a stream from its
    /// start until all of it was acknowledged or read.
    pub span_ns: u64,
    /// Payload over time. The first datagram starts the time and does not count.
    pub goodput_bytes_per_s: f64,
    /// The end that made the count.
    pub counted_by: CountedAt,
    /// True if the transfer ended before its time or its amount: cancelled by the user, or ended by the device. The
    /// notes of the result give the reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_cut: bool,
    /// Further counts for UDP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// Payload received, or handed to the network if this end sends, by interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Interval>,
    /// Gaps between datagrams as they arrived, if the receiver's times are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Distribution>,
}

impl Flow {
    /// A stream of so many octets.
    pub fn stream(octets: u64, span_ns: u64, counted_by: CountedAt) -> Self {
        Self {
            octets,
            span_ns,
            goodput_bytes_per_s: per_second(octets as f64, span_ns),
            counted_by,
            ..Self::default()
        }
    }

    /// Datagrams with so many octets in all.
    pub fn datagrams(
        octets: u64,
        span_ns: u64,
        counted_by: CountedAt,
        datagrams: Datagrams,
    ) -> Self {
        let behind_the_first = datagrams.received.saturating_sub(1) as f64;
        let share = behind_the_first / (datagrams.received.max(1) as f64);
        Self {
            octets,
            span_ns,
            goodput_bytes_per_s: per_second(octets as f64 * share, span_ns),
            counted_by,
            datagrams: Some(datagrams),
            ..Self::default()
        }
    }
}

fn per_second(octets: f64, span_ns: u64) -> f64 {
    if span_ns == 0 {
        0.0
    } else {
        octets * 1e9 / span_ns as f64
    }
}

/// Datagrams of one direction: `sent = received + lost`, without duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Datagrams {
    /// Distinct datagrams sent.
    pub sent: u64,
    /// Distinct datagrams received.
    pub received: u64,
    /// Missing datagrams.
    pub lost: u64,
    /// Received after one that was sent later; `None` if the receiver does not report it (iperf 3's results
    /// have no field for it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u64>,
    /// Duplicates; `None` if the receiver does not distinguish them from late datagrams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// Interarrival jitter (RFC 3550 section 6.4.1) at the end; `None` if the receiver's value is impossible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter_ns: Option<u64>,
    /// Of `lost`, those that this machine's socket dropped; `None` if unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_by_host: Option<u64>,
}

impl Datagrams {
    /// Missing datagrams as a share of those sent.
    pub fn loss_ratio(&self) -> f64 {
        if self.sent == 0 {
            0.0
        } else {
            self.lost as f64 / self.sent as f64
        }
    }
}

/// An interval of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Its end, since the start of the transfer.
    pub end_ns: u64,
    /// Payload since the previous interval.
    pub octets: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_datagram_starts_the_time() {
        let datagrams = Datagrams {
            sent: 11,
            received: 11,
            ..Datagrams::default()
        };
        // Ten gaps of a millisecond, 100 octets each.
        let flow = Flow::datagrams(1_100, 10_000_000, CountedAt::Device, datagrams);
        assert!((flow.goodput_bytes_per_s - 100_000.0).abs() < 1e-6);
        let none = Flow::datagrams(0, 0, CountedAt::Device, Datagrams::default());
        assert!(none.goodput_bytes_per_s.abs() < f64::EPSILON);
    }
}
