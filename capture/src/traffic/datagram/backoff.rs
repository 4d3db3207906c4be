//! Datagrams that a host repeats at doubling intervals while nothing comes back, whatever they contain (QUIC, RFC 9002 section 6.2.1;
//! DTLS, RFC 9147 section 5.8.2).

use super::Stamp;
use crate::reader::Address;

/// Datagrams closer together belong to one flight.
const MIN_WAIT_NS: u64 = 100_000_000;
/// Fewer waits that double may be chance.
const MIN_DOUBLINGS: u64 = 4;
/// The same if the same datagram ends each of them, and nothing else was sent since the last answer (CoAP sends one again four times at
/// most, RFC 7252 section 4.8). Then each wait is twice as long as the one before within a tenth; waits by chance are in one of 22 pairs.
const MIN_DOUBLINGS_OF_SAME: u64 = 2;

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
    /// Of them, those that are exact and end with the datagram of the wait before.
    same: u64,
    /// True if another wait was no half of the next one.
    has_others: bool,
    hash: u64,
    wait_ns: u64,
    /// Before the first wait.
    first: Stamp,
    last: Stamp,
}

impl Backoff {
    /// Records a datagram, which is the same as another if their `hash` is.
    #[inline]
    pub(super) fn record(&mut self, is_of_server: bool, at: Stamp, hash: impl FnOnce() -> u64) {
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
        let last_hash = std::mem::replace(&mut self.hash, hash());
        if (self.wait_ns / 2 * 3..=self.wait_ns / 2 * 5).contains(&wait_ns) {
            self.doublings += 1;
            let is_exact = (self.wait_ns / 10 * 18..=self.wait_ns / 10 * 22).contains(&wait_ns);
            self.same += u64::from(is_exact && self.hash == last_hash);
        } else {
            self.has_others = self.wait_ns > 0;
            (self.doublings, self.same) = (0, 0);
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
        let least = if self.same == self.doublings && !self.has_others {
            MIN_DOUBLINGS_OF_SAME
        } else {
            MIN_DOUBLINGS
        };
        (self.doublings >= least).then_some(Silence {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether datagrams at these times, in seconds, behind an answer show a silence; each is the one before or another one.
    fn is_silent(times_s: &[u64], is_same: bool) -> bool {
        let stamp = |time_s: u64, number: u64| Stamp {
            time_ns: time_s * 1_000_000_000,
            number,
        };
        let mut backoff = Backoff::default();
        backoff.record(true, stamp(0, 1), || 0);
        for (number, time_s) in (2..).zip(times_s) {
            let hash = if is_same { 7 } else { number };
            backoff.record(false, stamp(*time_s, number), || hash);
        }
        let host = |octet| Address([octet; 16]);
        backoff.silence(host(1), (host(2), 5_683)).is_some()
    }

    #[test]
    fn few_waits_that_double_show_a_silence_if_the_same_datagram_ends_them() {
        assert!(is_silent(&[1, 3, 7, 15], true));
        assert!(!is_silent(&[1, 3, 7, 15], false));
        assert!(!is_silent(&[1, 3, 7], true));
        assert!(!is_silent(&[1, 3, 5, 7, 9], true));
        assert!(is_silent(&[1, 3, 7, 15, 31, 63], false));
        assert!(!is_silent(&[1, 11, 27, 53], true), "by chance");
        assert!(!is_silent(&[1, 6, 10, 12, 16, 24], true), "behind others");
    }
}
