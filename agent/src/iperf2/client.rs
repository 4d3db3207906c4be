//! `iperf -c`: at most one stream in each direction.

use core::net::SocketAddr;
use core::time::Duration;

use super::header::{Amount, Counters, DatagramHeader, Report, ReturnTest, Test};
use super::tcp::TcpSender;
use super::udp::{Clock, END_INTERVAL, UdpSender, received};
use crate::count::Sink;
use crate::pace::TurnRequest;
use crate::{
    Close, Connection, Datagram, Instant, MS, Opened, Refused, Service, SocketRequest, Udp, ns,
    span,
};

/// Repetition interval of the request of a reverse UDP test, until data arrive.
const REQUEST_EVERY_NS: u64 = 100 * MS;
/// Number of times that a receiver's report is sent, as some may be lost.
const REPORTS: u8 = 3;
/// The client's own UDP socket, and the one for a return test.
const SOCKET: Udp = Udp(0);
const RETURN_SOCKET: Udp = Udp(1);

/// Configuration of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Plan {
    /// The server.
    pub to: SocketAddr,
    /// UDP instead of TCP.
    pub udp: bool,
    /// The test; its port is the local listening port if it has a return test.
    pub test: Test,
    /// Timeout without any expected data.
    pub timeout: Duration,
}

/// Reason for a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The connection to the server could not be established.
    NotReached,
    /// The connection broke.
    Broken,
    /// Timeout: no report, data or return connection arrived.
    NoAnswer,
}

/// Progress of a client.
pub type Progress = crate::Progress<Failure>;

/// Results of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outcome {
    /// Sent by the client; datagrams and octets include the one that ends a UDP stream, as in iperf.
    pub sent: Option<Report>,
    /// The server's report of what it received: UDP only.
    pub reported: Option<Report>,
    /// Received by the client.
    pub received: Option<Report>,
    /// Duplicate datagrams received.
    pub received_duplicates: u64,
    /// Time from the first octet sent until the server closed the connection and so had read everything: TCP
    /// only, where the server sends no report.
    pub read_after: Option<Duration>,
    /// Time for which the datagram that ends a UDP stream was repeated until the server answered: stock iperf counts
    /// it as part of the stream.
    pub repeated_end: Duration,
}

/// Time without data after which a reverse UDP test is over, if its time has passed.
const SILENCE: Duration = Duration::from_secs(1);

/// Receiver of a TCP or UDP stream.
#[derive(Debug)]
struct Receiver {
    sink: Sink,
    ended: Option<Report>,
    /// Number of the datagram that ended it, the peer, and the number of answers still to send.
    to_answer: Option<(i64, SocketAddr, u8)>,
}

impl Receiver {
    const fn new() -> Self {
        Self {
            sink: Sink::new(1),
            ended: None,
            to_answer: None,
        }
    }

    fn datagram(&mut self, from: SocketAddr, octets: &[u8], now: Instant) {
        let Some(head) = DatagramHeader::parse(octets) else {
            return;
        };
        let number = head.number.unsigned_abs();
        let is_end = head.number < 0;
        match self.ended {
            Some(_) => {}
            None if is_end => {
                let len = octets.len();
                self.sink
                    .ended(number, head.sent_ns, len, now, END_INTERVAL);
            }
            None => self.sink.arrived(number, head.sent_ns, octets.len(), now),
        }
        if is_end {
            self.ended
                .get_or_insert(received(&self.sink, head.number).report());
            self.to_answer = Some((head.number, from, REPORTS));
        }
    }

    fn octets(&mut self, len: usize, now: Instant) {
        self.sink.octets(len, now);
    }

    fn end(&mut self) {
        self.ended.get_or_insert(self.so_far());
    }

    /// Ends a UDP stream whose end was lost, with the datagrams up to the last one received.
    fn end_without_its_end(&mut self) {
        let sent = self.sink.sequence.sent();
        let end = i64::try_from(sent).unwrap_or(i64::MAX);
        self.ended.get_or_insert(received(&self.sink, end).report());
    }

    fn so_far(&self) -> Report {
        Report {
            octets: self.sink.octets,
            span: self.sink.span(),
            ..Report::default()
        }
    }

    fn is_over(&self) -> bool {
        self.ended.is_some() && self.to_answer.is_none()
    }

