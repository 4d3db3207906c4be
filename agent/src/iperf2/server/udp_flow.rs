//! A UDP stream from or to a client.

use core::net::SocketAddr;

use super::super::header::{DatagramHeader, Report, ReturnTest, Test};
use super::super::udp::{Clock, END_INTERVAL, UdpSender, report};
use super::{Finished, LISTENING};
use crate::count::Sink;
use crate::share::{Occupant, Standing};
use crate::{Instant, Limits, MS, SECOND, Udp};

/// A client silent for this long is gone.
const IDLE_TIMEOUT_NS: u64 = 10 * SECOND;
/// A client silent for this long may be replaced if its slot is needed; after a single datagram, sooner.
const REPLACEABLE_AFTER_NS: u64 = 3 * SECOND;
const SINGLE_REPLACEABLE_AFTER_NS: u64 = 250 * MS;
/// Delay before sending to a client, which listens only some time after its request: earlier datagrams would
/// be lost and counted as loss of the link.
const START_DELAY_NS: u64 = 100 * MS;
/// A client requests its report ten times.
const MAX_REPORTS: u8 = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// A socket must be opened first.
    Unbound,
    /// Running.
    Running,
    /// Over; the end may still be repeated.
    Over,
}

#[derive(Debug, Clone, Copy)]
#[allow(clippy::large_enum_variant)]
enum Role {
    Receives {
        sink: Sink,
        /// The number that ended it, which is negative; or 0.
        end: i64,
        /// Reports to send now, and reports that may still be requested.
        to_report: u8,
        left: u8,
        /// Octets received and not yet answered: a forged address gains no amplification.
        credit: u64,
    },
    Sends(UdpSender),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct UdpFlow {
    pub(super) socket: Udp,
    pub(super) peer: SocketAddr,
    pub(super) state: State,
    test: Option<Test>,
    last_received: Instant,
    /// Send time of the last received datagram, by the sender's clock.
    peer_sent_ns: u64,
    role: Role,
}

/// True if a datagram may be the first of a stream: neither the end of a forgotten stream nor a report.
pub(super) fn may_begin(head: DatagramHeader, octets: &[u8]) -> bool {
    head.number >= 0 && !Report::is_report(octets)
}

impl Occupant for UdpFlow {
    fn peer(&self) -> &SocketAddr {
        &self.peer
    }

    fn last_received(&self) -> Instant {
        self.last_received
    }

    /// A stream with its own socket must return that first.
    fn standing(&self, now: Instant) -> Standing {
        let is_over = self.state == State::Over;
        let is_idle = match &self.role {
            Role::Receives {
                sink, to_report, ..
            } => {
                let patience = if sink.sequence.received() <= 1 {
                    SINGLE_REPLACEABLE_AFTER_NS
                } else {
                    REPLACEABLE_AFTER_NS
                };
                is_over && *to_report == 0 || now.ns_since(self.last_received) >= patience
            }
            Role::Sends(_) if self.socket != LISTENING => return Standing::Fixed,
            Role::Sends(_) => is_over,
        };
        if is_idle {
            Standing::Idle
        } else {
            Standing::Active
        }
    }
}

impl UdpFlow {
    /// A stream from a client, before its first datagram.
    pub(super) fn from_client(socket: Udp, peer: SocketAddr, now: Instant) -> Self {
        Self {
            socket,
            peer,
            state: State::Running,
            test: None,
            last_received: now,
            peer_sent_ns: 0,
            role: Role::Receives {
                sink: Sink::new(1),
                end: 0,
                to_report: 0,
                left: MAX_REPORTS,
                credit: 0,
            },
        }
    }

