//! The session with the current client, and its control connection.

use core::net::SocketAddr;

use super::super::json::{Event, Objects, Reader};
use super::super::message::{
    COOKIE, Cookie, HELLO, HELLO_ANSWER, JsonFrame, Outbox, RESULTS, error, state,
};
use super::super::parameters::{self, Direction, Parameters};
use super::super::results;
use super::super::stream::{Channel, Stream};
use super::super::streams::Streams;
use super::{Finished, SOCKET};
use crate::answer::{NOBODY, may_send_to, same_host, with_port};
use crate::limits::LimitsNs;
use crate::octets::{divide, split};
use crate::{Connection, Datagram, Instant, SECOND};

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
enum Phase {
    /// No client.
    Idle,
    Cookie,
    Parameters,
    /// Streams are being opened.
    Opening,
    Running,
    Results,
    /// The client's results have arrived; some of the data have not.
    Draining,
    /// Waiting for the client's final state.
    AwaitingDone,
    /// Over, complete or not.
    Over,
}

/// One session after the other, in the same memory.
#[derive(Debug)]
pub(super) struct Session<const N: usize, const HISTORY: usize> {
    phase: Phase,
    control: Connection,
    is_complete: bool,
    /// The test has begun.
    has_begun: bool,
    /// The last test has ended, as `is_complete` reports, and its results have not been taken.
    has_results: bool,
    /// Octets received of the cookie.
    cookie_len: u8,
    outbox: Outbox,
    /// Time when the session ends in any case.
    deadline: Instant,
    last_received: Instant,
    /// Time of the last test's end.
    ended_at: Instant,
    /// Parsers of the phases that read JSON.
    frame: JsonFrame,
    reader: Reader,
    peer: SocketAddr,
    cookie: Cookie,
    /// Those of the last test until the next one's parameters are accepted.
    pub(super) streams: Streams<N, HISTORY>,
}

impl<const N: usize, const HISTORY: usize> Session<N, HISTORY> {
    /// Creates a session without a client.
    pub(super) const fn new() -> Self {
        Self {
            control: Connection(0),
            phase: Phase::Idle,
            is_complete: false,
            has_begun: false,
            has_results: false,
            cookie_len: 0,
            cookie: [0; COOKIE],
            frame: JsonFrame::new(),
            reader: Reader::new(),
            outbox: Outbox::new(),
            streams: Streams::new(),
            deadline: Instant::from_ns(0),
            last_received: Instant::from_ns(0),
            ended_at: Instant::from_ns(0),
            peer: NOBODY,
        }
    }

    /// Begins with a client.
    pub(super) fn begin_with(&mut self, control: Connection, peer: &SocketAddr, now: Instant) {
        self.control = control;
        self.phase = Phase::Cookie;
        self.has_begun = false;
        self.cookie_len = 0;
        self.frame = JsonFrame::new();
        self.outbox = Outbox::new();
        self.peer = *peer;
        self.deadline = now.after_ns(HANDSHAKE_TIMEOUT_NS);
        self.last_received = now;
    }

    pub(super) fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    pub(super) fn is_running(&self) -> bool {
        self.phase == Phase::Running
    }

    /// Ends with the client; returns its control connection.
    pub(super) fn end(&mut self, now: Instant) -> Connection {
        self.phase = Phase::Idle;
        if self.has_begun {
            self.has_results = true;
            self.ended_at = now;
        }
        self.streams.abandon();
        self.control
    }

    /// Returns the last test's results, once.
    pub(super) fn take_finished(&mut self) -> Option<Finished> {
        if !core::mem::take(&mut self.has_results) {
            return None;
        }
        let [sent, reported, received] = self.streams.counts(self.ended_at);
        Some(Finished {
            udp: self.streams.test.udp,
            peer: self.streams.peer,
            is_complete: self.is_complete,
            sent,
            reported,
            received,
        })
    }

    pub(super) fn is_control(&self, connection: Connection) -> bool {
        self.phase != Phase::Idle && self.control == connection
    }

