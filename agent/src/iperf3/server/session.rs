//! The session with the current client, and its control connection.

use core::net::SocketAddr;

use super::super::message::{
    COOKIE, Cookie, HELLO, HELLO_ANSWER, JsonFrame, Message, Outbox, error, state,
};
use super::super::parameters::{self, Amount, Direction, Test};
use super::super::results::{self, Count};
use super::super::stream::Channel;
use super::super::streams::Streams;
use super::{Finished, SOCKET};
use crate::answer::{may_send_to, same_host};
use crate::{Connection, Datagram, Instant, Limits, SECOND, ns};

/// Timeout from the first octet to the last stream, and from the end of the test to the end of the session.
const HANDSHAKE_TIMEOUT_NS: u64 = 10 * SECOND;
/// Timeout of an inactive test.
const IDLE_TIMEOUT_NS: u64 = 30 * SECOND;
/// A session without progress for this long is given up if another client connects.
const STALL_NS: u64 = 3 * SECOND;
/// Maximum overrun of the requested duration.
const GRACE_NS: u64 = 10 * SECOND;
/// Tolerance for the client's own timer beyond the maximum duration of a test.
const TIMER_TOLERANCE_NS: u64 = SECOND;
/// Maximum wait for data in flight at the end.
const DRAIN_NS: u64 = 30 * SECOND;

#[derive(Debug)]
enum Phase {
    /// Octets received of the cookie.
    Cookie(usize),
    Parameters(parameters::Reader),
    /// Streams are being opened.
    Opening,
    Running,
    Results(results::Reader),
    /// The client's results have arrived; some of the data have not.
    Draining,
    /// Waiting for the client's final state.
    AwaitingDone,
    /// Over, complete or not.
    Over,
}

#[derive(Debug)]
pub(super) struct Session<const N: usize> {
    pub(super) control: Connection,
    pub(super) peer: SocketAddr,
    cookie: Cookie,
    phase: Phase,
    /// Parser of the phases that read JSON.
    frame: JsonFrame,
    outbox: Outbox,
    pub(super) streams: Streams<N>,
    /// Time when the session ends in any case.
    deadline: Instant,
    last_received: Instant,
    is_complete: bool,
}

impl<const N: usize> Session<N> {
    pub(super) fn new(control: Connection, peer: SocketAddr, now: Instant) -> Self {
        Self {
            control,
            peer,
            cookie: [0; COOKIE],
            phase: Phase::Cookie(0),
            frame: JsonFrame::new(),
            outbox: Outbox::new(),
            streams: Streams::new(Test::default()),
            deadline: now.after_ns(HANDSHAKE_TIMEOUT_NS),
            last_received: now,
            is_complete: false,
        }
    }

    /// True if it waits for TCP connections from this address.
    pub(super) fn wants_stream_from(&self, from: SocketAddr) -> bool {
        let opening = matches!(self.phase, Phase::Opening) && !self.streams.test.udp;
        opening && same_host(&from, &self.peer)
    }

