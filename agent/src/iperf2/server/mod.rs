//! `iperf -s`: takes what clients send, and sends where they ask for it.

mod datagrams;
mod stream;

use core::net::SocketAddr;
use core::time::Duration;

use self::datagrams::{Datagrams, State};
use self::stream::Stream;
use super::header::{Amount, Back, Report, Test};
use super::udp::Clock;
use crate::answer::may_be_sent_to;
use crate::notes::Notes;
use crate::{Ask, Close, Connection, Datagram, Instant, Limits, Opened, Refused, Service, Udp};

/// The UDP socket that clients send to; those of tests back follow.
const LISTENING: Udp = Udp(0);

impl Limits {
    /// The test as far as it is allowed.
    fn apply(&self, test: &Test) -> Test {
        let amount = match test.amount {
            // Nothing said, or nonsense: iperf's own ten seconds.
            Amount::Octets(0) => Amount::Span(Duration::from_secs(10).min(self.longest)),
            Amount::Octets(octets) => Amount::Octets(octets),
            Amount::Span(span) => Amount::Span(span.min(self.longest)),
        };
        Test {
            amount,
            rate_bits_per_s: test.rate_bits_per_s.min(self.fastest_bits_per_s),
            ..*test
        }
    }
}

/// A test that is over, as the server saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// Whether it was UDP.
    pub udp: bool,
    /// Whether the server sent.
    pub sent: bool,
    /// The client.
    pub peer: SocketAddr,
    /// Whether the report is its receiver's. A server that sends knows what it has given to the network;
    /// by UDP the client may say what it received.
    pub is_confirmed: bool,
    /// What was counted. A TCP test has octets and time only.
    pub report: Report,
}

/// A server for so many tests at a time.
#[derive(Debug)]
pub struct Server<const FLOWS: usize> {
    port: u16,
    limits: Limits,
    streams: [Option<Stream>; FLOWS],
    datagrams: [Option<Datagrams>; FLOWS],
    /// The tests that ended, first the one that ended first.
    finished: Notes<Finished, FLOWS>,
    listens: bool,
    is_bound: bool,
}

impl<const FLOWS: usize> Server<FLOWS> {
    /// A server on this port, TCP and UDP.
    #[must_use]
    pub const fn new(port: u16, limits: Limits) -> Self {
        assert!(FLOWS > 0 && FLOWS < 128);
        Self {
            port,
            limits,
            streams: [const { None }; FLOWS],
            datagrams: [const { None }; FLOWS],
            finished: Notes::new(),
            listens: false,
            is_bound: false,
        }
    }

    /// The tests that ended, each once, as long as not more of them wait than the server has room for.
    pub fn take_finished(&mut self) -> Option<Finished> {
        self.finished.take()
    }

    fn stream(&mut self, connection: Connection) -> Option<&mut Stream> {
        let mut streams = self.streams.iter_mut().flatten();
        streams.find(|stream| stream.connection == Some(connection))
    }

    /// A stream to the client of a test that wants one.
    fn stream_back(&mut self, to: SocketAddr, test: &Test) {
        if let Some(slot) = self.streams.iter_mut().find(|slot| slot.is_none()) {
            // It is the way back: none follows when the client has ended it.
            let test = Test {
                back: Back::No,
                ..self.limits.apply(test)
            };
            *slot = Some(Stream::back(to, test));
        }
    }

    /// Datagrams to the client of a test that wants some.
    fn datagrams_back(&mut self, to: SocketAddr, test: &Test, clock: Clock, now: Instant) {
        // From a port of its own, to which nothing comes but the report: a server's may be the same.
        if !self.limits.sends_datagrams || !may_be_sent_to(to) {
            return;
        }
        let (test, longest) = (self.limits.apply(test), self.limits.longest);
        if let Some(at) = self.place(now) {
            let socket = Udp(at as u8 + 1);
            let flow = Datagrams::back(socket, to, &test, longest, clock, now);
            self.datagrams[at] = Some(flow);
        }
    }

    /// A place for a stream of datagrams: a free one; that of one that is over; that of one of which
    /// nothing is heard any more. Of several the one least recently heard of.
    fn place(&self, now: Instant) -> Option<usize> {
        let rank = |flow: &Option<Datagrams>| match flow {
            None => Some(None),
            Some(flow) => flow.may_be_replaced(now).map(Some),
        };
        let places = self.datagrams.iter().enumerate();
        let ranked = places.filter_map(|(at, flow)| Some((rank(flow)?, at)));
        ranked.min().map(|(_, at)| at)
    }

    /// The stream of datagrams from there; a new one if `may_begin`.
    fn from(
        &mut self,
        socket: Udp,
        from: SocketAddr,
        may_begin: bool,
        now: Instant,
    ) -> Option<&mut Datagrams> {
        let is_it = |flow: &Datagrams| flow.socket == socket && flow.peer == from;
        let known = |flow: &Option<Datagrams>| flow.as_ref().is_some_and(is_it);
        let at = match self.datagrams.iter().position(known) {
            Some(at) => at,
            None if may_begin && socket == LISTENING => {
                let at = self.place(now)?;
                self.datagrams[at] = Some(Datagrams::received(socket, from, now));
                at
            }
            None => return None,
        };
        self.datagrams[at].as_mut()
    }
}

