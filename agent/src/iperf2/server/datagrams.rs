//! A stream of datagrams from or to a client.

use core::net::SocketAddr;
use core::time::Duration;

use super::super::header::{Numbered, Report, Test};
use super::super::udp::{Clock, END_EVERY, Source, report};
use super::{Finished, LISTENING};
use crate::count::Sink;
use crate::{Instant, Limits, Udp};

/// A client of which nothing is heard for so long is gone: its place may be taken.
const SILENCE: Duration = Duration::from_secs(10);
/// A client that is sent to listens only some time after it has asked: what comes sooner finds nobody,
/// and would pass for a loss of the link.
const HEAD_START: Duration = Duration::from_millis(100);
/// A client asks for its report ten times.
const MOST_REPORTS: u8 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A socket is to be opened first.
    Unbound,
    /// Under way.
    Running,
    /// Over; the end may be asked about again.
    Over,
}

/// What a datagram has brought about.
pub(super) enum Event {
    Began(Test, Clock),
    Ended(Finished, Option<Test>, Clock),
}

#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
enum Role {
    Receives {
        sink: Sink,
        /// The number that ended it, and the report of then.
        end: Option<(i64, Report)>,
        /// How many times the report is to be sent, and how many times it may still be asked for.
        to_report: u8,
        left: u8,
        /// Octets that have come and were not answered: who forges an address gains nothing by that.
        credit: u64,
    },
    Sends(Source),
}

#[derive(Debug)]
pub(super) struct Datagrams {
    pub(super) socket: Udp,
    pub(super) peer: SocketAddr,
    pub(super) state: State,
    test: Option<Test>,
    heard: Instant,
    /// When the last that came was sent, by its sender's clock.
    told_ns: u64,
    role: Role,
}

/// Whether a datagram may be a stream's first one: not one that ends a stream long forgotten, and no
/// report.
pub(super) fn may_begin(octets: &[u8]) -> bool {
    Numbered::parse(octets).is_some_and(|head| head.number >= 0) && !Report::is_in(octets)
}

impl Datagrams {
    /// A stream from a client, of which nothing has come yet.
    pub(super) fn received(socket: Udp, peer: SocketAddr, now: Instant) -> Self {
        Self {
            socket,
            peer,
            state: State::Running,
            test: None,
            heard: now,
            told_ns: 0,
            role: Role::Receives {
                sink: Sink::new(1),
                end: None,
                to_report: 0,
                left: MOST_REPORTS,
                credit: 0,
            },
        }
    }

    /// A stream to a client, over a socket to be opened.
    pub(super) fn back(
        socket: Udp,
        peer: SocketAddr,
        test: &Test,
        longest: Duration,
        clock: Clock,
        now: Instant,
    ) -> Self {
        Self {
            socket,
            peer,
            state: State::Unbound,
            test: Some(*test),
            heard: now,
            told_ns: 0,
            role: Role::Sends(
                Source::new(test, false, clock, now.after(HEAD_START)).within(longest),
            ),
        }
    }

    /// Whether a socket is to be opened, once.
    pub(super) fn take_bind(&mut self) -> bool {
        let unbound = self.state == State::Unbound;
        if unbound {
            self.state = State::Running;
        }
        unbound
    }

    fn is_silent(&self, now: Instant) -> bool {
        now.since(self.heard) >= SILENCE
    }

    /// Whether another may have its place, and how soon: the least first. One with a socket of its own
    /// gives that back first.
    pub(super) fn may_be_replaced(&self, now: Instant) -> Option<(bool, Instant)> {
        let over = self.state == State::Over;
        let may = match &self.role {
            Role::Receives { to_report, .. } => self.is_silent(now) || over && *to_report == 0,
            Role::Sends(_) => over && self.socket == LISTENING,
        };
        may.then_some((!over, self.heard))
    }

    /// Whether this is of a new test, from the port of an old one. The first datagram of it may be lost,
    /// and one of the old test late: what was sent after all that has come is new.
    fn is_renewed(&self, head: Numbered, now: Instant) -> bool {
        if head.number < 0 {
            return false;
        }
        match &self.role {
            // One that goes on is slow, or its network was.
            Role::Receives {
                sink, end: None, ..
            } => self.is_silent(now) && head.number.unsigned_abs() < sink.sequence.next(),
            Role::Receives { .. } => head.number == 1 || head.sent_ns > self.told_ns,
            Role::Sends(_) => {
                let new = head.sent_ns > self.told_ns || self.is_silent(now);
                self.state == State::Over && self.socket == LISTENING && new
            }
        }
    }