    /// True if nothing is left to send and the next client may connect.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over) && self.outbox.is_empty()
    }

    /// True if only the client's final state is missing.
    pub(super) fn awaits_done(&self) -> bool {
        matches!(self.phase, Phase::AwaitingDone) && self.outbox.is_empty()
    }

    pub(super) const fn is_running(&self) -> bool {
        matches!(self.phase, Phase::Running)
    }

    /// True if the client has made no progress for some time.
    pub(super) fn is_stalled(&self, now: Instant) -> bool {
        now.ns_since(self.last_received) >= STALL_NS
    }

    /// True if it waits for a stream of the client: with its cookie over TCP, or from its host over UDP.
    pub(super) fn expects_stream(&self, peer: SocketAddr, cookie: Option<&Cookie>) -> bool {
        let is_wanted = match cookie {
            Some(cookie) => self.wants_stream_from(peer) && *cookie == self.cookie,
            None => self.streams.test.udp && same_host(&peer, &self.peer),
        };
        is_wanted && matches!(self.phase, Phase::Opening)
    }

    pub(super) fn finished(&self, now: Instant) -> Option<Finished> {
        self.streams.began()?;
        Some(Finished {
            udp: self.streams.test.udp,
            peer: self.peer,
            is_complete: self.is_complete,
            sent: self.streams.sent(now),
            reported: self.streams.reported(),
            received: self.streams.received_count(now),
        })
    }

    fn send_state(&mut self, state: u8) {
        self.outbox.push(Message::State(state));
    }

    fn refuse(&mut self, number: u32) {
        self.outbox.push(Message::Error(number));
        self.phase = Phase::Over;
    }

    /// Handles octets on the control connection.
    pub(super) fn control(&mut self, octets: &[u8], limits: &Limits, now: Instant) {
        self.last_received = now;
        for octet in octets {
            self.octet(*octet, limits, now);
        }
    }

    fn octet(&mut self, octet: u8, limits: &Limits, now: Instant) {
        match &mut self.phase {
            Phase::Cookie(have) => {
                self.cookie[*have] = octet;
                *have += 1;
                if *have == COOKIE {
                    self.phase = Phase::Parameters(parameters::Reader::new());
                    self.send_state(state::PARAM_EXCHANGE);
                }
            }
            Phase::Parameters(reader) => {
                match self
                    .frame
                    .push(octet, &mut |depth, event| reader.on_event(depth, event))
                {
                    Ok(false) => {}
                    Ok(true) => match reader.test() {
                        Some(test) => self.accept(test, limits),
                        None => self.refuse(error::PARAMETERS),
                    },
                    Err(_) => self.refuse(error::PARAMETERS),
                }
            }
            Phase::Running if octet == state::TEST_END => {
                self.streams.omit(now);
                self.streams.end(now);
                self.deadline = now.after_ns(HANDSHAKE_TIMEOUT_NS);
                self.frame.restart();
                self.phase = Phase::Results(results::Reader::default());
                self.send_state(state::EXCHANGE_RESULTS);
            }
            Phase::Results(reader) => {
                let streams = &mut self.streams;
                let mut take = |id, count: &Count| streams.report(id, count);
                let whole = self.frame.push(octet, &mut |depth, event| {
                    reader.on_event(depth, event, &mut take);
                });
                match whole {
                    Ok(false) => {}
                    Ok(true) => {
                        self.deadline = now.after_ns(DRAIN_NS);
                        self.phase = Phase::Draining;
                        self.step(now);
                    }
                    Err(_) => self.refuse(error::RESULTS),
                }
            }
            Phase::AwaitingDone if octet == state::IPERF_DONE => {
                self.is_complete = true;
                self.phase = Phase::Over;
            }
            Phase::Over => {}
            Phase::Opening | Phase::Running | Phase::Draining | Phase::AwaitingDone => {
                // The client aborts, or sends an unexpected octet.
                self.phase = Phase::Over;
            }
        }
    }

    /// Accepts or rejects the client's parameters.
    fn accept(&mut self, asked: Test, limits: &Limits) {
        let sends = asked.direction != Direction::Forward;
        if asked.streams() > N {
            return self.refuse(error::NUM_STREAMS);
        }
        if asked.udp && sends && !limits.sends_datagrams {
            return self.refuse(error::NOT_IMPLEMENTED);
        }
        let mut test = asked;
        if test.udp {
            // For all streams together.
            let most = (limits.fastest_bits_per_s / u64::from(test.parallel)).max(1);
            test.rate_bits_per_s = match test.rate_bits_per_s {
                0 => most,
                rate => rate.min(most),
            };
        }
        self.streams.test = test;
        self.phase = Phase::Opening;
        self.send_state(state::CREATE_STREAMS);
    }

    /// Adds a TCP connection that may become a stream; false if there is no free slot.
    pub(super) fn open(&mut self, connection: Connection) -> bool {
        self.streams.open(Channel::Tcp(connection)).is_some()
    }

    /// Handles octets on another connection. `false`: it does not belong to this test.
    pub(super) fn data(
        &mut self,
        connection: Connection,
        octets: &[u8],
        limits: &Limits,
        now: Instant,
    ) -> bool {
        let Some(stream) = self.streams.by_connection(connection) else {
            return true;
        };
        let have = usize::from(stream.cookie);
        let (cookie, rest) = octets.split_at(octets.len().min(COOKIE - have));
        if self.cookie[have..have + cookie.len()] != *cookie {
            self.forget(connection);
            return false;
        }
        stream.cookie += cookie.len() as u8;
        if have < COOKIE {
            self.begin(limits, now);
        }
        if !rest.is_empty() {
            self.last_received = now;
            self.streams.received(connection, rest.len(), now);
            self.step(now);
        }
        true
    }

    /// Removes a connection from the streams.
    fn forget(&mut self, connection: Connection) {
        for slot in &mut self.streams.slots {
            slot.take_if(|stream| stream.channel.is_connection(connection));
        }
    }

    /// Begins the test once all streams are open.
    fn begin(&mut self, limits: &Limits, now: Instant) {
        let proven = |cookie: u8| usize::from(cookie) == COOKIE;
        let ready = self.streams.iter().filter(|it| proven(it.cookie)).count();
        let test = &self.streams.test;
        if !matches!(self.phase, Phase::Opening) || ready < test.streams() {
            return;
        }
        let asked = match test.amount {
            Amount::Span(span) => ns(test.omit)
                .saturating_add(ns(span))
                .saturating_add(GRACE_NS),
            Amount::Octets(_) | Amount::Blocks(_) => u64::MAX,
        };
        self.deadline = now.after_ns(match test.direction {
            Direction::Forward => asked,
            Direction::Reverse | Direction::Both => {
                asked.min(ns(limits.longest).saturating_add(TIMER_TOLERANCE_NS))
            }
        });
        self.last_received = now;
        self.streams.arm(false);
        self.streams.begin(now);
        self.phase = Phase::Running;
        self.send_state(state::TEST_START);
        self.send_state(state::TEST_RUNNING);
    }

    /// The peer has closed its end of a connection.
    pub(super) fn ended(&mut self, connection: Connection, now: Instant) {
        if connection == self.control {
            // With or without the final state: with the results it is complete.
            self.is_complete |= self.awaits_done();
            self.phase = Phase::Over;
            self.outbox = Outbox::new();
        } else if matches!(self.phase, Phase::Opening) {
            self.forget(connection);
        } else if self.streams.ended(connection) {
            self.step(now);
        }
    }

    pub(super) fn datagram(
        &mut self,
        from: SocketAddr,
        octets: &[u8],
        limits: &Limits,
        now: Instant,
    ) {
        let is_client = same_host(&from, &self.peer) && may_send_to(from);
        if !self.streams.test.udp || !is_client {
            return;
        }
        if octets == HELLO {
            let opening = matches!(self.phase, Phase::Opening);
            let known = self.streams.by_peer(SOCKET, &from).is_some();
            if !known && opening {
                self.streams.open(Channel::Udp(SOCKET, from));
            }
            if let Some(stream) = self.streams.by_peer(SOCKET, &from) {
                stream.to_answer = true;
                stream.cookie = COOKIE as u8;
                self.last_received = now;
            }
            self.begin(limits, now);
            return;
        }
        if self.streams.by_peer(SOCKET, &from).is_some() {
            self.last_received = now;
            self.streams.datagram(SOCKET, &from, octets, now);
            self.step(now);
        }
    }

    pub(super) fn zeros(&mut self, connection: Connection, most: usize, now: Instant) -> usize {
        if connection == self.control || !matches!(self.phase, Phase::Running) {
            return 0;
        }
        let len = self.streams.zeros(connection, most as u64, now);
        if len > 0 {
            self.last_received = now;
        }
        len
    }

    pub(super) fn fill(
        &mut self,
        connection: Connection,
        buffer: &mut [u8],
        now: Instant,
    ) -> usize {
        if connection != self.control {
            let len = self.zeros(connection, buffer.len(), now);
            buffer[..len].fill(0);
            return len;
        }
        let streams = &self.streams;
        self.outbox.fill(buffer, |message, writer| {
            if message == Message::Results {
                streams.emit(writer);
            }
        })
    }

    pub(super) fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        for stream in self.streams.iter_mut() {
            let Channel::Udp(socket, to) = stream.channel else {
                continue;
            };
            if stream.to_answer && buffer.len() >= HELLO_ANSWER.len() {
                stream.to_answer = false;
                let len = HELLO_ANSWER.len();
                buffer[..len].copy_from_slice(HELLO_ANSWER);
                return Some(Datagram { socket, to, len });
            }
        }
        if !matches!(self.phase, Phase::Running) {
            return None;
        }
        let datagram = self.streams.next_datagram(buffer, now);
        if datagram.is_some() {
            self.last_received = now;
        }
        datagram
    }

    /// True if the stream has nothing more to send.
    pub(super) fn is_sent(&self, connection: Connection) -> bool {
        let mut streams = self.streams.iter();
        let stream = streams.find(|it| it.channel.is_connection(connection));
        let over = !matches!(self.phase, Phase::Opening | Phase::Running);
        over && stream.is_some_and(|it| it.sends() || it.is_ended)
    }

    pub(super) fn is_stream(&self, connection: Connection) -> bool {
        let mut streams = self.streams.iter();
        !self.is_over() && streams.any(|it| it.channel.is_connection(connection))
    }

    /// Time of the next timeout.
    fn due(&self) -> Instant {
        let silence = self.last_received.after_ns(IDLE_TIMEOUT_NS);
        match self.phase {
            // Sending datagrams counts as activity.
            Phase::Running if self.streams.test.direction != Direction::Reverse => {
                self.deadline.earlier(silence)
            }
            Phase::Running if !self.streams.test.udp => self.deadline.earlier(silence),
            Phase::Draining => self.deadline.earlier(self.streams.drain_deadline()),
            _ => self.deadline,
        }
    }

    pub(super) fn step(&mut self, now: Instant) {
        let late = now >= self.due();
        match self.phase {
            Phase::Draining if late || self.streams.all_received() => {
                self.streams.frozen = true;
                self.outbox.push(Message::Results);
                self.send_state(state::DISPLAY_RESULTS);
                self.deadline = now.after_ns(HANDSHAKE_TIMEOUT_NS);
                self.phase = Phase::AwaitingDone;
            }
            // The client does not read the final state: give up.
            Phase::Over if late => self.outbox = Outbox::new(),
            _ if late => {
                self.outbox = Outbox::new();
                if matches!(self.phase, Phase::Running) {
                    self.send_state(state::SERVER_TERMINATE);
                    self.deadline = now.after_ns(HANDSHAKE_TIMEOUT_NS);
                }
                self.phase = Phase::Over;
            }
            _ => {}
        }
    }

    pub(super) fn wake_at(&self) -> Instant {
        // Data on one connection may be answered on another.
        if !self.outbox.is_empty() {
            return Instant::from_ns(0);
        }
        self.streams.due().earlier(self.due())
    }
}
