//! A TCP connection of the server.

use core::net::SocketAddr;

use super::super::header::{Report, Test};
use super::super::tcp::TcpSender;
use super::Finished;
use crate::octets::u32_at;
use crate::pace::TurnRequest;
use crate::{Close, Connection, Instant, Limits, MS, SECOND, span};

/// Timeout after which an inactive connection is reset to free its slot.
const IDLE_TIMEOUT_NS: u64 = 30 * SECOND;
/// A connection inactive for this long gives way to a new one if there is no other slot.
const STALL_NS: u64 = 3 * SECOND;
/// Delay between connection attempts to a client that is not yet listening, and time after which there is no
/// further one, whether they are refused or not answered.
const RETRY_AFTER_NS: u64 = 50 * MS;
const CONNECT_TIMEOUT_NS: u64 = 3 * SECOND;

/// The request, as far as received.
#[derive(Debug, Clone, Copy)]
struct RequestHead {
    octets: [u8; Test::LEN],
    len: usize,
}

/// Classification of a connection's first octets.
#[derive(Debug, PartialEq, Eq)]
enum FirstOctets {
    /// Too few octets to classify.
    Unknown,
    /// Data.
    Data,
    Request(Test),
}

impl RequestHead {
    /// Consumes octets of the request.
    fn push(&mut self, octets: &[u8]) -> FirstOctets {
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
                    return test.map_or(FirstOctets::Data, FirstOctets::Request);
                }
                None => return FirstOctets::Data,
            }
        }
        FirstOctets::Unknown
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Stream {
    /// `None` while connecting.
    pub(super) connection: Option<Connection>,
    pub(super) peer: SocketAddr,
    /// The client's request, once received.
    pub(super) test: Option<Test>,
    head: Option<RequestHead>,
    wanted: bool,
    /// Time of the next connection attempt after one that failed.
    retry: Instant,
    received: u64,
    began: Option<Instant>,
    last: Instant,
    /// Time of the last activity.
    last_activity: Instant,
    is_reset: bool,
    turn_request: TurnRequest,
    peer_ended: bool,
    sending: Option<TcpSender>,
}

impl Stream {
    /// A stream opened by a client or, with a test, one to a client, to be connected.
    pub(super) fn new(
        connection: Option<Connection>,
        peer: SocketAddr,
        test: Option<Test>,
        now: Instant,
    ) -> Self {
        let head = RequestHead {
            octets: [0; Test::LEN],
            len: 0,
        };
        Self {
            connection,
            peer,
            test,
            head: test.is_none().then_some(head),
            wanted: connection.is_none(),
            retry: Instant::NEVER,
            received: 0,
            began: None,
            last: Instant::from_ns(0),
            last_activity: now,
            is_reset: false,
            turn_request: TurnRequest::new(),
            peer_ended: false,
            sending: None,
        }
    }

    /// Returns the address to connect to, once.
    pub(super) fn take_connect(&mut self) -> Option<SocketAddr> {
        core::mem::take(&mut self.wanted).then_some(self.peer)
    }

    /// A connection attempt failed; returns true if it will be repeated. iperf's client starts to listen only
    /// after its own data have gone, when the server may already be connecting.
    pub(super) fn refused(&mut self, now: Instant) -> bool {
        self.retry = now.after_ns(RETRY_AFTER_NS);
        now.ns_since(self.last_activity) < CONNECT_TIMEOUT_NS
    }

    pub(super) fn connected(&mut self, connection: Connection, limits: &Limits, now: Instant) {
        self.connection = Some(connection);
        self.last_activity = now;
        self.send(limits, now);
    }

    fn send(&mut self, limits: &Limits, now: Instant) {
        let sending = |test| TcpSender::new(limits.apply(test), now);
        self.sending = self.test.as_ref().map(sending);
    }

