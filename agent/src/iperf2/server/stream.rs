//! A TCP connection of the server.

use core::net::SocketAddr;

use super::super::header::{Counters, Request, Test};
use super::super::tcp::TcpSender;
use super::Record;
use crate::answer::NOBODY;
use crate::limits::LimitsNs;
use crate::octets::word_at;
use crate::pace::TurnRequest;
use crate::{Close, Connection, Instant, MS, SECOND};

/// Timeout after which an inactive connection is reset to free its slot.
const IDLE_TIMEOUT_NS: u64 = 30 * SECOND;
/// A connection inactive for this long gives way to a new one if there is no other slot.
const STALL_NS: u64 = 3 * SECOND;
/// Delay between connection attempts to a client that is not yet listening, and time after which there is no
/// further one, whether they are refused or not answered.
const RETRY_AFTER_NS: u64 = 50 * MS;
const CONNECT_TIMEOUT_NS: u64 = 3 * SECOND;

/// Data of a connection. With a tag of its own, so that a free slot is zeros.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
enum Data {
    Receives,
    /// Not yet connected.
    Connecting {
        /// Time of the next connection attempt after one that failed.
        retry: Instant,
    },
    /// The first octets are, or may be, a request: as far as received.
    Head {
        octets: [u8; Test::LEN],
        len: u8,
    },
    Sends(TcpSender),
}

/// A stream, or a free slot for one.
#[derive(Debug)]
pub(super) struct Stream {
    is_used: bool,
    /// `None` while connecting.
    pub(super) connection: Option<Connection>,
    wanted: bool,
    is_reset: bool,
    peer_ended: bool,
    turn_request: TurnRequest,
    /// The client's request, once received.
    pub(super) request: Request,
    received: u64,
    /// Of the data received: `NEVER` before the first.
    began: Instant,
    last: Instant,
    /// Time of the last activity.
    last_activity: Instant,
    pub(super) peer: SocketAddr,
    data: Data,
}

impl Stream {
    /// A free slot. Zeros, which take no space in flash.
    pub(super) const FREE: Self = Self {
        is_used: false,
        connection: None,
        wanted: false,
        is_reset: false,
        peer_ended: false,
        peer: NOBODY,
        request: Request::NONE,
        received: 0,
        began: Instant::from_ns(0),
        last: Instant::from_ns(0),
        last_activity: Instant::from_ns(0),
        turn_request: TurnRequest::None,
        data: Data::Receives,
    };

    /// Begins a stream, which a client has opened or to which the server is to connect.
    pub(super) fn begin(
        &mut self,
        connection: Option<Connection>,
        peer: &SocketAddr,
        now: Instant,
    ) {
        *self = Self::FREE;
        self.is_used = true;
        self.connection = connection;
        self.peer = *peer;
        self.began = Instant::NEVER;
        self.last_activity = now;
        if connection.is_none() {
            self.wanted = true;
            self.data = Data::Connecting {
                retry: Instant::NEVER,
            };
        } else {
            self.data = Data::Head {
                octets: [0; Test::LEN],
                len: 0,
            };
        }
    }

    pub(super) fn free(&mut self) {
        self.is_used = false;
    }

    #[inline]
    pub(super) fn is_free(&self) -> bool {
        !self.is_used
    }

    pub(super) fn is_of(&self, connection: Connection) -> bool {
        self.is_used && self.connection == Some(connection)
    }

    /// Returns the address to connect to, once.
    pub(super) fn take_connect(&mut self) -> Option<SocketAddr> {
        core::mem::take(&mut self.wanted).then_some(self.peer)
    }

    /// A connection attempt failed; returns true if it will be repeated. iperf's client starts to listen only
    /// after its own data have gone, when the server may already be connecting.
    pub(super) fn refused(&mut self, now: Instant) -> bool {
        self.data = Data::Connecting {
            retry: now.after_ns(RETRY_AFTER_NS),
        };
        now.ns_since(self.last_activity) < CONNECT_TIMEOUT_NS
    }

