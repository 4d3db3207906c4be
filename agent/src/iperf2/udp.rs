//! Sender and report of a UDP stream.

use core::time::Duration;

use super::header::{Counters, DatagramHeader, SendLimits, Test};
use crate::count::Sink;
use crate::octets::start;
use crate::pace::Pace;
use crate::{Instant, MS, span};

/// iperf's default datagram size: fills an Ethernet frame.
pub(super) const DEFAULT_OCTETS: usize = 1470;
/// iperf's default UDP rate.
pub(super) const DEFAULT_RATE_BITS_PER_S: u64 = 1_048_576;
/// Interval between the datagrams that end a stream, and their maximum number.
pub(super) const END_INTERVAL: Duration = span(END_INTERVAL_NS);
const END_INTERVAL_NS: u64 = 250 * MS;
const ENDS: u8 = 14;
/// The first ones follow each other sooner: a queue on the path that was full when the stream ended has room for one
/// as soon as it drains. A receiver's time runs until one arrives.
const EARLY_ENDS: u8 = 4;
const EARLY_END_INTERVAL_NS: u64 = 20 * MS;
/// A datagram with a request, all fields included.
const REQUEST_OCTETS: usize = DatagramHeader::LEN + Test::LEN;
/// Maximum payload of a UDP datagram over IPv4.
const MAX_DATAGRAM: usize = 65_507;

/// Sender of a UDP stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct UdpSender {
    max_octets: u64,
    octets: usize,
    began: Instant,
    /// Time when it ends at the latest, however low the rate.
    until: Instant,
    pace: Pace,
    next: i64,
    sent_octets: u64,
    ends: u8,
    end_due: Instant,
    clock: Clock,
}

/// Maps the local time to the timestamps on the wire. A receiver interprets them as the time of day, and
/// iperf initializes its jitter with the difference to its own clock: a device without a calendar uses the
/// peer's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    peer_ns: u64,
    at: Instant,
}

impl Clock {
    /// The peer's clock showed `peer_ns` at the local time `at`.
    pub(super) const fn from_peer(peer_ns: u64, at: Instant) -> Self {
        Self { peer_ns, at }
    }

    /// The local clock.
    pub(super) const fn own() -> Self {
        Self::from_peer(0, Instant::from_ns(0))
    }

    const fn of(self, now: Instant) -> Instant {
        Instant::from_ns(self.peer_ns).after_ns(now.ns_since(self.at))
    }
}

impl UdpSender {
    /// Creates a sender that begins at `now`, with datagrams of this size; 0: iperf's default.
    pub(super) fn new(buffer_octets: u32, limits: SendLimits, clock: Clock, now: Instant) -> Self {
        let octets = match buffer_octets as usize {
            0 => DEFAULT_OCTETS,
            octets => octets.clamp(DatagramHeader::LEN + 4, MAX_DATAGRAM),
        };
        let rate = match limits.rate_bits_per_s {
            0 => DEFAULT_RATE_BITS_PER_S,
            rate => rate,
        };
        Self {
            max_octets: limits.octets,
            octets,
            began: now,
            until: now.after_ns(limits.ns),
            pace: Pace::new(rate, now),
            next: 1,
            sent_octets: 0,
            ends: 0,
            end_due: now,
            clock,
        }
    }

    /// Datagrams and octets sent, including the first one that ends the stream.
    pub(super) const fn sent(&self) -> (u64, u64) {
        let end = (self.ends > 0) as u64;
        (self.next as u64 - 1 + end, self.sent_octets)
    }

    /// Counters of what was sent, with the time from the first datagram to that of the next one.
    pub(super) fn counters(&self) -> Counters {
        let (datagrams, octets) = self.sent();
        Counters {
            octets,
            span_ns: self.pace.due().ns_since(self.began),
            datagrams: u32::try_from(datagrams).unwrap_or(u32::MAX),
            ..Counters::default()
        }
    }

    /// Time from the first datagram that ended the stream to the last repetition.
    pub(super) fn repeating(&self) -> Duration {
        let repeated = u32::from(self.ends.saturating_sub(1));
        let early = repeated.min(u32::from(EARLY_ENDS));
        let later = repeated - early;
        span(u64::from(early) * EARLY_END_INTERVAL_NS + u64::from(later) * END_INTERVAL_NS)
    }

    /// True if everything was sent, including a datagram that ends the stream.
    pub(super) const fn is_ending(&self) -> bool {
        self.ends > 0
    }

    /// True if all datagrams that end the stream were sent.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.ends >= ENDS
    }

    /// True if none of the datagrams that end the stream was answered in time.
    pub(super) fn is_unanswered(&self, now: Instant) -> bool {
        self.ends >= ENDS && now >= self.end_due
    }

    pub(super) fn due(&self) -> Instant {
        if self.is_over() || self.ends > 0 {
            self.end_due
        } else {
            self.pace.due()
        }
    }

    fn is_over(&self) -> bool {
        self.sent_octets >= self.max_octets || self.pace.due() >= self.until
    }

    /// Writes the due datagram if there is one and `buffer` holds its header; returns its length. Behind the
    /// header it carries the request, if this is a client.
    pub(super) fn next(
        &mut self,
        request: Option<&Test>,
        buffer: &mut [u8],
        now: Instant,
    ) -> Option<usize> {
        if now < self.due() || buffer.len() < DatagramHeader::LEN {
            return None;
        }
        // The first datagram carries the whole request, however short the others are: a server takes the rate
        // from its last octets.
        let is_request = request.is_some() && self.next == 1;
        let least = if is_request { REQUEST_OCTETS } else { 0 };
        let len = self.octets.max(least).min(buffer.len());
        // A sender that cannot keep the rate still ends in time.
        let over = self.is_over() || now >= self.until;
        if over && self.ends >= ENDS {
            return None;
        }
        let datagram = start(buffer, len);
        let number = if over {
            if self.ends == 0 {
                // Counted as data by both ends of iperf.
                self.sent_octets += len as u64;
            }
            self.ends += 1;
            self.end_due = now.after_ns(if self.ends <= EARLY_ENDS {
                EARLY_END_INTERVAL_NS
            } else {
                END_INTERVAL_NS
            });
            // Constant: whichever of them arrives, the receiver counts what was sent.
            -self.next
        } else {
            self.pace.sent(len);
            self.sent_octets += len as u64;
            self.next += 1;
            self.next - 1
        };
        if !over && self.is_over() {
            self.end_due = self.pace.due();
        }
        DatagramHeader::emit(number, self.clock.of(now), datagram);
        if let Some(behind) = datagram.get_mut(DatagramHeader::LEN..) {
            match request {
                Some(test) => test.emit(behind, true),
                // Numbers have 64 bits, and there is no request.
                None => crate::octets::put_u32(behind, 0, super::header::PLAIN),
            }
        }
        Some(len)
    }
}

/// A receiver's counters of a stream that ended at this number, the last datagram included: iperf's ends count it.
pub(super) fn received<const HISTORY: usize>(sink: &Sink<HISTORY>, end: i64) -> Counters {
    let sent = end.unsigned_abs();
    let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    Counters {
        octets: sink.octets,
        span_ns: sink.span_ns(),
        jitter_ns: sink.jitter.ns(),
        lost: small(sink.sequence.lost(Some(sent))),
        out_of_order: small(sink.sequence.out_of_order()),
        datagrams: small(sent.max(sink.sequence.sent())),
    }
}
