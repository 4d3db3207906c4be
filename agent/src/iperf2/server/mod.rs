//! `iperf -s`: receives from clients, and sends on their request.

mod stream;
mod udp_flow;

use core::net::SocketAddr;

use self::stream::Stream;
use self::udp_flow::{State, UdpFlow};
use super::header::{DatagramHeader, Report, ReturnTest, SendLimits, Test};
use super::udp::Clock;
use crate::answer::{may_send_to, same_endpoint, same_host, with_port};
use crate::queue::BoundedQueue;
use crate::share::slot_for;
use crate::{
    Close, Connection, Datagram, Instant, Limits, Opened, Refused, Service, SocketRequest, Udp,
};
use crate::{SECOND, ns};

/// The listening UDP socket; those of return tests follow.
const LISTENING: Udp = Udp(0);

impl Limits {
    /// Limits the requested test.
    fn apply(&self, test: &Test) -> SendLimits {
        let mut extent = test.extent();
        if extent.octets == 0 {
            // Unspecified or invalid: iperf's default of ten seconds.
            (extent.octets, extent.ns) = (u64::MAX, 10 * SECOND);
        }
        extent.ns = extent.ns.min(ns(self.longest));
        extent.rate_bits_per_s = extent.rate_bits_per_s.min(self.fastest_bits_per_s);
        extent
    }
}

/// A completed test, as counted by the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finished {
    /// True for UDP.
    pub udp: bool,
    /// True if the server sent.
    pub sent: bool,
    /// The client.
    pub peer: SocketAddr,
    /// True if the report is the receiver's. A sending server counts only what it passed to the network; over
    /// UDP the client may report what it received.
    pub is_confirmed: bool,
    /// The counters. A TCP test has octets and duration only.
    pub report: Report,
}

/// A server for up to `FLOWS` tests at a time.
#[derive(Debug)]
pub struct Server<const FLOWS: usize> {
    port: u16,
    limits: Limits,
    streams: [Option<Stream>; FLOWS],
    datagrams: [Option<UdpFlow>; FLOWS],
    /// Index of the UDP stream whose turn it is to send.
    turn: usize,
    /// Completed tests, oldest first.
    finished: BoundedQueue<Finished, FLOWS>,
    listens: bool,
    is_bound: bool,
}

impl<const FLOWS: usize> Server<FLOWS> {
    /// Creates a server on this port, TCP and UDP.
    #[must_use]
    pub const fn new(port: u16, limits: Limits) -> Self {
        assert!(FLOWS > 0 && FLOWS < 128);
        Self {
            port,
            limits,
            // A copied empty slot is only its tag; as a constant it would occupy flash in full.
            streams: [None; FLOWS],
            datagrams: [None; FLOWS],
            turn: 0,
            finished: BoundedQueue::new(),
            listens: false,
            is_bound: false,
        }
    }

    /// Returns each completed test once, oldest first; keeps as many as the server has slots.
    pub fn take_finished(&mut self) -> Option<Finished> {
        self.finished.pop()
    }

    fn stream(&mut self, connection: Connection) -> Option<&mut Stream> {
        let mut streams = self.streams.iter_mut().flatten();
        streams.find(|stream| stream.connection == Some(connection))
    }

    /// Opens a stream to or from a client, if there is a free slot or one of a stalled stream, whose connection is
    /// reset then.
    #[inline(never)]
    fn open(
        &mut self,
        connection: Option<Connection>,
        peer: SocketAddr,
        test: Option<Test>,
        now: Instant,
    ) -> Option<()> {
        let gives_way = |slot: &Option<Stream>| slot.as_ref().is_some_and(|it| it.gives_way(now));
        let free = self.streams.iter().position(Option::is_none);
        let at = free.or_else(|| self.streams.iter().position(gives_way))?;
        self.streams[at] = Some(Stream::new(connection, peer, test, now));
        Some(())
    }

    /// Opens the return stream that a client's test requests at this point.
    fn open_return_stream(&mut self, connection: Connection, at: ReturnTest, now: Instant) {
        let Some(stream) = self.stream(connection) else {
            return;
        };
        if let Some(mut test) = stream.test.filter(|test| test.return_test == at) {
            let to = with_port(&stream.peer, test.port);
            // Clients that cannot be connected to must not take all slots.
            let pending = self.streams.iter().flatten();
            let pending = pending.filter(|it| it.connection.is_none() && same_host(&it.peer, &to));
            if pending.count() >= FLOWS.div_ceil(4) {
                return;
            }
            // It is the return test: none follows when the client ends it.
            test.return_test = ReturnTest::No;
            self.open(None, to, Some(test), now);
        }
    }

    /// Starts the UDP return test of a client, if allowed.
    fn open_return_flow(&mut self, to: SocketAddr, test: &Test, clock: Clock, now: Instant) {
        // From its own port, to which only the report is sent: a server's port may be the same.
        if !self.limits.sends_datagrams || !may_send_to(to) {
            return;
        }
        // They keep their slots until they end: of one host, half of all.
        let of_host = self.datagrams.iter().flatten();
        let of_host = of_host.filter(|flow| flow.sends() && same_host(&flow.peer, &to));
        if of_host.count() >= FLOWS.div_ceil(2) {
            return;
        }
        if let Some(at) = slot_for(&self.datagrams, &to, now) {
            let socket = Udp(at as u8 + 1);
            let flow = UdpFlow::to_client(socket, to, test, &self.limits, clock, now);
            self.datagrams[at] = Some(flow);
        }
    }