    pub(super) fn connected(&mut self, connection: Connection, limits: &LimitsNs, now: Instant) {
        self.connection = Some(connection);
        self.last_activity = now;
        self.send(limits, now);
    }

    #[inline(never)]
    fn send(&mut self, limits: &LimitsNs, now: Instant) {
        self.data = Data::Sends(TcpSender::new(limits.apply(&self.request), now));
    }

    /// Returns true when the request is complete.
    pub(super) fn received(&mut self, octets: &[u8], limits: &LimitsNs, now: Instant) -> bool {
        if self.received == 0 {
            self.began = now;
        }
        self.last = now;
        // Data against the direction of the test do not count as activity.
        if !self.request.reverse {
            self.last_activity = now;
        }
        self.received += octets.len() as u64;
        for octet in octets {
            let Data::Head { octets: head, len } = &mut self.data else {
                return false;
            };
            if let Some(place) = head.get_mut(usize::from(*len)) {
                *place = *octet;
            }
            *len += 1;
            let len = usize::from(*len);
            if len < 4 {
                continue;
            }
            match Test::len(word_at(head, 0)) {
                Some(needed) if len < needed => {}
                needed => {
                    let request = needed.and_then(|needed| Request::parse(head.get(..needed)?));
                    self.data = Data::Receives;
                    if let Some(request) = request {
                        self.request = request;
                        if request.reverse || request.full_duplex {
                            self.send(limits, now);
                        }
                        return true;
                    }
                }
            }
        }
        false
    }

    pub(super) fn zeros(&mut self, most: usize, now: Instant) -> usize {
        let Data::Sends(sending) = &mut self.data else {
            return 0;
        };
        let len = sending.zeros(most, now);
        if len > 0 {
            self.last_activity = now;
        }
        len
    }

    /// The driver begins another turn.
    pub(super) fn turn(&mut self) {
        self.turn_request.turn();
        if let Data::Sends(sending) = &mut self.data {
            sending.turn();
        }
    }

    /// Handles timers.
    pub(super) fn step(&mut self, now: Instant) {
        if self.is_free() {
            return;
        }
        let mut changes = false;
        match &mut self.data {
            Data::Sends(sending) => changes = sending.step(now),
            Data::Connecting { retry } if now >= *retry => {
                *retry = Instant::NEVER;
                self.wanted = true;
            }
            _ => {}
        }
        if now >= self.deadline() {
            self.is_reset = true;
            changes = true;
        }
        self.turn_request.check(changes);
    }

    /// Time of the last activity, or when there is to be some: at a low rate, nothing may be due for long.
    fn idle_since(&self) -> Instant {
        match &self.data {
            Data::Sends(sending) if !sending.is_over() => {
                sending.pace_due().max(self.last_activity)
            }
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
        matches!(self.data, Data::Sends(_))
    }

    pub(super) fn close(&self) -> Close {
        let is_over = match &self.data {
            Data::Sends(sending) => sending.is_over(),
            _ => self.peer_ended,
        };
        if self.is_reset {
            Close::Reset
        } else if is_over {
            Close::Finish
        } else {
            Close::Keep
        }
    }

    pub(super) fn wake_at(&self) -> Instant {
        let first = self.deadline().earlier(self.turn_request.at());
        first.earlier(match &self.data {
            Data::Sends(sending) => sending.due(),
            Data::Connecting { retry } => *retry,
            _ => Instant::NEVER,
        })
    }

    /// Result of sending, or of receiving.
    pub(super) fn finished(&self, sent: bool, now: Instant) -> Record {
        let (octets, span_ns) = match &self.data {
            Data::Sends(sending) if sent => sending.sent(now),
            _ => (self.received, self.last.ns_since(self.began)),
        };
        Record {
            peer: self.peer,
            counters: Counters {
                octets,
                span_ns,
                ..Counters::default()
            },
            udp: false,
            sent,
            is_confirmed: !sent,
        }
    }
}