    /// Returns true when the request is complete.
    pub(super) fn received(&mut self, octets: &[u8], limits: &Limits, now: Instant) -> bool {
        self.began.get_or_insert(now);
        self.last = now;
        // Data against the direction of the test do not count as activity.
        if self.test.is_none_or(|test| !test.reverse) {
            self.last_activity = now;
        }
        self.received += octets.len() as u64;
        let Some(head) = &mut self.head else {
            return false;
        };
        self.test = match head.push(octets) {
            FirstOctets::Unknown => return false,
            FirstOctets::Data => None,
            FirstOctets::Request(test) => Some(test),
        };
        self.head = None;
        let sends = |test: &Test| test.reverse || test.full_duplex;
        if self.test.as_ref().is_some_and(sends) {
            self.send(limits, now);
        }
        true
    }

    pub(super) fn fill(&mut self, buffer: &mut [u8], now: Instant) -> usize {
        let Some(sending) = &mut self.sending else {
            return 0;
        };
        let len = sending.fill(buffer, now);
        if len > 0 {
            self.last_activity = now;
        }
        len
    }

    pub(super) fn zeros(&mut self, most: usize, now: Instant) -> usize {
        let sending = self.sending.as_mut();
        let len = sending.map_or(0, |sending| sending.zeros(most, now));
        if len > 0 {
            self.last_activity = now;
        }
        len
    }

    /// The driver begins another turn.
    pub(super) fn turn(&mut self) {
        self.turn_request.turn();
        if let Some(sending) = &mut self.sending {
            sending.turn();
        }
    }

    /// Handles timers.
    pub(super) fn step(&mut self, now: Instant) {
        if now >= self.retry {
            self.retry = Instant::NEVER;
            self.wanted = true;
        }
        if let Some(sending) = &mut self.sending {
            sending.step(now);
        }
        let is_silent = now >= self.deadline();
        self.is_reset |= is_silent;
        self.turn_request.check(is_silent, now);
    }

    /// Time of the last activity, or when there is to be some: at a low rate, nothing may be due for long.
    fn idle_since(&self) -> Instant {
        match &self.sending {
            Some(sending) if !sending.is_over() => sending.pace_due().max(self.last_activity),
            _ => self.last_activity,
        }
    }

    /// Time of the reset, unless there is activity.
    fn deadline(&self) -> Instant {
        if self.is_reset || self.connection.is_none() {
            return Instant::NEVER;
        }
        self.idle_since().after_ns(IDLE_TIMEOUT_NS)
    }

    /// True if a new connection may have its slot. That of a stream that is not yet connected is named in the
    /// request to the driver.
    pub(super) fn gives_way(&self, now: Instant) -> bool {
        self.connection.is_some() && now.ns_since(self.idle_since()) >= STALL_NS
    }

    pub(super) fn ended(&mut self, now: Instant) {
        self.peer_ended = true;
        self.last = now;
        self.last_activity = now;
    }

    /// True if it sends, or has sent.
    pub(super) const fn sends(&self) -> bool {
        self.sending.is_some()
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

    pub(super) fn wake_at(&self) -> Instant {
        let sending = self.sending.as_ref().map_or(Instant::NEVER, TcpSender::due);
        let times = sending.earlier(self.deadline());
        times.earlier(self.turn_request.at()).earlier(self.retry)
    }

    /// True if data went in both directions.
    pub(super) fn is_both_ways(&self) -> bool {
        self.sending.is_some() && self.test.as_ref().is_some_and(|test| test.full_duplex)
    }

    /// Result of sending, or of receiving.
    pub(super) fn finished(&self, sent: bool, now: Instant) -> Finished {
        let (octets, span) = match &self.sending {
            Some(sending) if sent => sending.sent(now),
            _ => {
                let began = self.began.unwrap_or(self.last);
                (self.received, span(self.last.ns_since(began)))
            }
        };
        Finished {
            udp: false,
            is_confirmed: !sent,
            sent,
            peer: self.peer,
            report: Report {
                octets,
                span,
                ..Report::default()
            },
        }
    }
}
