//! The session sender.

use core::net::SocketAddr;
use core::time::Duration;

use super::packet::{LEN, Probe, Reflection};
use super::time::{Clock, ErrorEstimate, Format, between, ns};
use crate::count::{Arrival, Sequence};
use crate::{Ask, Datagram, Instant, Service, Udp};

const SOCKET: Udp = Udp(0);

/// What a sender is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The reflector.
    pub to: SocketAddr,
    /// How many packets.
    pub count: u32,
    /// From one to the next.
    pub interval: Duration,
    /// Their payload, 44 octets at least.
    pub octets: usize,
    /// How long an answer to the last one may take.
    pub patience: Duration,
    /// Our clock.
    pub clock: Clock,
    /// The reflector is known to number its answers itself. Without, the sender finds it out only from
    /// the first loss on the way there.
    pub stateful: bool,
    /// The session's identifier (RFC 8972 section 3), or 0.
    pub session: u16,
}

/// Times of one way, between two synchronised clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneWay {
    /// To the reflector; below zero where the clocks differ by more.
    pub forward_ns: i64,
    /// Back.
    pub back_ns: i64,
    /// What both are wrong by at most, as the two clocks say.
    pub error: Duration,
}

/// One packet and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// The packet's number.
    pub number: u32,
    /// When it was sent.
    pub sent: Instant,
    /// The round trip without the time that the reflector took.
    pub round_trip: Duration,
    /// What the reflector took, by its own clock.
    pub reflector: Duration,
    /// `None`: the clocks are not synchronised.
    pub one_way: Option<OneWay>,
    /// The packet's TTL or hop limit when it arrived; 255: as sent, or not known.
    pub ttl: u8,
}

/// Packets without an answer, by where they were lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// On the way to the reflector.
    pub forward: u64,
    /// On the way back.
    pub back: u64,
    /// Either: after the last answer, or the reflector has no numbers of its own.
    pub either: u64,
}

/// What a sender found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Packets sent.
    pub sent: u64,
    /// Packets answered.
    pub answered: u64,
    /// The others; final when the sender is done.
    pub loss: Loss,
    /// Answers to packets that were sent before one that had been answered.
    pub out_of_order: u64,
    /// Packets that reached the reflector more than once, as far as the answers came.
    pub forward_duplicates: u64,
    /// Answers that came more than once; with a stateless reflector those to repeated packets too.
    pub back_duplicates: u64,
    /// What came from the reflector and is no answer, or says what can't be.
    pub nonsense: u64,
    /// Samples that nobody took in time.
    pub untaken: u64,
}

/// Sends packets at even intervals and takes their answers. `SAMPLES` can wait to be taken.
#[derive(Debug)]
pub struct Sender<const SAMPLES: usize> {
    plan: Plan,
    is_bound: bool,
    began: Option<Instant>,
    next: u32,
    /// When the last packet left.
    last: Instant,
    /// Our numbers, as they came back.
    answered: Sequence,
    /// The reflector's.
    reflected: Sequence,
    /// Some answer had another number than its packet.
    is_stateful: bool,
    /// Some answer had a number that no reflector can have come to.
    is_confused: bool,
    forward_duplicates: u64,
    back_duplicates: u64,
    nonsense: u64,
    untaken: u64,
    samples: [Option<Sample>; SAMPLES],
}

impl<const SAMPLES: usize> Sender<SAMPLES> {
    /// A sender that begins as soon as it is driven.
    #[must_use]
    pub const fn new(plan: Plan) -> Self {
        assert!(SAMPLES > 0);
        Self {
            plan,
            is_bound: false,
            began: None,
            next: 0,
            last: Instant::from_ns(0),
            answered: Sequence::new(0),
            reflected: Sequence::new(0),
            is_stateful: plan.stateful,
            is_confused: false,
            forward_duplicates: 0,
            back_duplicates: 0,
            nonsense: 0,
            untaken: 0,
            samples: [None; SAMPLES],
        }
    }

    /// The samples, each once, in the order of their answers.
    pub fn take_sample(&mut self) -> Option<Sample> {
        let first = self.samples[0].take();
        self.samples.rotate_left(1);
        first
    }

    /// All was sent, and answered or waited for.
    #[must_use]
    pub fn is_done(&self, now: Instant) -> bool {
        let all = self.different() >= u64::from(self.plan.count);
        self.is_all_sent() && (all || now >= self.last.after(self.plan.patience))
    }

