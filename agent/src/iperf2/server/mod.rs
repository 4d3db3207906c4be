//! `iperf -s`: receives from clients, and sends on their request.

mod stream;
mod udp_flow;

use core::net::SocketAddr;

use self::stream::Stream;
use self::udp_flow::{START_DELAY_NS, State, UdpFlow};
use super::header::{Counters, DatagramHeader, Report, Request, ReturnTest, SendLimits};
use crate::SECOND;
use crate::answer::{may_send_to, same_host, with_port};
use crate::count::DEFAULT_HISTORY;
use crate::limits::LimitsNs;
use crate::octets::zero;
use crate::queue::BoundedQueue;
use crate::share::slot_for;
use crate::{
    Close, Connection, Datagram, Instant, Limits, Opened, Refused, Service, SocketRequest, Udp,
};

/// The listening UDP socket; those of return tests follow.
const LISTENING: Udp = Udp(0);

impl LimitsNs {
    /// Limits the requested test.
    #[inline(never)]
    fn apply(&self, request: &Request) -> SendLimits {
        let mut limits = request.limits();
        if limits.octets == 0 {
            // Unspecified or invalid: iperf's default of ten seconds.
            (limits.octets, limits.ns) = (u64::MAX, 10 * SECOND);
        }
        limits.ns = limits.ns.min(self.longest_ns);
        limits.rate_bits_per_s = limits.rate_bits_per_s.min(self.fastest_bits_per_s);
        limits
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

/// A [`Finished`] with times in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Record {
    peer: SocketAddr,
    counters: Counters,
    udp: bool,
    sent: bool,
    is_confirmed: bool,
}

/// A server for up to `FLOWS` tests at a time. It keeps `HISTORY` words of the numbers of a stream of datagrams, as
/// [`Sequence`](crate::count::Sequence) does: a power of two.
#[derive(Debug)]
pub struct Server<const FLOWS: usize, const HISTORY: usize = DEFAULT_HISTORY> {
    port: u16,
    listens: bool,
    is_bound: bool,
    limits: LimitsNs,
    /// Index of the UDP stream whose turn it is to send.
    turn: usize,
    /// Completed tests, oldest first.
    finished: BoundedQueue<Record, FLOWS>,
    streams: [Stream; FLOWS],
    flows: [UdpFlow<HISTORY>; FLOWS],
}

impl<const FLOWS: usize, const HISTORY: usize> Server<FLOWS, HISTORY> {
    /// Creates a server on this port, TCP and UDP.
    #[must_use]
    pub const fn new(port: u16, limits: Limits) -> Self {
        assert!(FLOWS > 0 && FLOWS < 128);
        Self {
            port,
            listens: false,
            is_bound: false,
            limits: LimitsNs::of(limits),
            turn: 0,
            finished: BoundedQueue::new(),
            streams: [Stream::FREE; FLOWS],
            flows: [UdpFlow::FREE; FLOWS],
        }
    }

    /// Returns each completed test once, oldest first; keeps as many as the server has slots.
    #[inline(never)]
    pub fn take_finished(&mut self) -> Option<Finished> {
        let record = self.finished.pop()?;
        Some(Finished {
            udp: record.udp,
            sent: record.sent,
            peer: record.peer,
            is_confirmed: record.is_confirmed,
            report: record.counters.report(),
        })
    }

    fn stream(&mut self, connection: Connection) -> Option<&mut Stream> {
        self.streams.iter_mut().find(|it| it.is_of(connection))
    }

    /// A slot for a stream: a free one, or that of a stalled stream, whose connection is reset then.
    fn free_stream(&mut self, now: Instant) -> Option<&mut Stream> {
        let free = self.streams.iter().position(Stream::is_free);
        let stalled = || self.streams.iter().position(|it| it.gives_way(now));
        let at = free.or_else(stalled)?;
        self.streams.get_mut(at)
    }