    /// True if it waits for TCP connections from this address.
    pub(super) fn wants_stream_from(&self, from: &SocketAddr) -> bool {
        self.phase == Phase::Opening && !self.streams.test.udp && self.is_peer(from)
    }

    pub(super) fn is_peer(&self, from: &SocketAddr) -> bool {
        same_host(from, &self.streams.peer)
    }

    /// True if nothing is left to send and the next client may connect.
    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Over && self.outbox.is_empty()
    }

    /// True if a new client ends the session: only the client's final state is missing, or the client has made no
    /// progress for some time, and the new one is not a stream of it.
    pub(super) fn gives_way_to(&self, from: &SocketAddr, now: Instant) -> bool {
        let is_stalled = now.ns_since(self.last_received) >= STALL_NS;
        self.awaits_done() || is_stalled && !self.wants_stream_from(from)
    }

    fn awaits_done(&self) -> bool {
        self.phase == Phase::AwaitingDone && self.outbox.is_empty()
    }

    /// True if it waits for a stream of the client: with its cookie over TCP, or from its host over UDP.
    pub(super) fn expects_stream(&self, peer: &SocketAddr, cookie: Option<&Cookie>) -> bool {
        self.phase == Phase::Opening
            && self.is_peer(peer)
            && match cookie {
                Some(cookie) => !self.streams.test.udp && *cookie == self.cookie,
                None => self.streams.test.udp,
            }
    }

    /// Refuses the client with this error number.
    fn refuse(&mut self, number: u32) {
        self.outbox.push_error(number);
        self.phase = Phase::Over;
    }

    /// Handles octets on the control connection.
    pub(super) fn control(&mut self, octets: &[u8], limits: &LimitsNs, now: Instant) {
        self.last_received = now;
        for octet in octets {
            self.octet(*octet, limits, now);
        }
    }

    #[inline(never)]
    fn octet(&mut self, octet: u8, limits: &LimitsNs, now: Instant) {
        match (self.phase, octet) {
            (Phase::Cookie, _) => {
                if let Some(place) = self.cookie.get_mut(usize::from(self.cookie_len)) {
                    *place = octet;
                }
                self.cookie_len += 1;
                if usize::from(self.cookie_len) == COOKIE {
                    self.read_json(Phase::Parameters, state::PARAM_EXCHANGE);
                }
            }
            (Phase::Parameters | Phase::Results, _) => self.json(octet, limits, now),
            (Phase::Running, state::TEST_END) => {
                self.streams.omit(now);
                self.streams.end(now);
                self.deadline = now.after_ns(HANDSHAKE_TIMEOUT_NS);
                self.read_json(Phase::Results, state::EXCHANGE_RESULTS);
            }
            (Phase::AwaitingDone, state::IPERF_DONE) => {
                self.is_complete = true;
                self.phase = Phase::Over;
            }
            // The client aborts, or sends an unexpected octet.
            _ => self.phase = Phase::Over,
        }
    }

    /// Announces a state to which the client answers with JSON.
    fn read_json(&mut self, phase: Phase, announced: u8) {
        self.frame.restart();
        self.reader = Reader::new();
        self.phase = phase;
        self.outbox.push(announced);
    }

    /// Handles an octet of the client's parameters or results.
    fn json(&mut self, octet: u8, limits: &LimitsNs, now: Instant) {
        let (reader, streams) = (&mut self.reader, &mut self.streams);
        let is_parameters = self.phase == Phase::Parameters;
        let mut on_event = |depth, event: Event<'_>| {
            if is_parameters {
                reader.on_event(Objects::Document, &parameters::MEMBERS, depth, &event);
            } else if reader.on_event(results::OBJECTS, &results::MEMBERS, depth, &event) {
                streams.report(reader);
            }
        };
        match (self.frame.push(octet, &mut on_event), is_parameters) {
            (Ok(false), _) => {}
            (Ok(true), true) if self.reader.has_ended => self.accept(limits),
            (Ok(true), false) => {
                self.deadline = now.after_ns(DRAIN_NS);
                self.phase = Phase::Draining;
                self.step(now);
            }
            (_, true) => self.refuse(error::PARAMETERS),
            (_, false) => self.refuse(error::RESULTS),
        }
    }

    /// Accepts or rejects the client's parameters.
    fn accept(&mut self, limits: &LimitsNs) {
        let mut test = Parameters::read(&self.reader);
        if test.streams() > N {
            return self.refuse(error::NUM_STREAMS);
        }
        if test.udp {
            if test.direction != Direction::Forward && !limits.sends_datagrams {
                return self.refuse(error::NOT_IMPLEMENTED);
            }
            // For all streams together.
            let mut most = limits.fastest_bits_per_s;
            divide(&mut most, test.parallel.into());
            let rate = test.rate_bits_per_s.wrapping_sub(1).min(most.max(1) - 1);
            test.rate_bits_per_s = rate + 1;
        }
        self.has_results = false;
        self.is_complete = false;
        self.streams.restart(&self.peer);
        self.streams.test = test;
        self.phase = Phase::Opening;
        self.outbox.push(state::CREATE_STREAMS);
    }

    /// Adds a TCP connection that may become a stream; false if there is no free slot.
    pub(super) fn open(&mut self, connection: Connection) -> bool {
        self.streams.open(Channel::Tcp(connection))
    }

    /// Handles octets on another connection. `false`: it does not belong to this test.
    pub(super) fn data(
        &mut self,
        connection: Connection,
        octets: &[u8],
        limits: &LimitsNs,
        now: Instant,
    ) -> bool {
        let Some(stream) = self.streams.by_channel(Channel::Tcp(connection)) else {
            return true;
        };
        let missing = self.cookie.get(usize::from(stream.cookie)..);
        let missing = missing.unwrap_or_default();
        let (cookie, rest) = split(octets, missing.len());
        if !missing.starts_with(cookie) {
            self.streams.forget(connection);
            return false;
        }
        stream.cookie += cookie.len() as u8;
        if !missing.is_empty() {
            self.begin(limits, now);
        }
        if !rest.is_empty() {
            self.last_received = now;
            self.streams.received(connection, rest.len(), now);
            self.step(now);
        }
        true
    }

    /// Begins the test once all streams are open.
    fn begin(&mut self, limits: &LimitsNs, now: Instant) {
        let proven = |cookie: u8| usize::from(cookie) == COOKIE;
        let ready = self.streams.iter().filter(|it| proven(it.cookie)).count();
        let test = &self.streams.test;
        if self.phase != Phase::Opening || ready < test.streams() {
            return;
        }
        let mut longest = test
            .omit_ns
            .saturating_add(test.span_ns)
            .saturating_add(GRACE_NS);
        if test.direction != Direction::Forward {
            longest = longest.min(limits.longest_ns.saturating_add(TIMER_TOLERANCE_NS));
        }
        self.deadline = now.after_ns(longest);
        self.last_received = now;
        self.has_begun = true;
        self.streams.arm(false);
        self.streams.begin(now);
        self.phase = Phase::Running;
        self.outbox.push(state::TEST_START);
        self.outbox.push(state::TEST_RUNNING);
    }

    /// The peer has closed its end of a connection.
    pub(super) fn ended(&mut self, connection: Connection, now: Instant) {
        if self.is_control(connection) {
            self.give_way();
        } else if self.phase == Phase::Opening {
            self.streams.forget(connection);
        } else if self.streams.ended(connection) {
            self.step(now);
        }
    }

    /// The client is gone, or another takes its place.
    pub(super) fn give_way(&mut self) {
        // With or without the final state: with the results it is complete.
        self.is_complete |= self.awaits_done();
        self.phase = Phase::Over;
        self.outbox = Outbox::new();
    }

    pub(super) fn datagram(
        &mut self,
        from: &SocketAddr,
        octets: &[u8],
        limits: &LimitsNs,
        now: Instant,
    ) {
        if self.phase < Phase::Opening || !self.streams.test.udp {
            return;
        }
        if octets != HELLO {
            if self.streams.datagram(SOCKET, from, octets, now) {
                self.last_received = now;
                self.step(now);
            }
            return;
        }
        if !self.is_peer(from) || !may_send_to(from) {
            return;
        }
        let channel = Channel::Udp(SOCKET, from.port());
        if self.phase == Phase::Opening && !self.streams.has(channel) {
            self.streams.open(channel);
        }
        if let Some(stream) = self.streams.by_channel(channel) {
            stream.to_answer = true;
            stream.cookie = COOKIE as u8;
            self.last_received = now;
        }
        self.begin(limits, now);
    }

    pub(super) fn zeros(&mut self, connection: Connection, most: usize, now: Instant) -> usize {
        if self.phase != Phase::Running {
            return 0;
        }
        let len = self.streams.zeros(connection, most as u64, now);
        if len > 0 {
            self.last_received = now;
        }
        len
    }

    /// Writes data of the control connection.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> usize {
        let streams = &self.streams;
        self.outbox.fill(buffer, &|message, writer| {
            if message == RESULTS {
                streams.emit(writer);
            }
        })
    }

    pub(super) fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        let peer = self.streams.peer;
        for stream in self.streams.iter_mut().filter(|it| it.to_answer) {
            let Channel::Udp(socket, port) = stream.channel else {
                continue;
            };
            let Some(answer) = buffer.first_chunk_mut() else {
                continue;
            };
            stream.to_answer = false;
            *answer = *HELLO_ANSWER;
            return Some(Datagram {
                socket,
                to: with_port(&peer, port),
                len: HELLO_ANSWER.len(),
            });
        }
        if self.phase != Phase::Running {
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
        let over = self.phase > Phase::Running;
        let stream = self.stream(connection);
        over && stream.is_some_and(|it| it.sends() || it.is_ended)
    }

    pub(super) fn is_stream(&self, connection: Connection) -> bool {
        !self.is_idle() && !self.is_over() && self.stream(connection).is_some()
    }

    fn stream(&self, connection: Connection) -> Option<&Stream<HISTORY>> {
        let channel = Channel::Tcp(connection);
        self.streams.iter().find(|stream| stream.channel == channel)
    }

    /// Time of the next timeout.
    fn due(&self) -> Instant {
        let test = &self.streams.test;
        match self.phase {
            Phase::Idle => Instant::NEVER,
            // Sending datagrams counts as activity.
            Phase::Running if test.direction != Direction::Reverse || !test.udp => {
                let silence = self.last_received.after_ns(IDLE_TIMEOUT_NS);
                self.deadline.earlier(silence)
            }
            Phase::Draining => self.deadline.earlier(self.streams.drain_deadline()),
            _ => self.deadline,
        }
    }

    pub(super) fn step(&mut self, now: Instant) {
        let late = now >= self.due();
        if self.phase == Phase::Draining && (late || self.streams.all_received()) {
            self.streams.frozen = true;
            self.outbox.push(RESULTS);
            self.outbox.push(state::DISPLAY_RESULTS);
            self.deadline = now.after_ns(HANDSHAKE_TIMEOUT_NS);
            self.phase = Phase::AwaitingDone;
        } else if late {
            // Also if the client does not read the final state.
            self.outbox = Outbox::new();
            if self.phase == Phase::Running {
                self.outbox.push(state::SERVER_TERMINATE);
                self.deadline = now.after_ns(HANDSHAKE_TIMEOUT_NS);
            }
            self.phase = Phase::Over;
        }
    }

    pub(super) fn wake_at(&self) -> Instant {
        // Data on one connection may be answered on another.
        if !self.is_idle() && !self.outbox.is_empty() {
            return Instant::from_ns(0);
        }
        let due = self.due();
        if self.phase == Phase::Running {
            return due.earlier(self.streams.due());
        }
        due
    }
}