    /// A stream to a client, over a socket to be opened.
    pub(super) fn to_client(
        socket: Udp,
        peer: SocketAddr,
        test: &Test,
        limits: &Limits,
        clock: Clock,
        now: Instant,
    ) -> Self {
        let begins = now.after_ns(START_DELAY_NS);
        let source = UdpSender::new(test.buffer_octets, limits.apply(test), clock, begins);
        Self {
            socket,
            peer,
            state: State::Unbound,
            test: None,
            last_received: now,
            peer_sent_ns: 0,
            role: Role::Sends(source),
        }
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

    /// True if data are, or will be, sent to the client.
    pub(super) const fn sends(&self) -> bool {
        matches!(self.role, Role::Sends(_))
    }

    /// True if a datagram belongs to a new test from the same port. Its first datagram may be lost, and one
    /// of the old test may be late: a datagram sent after all received ones is new.
    pub(super) fn begins_new_test(&self, head: DatagramHeader, now: Instant) -> bool {
        if head.number < 0 {
            return false;
        }
        match &self.role {
            // Without an end, the stream is only slow, or its network was.
            Role::Receives { sink, end: 0, .. } => {
                self.is_silent(now) && head.number.unsigned_abs() < sink.sequence.next()
            }
            Role::Receives { .. } => head.number == 1 || head.sent_ns > self.peer_sent_ns,
            Role::Sends(_) => {
                let new = head.sent_ns > self.peer_sent_ns || self.is_silent(now);
                self.state == State::Over && self.socket == LISTENING && new
            }
        }
    }

    /// Handles a datagram from the peer. Returns the point of the test, its beginning or end, at which a
    /// return test may start.
    pub(super) fn datagram(
        &mut self,
        head: DatagramHeader,
        octets: &[u8],
        limits: &Limits,
        now: Instant,
    ) -> ReturnTest {
        self.last_received = now;
        self.peer_sent_ns = self.peer_sent_ns.max(head.sent_ns);
        match &mut self.role {
            Role::Sends(source) => {
                // iperf 2.1 puts 0 in place of the report's number.
                if head.number <= 0 && self.state == State::Running && source.is_ending() {
                    self.state = State::Over;
                    return ReturnTest::AfterTest;
                }
            }
            Role::Receives {
                sink,
                end,
                to_report,
                left,
                credit,
            } => {
                *credit = credit.saturating_add(octets.len() as u64);
                if Report::is_report(octets) {
                    return ReturnTest::No;
                }
                if head.number < 0 {
                    *to_report += u8::from(*left > 0);
                    *left = left.saturating_sub(1);
                    if *end != 0 {
                        return ReturnTest::No;
                    }
                    let number = head.number.unsigned_abs();
                    sink.ended(number, head.sent_ns, octets.len(), now, END_INTERVAL);
                    *end = head.number;
                    self.state = State::Over;
                    return ReturnTest::AfterTest;
                }
                if *end != 0 {
                    // Late.
                    return ReturnTest::No;
                }
                let test = octets.get(DatagramHeader::LEN..).and_then(Test::parse);
                if let Some(test) = test.filter(|test| test.reverse) {
                    // The client requests datagrams and repeats this until they arrive.
                    if limits.sends_datagrams {
                        let clock = Clock::from_peer(head.sent_ns, now);
                        let extent = limits.apply(&test);
                        self.role =
                            Role::Sends(UdpSender::new(test.buffer_octets, extent, clock, now));
                    }
                    return ReturnTest::No;
                }
                sink.arrived(head.number.unsigned_abs(), head.sent_ns, octets.len(), now);
                if self.test.is_none() && test.is_some() {
                    self.test = test;
                    return ReturnTest::Simultaneous;
                }
            }
        }
        ReturnTest::No
    }

    /// The return test that the client requested for this point of its test.
    pub(super) fn return_test_at(&self, at: ReturnTest) -> Option<&Test> {
        let receives = matches!(self.role, Role::Receives { .. });
        self.test
            .as_ref()
            .filter(|test| receives && test.return_test == at)
    }

    /// Result of the stream; `end` is the datagram that ended it, if any.
    pub(super) fn finished(&self, end: Option<&[u8]>) -> Finished {
        let (sent, report) = match (&self.role, end) {
            (Role::Receives { sink, end, .. }, _) => (false, report(sink, *end)),
            (Role::Sends(_), Some(end)) => (true, Report::parse(end).unwrap_or_default()),
            (Role::Sends(source), None) => (true, source.report()),
        };
        Finished {
            udp: true,
            is_confirmed: end.is_some(),
            sent,
            peer: self.peer,
            report,
        }
    }

    /// Writes the due datagram, if any; returns its length.
    pub(super) fn next(&mut self, buffer: &mut [u8], now: Instant) -> Option<usize> {
        match &mut self.role {
            Role::Receives {
                sink,
                end,
                to_report,
                credit,
                ..
            } => {
                *to_report = to_report.checked_sub(1)?;
                // Not covered by a stream this short: the client repeats its request, which adds credit.
                *credit = credit.checked_sub((DatagramHeader::LEN + Report::LEN) as u64)?;
                Some(report(sink, *end).answer(*end, now, buffer))
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
