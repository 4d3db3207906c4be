//! The session sender.

use core::net::SocketAddr;
use core::time::Duration;

use super::packet::{LEN, Probe, Reflection};
use super::time::{Clock, ErrorEstimate, Format, between, ns};
use crate::count::{Arrival, Sequence};
use crate::{Datagram, Instant, Service, SocketRequest, Udp};

const SOCKET: Udp = Udp(0);
/// Shortest plausible round trip: the time that a reflector reports for its processing is not believed if it leaves
/// less. Two minimum frames take 134 ns at 10 Gbit/s, and each end some microseconds.
const MIN_ROUND_TRIP: Duration = Duration::from_micros(1);

/// Configuration of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The reflector.
    pub to: SocketAddr,
    /// Number of packets.
    pub count: u32,
    /// Interval between packets.
    pub interval: Duration,
    /// Payload length, 44 octets at least.
    pub octets: usize,
    /// Maximum wait for the last answer.
    pub timeout: Duration,
    /// The local clock.
    pub clock: Clock,
    /// True if the reflector is known to be stateful. Otherwise the sender detects it only at the first
    /// forward loss.
    pub stateful: bool,
    /// The session's identifier (RFC 8972 section 3), or 0.
    pub session: u16,
}

/// One-way delays between two synchronised clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneWay {
    /// To the reflector; negative if the clocks' offset exceeds the delay.
    pub forward_ns: i64,
    /// From the reflector.
    pub backward_ns: i64,
    /// Maximum error of both, by the two clocks' error estimates.
    pub error: Duration,
}

/// One packet and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The packet's number.
    pub number: u32,
    /// Send time.
    pub sent: Instant,
    /// Round-trip time without the reflector's processing time.
    pub round_trip: Duration,
    /// The reflector's processing time, by its own clock; zero if it leaves no time for the network.
    pub reflector: Duration,
    /// `None` if the clocks are not synchronised.
    pub one_way: Option<OneWay>,
    /// The packet's TTL or hop limit on arrival; 255: unchanged, or unknown.
    pub ttl: u8,
}

/// Unanswered packets, by the direction of the loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Lost on the way to the reflector.
    pub forward: u64,
    /// Lost on the way from the reflector.
    pub backward: u64,
    /// Direction unknown: after the last answer, or the reflector has no numbers of its own.
    pub unknown: u64,
}

/// Results of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Packets sent.
    pub sent: u64,
    /// Packets answered.
    pub answered: u64,
    /// Packets not answered; final when the sender is done.
    pub loss: Loss,
    /// Answers to packets older than one already answered.
    pub out_of_order: u64,
    /// Packets that reached the reflector more than once, as far as their answers arrived.
    pub forward_duplicates: u64,
    /// Duplicate answers; with a stateless reflector, also answers to duplicate packets.
    pub backward_duplicates: u64,
    /// Packets from the reflector that are not answers or have impossible contents.
    pub invalid: u64,
    /// Samples discarded because they were not taken in time.
    pub discarded_samples: u64,
}

/// Sends packets at even intervals and collects the answers. Up to `SAMPLES` samples are queued.
#[derive(Debug)]
pub struct Sender<const SAMPLES: usize> {
    plan: Plan,
    is_bound: bool,
    began: Option<Instant>,
    next: u32,
    /// Send time of the last packet.
    last: Instant,
    /// Send times of the last packets, by number.
    sent_at: [Instant; SAMPLES],
    /// Own numbers, as returned by the reflector.
    answered: Sequence,
    /// The reflector's numbers.
    reflected: Sequence,
    /// An answer had a different number from its packet.
    is_stateful: bool,
    /// An answer had a number that no reflector can have reached.
    has_invalid_number: bool,
    forward_duplicates: u64,
    backward_duplicates: u64,
    invalid: u64,
    discarded_samples: u64,
    samples: [Option<Sample>; SAMPLES],
}

impl<const SAMPLES: usize> Sender<SAMPLES> {
    /// Creates a sender that begins with the driver's first turn.
    #[must_use]
    pub const fn new(plan: Plan) -> Self {
        assert!(SAMPLES > 0);
        Self {
            plan,
            is_bound: false,
            began: None,
            next: 0,
            last: Instant::from_ns(0),
            sent_at: [Instant::from_ns(0); SAMPLES],
            answered: Sequence::new(0),
            reflected: Sequence::new(0),
            is_stateful: plan.stateful,
            has_invalid_number: false,
            forward_duplicates: 0,
            backward_duplicates: 0,
            invalid: 0,
            discarded_samples: 0,
            samples: [None; SAMPLES],
        }
    }

    /// Returns each sample once, in the order of the answers.
    pub fn take_sample(&mut self) -> Option<Sample> {
        let first = self.samples[0].take();
        self.samples.rotate_left(1);
        first
    }

    /// True if all packets were sent, and answered or timed out.
    #[must_use]
    pub fn is_done(&self, now: Instant) -> bool {
        let all = self.unique_answers() >= u64::from(self.plan.count);
        self.is_all_sent() && (all || now >= self.last.after(self.plan.timeout))
    }