    /// Opens the return stream that a client's test requests at this point.
    fn open_return_stream(&mut self, connection: Connection, at: ReturnTest, now: Instant) {
        let Some(stream) = self.stream(connection) else {
            return;
        };
        if stream.request.return_test != at {
            return;
        }
        // It is the return test: none follows when the client ends it.
        let request = Request {
            amount: stream.request.amount,
            rate_bits_per_s: stream.request.rate_bits_per_s,
            ..Request::NONE
        };
        let to = with_port(&stream.peer, stream.request.port);
        // Clients that cannot be connected to must not take all slots.
        let is_pending =
            |it: &&Stream| !it.is_free() && it.connection.is_none() && same_host(&it.peer, &to);
        let pending = self.streams.iter().filter(is_pending);
        if pending.count() < FLOWS.div_ceil(4)
            && let Some(slot) = self.free_stream(now)
        {
            slot.begin(None, &to, now);
            slot.request = request;
        }
    }

    /// Starts the UDP return test of a client, if allowed. `to` is the address of the test.
    fn open_return_flow(&mut self, to: &SocketAddr, request: &Request, sent_ns: u64, now: Instant) {
        let to = with_port(to, request.port);
        // From its own port, to which only the report is sent: a server's port may be the same.
        if !self.limits.sends_datagrams || !may_send_to(&to) {
            return;
        }
        // They keep their slots until they end: of one host, half of all, and of several, three quarters.
        let sending = || self.flows.iter().filter(|it| !it.is_free() && it.sends());
        let of_host = sending().filter(|it| same_host(&it.peer, &to)).count();
        if of_host >= FLOWS.div_ceil(2) || sending().count() >= FLOWS - FLOWS / 4 {
            return;
        }
        let at = free_flow(&self.flows, &to, now);
        if let Some(at) = at
            && let Some(flow) = self.flows.get_mut(at)
        {
            flow.begin(Udp(at as u8 + 1), &to, now);
            flow.state = State::Unbound;
            flow.send(request, &self.limits, sent_ns, START_DELAY_NS, now);
        }
    }
}

/// Index of the slot for a new client, if there is one.
fn free_flow<const HISTORY: usize>(
    flows: &[UdpFlow<HISTORY>],
    client: &SocketAddr,
    now: Instant,
) -> Option<usize> {
    slot_for(flows.len(), client, &|at| flows.get(at)?.occupant(now))
}

/// Finds the stream of a datagram, or begins one if the datagram may.
fn flow_of<'a, const HISTORY: usize>(
    flows: &'a mut [UdpFlow<HISTORY>],
    socket: Udp,
    from: &SocketAddr,
    head: &DatagramHeader,
    octets: &[u8],
    now: Instant,
) -> Option<&'a mut UdpFlow<HISTORY>> {
    let known = flows.iter().position(|flow| flow.is_of(socket, from));
    let at = match known {
        Some(at) => at,
        None if socket == LISTENING && udp_flow::may_begin(head, octets) => {
            free_flow(flows, from, now)?
        }
        None => return None,
    };
    let flow = flows.get_mut(at)?;
    if known.is_none() || flow.begins_new_test(head, now) {
        flow.begin(socket, from, now);
    }
    Some(flow)
}