    /// Finds the stream of a datagram, or creates one if the datagram may begin one.
    fn flow_of(
        &mut self,
        socket: Udp,
        from: SocketAddr,
        head: DatagramHeader,
        octets: &[u8],
        now: Instant,
    ) -> Option<usize> {
        let is_it = |flow: &UdpFlow| flow.socket == socket && same_endpoint(&flow.peer, &from);
        let known = |flow: &Option<UdpFlow>| flow.as_ref().is_some_and(is_it);
        let at = match self.datagrams.iter().position(known) {
            Some(at) => at,
            None if socket == LISTENING && udp_flow::may_begin(head, octets) => {
                slot_for(&self.datagrams, &from, now)?
            }
            None => return None,
        };
        let continues = |flow: &UdpFlow| is_it(flow) && !flow.begins_new_test(head, now);
        if !self.datagrams[at].as_ref().is_some_and(continues) {
            self.datagrams[at] = Some(UdpFlow::from_client(socket, from, now));
        }
        Some(at)
    }
}

impl<const FLOWS: usize> Service for Server<FLOWS> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        if !core::mem::replace(&mut self.listens, true) {
            return Some(SocketRequest::Listen(self.port));
        }
        if !core::mem::replace(&mut self.is_bound, true) {
            return Some(SocketRequest::Bind(LISTENING, Some(self.port)));
        }
        self.streams.iter_mut().flatten().for_each(Stream::turn);
        for (token, stream) in (0..).zip(&mut self.streams) {
            if let Some(to) = stream.as_mut().and_then(Stream::take_connect) {
                return Some(SocketRequest::Connect { to, token });
            }
        }
        for slot in &mut self.datagrams {
            let Some(flow) = slot else { continue };
            if flow.take_bind() {
                return Some(SocketRequest::Bind(flow.socket, None));
            }
            if flow.state == State::Over && flow.socket != LISTENING {
                let socket = flow.socket;
                *slot = None;
                return Some(SocketRequest::Unbind(socket));
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
                self.open(Some(connection), from, None, now)
                    .ok_or(Refused)?;
            }
            Opened::Connected { token } => {
                let slot = self.streams.get_mut(usize::from(token));
                let stream = slot.and_then(Option::as_mut).ok_or(Refused)?;
                stream.connected(connection, &self.limits, now);
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
        if stream.received(octets, &limits, now) {
            self.open_return_stream(connection, ReturnTest::Simultaneous, now);
        }
    }

    fn zeros(&mut self, connection: Connection, most: usize, now: Instant) -> usize {
        self.stream(connection)
            .map_or(0, |stream| stream.zeros(most, now))
    }

    fn fill(&mut self, connection: Connection, buffer: &mut [u8], now: Instant) -> usize {
        self.stream(connection)
            .map_or(0, |stream| stream.fill(buffer, now))
    }

    fn ended(&mut self, connection: Connection, now: Instant) {
        if let Some(stream) = self.stream(connection) {
            stream.ended(now);
        }
        self.open_return_stream(connection, ReturnTest::AfterTest, now);
    }

    fn closed(&mut self, connection: Connection, now: Instant) {
        for slot in &mut self.streams {
            let Some(stream) = slot.as_ref() else {
                continue;
            };
            if stream.connection == Some(connection) {
                self.finished.push(stream.finished(stream.sends(), now));
                if stream.is_both_ways() {
                    self.finished.push(stream.finished(false, now));
                }
                *slot = None;
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
        // Two servers do not answer each other because reports are not answered, not because of the port.
        if !may_send_to(from) {
            return;
        }
        let Some(head) = DatagramHeader::parse(octets) else {
            return;
        };
        let Some(at) = self.flow_of(socket, from, head, octets, now) else {
            return;
        };
        let Some(flow) = &mut self.datagrams[at] else {
            return;
        };
        let point = flow.datagram(head, octets, &self.limits, now);
        if point == ReturnTest::No {
            return;
        }
        if point == ReturnTest::AfterTest {
            self.finished.push(flow.finished(Some(octets)));
        }
        if let Some(test) = flow.return_test_at(point).copied() {
            let to = with_port(&from, test.port);
            self.open_return_flow(to, &test, Clock::from_peer(head.sent_ns, now), now);
        }
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        let streams = self.streams.iter_mut().flatten();
        streams.for_each(|stream| stream.step(now));
        for flow in self.datagrams.iter_mut().flatten() {
            if flow.give_up(now) {
                self.finished.push(flow.finished(None));
            }
        }
        // In turn: one that is always due must not keep the others from sending.
        let turn = self.turn;
        let order = (0..FLOWS).map(|step| (turn + step) % FLOWS);
        for at in order {
            let Some(flow) = &mut self.datagrams[at] else {
                continue;
            };
            if let Some(len) = flow.next(buffer, now) {
                self.turn = at + 1;
                let (socket, to) = (flow.socket, flow.peer);
                return Some(Datagram { socket, to, len });
            }
        }
        None
    }

    fn wake_at(&self) -> Option<Instant> {
        let mut first = Instant::NEVER;
        for stream in self.streams.iter().flatten() {
            first = first.earlier(stream.wake_at());
        }
        for flow in self.datagrams.iter().flatten() {
            first = first.earlier(flow.wake_at());
        }
        first.finite()
    }
}
