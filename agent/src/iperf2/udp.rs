//! The two ends of a UDP stream.

use core::time::Duration;

use super::header::{Extent, Numbered, Report, Test};
use crate::count::Sink;
use crate::pace::Pace;
use crate::{Instant, ns, span};

/// What iperf sends where nobody says how much: fills an Ethernet frame.
pub(super) const DEFAULT_OCTETS: usize = 1470;
/// The rate of a UDP test that says none.
pub(super) const DEFAULT_RATE_BITS_PER_S: u64 = 1_048_576;
/// Between two of the datagrams that end a stream, and how many of them there are at most.
pub(super) const END_EVERY: Duration = Duration::from_millis(250);
const ENDS: u8 = 10;
/// A datagram with a request in it, all fields included.
const REQUEST_OCTETS: usize = Numbered::LEN + Test::LEN;
/// What a datagram over IPv4 carries at most.
const MOST_OCTETS: usize = 65_507;

/// The sending end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source {
    /// How much is to be sent at most, and how long, however slowly.
    most: u64,
    most_ns: u64,
    octets: usize,
    began: Instant,
    pace: Pace,
    next: i64,
    sent_octets: u64,
    ends: u8,
    end_due: Instant,
    clock: Clock,
}

/// What the sender's time is called on the wire. A receiver takes it for the time of day, and iperf
/// starts its jitter from the difference to its own: a device without a calendar goes by the time that
/// the peer has told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Clock {
    told_ns: u64,
    at: Instant,
}

impl Clock {
    /// The peer said it was `told_ns` when it was `at` here.
    pub(super) const fn told(told_ns: u64, at: Instant) -> Self {
        Self { told_ns, at }
    }

    /// Our own time.
    pub(super) const fn own() -> Self {
        Self::told(0, Instant::from_ns(0))
    }

    const fn of(self, now: Instant) -> Instant {
        Instant::from_ns(self.told_ns).after_ns(now.ns_since(self.at))
    }
}

impl Source {
    /// Sends so much from `now` on, in datagrams of this size; 0: iperf's own.
    pub(super) fn new(buffer_octets: u32, extent: Extent, clock: Clock, now: Instant) -> Self {
        let octets = match buffer_octets as usize {
            0 => DEFAULT_OCTETS,
            octets => octets.clamp(Numbered::LEN + 4, MOST_OCTETS),
        };
        let rate = match extent.rate_bits_per_s {
            0 => DEFAULT_RATE_BITS_PER_S,
            rate => rate,
        };
        Self {
            most: extent.octets,
            most_ns: extent.ns,
            octets,
            began: now,
            pace: Pace::new(rate, now),
            next: 1,
            sent_octets: 0,
            ends: 0,
            end_due: now,
            clock,
        }
    }

    /// Datagrams and octets of them sent, the first one that ends it included.
    pub(super) const fn sent(&self) -> (u64, u64) {
        let end = (self.ends > 0) as u64;
        (self.next as u64 - 1 + end, self.sent_octets)
    }

    /// From the first datagram to what would be the next one.
    const fn span_ns(&self) -> u64 {
        self.pace.due().ns_since(self.began)
    }

    /// What was sent.
    pub(super) fn report(&self) -> Report {
        let (datagrams, octets) = self.sent();
        Report {
            octets,
            span: span(self.span_ns()),
            datagrams: u32::try_from(datagrams).unwrap_or(u32::MAX),
            ..Report::default()
        }
    }

    /// Everything was sent, and its end said.
    pub(super) const fn is_ending(&self) -> bool {
        self.ends > 0
    }

    /// All datagrams that end it were sent.
    pub(super) const fn is_exhausted(&self) -> bool {
        self.ends >= ENDS
    }

    /// Nobody has answered any of the datagrams that end it.
    pub(super) fn is_given_up(&self, now: Instant) -> bool {
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
        self.sent_octets >= self.most || self.span_ns() >= self.most_ns
    }

    /// The datagram that is due, if one is and there is room for its number: its length. Behind that it
    /// carries the request, if it is ours.
    pub(super) fn next(
        &mut self,
        request: Option<&Test>,
        room: &mut [u8],
        now: Instant,
    ) -> Option<usize> {
        if now < self.due() || room.len() < Numbered::LEN {
            return None;
        }
        // The first one carries the whole request, however short the others are: a server takes the
        // rate from its last octets.
        let is_request = request.is_some() && self.next == 1;
        let least = if is_request { REQUEST_OCTETS } else { 0 };
        let len = self.octets.max(least).min(room.len());
        // Who can't keep the rate ends in time all the same.
        let over = self.is_over() || now.ns_since(self.began) >= self.most_ns;
        if over && self.ends >= ENDS {
            return None;
        }
        let datagram = &mut room[..len];
        let number = if over {
            if self.ends == 0 {
                // Counted as data by both ends of iperf.
                self.sent_octets += len as u64;
            }
            self.ends += 1;
            self.end_due = now.after_ns(ns(END_EVERY));
            // The same each time: whichever of them arrives, the receiver counts what was sent.
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
        Numbered::emit(number, self.clock.of(now), datagram);
        if let Some(behind) = datagram.get_mut(Numbered::LEN..) {
            match request {
                Some(test) => test.emit(behind, true),
                // Says that numbers have 64 bits, and that there is no request.
                None => crate::octets::put_u32(behind, 0, super::header::PLAIN),
            }
        }
        Some(len)
    }
}

/// What a receiver reports of a stream that has ended at this number, the datagram that says so
/// included: iperf's own ends count it.
pub(super) fn report(sink: &Sink, end: i64) -> Report {
    let sent = end.unsigned_abs();
    let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    Report {
        octets: sink.octets,
        span: sink.span(),
        lost: small(sink.sequence.lost(Some(sent))),
        out_of_order: small(sink.sequence.out_of_order()),
        datagrams: small(sent.max(sink.sequence.sent())),
        jitter: span(sink.jitter.ns()),
    }
}
