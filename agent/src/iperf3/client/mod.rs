//! `iperf3 -c`.

mod control;
mod plan;

use core::time::Duration;

pub use self::control::UDP_SETTLE;
pub use self::plan::{Failure, Outcome, Plan, Progress};

use super::json::Reader;
use super::message::{
    COOKIE, COOKIE_MESSAGE, HELLO, HELLO_ANSWER, JsonFrame, Outbox, PARAMETERS, cookie, state,
};
use super::parameters::{Amount, Direction, Parameters, Test};
use super::stream::Channel;
use super::streams::Streams;
use crate::count::DEFAULT_HISTORY;
use crate::octets::zero;
use crate::{
    Close, Connection, Datagram, Instant, MS, Opened, Refused, Service, SocketRequest, Udp,
};

/// Repetition interval of an unanswered UDP hello.
const HELLO_EVERY_NS: u64 = 500 * MS;
/// Token of the control connection; a stream's is its index plus one.
const CONTROL: u8 = 0;

#[derive(Debug)]
#[allow(clippy::large_enum_variant)]
enum Phase {
    /// Waits for the server to announce this state.
    AwaitState(u8),
    /// Opens streams one at a time: the server numbers them in this order.
    Opening {
        /// A connection or a socket was requested.
        is_requested: bool,
        hello_due: Instant,
    },
    Running,
    /// The test is over; data in flight are still arriving.
    Draining,
    /// Own results were sent.
    Results(JsonFrame, Reader),
    /// Octets received of the error numbers behind an announced error.
    Error([u8; 8], usize),
    /// Everything is sent except the final state.
    Done,
    Failed(Failure),
}

/// A client for one test, with at most this number of streams, both directions together.
#[derive(Debug)]
pub struct Client<const STREAMS: usize> {
    plan: Plan,
    phase: Phase,
    connect_requested: bool,
    control: Option<Connection>,
    control_is_closed: bool,
    outbox: Outbox,
    streams: Streams<STREAMS, DEFAULT_HISTORY>,
    last_received: Option<Instant>,
    /// Time at which the end of the test is announced, after the data have ended.
    announce_at: Option<Instant>,
}

impl<const STREAMS: usize> Client<STREAMS> {
    /// Creates a client that begins with the driver's first turn.
    #[must_use]
    pub fn new(plan: Plan) -> Self {
        assert!(STREAMS > 0 && STREAMS < 128);
        let count = plan.test.streams();
        let phase = if count == 0 || count > STREAMS {
            Phase::Failed(Failure::TooManyStreams)
        } else {
            Phase::AwaitState(state::PARAM_EXCHANGE)
        };
        // Whole seconds, as on the wire, so that both ends agree.
        let whole = |span: Duration| {
            let more = u64::from(span.subsec_nanos() > 0);
            Duration::from_secs(span.as_secs().saturating_add(more))
        };
        let test = Test {
            omit: whole(plan.test.omit),
            amount: match plan.test.amount {
                Amount::Span(span) => Amount::Span(whole(span).max(Duration::from_secs(1))),
                other => other,
            },
            ..plan.test
        };
        let mut streams = Streams::new();
        streams.restart(&plan.to);
        streams.test = Parameters::of(&test);
        Self {
            plan: Plan { test, ..plan },
            phase,
            connect_requested: false,
            control: None,
            control_is_closed: false,
            outbox: Outbox::new(),
            streams,
            last_received: None,
            announce_at: None,
        }
    }

    /// Progress of the client; call it after each turn of the driver.
    pub fn progress(&mut self, now: Instant) -> Progress {
        self.step(now);
        match self.phase {
            Phase::Failed(failure) => Progress::Failed(failure),
            Phase::Done if self.control_is_closed => Progress::Done,
            _ => Progress::Running,
        }
    }

    /// Results so far.
    #[must_use]
    pub fn outcome(&self, now: Instant) -> Outcome {
        let [sent, reported, received] = self.streams.counts(now);
        Outcome {
            sent,
            reported,
            received,
        }
    }

    fn fail(&mut self, failure: Failure) {
        if !matches!(self.phase, Phase::Failed(_) | Phase::Done) {
            self.phase = Phase::Failed(failure);
        }
    }