    fn next(&mut self, buffer: &mut [u8], now: Instant) -> Option<(SocketAddr, usize)> {
        let (number, to, times) = self.to_answer?;
        self.to_answer = (times > 1).then_some((number, to, times - 1));
        let report = self.ended.unwrap_or_default();
        Some((to, Counters::from(&report).answer(number, now, buffer)))
    }
}

/// A client for one test.
#[derive(Debug)]
pub struct Client {
    plan: Plan,
    began: Option<Instant>,
    last_received: Instant,
    was_sending: bool,
    asked: u8,
    forward: Option<Connection>,
    return_connection: Option<Connection>,
    request_sent: bool,
    request_due: Instant,
    sending: Option<TcpSender>,
    source: Option<UdpSender>,
    receiving: Option<Receiver>,
    reported: Option<Report>,
    forward_closed: Option<Instant>,
    failure: Option<Failure>,
    clock: Clock,
    turn_request: TurnRequest,
}

impl Client {
    /// Creates a client that begins with the driver's first turn.
    #[must_use]
    pub const fn new(plan: Plan) -> Self {
        Self {
            plan,
            began: None,
            last_received: Instant::from_ns(0),
            was_sending: false,
            asked: 0,
            forward: None,
            return_connection: None,
            request_sent: false,
            request_due: Instant::from_ns(0),
            sending: None,
            source: None,
            receiving: None,
            reported: None,
            forward_closed: None,
            failure: None,
            clock: Clock::own(),
            turn_request: TurnRequest::None,
        }
    }

    /// Sets the time of day: nanoseconds of Unix time at the driver's time 0. Datagrams carry it, and iperf's
    /// server initializes its jitter with the difference to its own clock: without a time of day, with
    /// decades.
    #[must_use]
    pub const fn with_time_of_day(mut self, unix_ns: u64) -> Self {
        self.clock = Clock::from_peer(unix_ns, Instant::from_ns(0));
        self
    }

    /// The client's configuration.
    #[must_use]
    pub const fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Progress of the client; call it after each turn of the driver.
    pub fn progress(&mut self, now: Instant) -> Progress {
        if let Some(failure) = self.failure {
            return Progress::Failed(failure);
        }
        if self.is_complete() {
            return Progress::Done;
        }
        self.begin(now);
        self.step(now);
        if self.silence_at().is_some_and(|at| now >= at)
            && let Some(receiving) = &mut self.receiving
        {
            receiving.end_without_its_end();
        } else if !self.is_sending() && now.ns_since(self.last_received) >= ns(self.plan.timeout) {
            self.failure = Some(Failure::NoAnswer);
        }
        Progress::Running
    }

    /// Time at which a reverse UDP test is over although its end is missing: the test's time has passed, and then some
    /// without data. Stock iperf 2.1 sends the end of such a test once; a full queue loses it.
    fn silence_at(&self) -> Option<Instant> {
        let receiving = self.receiving.as_ref()?;
        let Amount::Span(span) = self.plan.test.amount else {
            return None;
        };
        let is_open = self.plan.udp && self.plan.test.reverse && receiving.ended.is_none();
        receiving.sink.last().filter(|_| is_open)?;
        let over = self.began?.after(span);
        Some(over.max(self.last_received).after(SILENCE))
    }

    /// Results so far.
    #[must_use]
    pub fn outcome(&self, now: Instant) -> Outcome {
        let stream = self.sending.as_ref().map(|sending| {
            let (octets, span_ns) = sending.sent(now);
            Report {
                octets,
                span: span(span_ns),
                ..Report::default()
            }
        });
        let datagrams = self.source.as_ref().map(|it| it.counters().report());
        let received = self.receiving.as_ref();
        Outcome {
            sent: stream.or(datagrams),
            reported: self.reported,
            received: received.map(|it| it.ended.unwrap_or_else(|| it.so_far())),
            received_duplicates: received.map_or(0, |it| it.sink.sequence.duplicates()),
            repeated_end: self
                .source
                .as_ref()
                .map_or(Duration::ZERO, UdpSender::repeating),
            read_after: self.sending.as_ref().and_then(|sending| {
                let closed = self.forward_closed?;
                Some(closed.since(sending.began()))
            }),
        }
    }

    fn sends(&self) -> bool {
        !self.plan.test.reverse
    }

    fn receives(&self) -> bool {
        let test = &self.plan.test;
        test.reverse || test.full_duplex || test.return_test != ReturnTest::No
    }

