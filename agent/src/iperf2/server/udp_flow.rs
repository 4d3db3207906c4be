//! A UDP stream from or to a client.

use core::net::SocketAddr;

use super::super::header::{Counters, DatagramHeader, Report, Request, ReturnTest};
use super::super::udp::{Clock, END_INTERVAL, UdpSender, received};
use super::{LISTENING, Record};
use crate::answer::{NOBODY, same_endpoint};
use crate::count::Sink;
use crate::limits::LimitsNs;
use crate::share::{Occupant, Standing};
use crate::{Instant, MS, SECOND, Udp};

/// A client silent for this long is gone.
const IDLE_TIMEOUT_NS: u64 = 10 * SECOND;
/// A client silent for this long may be replaced if its slot is needed; after a single datagram, sooner.
const REPLACEABLE_AFTER_NS: u64 = 3 * SECOND;
const SINGLE_REPLACEABLE_AFTER_NS: u64 = 250 * MS;
/// Delay before sending to a client, which listens only some time after its request: earlier datagrams would
/// be lost and counted as loss of the link.
pub(super) const START_DELAY_NS: u64 = 100 * MS;
/// A client requests its report ten times.
const MAX_REPORTS: u8 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// No stream: the slot is free.
    Free,
    /// A socket must be opened first.
    Unbound,
    /// Running.
    Running,
    /// Over; the end may still be repeated.
    Over,
}

/// Role in the stream.
#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant)]
enum Role<const HISTORY: usize> {
    Receives {
        /// Reports to send now, and reports that may still be requested.
        to_report: u8,
        left: u8,
        /// Octets received and not yet answered: a forged address gains no amplification.
        credit: u32,
        /// The number that ended it, which is negative; or 0.
        end: i64,
        sink: Sink<HISTORY>,
    },
    Sends(UdpSender),
}

/// A stream, or a free slot for one.
#[derive(Debug)]
pub(super) struct UdpFlow<const HISTORY: usize> {
    pub(super) socket: Udp,
    pub(super) state: State,
    has_request: bool,
    request: Request,
    last_received: Instant,
    /// Send time of the last received datagram, by the sender's clock.
    peer_sent_ns: u64,
    pub(super) peer: SocketAddr,
    role: Role<HISTORY>,
}

/// True if a datagram may be the first of a stream: neither the end of a forgotten stream nor a report.
pub(super) fn may_begin(head: &DatagramHeader, octets: &[u8]) -> bool {
    head.number >= 0 && !Report::is_report(octets)
}

impl<const HISTORY: usize> UdpFlow<HISTORY> {
    /// A free slot. Zeros, which take no space in flash.
    pub(super) const FREE: Self = Self {
        socket: LISTENING,
        state: State::Free,
        has_request: false,
        peer: NOBODY,
        request: Request::NONE,
        last_received: Instant::from_ns(0),
        peer_sent_ns: 0,
        role: Role::Receives {
            to_report: 0,
            left: 0,
            credit: 0,
            end: 0,
            sink: Sink::EMPTY,
        },
    };

    /// Begins a stream from a client.
    pub(super) fn begin(&mut self, socket: Udp, peer: &SocketAddr, now: Instant) {
        *self = Self::FREE;
        self.socket = socket;
        self.state = State::Running;
        self.peer = *peer;
        self.last_received = now;
        if let Role::Receives { sink, left, .. } = &mut self.role {
            sink.begin(1);
            *left = MAX_REPORTS;
        }
    }

    #[inline]
    pub(super) fn is_free(&self) -> bool {
        self.state == State::Free
    }

    /// Sends to the client, which has requested it at the time `sent_ns` of its clock.
    #[inline(never)]
    pub(super) fn send(
        &mut self,
        request: &Request,
        limits: &LimitsNs,
        sent_ns: u64,
        delay_ns: u64,
        now: Instant,
    ) {
        let clock = Clock::from_peer(sent_ns, now);
        let begins = now.after_ns(delay_ns);
        let limits = limits.apply(request);
        self.role = Role::Sends(UdpSender::new(request.buffer_octets, limits, clock, begins));
    }

    /// Returns true once if a socket must be opened.
    pub(super) fn take_bind(&mut self) -> bool {
        let unbound = self.state == State::Unbound;
        if unbound {
            self.state = State::Running;
        }
        unbound
    }

    fn is_silent(&self, now: Instant) -> bool {
        now.ns_since(self.last_received) >= IDLE_TIMEOUT_NS
    }

