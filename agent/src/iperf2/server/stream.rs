//! A TCP connection of the server.

use core::net::SocketAddr;
use core::time::Duration;

use super::super::header::{Report, Test};
use super::super::tcp::Sending;
use super::Finished;
use crate::octets::u32_at;
use crate::pace::Again;
use crate::{Close, Connection, Instant, Limits};

/// A connection on which nothing goes on for so long is reset: its place is for others.
const SILENCE: Duration = Duration::from_secs(30);
/// A client that is not there yet is connected to again after so long, so many times.
const RETRY_AFTER: Duration = Duration::from_millis(50);
const MOST_REFUSALS: u8 = 60;

/// The request, or what of it is there.
#[derive(Debug)]
struct Head {
    octets: [u8; Test::LEN],
    len: usize,
}

/// What the first octets of a connection turn out to be.
#[derive(Debug, PartialEq, Eq)]
enum Begin {
    /// Too few of them to tell.
    Unknown,
    /// Data.
    Data,
    Request(Test),
}

impl Head {
    /// Takes what belongs to it.
    fn push(&mut self, octets: &[u8]) -> Begin {
        for octet in octets {
            self.octets[self.len] = *octet;
            self.len += 1;
            let Some(flags) = u32_at(&self.octets[..self.len], 0) else {
                continue;
            };
            match Test::len(flags) {
                Some(len) if self.len < len => {}
                Some(len) => {
                    let test = Test::parse(&self.octets[..len]);
                    return test.map_or(Begin::Data, Begin::Request);
                }
                None => return Begin::Data,
            }
        }
        Begin::Unknown
    }
}

#[derive(Debug)]
pub(super) struct Stream {
    /// `None` while it is asked for.
    pub(super) connection: Option<Connection>,
    pub(super) peer: SocketAddr,
    /// What the client asked for, once that is known.
    pub(super) test: Option<Test>,
    head: Option<Head>,
    wanted: bool,
    /// How often it was asked for in vain, and when it is asked for again.
    refusals: u8,
    retry: Option<Instant>,
    received: u64,
    began: Option<Instant>,
    last: Instant,
    /// When something went on.
    alive: Instant,
    is_reset: bool,
    again: Again,
    peer_ended: bool,
    sending: Option<Sending>,
}

impl Stream {
    pub(super) fn accepted(connection: Connection, peer: SocketAddr, now: Instant) -> Self {
        Self {
            connection: Some(connection),
            peer,
            test: None,
            head: Some(Head {
                octets: [0; Test::LEN],
                len: 0,
            }),
            wanted: false,
            refusals: 0,
            retry: None,
            received: 0,
            began: None,
            last: Instant::from_ns(0),
            alive: now,
            is_reset: false,
            again: Again::default(),
            peer_ended: false,
            sending: None,
        }
    }

    /// One to the client, to be asked for.
    pub(super) fn back(peer: SocketAddr, test: Test) -> Self {
        Self {
            connection: None,
            peer,
            test: Some(test),
            head: None,
            wanted: true,
            refusals: 0,
            retry: None,
            received: 0,
            began: None,
            last: Instant::from_ns(0),
            alive: Instant::from_ns(0),
            is_reset: false,
            again: Again::default(),
            peer_ended: false,
            sending: None,
        }
    }

    /// Where to connect to, once.
    pub(super) fn take_connect(&mut self) -> Option<SocketAddr> {
        core::mem::take(&mut self.wanted).then_some(self.peer)
    }

    /// The client was not there; whether it is to be tried again. iperf's client listens only after its
    /// own data have gone, and a server is sooner.
    pub(super) fn refused(&mut self, now: Instant) -> bool {
        self.refusals += 1;
        self.retry = Some(now.after(RETRY_AFTER));
        self.refusals < MOST_REFUSALS
    }

    pub(super) fn connected(&mut self, connection: Connection, limits: &Limits, now: Instant) {
        self.connection = Some(connection);
        self.alive = now;
        let sending = |test| Sending::new(test, now).within(limits.longest);
        self.sending = self.test.as_ref().map(sending);
    }