    /// Takes a datagram from the peer.
    pub(super) fn datagram(
        &mut self,
        octets: &[u8],
        limits: &Limits,
        now: Instant,
    ) -> Option<Event> {
        let head = Numbered::parse(octets)?;
        if self.is_renewed(head, now) {
            *self = Self::received(self.socket, self.peer, now);
        }
        self.heard = now;
        self.told_ns = self.told_ns.max(head.sent_ns);
        match &mut self.role {
            Role::Sends(source) => {
                // iperf 2.1 puts 0 where its report has its number.
                if head.number <= 0 && self.state == State::Running && source.is_ending() {
                    self.state = State::Over;
                    let report = Report::parse(octets).unwrap_or_default();
                    let clock = Clock::told(head.sent_ns, now);
                    return Some(Event::Ended(self.finished(report), None, clock));
                }
                None
            }
            Role::Receives {
                sink,
                end,
                to_report,
                left,
                credit,
            } => {
                *credit = credit.saturating_add(octets.len() as u64);
                if Report::is_in(octets) {
                    return None;
                }
                if head.number < 0 {
                    *to_report += u8::from(*left > 0);
                    *left = left.saturating_sub(1);
                    if end.is_some() {
                        return None;
                    }
                    let number = head.number.unsigned_abs();
                    sink.ended(number, head.sent_ns, octets.len(), now, END_EVERY);
                    let report = report(sink, head.number);
                    *end = Some((head.number, report));
                    self.state = State::Over;
                    let clock = Clock::told(head.sent_ns, now);
                    return Some(Event::Ended(self.finished(report), self.test, clock));
                }
                if end.is_some() {
                    // Late.
                    return None;
                }
                let test = octets.get(Numbered::LEN..).and_then(Test::parse);
                if let Some(test) = test.filter(|test| test.reverse) {
                    let clock = Clock::told(head.sent_ns, now);
                    return self.reverse(&test, limits, clock, now);
                }
                sink.arrived(head.number.unsigned_abs(), head.sent_ns, octets.len(), now);
                if self.test.is_none() && test.is_some() {
                    self.test = test;
                    let clock = Clock::told(head.sent_ns, now);
                    return test.map(|test| Event::Began(test, clock));
                }
                None
            }
        }
    }

    /// The client wants to be sent to, and says so until it is.
    fn reverse(
        &mut self,
        test: &Test,
        limits: &Limits,
        clock: Clock,
        now: Instant,
    ) -> Option<Event> {
        if limits.sends_datagrams {
            self.test = Some(*test);
            let source = Source::new(&limits.apply(test), false, clock, now);
            self.role = Role::Sends(source.within(limits.longest));
        }
        None
    }

    fn finished(&self, report: Report) -> Finished {
        Finished {
            udp: true,
            is_confirmed: true,
            sent: matches!(self.role, Role::Sends(_)),
            peer: self.peer,
            report,
        }
    }

    /// The datagram that is due, if one is: its length.
    pub(super) fn next(&mut self, room: &mut [u8], now: Instant) -> Option<usize> {
        match &mut self.role {
            Role::Receives {
                end,
                to_report,
                credit,
                ..
            } => {
                let (number, report) = (*end)?;
                *to_report = to_report.checked_sub(1)?;
                // Not paid for by a stream this short: the client asks again, which pays for more.
                *credit = credit.checked_sub((Numbered::LEN + Report::LEN) as u64)?;
                Some(report.answer(number, now, room))
            }
            Role::Sends(source) => {
                if self.state != State::Running {
                    return None;
                }
                source.next(room, now)
            }
        }
    }

    /// What was sent, if its end has been said as often as it is and nobody has answered: a client of
    /// iperf 2.1 with `-R` does not.
    pub(super) fn give_up(&mut self, now: Instant) -> Option<Finished> {
        let Role::Sends(source) = &self.role else {
            return None;
        };
        if self.state != State::Running || !source.is_given_up(now) {
            return None;
        }
        self.state = State::Over;
        Some(Finished {
            is_confirmed: false,
            ..self.finished(source.report())
        })
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        match &self.role {
            Role::Sends(source) if self.state == State::Running => Some(source.due()),
            _ => None,
        }
    }
}
