//! Contradictions between the sentences of an explanation and its figures.
//!
//! Tests apply it to explanations of synthetic and of recorded captures. It reads the JSON of `linerate explain`, so it
//! sees what a reader sees.
//!
//! | module | checks |
//! |---|---|
//! | `quantity` | finds the figures of a sentence |
//! | `sentence` | a finding alone: its sentences, evidence and share |
//! | `whole` | findings beside each other and beside their connections |

mod quantity;
mod sentence;
#[cfg(test)]
mod tests;
mod whole;

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

use crate::record::{Cause, Finding};
use crate::vantage::Vantage;

/// The part of the JSON of `linerate explain` that is checked.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Explanation {
    /// The findings.
    pub findings: Vec<StatedFinding>,
    /// The connections.
    #[serde(default)]
    pub connections: Vec<StatedConnection>,
}

/// A finding between two hosts.
#[derive(Clone, Debug, Deserialize)]
pub struct StatedFinding {
    /// Sender of the payload.
    pub sender: Option<String>,
    /// Receiver of the payload.
    pub receiver: Option<String>,
    /// Share of the time that it explains.
    pub share_of_time: f64,
    /// Cause of the finding that may explain the same time instead.
    #[serde(default)]
    pub alternative_to: Option<Cause>,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

/// Figures of a connection.
#[derive(Clone, Debug, Deserialize)]
pub struct StatedConnection {
    /// Payload sender with its port.
    pub sender: String,
    /// Payload receiver with its port.
    pub receiver: String,
    /// Number of its first packet.
    #[serde(default)]
    pub first_packet: u64,
    /// End near which it was captured, if its handshake shows that.
    #[serde(default)]
    pub captured_near: Option<String>,
    /// Round trip of its handshake, if captured.
    #[serde(default)]
    pub handshake_rtt_ns: Option<u64>,
    /// Goodput in octets per second.
    pub goodput_bytes_per_s: f64,
    /// Time by limit.
    pub time_share: BTreeMap<String, f64>,
    /// Its data.
    pub payload: StatedDirection,
}

/// Figures of the data of a connection.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct StatedDirection {
    /// Octets of payload, each once.
    pub unique_bytes: u64,
    /// Segments and losses by their position in a burst.
    #[serde(default)]
    pub bursts: Vec<StatedPosition>,
}

/// Segments at a position in a burst.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct StatedPosition {
    /// New segments.
    pub sent: u64,
    /// Of them, those lost.
    pub lost: u64,
}

/// Two statements that cannot both be true, or a statement without a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The cause of the finding; none for a figure of a connection.
    pub cause: Option<Cause>,
    /// The statements.
    pub text: String,
}

impl Contradiction {
    fn of(cause: Cause, text: String) -> Self {
        Self {
            cause: Some(cause),
            text,
        }
    }
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.cause {
            Some(cause) => write!(f, "{cause}: {}", self.text),
            None => f.write_str(&self.text),
        }
    }
}

impl StatedConnection {
    /// True if it carries payload from `sender` to `receiver`, addresses without ports.
    pub fn is_between(&self, sender: &str, receiver: &str) -> bool {
        let has_address = |end: &str, address: &str| {
            end.rsplit_once(':')
                .is_some_and(|(host, _)| host.trim_matches(['[', ']']) == address)
        };
        has_address(&self.sender, sender) && has_address(&self.receiver, receiver)
    }
}

impl Explanation {
    /// The connection that a finding describes: the one that it names by its first packet, else the one with the most
    /// payload between its hosts.
    pub fn connection_of(&self, found: &StatedFinding) -> Option<&StatedConnection> {
        if let Some(packet) = found.finding.evidence.get("connection_packet") {
            let mut named = self.connections.iter();
            return named.find(|it| it.first_packet == *packet as u64);
        }
        let (sender, receiver) = (found.sender.as_ref()?, found.receiver.as_ref()?);
        let between = self
            .connections
            .iter()
            .filter(|it| it.is_between(sender, receiver) || it.is_between(receiver, sender));
        between.max_by_key(|it| it.payload.unique_bytes)
    }

    /// Where the connection that a finding describes was captured.
    pub fn vantage_of(&self, found: &StatedFinding) -> Vantage {
        self.connection_of(found).map_or(Vantage::Other, |it| {
            let near = it.captured_near.as_deref();
            Vantage::of_connection(
                near.map(|near| near == "sender"),
                it.handshake_rtt_ns.is_some(),
            )
        })
    }

    /// Its contradictions.
    pub fn contradictions(&self) -> Vec<Contradiction> {
        let mut found: Vec<Contradiction> =
            self.findings.iter().flat_map(sentence::check).collect();
        found.extend(whole::check(self));
        found
    }
}