impl<const FLOWS: usize> Service for Server<FLOWS> {
    fn ask(&mut self) -> Option<Ask> {
        if !core::mem::replace(&mut self.listens, true) {
            return Some(Ask::Listen(self.port));
        }
        if !core::mem::replace(&mut self.is_bound, true) {
            return Some(Ask::Bind(LISTENING, Some(self.port)));
        }
        self.streams.iter_mut().flatten().for_each(Stream::turn);
        for (token, stream) in (0..).zip(&mut self.streams) {
            if let Some(to) = stream.as_mut().and_then(Stream::take_connect) {
                return Some(Ask::Connect { to, token });
            }
        }
        for slot in &mut self.datagrams {
            let Some(flow) = slot else { continue };
            if flow.take_bind() {
                return Some(Ask::Bind(flow.socket, None));
            }
            if flow.state == State::Over && flow.socket != LISTENING {
                let socket = flow.socket;
                *slot = None;
                return Some(Ask::Unbind(socket));
            }
        }
        None
    }

    fn opened(
        &mut self,
        connection: Connection,
        opened: Opened,
        now: Instant,
    ) -> Result<(), Refused> {
        match opened {
            Opened::Accepted { from, .. } => {
                let free = self.streams.iter_mut().find(|slot| slot.is_none());
                *free.ok_or(Refused)? = Some(Stream::accepted(connection, from, now));
            }
            Opened::Connected { token } => {
                let limits = self.limits;
                let slot = self.streams.get_mut(usize::from(token));
                let stream = slot.and_then(Option::as_mut).ok_or(Refused)?;
                stream.connected(connection, &limits, now);
            }
        }
        Ok(())
    }

    fn failed(&mut self, token: u8, now: Instant) {
        if let Some(slot) = self.streams.get_mut(usize::from(token)) {
            slot.take_if(|stream| !stream.refused(now));
        }
    }

    fn received(&mut self, connection: Connection, octets: &[u8], now: Instant) {
        let limits = self.limits;
        let Some(stream) = self.stream(connection) else {
            return;
        };
        let Some(test) = stream.received(octets, &limits, now) else {
            return;
        };
        let back = SocketAddr::new(stream.peer.ip(), test.port);
        if test.back == Back::AtOnce {
            self.stream_back(back, &test);
        }
    }

    fn fill(&mut self, connection: Connection, room: &mut [u8], now: Instant) -> usize {
        self.stream(connection)
            .map_or(0, |stream| stream.fill(room, now))
    }

    fn ended(&mut self, connection: Connection, now: Instant) {
        let Some(stream) = self.stream(connection) else {
            return;
        };
        stream.ended(now);
        let back = stream.test.filter(|test| test.back == Back::AtTheEnd);
        let peer = stream.peer.ip();
        if let Some(test) = back {
            self.stream_back(SocketAddr::new(peer, test.port), &test);
        }
    }

    fn closed(&mut self, connection: Connection, now: Instant) {
        let is_it = |stream: &mut Stream| stream.connection == Some(connection);
        let gone = self.streams.iter_mut().find_map(|slot| slot.take_if(is_it));
        if let Some(stream) = gone {
            self.finished.note(stream.finished(now));
            if let Some(received) = stream.received_meanwhile() {
                self.finished.note(received);
            }
        }
    }

    fn close(&self, connection: Connection) -> Close {
        let mut streams = self.streams.iter().flatten();
        streams
            .find(|stream| stream.connection == Some(connection))
            .map_or(Close::Reset, Stream::close)
    }

    fn datagram(&mut self, socket: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        // Not the port, but that a report is not answered keeps two servers from each other.
        if !may_be_sent_to(from) {
            return;
        }
        let limits = self.limits;
        let begins = datagrams::may_begin(octets);
        let Some(flow) = self.from(socket, from, begins, now) else {
            return;
        };
        let Some(ended) = flow.datagram(octets, &limits, now) else {
            return;
        };
        match ended {
            datagrams::Event::Began(test, clock) if test.back == Back::AtOnce => {
                let to = SocketAddr::new(from.ip(), test.port);
                self.datagrams_back(to, &test, clock, now);
            }
            datagrams::Event::Began(..) => {}
            datagrams::Event::Ended(finished, test, clock) => {
                self.finished.note(finished);
                if let Some(test) = test.filter(|test| test.back == Back::AtTheEnd) {
                    let to = SocketAddr::new(from.ip(), test.port);
                    self.datagrams_back(to, &test, clock, now);
                }
            }
        }
    }

    fn next_datagram(&mut self, room: &mut [u8], now: Instant) -> Option<Datagram> {
        let streams = self.streams.iter_mut().flatten();
        streams.for_each(|stream| stream.step(now));
        let mut flows = self.datagrams.iter_mut().flatten();
        if let Some(finished) = flows.find_map(|flow| flow.give_up(now)) {
            self.finished.note(finished);
        }
        let mut flows = self.datagrams.iter_mut().flatten();
        flows.find_map(|flow| {
            let len = flow.next(room, now)?;
            Some(Datagram {
                socket: flow.socket,
                to: flow.peer,
                len,
            })
        })
    }

    fn wake_at(&self) -> Option<Instant> {
        let streams = self.streams.iter().flatten().filter_map(Stream::wake_at);
        let flows = self
            .datagrams
            .iter()
            .flatten()
            .filter_map(Datagrams::wake_at);
        streams.chain(flows).min()
    }
}