    /// Octets still to send, by all streams together.
    fn octets_left(&self) -> u64 {
        if self.streams.omits() {
            return u64::MAX;
        }
        let total = self.streams.test.max_octets;
        total.saturating_sub(self.streams.octets().0)
    }

    /// True if the wanted octets were sent, received, or both, as the test's direction has it.
    fn has_enough(&self) -> bool {
        if self.streams.omits() {
            return false;
        }
        let total = self.streams.test.max_octets;
        let (sent, received) = self.streams.octets();
        match self.streams.test.direction {
            Direction::Forward => sent >= total,
            Direction::Reverse => received >= total,
            Direction::Both => sent >= total && received >= total,
        }
    }

    /// True if nothing more is expected from the peer until the end of the test is announced.
    fn has_received_all(&self) -> bool {
        self.streams.test.direction == Direction::Forward
            || self.streams.octets().1 >= self.streams.test.max_octets
    }

    /// Time when the test ends, if it ends by time.
    fn end_at(&self) -> Option<Instant> {
        let test = &self.streams.test;
        let omit_ns = if self.streams.omits() {
            test.omit_ns
        } else {
            0
        };
        let began = self.streams.began();
        began.after_ns(omit_ns).after_ns(test.span_ns).finite()
    }

    /// While the client sends, silence of the peer is normal.
    fn timeout_at(&self) -> Option<Instant> {
        let waits = match self.phase {
            Phase::Running => !self.has_received_all(),
            Phase::Failed(_) => false,
            Phase::Done => !self.control_is_closed,
            _ => true,
        };
        let last_received = self.last_received.filter(|_| waits)?;
        Some(last_received.after(self.plan.timeout))
    }

    /// Writes the hello of the stream being opened, if it is due.
    fn hello(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        let udp = self.streams.test.udp;
        let Phase::Opening {
            is_requested: true,
            hello_due,
        } = &mut self.phase
        else {
            return None;
        };
        if !udp || now < *hello_due || buffer.len() < HELLO.len() {
            return None;
        }
        *hello_due = now.after_ns(HELLO_EVERY_NS);
        let len = HELLO.len();
        buffer[..len].copy_from_slice(HELLO);
        Some(Datagram {
            socket: Udp(self.streams.len() as u8),
            to: self.plan.to,
            len,
        })
    }
}

