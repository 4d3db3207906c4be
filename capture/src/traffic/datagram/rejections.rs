//! TCP segments that ICMP messages report as not delivered.

use super::Stamp;
use crate::traffic::table::AddressPort;

/// Why a host or router rejected a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RejectReason {
    /// The host has no program at this port, or not this protocol (RFC 792; RFC 1122 section 3.2.2.1).
    NoListener,
    /// A router or firewall does not let it pass (RFC 1812 section 5.2.7.1: codes 9, 10 and 13).
    Prohibited,
    /// No route leads there, or the host does not answer on its network.
    Unreachable,
}

/// Segments between two ports that were rejected for one reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Sender and receiver of the segments.
    pub ends: [AddressPort; 2],
    /// Why.
    pub reason: RejectReason,
    /// Messages.
    pub messages: u64,
    /// Number of the first message in the capture.
    pub first_packet: u64,
    /// Number of the last message.
    pub last_packet: u64,
}

/// Pairs of ports that are kept at most.
const MAX_REJECTIONS: usize = 256;

/// Rejected segments so far.
#[derive(Debug, Default)]
pub(super) struct Rejections(Vec<Rejection>);

impl Rejections {
    pub(super) fn record(&mut self, ends: [AddressPort; 2], reason: RejectReason, at: Stamp) {
        let same = |it: &&mut Rejection| it.ends == ends && it.reason == reason;
        if let Some(before) = self.0.iter_mut().find(same) {
            before.messages += 1;
            before.last_packet = at.number;
        } else if self.0.len() < MAX_REJECTIONS {
            self.0.push(Rejection {
                ends,
                reason,
                messages: 1,
                first_packet: at.number,
                last_packet: at.number,
            });
        }
    }

    pub(super) fn finish(self) -> Vec<Rejection> {
        self.0
    }
}
