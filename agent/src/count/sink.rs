use super::{DEFAULT_HISTORY, Jitter, Sequence};
use crate::octets::product;
use crate::{Instant, ns, span};
use core::time::Duration;

/// Receiver of a stream of numbered datagrams.
#[derive(Debug, Clone, Copy)]
pub struct Sink<const HISTORY: usize = DEFAULT_HISTORY> {
    /// Jitter statistics.
    pub jitter: Jitter,
    /// Payload of all datagrams, duplicates included.
    pub octets: u64,
    /// `NEVER` before the first datagram.
    first: Instant,
    last: Instant,
    /// Send times of the first and the newest numbered datagram, by the sender's clock.
    sent_ns: [u64; 2],
    /// Sequence number statistics.
    pub sequence: Sequence<HISTORY>,
}

impl<const HISTORY: usize> Sink<HISTORY> {
    /// Creates an empty sink for a sender that counts from `first_number`.
    #[must_use]
    pub const fn new(first_number: u64) -> Self {
        Self {
            sequence: Sequence::new(first_number),
            jitter: Jitter::new(),
            octets: 0,
            first: Instant::NEVER,
            last: Instant::from_ns(0),
            sent_ns: [0; 2],
        }
    }

    /// Zeros, which take no space in flash: to be [begun](Self::begin).
    pub(crate) const EMPTY: Self = Self {
        first: Instant::from_ns(0),
        ..Self::new(0)
    };

    /// Begins to count, from the number `first` on.
    #[inline(never)]
    pub(crate) const fn begin(&mut self, first: u64) {
        self.sequence.restart(first);
        self.first = Instant::NEVER;
    }

    /// Records a datagram with this number, sent at `sent_ns` on the sender's clock.
    pub fn arrived(&mut self, number: u64, sent_ns: u64, octets: usize, now: Instant) {
        if self.sequence.received() == 0 {
            self.sent_ns = [sent_ns; 2];
        }
        self.sequence.arrived(number);
        self.sent_ns[1] = self.sent_ns[1].max(sent_ns);
        self.jitter.arrived(sent_ns, now.ns());
        self.octets(octets, now);
    }

    /// Records the datagram that ends the stream. The sender repeats it each `every` until it is answered: if
    /// the first one was lost, this one is a repetition and does not mark the end of the stream.
    pub fn ended(
        &mut self,
        number: u64,
        sent_ns: u64,
        octets: usize,
        now: Instant,
        every: Duration,
    ) {
        let last = self.last;
        let is_repeated_end = self.is_repeated_end(number, sent_ns, now, ns(every) / 2);
        self.arrived(number, sent_ns, octets, now);
        if is_repeated_end {
            self.last = last;
        }
    }

    /// True if an end arrives much later than the stream's pace predicts, by the local or the sender's clock:
    /// not all senders update its timestamp, and a queue that drained meanwhile hides part of the delay.
    fn is_repeated_end(&self, number: u64, sent_ns: u64, now: Instant, slack_ns: u64) -> bool {
        // One datagram gives no pace.
        let before = self.sequence.sent().saturating_sub(1);
        let behind = number
            .saturating_sub(self.sequence.next())
            .saturating_add(1);
        let is_late = |first: u64, last: u64, at: u64| {
            // The pace is (last - first) / before; multiplied with the divisor instead, as divisions take code.
            let paced = product(last.saturating_sub(first), behind).unwrap_or(u64::MAX);
            let later = at.saturating_sub(last).saturating_sub(slack_ns);
            later > 0 && product(later, before).unwrap_or(u64::MAX) >= paced
        };
        before > 0
            && (is_late(self.first.ns(), self.last.ns(), now.ns())
                || is_late(self.sent_ns[0], self.sent_ns[1], sent_ns))
    }

    /// Records octets without a number.
    pub fn octets(&mut self, octets: usize, now: Instant) {
        self.octets += octets as u64;
        self.first = self.first.earlier(now);
        self.last = now;
    }

    /// Time from the first datagram to the last.
    #[must_use]
    pub fn span(&self) -> Duration {
        span(self.span_ns())
    }

    /// As [`span`](Self::span), in nanoseconds.
    pub(crate) const fn span_ns(&self) -> u64 {
        self.last.ns_since(self.first)
    }

    /// Arrival time of the last datagram; 0 before the first.
    pub(crate) const fn last_or_zero(&self) -> Instant {
        self.last
    }

    /// Arrival time of the last datagram; `None` before the first.
    #[must_use]
    pub fn last(&self) -> Option<Instant> {
        self.first.finite().map(|_| self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(250);

    /// Time from the first to the last of 100 datagrams, one sent per ms, of which every fifth arrives, and
    /// of their end: its number, its send time and its arrival time.
    fn span_ms(end: u64, end_sent_ms: u64, end_came_ms: u64) -> u128 {
        let ns = |ms: u64| ms * 1_000_000;
        let mut sink = Sink::<DEFAULT_HISTORY>::new(1);
        for number in (1..=100).step_by(5) {
            let at = number - 1;
            sink.arrived(number, ns(at), 100, Instant::from_ns(ns(at + 40)));
        }
        sink.ended(
            end,
            ns(end_sent_ms),
            100,
            Instant::from_ns(ns(end_came_ms)),
            EVERY,
        );
        assert_eq!(sink.octets, 2_100);
        sink.span().as_millis()
    }

    #[test]
    fn an_end_on_time_ends_the_span() {
        assert_eq!(span_ms(101, 100, 140), 100);
        // Late by a plausible network delay.
        assert_eq!(span_ms(101, 100, 200), 160);
        // A sender whose timestamps are meaningless.
        assert_eq!(span_ms(101, 0, 140), 100);
    }

    #[test]
    fn a_repeated_end_does_not() {
        assert_eq!(span_ms(101, 350, 390), 95);
        // A repetition with the timestamp of the first end.
        assert_eq!(span_ms(101, 100, 390), 95);
        // Its queueing delay was shorter than that of those before.
        assert_eq!(span_ms(101, 350, 355), 95);
    }

    #[test]
    fn an_end_alone_is_one() {
        let mut sink = Sink::<DEFAULT_HISTORY>::new(1);
        sink.ended(1, 7, 100, Instant::from_ns(9), EVERY);
        assert_eq!((sink.octets, sink.span()), (100, Duration::ZERO));
        // One datagram gives no pace.
        sink = Sink::<DEFAULT_HISTORY>::new(1);
        sink.arrived(1, 0, 100, Instant::from_ns(0));
        sink.ended(2, 0, 100, Instant::from_ns(1_000_000_000), EVERY);
        assert_eq!(sink.span(), Duration::from_secs(1));
    }
}
