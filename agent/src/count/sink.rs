use super::{Jitter, Sequence};
use crate::octets::product;
use crate::{Instant, ns, span};
use core::time::Duration;

/// The receiving end of a stream of numbered datagrams.
#[derive(Debug, Clone, Copy)]
pub struct Sink {
    /// Their numbers.
    pub sequence: Sequence,
    /// Their times.
    pub jitter: Jitter,
    /// Payload of all of them, duplicates included.
    pub octets: u64,
    /// Never, before the first.
    first: Instant,
    last: Instant,
    /// When the first and the newest with a number were sent, by their sender's clock.
    sent_ns: [u64; 2],
}

impl Sink {
    /// Nothing has come; the sender counts from `first_number`.
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

    /// A datagram came with this number, sent at this time on the sender's clock.
    pub fn arrived(&mut self, number: u64, sent_ns: u64, octets: usize, now: Instant) {
        if self.sequence.received() == 0 {
            self.sent_ns = [sent_ns; 2];
        }
        self.sequence.arrived(number);
        self.sent_ns[1] = self.sent_ns[1].max(sent_ns);
        self.jitter.arrived(sent_ns, now.ns());
        self.octets(octets, now);
    }

    /// The datagram came that ends the stream. Its sender says the end each `every` until it is answered:
    /// where the first one was lost, this one is a repetition, and not when the stream ended.
    pub fn ended(
        &mut self,
        number: u64,
        sent_ns: u64,
        octets: usize,
        now: Instant,
        every: Duration,
    ) {
        let last = self.last;
        let is_again = self.is_again(number, sent_ns, now, every);
        self.arrived(number, sent_ns, octets, now);
        if is_again {
            self.last = last;
        }
    }

    /// Whether an end comes much later than at the stream's pace, by the clock here or by the sender's: not
    /// all senders put a new time into it, and a queue that became empty meanwhile hides some of it.
    fn is_again(&self, number: u64, sent_ns: u64, now: Instant, every: Duration) -> bool {
        if self.sequence.received() == 0 {
            return false;
        }
        let before = self.sequence.sent().saturating_sub(1);
        let behind = number
            .saturating_sub(self.sequence.next())
            .saturating_add(1);
        let slack = ns(every) / 2;
        let times = [
            ([self.first.ns(), self.last.ns()], now.ns()),
            (self.sent_ns, sent_ns),
        ];
        times.iter().any(|([first, last], at)| {
            let paced = product(last.saturating_sub(*first), behind).unwrap_or(u64::MAX);
            let paced = paced.checked_div(before);
            paced.is_some_and(|paced| at.saturating_sub(*last) >= paced.saturating_add(slack))
        })
    }

    /// Octets came that have no number.
    pub fn octets(&mut self, octets: usize, now: Instant) {
        self.octets += octets as u64;
        self.first = self.first.or(now);
        self.last = now;
    }

    /// From the first datagram to the last.
    #[must_use]
    pub fn span(&self) -> Duration {
        span(self.last.ns_since(self.first))
    }

    /// When the last one came; `None` before the first.
    #[must_use]
    pub fn last(&self) -> Option<Instant> {
        self.first.ever().map(|_| self.last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_millis(250);

    /// From the first to the last of 100 datagrams, sent one each ms, of which every fifth comes, and of
    /// their end: all sent and come when it is said.
    fn span_ms(end: u64, end_sent_ms: u64, end_came_ms: u64) -> u128 {
        let ns = |ms: u64| ms * 1_000_000;
        let mut sink = Sink::new(1);
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
    fn an_end_in_its_time_ends_the_time() {
        assert_eq!(span_ms(101, 100, 140), 100);
        // Late by as much as a network is.
        assert_eq!(span_ms(101, 100, 200), 160);
        // A sender whose times are no times.
        assert_eq!(span_ms(101, 0, 140), 100);
    }

    #[test]
    fn a_repeated_end_does_not() {
        assert_eq!(span_ms(101, 350, 390), 95);
        // With the time of the first end in it.
        assert_eq!(span_ms(101, 100, 390), 95);
        // It waited less in the queue than those before.
        assert_eq!(span_ms(101, 350, 355), 95);
    }

    #[test]
    fn an_end_alone_is_one() {
        let mut sink = Sink::new(1);
        sink.ended(1, 7, 100, Instant::from_ns(9), EVERY);
        assert_eq!((sink.octets, sink.span()), (100, Duration::ZERO));
        // From one datagram no pace is known.
        sink = Sink::new(1);
        sink.arrived(1, 0, 100, Instant::from_ns(0));
        sink.ended(2, 0, 100, Instant::from_ns(1_000_000_000), EVERY);
        assert_eq!(sink.span(), Duration::from_secs(1));
    }
}