    /// True if data on this connection are part of the test.
    fn carries_data(&self, connection: Connection) -> bool {
        let on_forward = self.plan.test.reverse || self.plan.test.full_duplex;
        Some(connection) == self.return_connection || on_forward
    }

    /// While the client sends, silence of the peer is normal.
    fn is_sending(&self) -> bool {
        let stream = self.sending.as_ref().is_some_and(|it| !it.is_over());
        stream || self.source.as_ref().is_some_and(|it| !it.is_ending())
    }

    /// Ends sending when its time is over. From then on the timeout for the peer runs.
    fn step(&mut self, now: Instant) {
        let ends = self.sending.as_mut().is_some_and(|it| it.step(now));
        self.turn_request.check(ends);
        let sends = self.is_sending();
        if core::mem::replace(&mut self.was_sending, sends) && !sends {
            self.last_received = now;
        }
    }

    fn is_complete(&self) -> bool {
        let received = self.receiving.as_ref().is_some_and(Receiver::is_over);
        let sent = match (self.plan.udp, self.sends()) {
            (_, false) => true,
            (true, true) => self.reported.is_some(),
            (false, true) => self.forward_closed.is_some(),
        };
        sent && (received || !self.receives())
    }

    fn begin(&mut self, now: Instant) {
        if self.began.is_some() {
            return;
        }
        self.began = Some(now);
        self.last_received = now;
        self.request_due = now;
        if self.receives() {
            self.receiving = Some(Receiver::new());
        }
        let test = &self.plan.test;
        if self.plan.udp && self.sends() {
            self.source = Some(UdpSender::new(
                test.buffer_octets,
                test.extent(),
                self.clock,
                now,
            ));
        }
    }

    /// The request of a reverse UDP test, until data arrive.
    fn request(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        let receiving = self.receiving.as_ref()?;
        let nothing_received = receiving.sink.last().is_none() && receiving.ended.is_none();
        if self.sends() || !self.plan.udp || !nothing_received || now < self.request_due {
            return None;
        }
        self.request_due = now.after_ns(REQUEST_EVERY_NS);
        let test = &self.plan.test;
        let len = (test.buffer_octets as usize).max(DatagramHeader::LEN + Test::LEN);
        let len = len.min(buffer.len());
        let datagram = &mut buffer[..len];
        datagram.fill(0);
        DatagramHeader::emit(1, now, datagram);
        if let Some(behind) = datagram.get_mut(DatagramHeader::LEN..) {
            test.emit(behind, true);
        }
        Some(Datagram {
            socket: SOCKET,
            to: self.plan.to,
            len,
        })
    }
}

impl Service for Client {
    fn next_request(&mut self) -> Option<SocketRequest> {
        self.turn_request.turn();
        if let Some(sending) = &mut self.sending {
            sending.turn();
        }
        let plan = &self.plan;
        let asks = match (plan.udp, plan.test.return_test) {
            (false, ReturnTest::No) => [None, None],
            (false, _) => [Some(SocketRequest::Listen(plan.test.port)), None],
            (true, ReturnTest::No) => [Some(SocketRequest::Bind(SOCKET, None)), None],
            (true, _) => [
                Some(SocketRequest::Bind(RETURN_SOCKET, Some(plan.test.port))),
                Some(SocketRequest::Bind(SOCKET, None)),
            ],
        };
        let connect = (!plan.udp).then_some(SocketRequest::Connect {
            to: plan.to,
            token: 0,
        });
        let mut asks = asks.into_iter().flatten().chain(connect);
        let next = asks.nth(usize::from(self.asked));
        self.asked += u8::from(next.is_some());
        next
    }

    fn opened(
        &mut self,
        connection: Connection,
        opened: Opened,
        now: Instant,
    ) -> Result<(), Refused> {
        self.begin(now);
        self.last_received = now;
        match opened {
            Opened::Connected { .. } => {
                self.forward = Some(connection);
                if self.sends() {
                    self.sending = Some(TcpSender::new(self.plan.test.extent(), now));
                }
                Ok(())
            }
            Opened::Accepted { from, .. } => {
                let expected = self.plan.to.ip() == from.ip() && self.return_connection.is_none();
                if !expected {
                    return Err(Refused);
                }
                self.return_connection = Some(connection);
                Ok(())
            }
        }
    }

    fn failed(&mut self, _token: u8, _now: Instant) {
        self.failure = Some(Failure::NotReached);
    }