impl<const FLOWS: usize, const HISTORY: usize> Service for Server<FLOWS, HISTORY> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        if !core::mem::replace(&mut self.listens, true) {
            return Some(SocketRequest::Listen(self.port));
        }
        if !core::mem::replace(&mut self.is_bound, true) {
            return Some(SocketRequest::Bind(LISTENING, Some(self.port)));
        }
        for (token, stream) in (0..).zip(&mut self.streams) {
            stream.turn();
            if let Some(to) = stream.take_connect() {
                return Some(SocketRequest::Connect { to, token });
            }
        }
        for flow in &mut self.flows {
            let socket = flow.socket;
            if flow.take_bind() {
                return Some(SocketRequest::Bind(socket, None));
            }
            if flow.state == State::Over && socket != LISTENING {
                flow.state = State::Free;
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
                let slot = self.free_stream(now).ok_or(Refused)?;
                slot.begin(Some(connection), &from, now);
            }
            Opened::Connected { token } => {
                let slot = self.streams.get_mut(usize::from(token)).ok_or(Refused)?;
                if slot.is_free() {
                    return Err(Refused);
                }
                slot.connected(connection, &self.limits, now);
            }
        }
        Ok(())
    }

    fn failed(&mut self, token: u8, now: Instant) {
        if let Some(stream) = self.streams.get_mut(usize::from(token))
            && !stream.refused(now)
        {
            stream.free();
        }
    }

    fn received(&mut self, connection: Connection, octets: &[u8], now: Instant) {
        let mut streams = self.streams.iter_mut();
        let Some(stream) = streams.find(|it| it.is_of(connection)) else {
            return;
        };
        if stream.received(octets, &self.limits, now) {
            self.open_return_stream(connection, ReturnTest::Simultaneous, now);
        }
    }

    fn zeros(&mut self, connection: Connection, most: usize, now: Instant) -> usize {
        self.stream(connection)
            .map_or(0, |stream| stream.zeros(most, now))
    }

    fn fill(&mut self, connection: Connection, buffer: &mut [u8], now: Instant) -> usize {
        let len = self.zeros(connection, buffer.len(), now);
        zero(buffer, len)
    }

    fn ended(&mut self, connection: Connection, now: Instant) {
        if let Some(stream) = self.stream(connection) {
            stream.ended(now);
        }
        self.open_return_stream(connection, ReturnTest::AfterTest, now);
    }

    fn closed(&mut self, connection: Connection, now: Instant) {
        let mut streams = self.streams.iter_mut();
        let Some(stream) = streams.find(|it| it.is_of(connection)) else {
            return;
        };
        let sends = stream.sends();
        self.finished.push(stream.finished(sends, now));
        if sends && stream.request.full_duplex {
            self.finished.push(stream.finished(false, now));
        }
        stream.free();
    }

    fn close(&self, connection: Connection) -> Close {
        let mut streams = self.streams.iter();
        streams
            .find(|it| it.is_of(connection))
            .map_or(Close::Reset, Stream::close)
    }

    fn datagram(&mut self, socket: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        // Two servers do not answer each other because reports are not answered, not because of the port.
        let head = DatagramHeader::parse(octets);
        let Some(head) = head.filter(|_| may_send_to(&from)) else {
            return;
        };
        let Some(flow) = flow_of(&mut self.flows, socket, &from, &head, octets, now) else {
            return;
        };
        let point = flow.datagram(&head, octets, &self.limits, now);
        if point == ReturnTest::No {
            return;
        }
        if point == ReturnTest::AfterTest {
            self.finished.push(flow.finished(Some(octets)));
        }
        if let Some(request) = flow.return_test_at(point) {
            let request = *request;
            self.open_return_flow(&from, &request, head.sent_ns, now);
        }
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        for stream in &mut self.streams {
            stream.step(now);
        }
        for flow in &mut self.flows {
            if flow.give_up(now) {
                self.finished.push(flow.finished(None));
            }
        }
        // In turn: one that is always due must not keep the others from sending.
        for step in 0..FLOWS {
            let at = (self.turn + step) % FLOWS;
            if let Some(flow) = self.flows.get_mut(at)
                && let Some(len) = flow.next(buffer, now)
            {
                self.turn = at + 1;
                let (socket, to) = (flow.socket, flow.peer);
                return Some(Datagram { socket, to, len });
            }
        }
        None
    }

    fn wake_at(&self) -> Option<Instant> {
        let mut first = Instant::NEVER;
        for stream in self.streams.iter().filter(|it| !it.is_free()) {
            first = first.earlier(stream.wake_at());
        }
        for flow in &self.flows {
            first = first.earlier(flow.wake_at());
        }
        first.finite()
    }
}