    /// The request, when it is complete.
    pub(super) fn received(
        &mut self,
        octets: &[u8],
        limits: &Limits,
        now: Instant,
    ) -> Option<Test> {
        self.began.get_or_insert(now);
        self.last = now;
        // What comes against the direction of the test keeps nothing up.
        if self.test.is_none_or(|test| !test.reverse) {
            self.alive = now;
        }
        self.received += octets.len() as u64;
        let test = match self.head.as_mut()?.push(octets) {
            Begin::Unknown => return None,
            Begin::Data => None,
            Begin::Request(test) => Some(test),
        };
        self.head = None;
        self.test = test;
        if let Some(test) = test.filter(|test| test.reverse || test.full_duplex) {
            self.sending = Some(Sending::new(&limits.apply(&test), now).within(limits.longest));
        }
        test
    }

    pub(super) fn fill(&mut self, room: &mut [u8], now: Instant) -> usize {
        let Some(sending) = &mut self.sending else {
            return 0;
        };
        let len = sending.fill(room, now);
        if len > 0 {
            self.alive = now;
        }
        len
    }

    /// The driver begins another turn.
    pub(super) fn turn(&mut self) {
        self.again.turn();
        if let Some(sending) = &mut self.sending {
            sending.turn();
        }
    }

    /// What time alone brings about.
    pub(super) fn step(&mut self, now: Instant) {
        if self.retry.is_some_and(|at| now >= at) {
            self.retry = None;
            self.wanted = true;
        }
        if let Some(sending) = &mut self.sending {
            sending.step(now);
        }
        let is_silent = self.deadline().is_some_and(|at| now >= at);
        self.is_reset |= is_silent;
        self.again.look(is_silent, now);
    }

    /// When it is reset, unless something goes on.
    fn deadline(&self) -> Option<Instant> {
        if self.is_reset || self.connection.is_none() {
            return None;
        }
        let sending = self.sending.as_ref().filter(|it| !it.is_over());
        // With a low rate long nothing is due.
        let due = sending.and_then(Sending::pace_due);
        Some(
            due.map_or(self.alive, |due| due.max(self.alive))
                .after(SILENCE),
        )
    }

    pub(super) fn ended(&mut self, now: Instant) {
        self.peer_ended = true;
        self.last = now;
        self.alive = now;
    }

    pub(super) fn close(&self) -> Close {
        match &self.sending {
            _ if self.is_reset => Close::Reset,
            Some(sending) if !sending.is_over() => Close::Keep,
            Some(_) => Close::Finish,
            None if self.peer_ended => Close::Finish,
            None => Close::Keep,
        }
    }

    pub(super) fn wake_at(&self) -> Option<Instant> {
        let sending = self.sending.as_ref().and_then(Sending::due);
        let all = [sending, self.deadline(), self.again.at(), self.retry];
        all.into_iter().flatten().min()
    }

    /// What came meanwhile, if both directions had a part in it.
    pub(super) fn received_meanwhile(&self) -> Option<Finished> {
        let both = self.test.is_some_and(|test| test.full_duplex);
        let received = Report {
            octets: self.received,
            span: self.last.since(self.began.unwrap_or(self.last)),
            ..Report::default()
        };
        (both && self.sending.is_some()).then_some(Finished {
            udp: false,
            is_confirmed: true,
            sent: false,
            peer: self.peer,
            report: received,
        })
    }

    pub(super) fn finished(&self, now: Instant) -> Finished {
        let (octets, span) = if let Some(sending) = &self.sending {
            sending.sent(now)
        } else {
            let began = self.began.unwrap_or(self.last);
            (self.received, self.last.since(began))
        };
        Finished {
            udp: false,
            is_confirmed: self.sending.is_none(),
            sent: self.sending.is_some(),
            peer: self.peer,
            report: Report {
                octets,
                span,
                ..Report::default()
            },
        }
    }
}