    fn received(&mut self, connection: Connection, octets: &[u8], now: Instant) {
        self.last_received = now;
        // On the sending connection, a server of iperf 2.1 sends a greeting of 28 octets, which is not data.
        if self.carries_data(connection)
            && let Some(receiving) = &mut self.receiving
        {
            receiving.octets(octets.len(), now);
        }
    }

    fn zeros(&mut self, connection: Connection, most: usize, now: Instant) -> usize {
        match &mut self.sending {
            Some(sending) if self.request_sent && Some(connection) == self.forward => {
                sending.zeros(most, now)
            }
            _ => 0,
        }
    }

    fn fill(&mut self, connection: Connection, buffer: &mut [u8], now: Instant) -> usize {
        if Some(connection) != self.forward {
            return 0;
        }
        let mut len = 0;
        // In one piece: a server expects it in the first segment.
        if !self.request_sent && buffer.len() >= Test::LEN {
            self.plan.test.emit(buffer, false);
            self.request_sent = true;
            len = Test::LEN;
            if let Some(sending) = &mut self.sending {
                sending.count(len);
            }
        }
        match &mut self.sending {
            Some(sending) if self.request_sent => len + sending.fill(&mut buffer[len..], now),
            _ => len,
        }
    }

    fn ended(&mut self, connection: Connection, now: Instant) {
        self.last_received = now;
        if self.carries_data(connection)
            && let Some(receiving) = &mut self.receiving
        {
            receiving.end();
        }
    }

    fn closed(&mut self, connection: Connection, now: Instant) {
        self.ended(connection, now);
        if Some(connection) == self.forward {
            self.forward_closed.get_or_insert(now);
            if self.is_sending() {
                self.failure = Some(Failure::Broken);
            }
        }
    }

    fn close(&self, connection: Connection) -> Close {
        if Some(connection) == self.forward && self.is_sending() {
            return Close::Keep;
        }
        let receiving = self.receiving.as_ref();
        let wait = receiving.is_some_and(|it| it.ended.is_none());
        if wait && (Some(connection) == self.return_connection || self.plan.test.reverse) {
            Close::Keep
        } else {
            Close::Finish
        }
    }

    fn datagram(&mut self, socket: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        if from.ip() != self.plan.to.ip() {
            return;
        }
        self.last_received = now;
        if socket == SOCKET && self.source.is_some() {
            // iperf 2.1 puts 0 in place of the report's number.
            let is_end = DatagramHeader::parse(octets).is_some_and(|head| head.number <= 0);
            if is_end && self.reported.is_none() {
                self.reported = Report::parse(octets);
            }
        } else if let Some(receiving) = self
            .receiving
            .as_mut()
            .filter(|_| !Report::is_report(octets))
        {
            receiving.datagram(from, octets, now);
        }
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        self.begin(now);
        self.step(now);
        let return_socket = match self.plan.test.return_test {
            ReturnTest::No => SOCKET,
            ReturnTest::Simultaneous | ReturnTest::AfterTest => RETURN_SOCKET,
        };
        if let Some((to, len)) = self.receiving.as_mut().and_then(|it| it.next(buffer, now)) {
            let socket = return_socket;
            return Some(Datagram { socket, to, len });
        }
        if let Some(request) = self.request(buffer, now) {
            return Some(request);
        }
        if self.reported.is_some() {
            return None;
        }
        let request = Some(&self.plan.test);
        let len = self.source.as_mut()?.next(request, buffer, now)?;
        Some(Datagram {
            socket: SOCKET,
            to: self.plan.to,
            len,
        })
    }

    fn wake_at(&self) -> Option<Instant> {
        if self.failure.is_some() || self.is_complete() {
            return None;
        }
        let timeout = (!self.is_sending()).then(|| self.last_received.after(self.plan.timeout));
        let stream = self.sending.as_ref().map(TcpSender::due);
        let stream = stream.map_or(Instant::NEVER, |due| due.earlier(self.turn_request.at()));
        let stream = stream.finite();
        let source = self.source.as_ref().filter(|_| self.reported.is_none());
        let source = source.filter(|it| !it.is_exhausted()).map(UdpSender::due);
        let request = (self.plan.udp && !self.sends()).then_some(self.request_due);
        let receiving = self.receiving.as_ref();
        let nothing_received = receiving.is_some_and(|it| it.sink.last().is_none());
        let request = request.filter(|_| nothing_received);
        let all = stream.into_iter().chain(source).chain(request);
        all.chain(timeout).chain(self.silence_at()).min()
    }
}
