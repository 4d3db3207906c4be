//! What one direction of a transfer came to: part of the results of targets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Distribution;

/// Which way payload goes, as seen from the device that is measured.
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
    /// For sentences.
    pub const fn words(self) -> &'static str {
        match self {
            Self::ToDevice => "to the device",
            Self::FromDevice => "from the device",
            Self::Both => "both ways at once",
        }
    }
}

/// TCP or UDP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// RFC 9293.
    #[default]
    Tcp,
    /// RFC 768.
    Udp,
}

impl Transport {
    /// As people write it.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
        }
    }
}

/// The end that a count was made at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The bench: this program.
    #[default]
    Host,
    /// What is measured.
    Device,
}

/// One direction of a transfer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Flow {
    /// Payload that arrived, as its receiver counts it; where it does not tell (TCP), what it has
    /// acknowledged.
    pub octets: u64,
    /// The time that this took: of datagrams from the first to the last one, of a stream from its
    /// beginning until all of it was acknowledged or read.
    pub span_ns: u64,
    /// Payload over time. Of datagrams, the first one begins the time and does not count.
    pub goodput_bytes_per_s: f64,
    /// Who has counted this.
    pub counted_by: End,
    /// What UDP has beside that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<Datagrams>,
    /// What arrived, or was handed to the network where this end sends, piece by piece.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub intervals: Vec<Interval>,
    /// Of datagrams, the times from each to the next as they arrived, where the receiver's are known here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gaps: Option<Distribution>,
}

impl Flow {
    /// A stream of so many octets.
    pub fn stream(octets: u64, span_ns: u64, counted_by: End) -> Self {
        Self {
            octets,
            span_ns,
            goodput_bytes_per_s: per_second(octets as f64, span_ns),
            counted_by,
            ..Self::default()
        }
    }

    /// Datagrams with so many octets in all.
    pub fn datagrams(octets: u64, span_ns: u64, counted_by: End, datagrams: Datagrams) -> Self {
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

/// Datagrams of one direction: `sent = received + lost`, duplicates apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Datagrams {
    /// Different ones sent.
    pub sent: u64,
    /// Different ones received.
    pub received: u64,
    /// Those missing.
    pub lost: u64,
    /// Received behind one that was sent later; `None` where the receiver does not say (iperf 3's results
    /// have no field for it).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_order: Option<u64>,
    /// Received again; `None` where the receiver does not tell them from late ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplicates: Option<u64>,
    /// Interarrival jitter (RFC 3550 section 6.4.1) at the end.
    pub jitter_ns: u64,
    /// Of `lost`, those that this machine's own socket dropped; `None` where nobody knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_by_host: Option<u64>,
}

impl Datagrams {
    /// Those missing, of all that were sent.
    pub fn loss_ratio(&self) -> f64 {
        if self.sent == 0 {
            0.0
        } else {
            self.lost as f64 / self.sent as f64
        }
    }
}

/// A piece of a transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Since the transfer began.
    pub end_ns: u64,
    /// Payload since the last one.
    pub octets: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_datagram_begins_the_time() {
        let datagrams = Datagrams {
            sent: 11,
            received: 11,
            ..Datagrams::default()
        };
        // Ten gaps of a millisecond, 100 octets each.
        let flow = Flow::datagrams(1_100, 10_000_000, End::Device, datagrams);
        assert!((flow.goodput_bytes_per_s - 100_000.0).abs() < 1e-6);
        let none = Flow::datagrams(0, 0, End::Device, Datagrams::default());
        assert!(none.goodput_bytes_per_s.abs() < f64::EPSILON);
    }
}