impl<const STREAMS: usize> Service for Client<STREAMS> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        self.streams.turn();
        if matches!(self.phase, Phase::Failed(_)) {
            return None;
        }
        let to = self.plan.to;
        if !core::mem::replace(&mut self.connect_requested, true) {
            return Some(SocketRequest::Connect { to, token: CONTROL });
        }
        let open = self.streams.len() as u8;
        let Phase::Opening { is_requested, .. } = &mut self.phase else {
            return None;
        };
        if core::mem::replace(is_requested, true) {
            return None;
        }
        Some(if self.streams.test.udp {
            SocketRequest::Bind(Udp(open), None)
        } else {
            let token = open + 1;
            SocketRequest::Connect { to, token }
        })
    }

    fn opened(
        &mut self,
        connection: Connection,
        opened: Opened,
        now: Instant,
    ) -> Result<(), Refused> {
        self.last_received = Some(now);
        match opened {
            Opened::Connected { token: CONTROL } => {
                self.control = Some(connection);
                self.outbox.push(COOKIE_MESSAGE);
                Ok(())
            }
            Opened::Connected { .. } if matches!(self.phase, Phase::Opening { .. }) => {
                let has_slot = self.streams.open(Channel::Tcp(connection));
                has_slot.then_some(()).ok_or(Refused)
            }
            _ => Err(Refused),
        }
    }

    fn failed(&mut self, _token: u8, _now: Instant) {
        self.fail(Failure::NotReached);
    }

    fn received(&mut self, connection: Connection, octets: &[u8], now: Instant) {
        self.last_received = Some(now);
        if Some(connection) == self.control {
            for octet in octets {
                self.octet(*octet, now);
            }
        } else if !self.streams.has_begun() && octets == [state::ACCESS_DENIED] {
            // Sent on a stream that the server does not recognize.
            self.fail(Failure::AccessDenied);
        } else {
            self.streams.received(connection, octets.len(), now);
        }
        self.step(now);
    }

    fn zeros(&mut self, connection: Connection, most: usize, now: Instant) -> usize {
        self.step(now);
        let stream = self.streams.by_channel(Channel::Tcp(connection));
        let is_open = stream.is_some_and(|it| usize::from(it.cookie) >= COOKIE);
        if !is_open || !matches!(self.phase, Phase::Running) {
            return 0;
        }
        let left = self.octets_left().min(most as u64);
        let len = self.streams.zeros(connection, left, now);
        self.step(now);
        len
    }

    fn fill(&mut self, connection: Connection, buffer: &mut [u8], now: Instant) -> usize {
        self.step(now);
        let (seed, test) = (self.plan.seed, &self.plan.test);
        if Some(connection) == self.control {
            let streams = &self.streams;
            return self.outbox.fill(buffer, &|message, writer| match message {
                COOKIE_MESSAGE => writer.raw(&cookie(seed)),
                PARAMETERS => test.emit(writer),
                _ => streams.emit(writer),
            });
        }
        let opening = matches!(self.phase, Phase::Opening { .. });
        let stream = self.streams.by_channel(Channel::Tcp(connection));
        if let Some(stream) = stream.filter(|it| usize::from(it.cookie) < COOKIE) {
            let rest = &cookie(seed)[usize::from(stream.cookie)..];
            let len = rest.len().min(buffer.len());
            buffer[..len].copy_from_slice(&rest[..len]);
            stream.cookie += len as u8;
            if opening && len == rest.len() {
                self.stream_is_open(now);
            }
            return len;
        }
        let len = self.zeros(connection, buffer.len(), now);
        zero(buffer, len)
    }

    fn ended(&mut self, connection: Connection, now: Instant) {
        self.last_received = Some(now);
        if Some(connection) == self.control {
            self.control_is_closed = true;
            self.fail(Failure::Broken);
        } else if self.streams.ended(connection) && !self.streams.frozen {
            // A server closes the streams when the client has ended the test.
            let over = matches!(
                self.phase,
                Phase::AwaitState(state::EXCHANGE_RESULTS) | Phase::Draining
            );
            if !over {
                self.fail(Failure::Broken);
            }
        }
        self.step(now);
    }

    fn closed(&mut self, connection: Connection, now: Instant) {
        self.ended(connection, now);
        self.streams.closed(connection);
    }

    fn close(&self, connection: Connection) -> Close {
        match self.phase {
            Phase::Failed(_) => Close::Reset,
            Phase::Done if Some(connection) != self.control => Close::Finish,
            Phase::Done if self.outbox.is_empty() => Close::Finish,
            _ => Close::Keep,
        }
    }

    fn datagram(&mut self, socket: Udp, from: core::net::SocketAddr, octets: &[u8], now: Instant) {
        if from != self.plan.to {
            return;
        }
        self.last_received = Some(now);
        let open = self.streams.len() as u8;
        let opening = matches!(
            self.phase,
            Phase::Opening {
                is_requested: true,
                ..
            }
        );
        if opening && socket == Udp(open) {
            // Data are an answer, too: they may overtake it.
            self.streams.open(Channel::Udp(socket, from.port()));
            self.stream_is_open(now);
        }
        if octets != HELLO_ANSWER {
            self.streams.datagram(socket, &from, octets, now);
        }
        self.step(now);
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        self.step(now);
        if let Some(hello) = self.hello(buffer, now) {
            return Some(hello);
        }
        if !matches!(self.phase, Phase::Running) {
            return None;
        }
        let datagram = self.streams.next_datagram(buffer, now);
        self.step(now);
        datagram
    }

    fn wake_at(&self) -> Option<Instant> {
        let hello = match self.phase {
            Phase::Opening {
                is_requested: true,
                hello_due,
            } if self.streams.test.udp => Some(hello_due),
            _ => None,
        };
        let runs = matches!(self.phase, Phase::Running);
        let end = self.announce_at.or_else(|| self.end_at());
        let end = end.filter(|_| runs);
        let due = self.streams.due().finite().filter(|_| runs);
        let quiet = matches!(self.phase, Phase::Draining).then(|| self.streams.drain_deadline());
        // Data on one connection may be answered on another.
        let failed = matches!(self.phase, Phase::Failed(_));
        let at_once = (!self.outbox.is_empty() && !failed).then_some(Instant::from_ns(0));
        let all = [hello, end, quiet, due, self.timeout_at(), at_once];
        all.into_iter().flatten().min()
    }
}