    /// Results so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome {
            sent: u64::from(self.next),
            answered: self.unique_answers(),
            loss: self.loss(),
            out_of_order: self.answered.out_of_order(),
            forward_duplicates: self.forward_duplicates,
            backward_duplicates: self.backward_duplicates,
            invalid: self.invalid,
            discarded_samples: self.discarded_samples,
        }
    }

    const fn is_all_sent(&self) -> bool {
        self.next >= self.plan.count
    }

    /// Packets answered, each counted once.
    fn unique_answers(&self) -> u64 {
        self.answered.sent() - self.answered.lost(None)
    }

    /// Up to the last answered packet, the reflector's numbers give the number of packets that arrived there;
    /// those missing were lost on the way back. A duplicate packet has its own number.
    fn loss(&self) -> Loss {
        let all = u64::from(self.next).saturating_sub(self.unique_answers());
        if !self.is_stateful || self.has_invalid_number {
            return Loss {
                unknown: all,
                ..Loss::default()
            };
        }
        let unknown = u64::from(self.next).saturating_sub(self.answered.sent());
        let between = all.saturating_sub(unknown);
        let arrived = self.reflected.sent();
        let forward = (self.answered.sent() + self.forward_duplicates).saturating_sub(arrived);
        let forward = forward.min(between);
        Loss {
            forward,
            backward: between - forward,
            unknown,
        }
    }

    fn due(&self) -> Option<Instant> {
        let began = self.began?;
        let ns = self.plan.interval.as_nanos() * u128::from(self.next);
        let span = Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX));
        (!self.is_all_sent()).then(|| began.after(span))
    }

    /// Handles an answer. `None` if it is not a valid one.
    fn answer(&mut self, octets: &[u8], now: Instant) -> Option<()> {
        let answer = Reflection::parse(octets)?;
        let number = answer.probe.number;
        let ours = self.plan.clock;
        let error = ours.error();
        if number >= self.next || answer.probe.error != error.to_bits() {
            return None;
        }
        if !self.is_own_stamp(number, answer.probe.sent) {
            return None;
        }
        let t1 = ns(answer.probe.sent, error.format);
        let t4 = ns(ours.stamp(now), error.format);
        let elapsed = u64::try_from(between(t1, t4)).ok()?;
        if Duration::from_nanos(elapsed) > now.since(self.began?) {
            return None;
        }
        let theirs = ErrorEstimate::from_bits(answer.error);
        let format = theirs.map_or(Format::Ntp, |error| error.format);
        let (t2, t3) = (ns(answer.received, format), ns(answer.sent, format));
        let reflector = u64::try_from(between(t2, t3)).ok()?;
        // A reflector's clock of coarse resolution may report slightly more than has passed here.
        let coarse = theirs.map_or(Duration::ZERO, ErrorEstimate::bound);
        if Duration::from_nanos(reflector) > Duration::from_nanos(elapsed).saturating_add(coarse) {
            return None;
        }
        let is_new = self.count(number, answer.number);
        if !is_new {
            return Some(());
        }
        let left = elapsed.saturating_sub(reflector);
        let reflector = if Duration::from_nanos(left) < MIN_ROUND_TRIP {
            0
        } else {
            reflector
        };
        let one_way = theirs
            .filter(|theirs| theirs.synchronised && error.synchronised)
            .map(|theirs| OneWay {
                forward_ns: between(t1, t2),
                backward_ns: between(t3, t4),
                error: theirs.bound().saturating_add(error.bound()),
            });
        self.keep(Sample {
            number,
            sent: Instant::from_ns(now.ns().saturating_sub(elapsed)),
            round_trip: Duration::from_nanos(elapsed.saturating_sub(reflector)),
            reflector: Duration::from_nanos(reflector),
            one_way,
            ttl: answer.ttl,
        });
        Some(())
    }

    /// True if the packet with this number was sent with this timestamp, as far as its time is still known.
    fn is_own_stamp(&self, number: u32, stamp: u64) -> bool {
        let behind = self.next.saturating_sub(number) as usize;
        let sent_at = self.sent_at[number as usize % SAMPLES];
        behind > SAMPLES || stamp == self.plan.clock.stamp(sent_at)
    }

    /// Counts an answer; true if it is the first one to its packet.
    fn count(&mut self, number: u32, reflected: u32) -> bool {
        self.is_stateful |= number != reflected;
        // Every packet may have been duplicated, but hardly more often.
        let is_possible = u64::from(reflected) < 2 * u64::from(self.next) + 16;
        self.has_invalid_number |= !is_possible;
        let is_repeated = |arrival| matches!(arrival, Arrival::Duplicate | Arrival::Stale);
        let is_new = !is_repeated(self.answered.arrived(u64::from(number)));
        if !is_possible {
            return is_new;
        }
        if is_repeated(self.reflected.arrived(u64::from(reflected))) {
            self.backward_duplicates += 1;
        } else if !is_new {
            self.forward_duplicates += 1;
        }
        is_new
    }

    fn keep(&mut self, sample: Sample) {
        match self.samples.iter_mut().find(|slot| slot.is_none()) {
            Some(free) => *free = Some(sample),
            None => self.discarded_samples += 1,
        }
    }
}

impl<const SAMPLES: usize> Service for Sender<SAMPLES> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        let bound = core::mem::replace(&mut self.is_bound, true);
        (!bound).then_some(SocketRequest::Bind(SOCKET, None))
    }

    fn datagram(&mut self, _: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        if from == self.plan.to && self.answer(octets, now).is_none() {
            self.invalid += 1;
        }
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        self.began.get_or_insert(now);
        if buffer.len() < LEN || self.due().is_none_or(|due| now < due) {
            return None;
        }
        let len = self.plan.octets.max(LEN).min(buffer.len());
        let probe = Probe {
            number: self.next,
            sent: self.plan.clock.stamp(now),
            error: self.plan.clock.error().to_bits(),
            session: self.plan.session,
        };
        probe.emit(&mut buffer[..len]);
        self.sent_at[self.next as usize % SAMPLES] = now;
        self.next += 1;
        self.last = now;
        Some(Datagram {
            socket: SOCKET,
            to: self.plan.to,
            len,
        })
    }

    fn wake_at(&self) -> Option<Instant> {
        let all = self.unique_answers() >= u64::from(self.plan.count);
        let end = || (self.began.is_some() && !all).then(|| self.last.after(self.plan.timeout));
        self.due().or_else(end)
    }
}