    /// What there is so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        Outcome {
            sent: u64::from(self.next),
            answered: self.different(),
            loss: self.loss(),
            out_of_order: self.answered.out_of_order(),
            forward_duplicates: self.forward_duplicates,
            back_duplicates: self.back_duplicates,
            nonsense: self.nonsense,
            untaken: self.untaken,
        }
    }

    const fn is_all_sent(&self) -> bool {
        self.next >= self.plan.count
    }

    /// Packets that were answered, each once.
    fn different(&self) -> u64 {
        self.answered.sent() - self.answered.lost(None)
    }

    /// Up to the last packet that was answered the reflector's numbers say how many had arrived; those
    /// of them that are missing were lost on the way back. Repeated packets have a number each.
    fn loss(&self) -> Loss {
        let all = u64::from(self.next).saturating_sub(self.different());
        if !self.is_stateful || self.is_confused {
            return Loss {
                either: all,
                ..Loss::default()
            };
        }
        let either = u64::from(self.next).saturating_sub(self.answered.sent());
        let between = all.saturating_sub(either);
        let arrived = self.reflected.sent();
        let forward = (self.answered.sent() + self.forward_duplicates).saturating_sub(arrived);
        let forward = forward.min(between);
        Loss {
            forward,
            back: between - forward,
            either,
        }
    }

    fn due(&self) -> Option<Instant> {
        let began = self.began?;
        let ns = self.plan.interval.as_nanos() * u128::from(self.next);
        let span = Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX));
        (!self.is_all_sent()).then(|| began.after(span))
    }

    /// Takes an answer. `None`: it can't be one.
    fn answer(&mut self, octets: &[u8], now: Instant) -> Option<()> {
        let answer = Reflection::parse(octets)?;
        let number = answer.probe.number;
        let ours = self.plan.clock;
        let error = ours.error();
        if number >= self.next || answer.probe.error != error.to_bits() {
            return None;
        }
        let t1 = ns(answer.probe.sent, error.format);
        let t4 = ns(ours.stamp(now), error.format);
        let away = u64::try_from(between(t1, t4)).ok()?;
        if Duration::from_nanos(away) > now.since(self.began?) {
            return None;
        }
        let theirs = ErrorEstimate::from_bits(answer.error);
        let format = theirs.map_or(Format::Ntp, |error| error.format);
        let (t2, t3) = (ns(answer.received, format), ns(answer.sent, format));
        let reflector = u64::try_from(between(t2, t3)).ok()?;
        // A clock of theirs that runs in coarse steps may say a little more than has passed here.
        let coarse = theirs.map_or(Duration::ZERO, ErrorEstimate::bound);
        if Duration::from_nanos(reflector) > Duration::from_nanos(away).saturating_add(coarse) {
            return None;
        }
        let is_new = self.count(number, answer.number);
        if !is_new {
            return Some(());
        }
        let one_way = theirs
            .filter(|theirs| theirs.synchronised && error.synchronised)
            .map(|theirs| OneWay {
                forward_ns: between(t1, t2),
                back_ns: between(t3, t4),
                error: theirs.bound().saturating_add(error.bound()),
            });
        self.keep(Sample {
            number,
            sent: Instant::from_ns(now.ns().saturating_sub(away)),
            round_trip: Duration::from_nanos(away.saturating_sub(reflector)),
            reflector: Duration::from_nanos(reflector),
            one_way,
            ttl: answer.ttl,
        });
        Some(())
    }

    /// Counts an answer; whether it is the first one to its packet.
    fn count(&mut self, number: u32, reflected: u32) -> bool {
        self.is_stateful |= number != reflected;
        // Every packet may have been repeated, but hardly more than that.
        let is_possible = u64::from(reflected) < 2 * u64::from(self.next) + 16;
        self.is_confused |= !is_possible;
        let again = |arrival| matches!(arrival, Arrival::Duplicate | Arrival::Stale);
        let is_new = !again(self.answered.arrived(u64::from(number)));
        if !is_possible {
            return is_new;
        }
        if again(self.reflected.arrived(u64::from(reflected))) {
            self.back_duplicates += 1;
        } else if !is_new {
            self.forward_duplicates += 1;
        }
        is_new
    }

    fn keep(&mut self, sample: Sample) {
        match self.samples.iter_mut().find(|slot| slot.is_none()) {
            Some(free) => *free = Some(sample),
            None => self.untaken += 1,
        }
    }
}

impl<const SAMPLES: usize> Service for Sender<SAMPLES> {
    fn ask(&mut self) -> Option<Ask> {
        let bound = core::mem::replace(&mut self.is_bound, true);
        (!bound).then_some(Ask::Bind(SOCKET, None))
    }

    fn datagram(&mut self, _: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        if from == self.plan.to && self.answer(octets, now).is_none() {
            self.nonsense += 1;
        }
    }

    fn next_datagram(&mut self, room: &mut [u8], now: Instant) -> Option<Datagram> {
        self.began.get_or_insert(now);
        if room.len() < LEN || self.due().is_none_or(|due| now < due) {
            return None;
        }
        let len = self.plan.octets.max(LEN).min(room.len());
        let probe = Probe {
            number: self.next,
            sent: self.plan.clock.stamp(now),
            error: self.plan.clock.error().to_bits(),
            session: self.plan.session,
        };
        probe.emit(&mut room[..len]);
        self.next += 1;
        self.last = now;
        Some(Datagram {
            socket: SOCKET,
            to: self.plan.to,
            len,
        })
    }

    fn wake_at(&self) -> Option<Instant> {
        let all = self.different() >= u64::from(self.plan.count);
        let end = || (self.began.is_some() && !all).then(|| self.last.after(self.plan.patience));
        self.due().or_else(end)
    }
}