    /// The client in this slot; `None` if it is free.
    pub(super) fn occupant(&self, now: Instant) -> Option<Occupant<'_>> {
        if self.is_free() {
            return None;
        }
        let is_over = self.state == State::Over;
        let standing = match &self.role {
            Role::Receives {
                sink, to_report, ..
            } => {
                let patience = if sink.sequence.received() <= 1 {
                    SINGLE_REPLACEABLE_AFTER_NS
                } else {
                    REPLACEABLE_AFTER_NS
                };
                if is_over && *to_report == 0 || now.ns_since(self.last_received) >= patience {
                    Standing::Idle
                } else {
                    Standing::Active
                }
            }
            // It must return its own socket first.
            Role::Sends(_) if self.socket != LISTENING => Standing::Fixed,
            Role::Sends(_) if is_over => Standing::Idle,
            Role::Sends(_) => Standing::Active,
        };
        Some(Occupant {
            peer: &self.peer,
            last_received: self.last_received,
            standing,
        })
    }

    /// True if data are, or will be, sent to the client.
    pub(super) const fn sends(&self) -> bool {
        matches!(self.role, Role::Sends(_))
    }

    /// True if it is the stream of this client.
    pub(super) fn is_of(&self, socket: Udp, peer: &SocketAddr) -> bool {
        !self.is_free() && self.socket == socket && same_endpoint(&self.peer, peer)
    }

    /// True if a datagram belongs to a new test from the same port. Its first datagram may be lost, and one
    /// of the old test may be late: a datagram sent after all received ones is new.
    pub(super) fn begins_new_test(&self, head: &DatagramHeader, now: Instant) -> bool {
        if head.number < 0 {
            return false;
        }
        let is_newer = head.sent_ns > self.peer_sent_ns;
        match &self.role {
            // Without an end, the stream is only slow, or its network was.
            Role::Receives { sink, end: 0, .. } => {
                self.is_silent(now) && head.number.unsigned_abs() < sink.sequence.next()
            }
            Role::Receives { .. } => head.number == 1 || is_newer,
            Role::Sends(_) => {
                let is_over = self.state == State::Over && self.socket == LISTENING;
                is_over && (is_newer || self.is_silent(now))
            }
        }
    }

    /// Handles a datagram from the peer. Returns the point of the test, its beginning or end, at which a
    /// return test may start.
    pub(super) fn datagram(
        &mut self,
        head: &DatagramHeader,
        octets: &[u8],
        limits: &LimitsNs,
        now: Instant,
    ) -> ReturnTest {
        self.last_received = now;
        self.peer_sent_ns = self.peer_sent_ns.max(head.sent_ns);
        let Role::Receives {
            to_report,
            left,
            credit,
            end,
            sink,
        } = &mut self.role
        else {
            return self.reported(head);
        };
        *credit = credit.saturating_add(octets.len() as u32);
        if Report::is_report(octets) {
            return ReturnTest::No;
        }
        let (number, len) = (head.number.unsigned_abs(), octets.len());
        if head.number < 0 {
            *to_report += u8::from(*left > 0);
            *left = left.saturating_sub(1);
            if *end != 0 {
                return ReturnTest::No;
            }
            sink.ended(number, head.sent_ns, len, now, END_INTERVAL);
            *end = head.number;
            self.state = State::Over;
            return ReturnTest::AfterTest;
        }
        if *end != 0 {
            // Late.
            return ReturnTest::No;
        }
        // Every datagram of a client has a request; all are alike.
        let request = if self.has_request {
            None
        } else {
            octets.get(DatagramHeader::LEN..).and_then(Request::parse)
        };
        if let Some(request) = request {
            if request.reverse {
                // The client requests datagrams and repeats this until they arrive.
                if limits.sends_datagrams {
                    self.send(&request, limits, head.sent_ns, 0, now);
                }
                return ReturnTest::No;
            }
            self.request = request;
            self.has_request = true;
            sink.arrived(number, head.sent_ns, len, now);
            return ReturnTest::Simultaneous;
        }
        sink.arrived(number, head.sent_ns, len, now);
        ReturnTest::No
    }

    /// Handles a datagram from a receiver: its report, or nothing.
    fn reported(&mut self, head: &DatagramHeader) -> ReturnTest {
        let is_ending = matches!(&self.role, Role::Sends(source) if source.is_ending());
        // iperf 2.1 puts 0 in place of the report's number.
        if head.number <= 0 && self.state == State::Running && is_ending {
            self.state = State::Over;
            return ReturnTest::AfterTest;
        }
        ReturnTest::No
    }

    /// The request of a return test at this point of the client's test, if there is one.
    pub(super) fn return_test_at(&self, at: ReturnTest) -> Option<&Request> {
        (!self.sends() && self.request.return_test == at).then_some(&self.request)
    }

    /// Result of the stream; `end` is the datagram that ended it, if any.
    pub(super) fn finished(&self, end: Option<&[u8]>) -> Record {
        let counters = match (&self.role, end) {
            (Role::Receives { sink, end, .. }, _) => received(sink, *end),
            (Role::Sends(_), Some(end)) => Counters::parse(end).unwrap_or_default(),
            (Role::Sends(source), None) => source.counters(),
        };
        Record {
            peer: self.peer,
            counters,
            udp: true,
            sent: self.sends(),
            is_confirmed: end.is_some(),
        }
    }

    /// Writes the due datagram, if any; returns its length.
    pub(super) fn next(&mut self, buffer: &mut [u8], now: Instant) -> Option<usize> {
        match &mut self.role {
            Role::Receives {
                to_report,
                credit,
                end,
                sink,
                ..
            } => {
                *to_report = to_report.checked_sub(1)?;
                // Not covered by a stream this short: the client repeats its request, which adds credit.
                *credit = credit.checked_sub((DatagramHeader::LEN + Report::LEN) as u32)?;
                Some(received(sink, *end).answer(*end, now, buffer))
            }
            Role::Sends(source) => {
                if self.state != State::Running {
                    return None;
                }
                source.next(None, buffer, now)
            }
        }
    }

    /// True once if the stream ended without an answer to all repetitions of its end: a client of iperf 2.1
    /// with `-R` does not answer.
    pub(super) fn give_up(&mut self, now: Instant) -> bool {
        let Role::Sends(source) = &self.role else {
            return false;
        };
        let gives_up = self.state == State::Running && source.is_unanswered(now);
        if gives_up {
            self.state = State::Over;
        }
        gives_up
    }

    pub(super) fn wake_at(&self) -> Instant {
        match &self.role {
            Role::Sends(source) if self.state == State::Running => source.due(),
            _ => Instant::NEVER,
        }
    }
}
