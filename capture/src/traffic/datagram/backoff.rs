//! Datagrams that a host repeats at doubling intervals while nothing comes back, whatever they contain (QUIC, RFC 9002 section 6.2.1;
//! DTLS, RFC 9147 section 5.8.2).

use super::Stamp;
use crate::reader::Address;

/// Datagrams closer together belong to one flight.
const MIN_WAIT_NS: u64 = 100_000_000;
/// Fewer waits that double may be chance.
const MIN_DOUBLINGS: u64 = 4;

/// A host that repeats its datagrams, and gets no answer any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// Host that sends.
    pub sender: Address,
    /// Host that does not answer.
    pub receiver: Address,
    /// Port of the server, whichever of both it is.
    pub port: u16,
    /// Waits, each about twice as long as the one before.
    pub waits: u64,
    /// The last of them.
    pub longest_wait_ns: u64,
    /// Begin of the first.
    pub start_ns: u64,
    /// End of the last.
    pub end_ns: u64,
    /// Packet before the first.
    pub first_packet: u64,
    /// The last packet.
    pub last_packet: u64,
}

/// Datagrams in one direction since the last in the other.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backoff {
    is_of_server: bool,
    doublings: u64,
    wait_ns: u64,
    /// Before the first wait.
    first: Stamp,
    last: Stamp,
}

impl Backoff {
    #[inline]
    pub(super) fn record(&mut self, is_of_server: bool, at: Stamp) {
        if is_of_server != self.is_of_server || self.last.number == 0 {
            *self = Self {
                is_of_server,
                last: at,
                ..Self::default()
            };
            return;
        }
        let before = std::mem::replace(&mut self.last, at);
        let wait_ns = at.time_ns.saturating_sub(before.time_ns);
        if wait_ns < MIN_WAIT_NS {
            return;
        }
        if (self.wait_ns / 2 * 3..=self.wait_ns / 2 * 5).contains(&wait_ns) {
            self.doublings += 1;
        } else {
            self.doublings = 0;
            self.first = before;
        }
        self.wait_ns = wait_ns;
    }

    /// What it shows between a client and a port of a server at the end of the capture.
    pub(super) fn silence(
        &self,
        client: Address,
        (server, port): (Address, u16),
    ) -> Option<Silence> {
        let (sender, receiver) = if self.is_of_server {
            (server, client)
        } else {
            (client, server)
        };
        (self.doublings >= MIN_DOUBLINGS).then_some(Silence {
            sender,
            receiver,
            port,
            waits: self.doublings + 1,
            longest_wait_ns: self.wait_ns,
            start_ns: self.first.time_ns,
            end_ns: self.last.time_ns,
            first_packet: self.first.number,
            last_packet: self.last.number,
        })
    }
}
