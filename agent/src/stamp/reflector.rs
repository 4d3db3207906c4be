//! The session reflector.

use core::net::SocketAddr;

use super::packet::{LEN, number_and_session, put_sent, reflect};
use super::time::Clock;
use crate::answer::{may_answer, same_endpoint};
use crate::octets::{copy, start};
use crate::queue::Ring;
use crate::share::{Occupant, Standing, slot_for};
use crate::{Datagram, Instant, MS, SECOND, Service, SocketRequest, Udp};

/// A session idle for this long is over.
const IDLE_TIMEOUT_NS: u64 = 30 * SECOND;
/// A session idle for this long may be replaced if its slot is needed; one of a single packet, sooner.
const REPLACEABLE_AFTER_NS: u64 = 3 * SECOND;
const SINGLE_REPLACEABLE_AFTER_NS: u64 = 250 * MS;
/// TTL field value if the TTL is unknown (RFC 5357 section 4.2).
const TTL_UNKNOWN: u8 = 255;
const SOCKET: Udp = Udp(0);

/// State of a sender's session in a stateful reflector.
#[derive(Debug, Clone, Copy)]
struct Session {
    from: SocketAddr,
    /// RFC 8972 section 3.
    identifier: u16,
    next: u32,
    last_received: Instant,
}

/// A reflection waiting to be sent.
#[derive(Debug, Clone, Copy)]
struct Waiting<const OCTETS: usize> {
    to: SocketAddr,
    /// The packet without its send time.
    octets: [u8; OCTETS],
    len: usize,
}

/// Counters of received packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Packets answered.
    pub answered: u64,
    /// Packets that are not a sender's: too short, or a reflection.
    pub foreign: u64,
    /// Packets from sources that may not be answered: a multicast or broadcast address, or a service port.
    pub forbidden: u64,
    /// Packets of a session beyond the table.
    pub no_session: u64,
    /// Packets that arrived while all buffers were waiting to be answered.
    pub overrun: u64,
}

/// Reflects senders' packets.
///
/// With `SESSIONS` it is stateful: it numbers the reflections of each session, so that the sender can
/// determine the direction of a loss. With 0 it is stateless and returns the sender's numbers. If the table is
/// full, a new session replaces an idle one, or one of a host with at least two more than its own. Otherwise it
/// gets no answers, rather than ambiguous numbers.
///
/// It accepts `WAITING` packets per round of the driver. A reflection is as long as its probe, and `OCTETS`
/// at most, 44 at least; packets below 44 octets (possible in TWAMP Light) are not answered, as the answer
/// would be longer. Each packet costs one search through the sessions.
#[derive(Debug)]
pub struct Reflector<const SESSIONS: usize, const WAITING: usize, const OCTETS: usize = LEN> {
    port: u16,
    clock: Clock,
    is_bound: bool,
    sessions: [Option<Session>; SESSIONS],
    waiting: Ring<Waiting<OCTETS>, WAITING>,
    counts: Counts,
}

impl<const SESSIONS: usize, const WAITING: usize, const OCTETS: usize>
    Reflector<SESSIONS, WAITING, OCTETS>
{
    /// Creates a reflector on this port, which must be below those of its senders.
    #[must_use]
    pub const fn new(port: u16, clock: Clock) -> Self {
        assert!(OCTETS >= LEN);
        Self {
            port,
            clock,
            is_bound: false,
            sessions: [None; SESSIONS],
            waiting: Ring::new(),
            counts: Counts {
                answered: 0,
                foreign: 0,
                forbidden: 0,
                no_session: 0,
                overrun: 0,
            },
        }
    }

    /// Counters so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Handles a packet with this TTL or hop limit: instead of [`Service::datagram`] where the driver knows
    /// it.
    pub fn datagram_with_ttl(&mut self, from: SocketAddr, octets: &[u8], ttl: u8, now: Instant) {
        let Some((number, session)) = number_and_session(octets) else {
            self.counts.foreign += 1;
            return;
        };
        if !may_answer(&from, self.port) {
            self.counts.forbidden += 1;
            return;
        }
        let Some(free) = self.waiting.free() else {
            self.counts.overrun += 1;
            return;
        };
        let number = match SESSIONS {
            0 => Some(number),
            _ => next_number(&mut self.sessions, &from, session, now),
        };
        let Some(number) = number else {
            self.counts.no_session += 1;
            return;
        };
        let len = octets.len().min(OCTETS);
        let waiting = free.insert(Waiting {
            to: from,
            octets: [0; OCTETS],
            len,
        });
        copy(&mut waiting.octets, octets);
        if let Some(packet) = waiting.octets.first_chunk_mut() {
            let error = self.clock.error().to_bits();
            reflect(packet, number, error, self.clock.stamp(now), ttl);
        }
    }
}

/// Returns the next number of this session; creates the session if necessary.
fn next_number(
    sessions: &mut [Option<Session>],
    from: &SocketAddr,
    identifier: u16,
    now: Instant,
) -> Option<u32> {
    let is_it = |it: &Session| it.identifier == identifier && same_endpoint(&it.from, from);
    let is_over = |it: &Session| now.ns_since(it.last_received) >= IDLE_TIMEOUT_NS;
    let known = |slot: &Option<Session>| slot.as_ref().is_some_and(|it| is_it(it) && !is_over(it));
    let at = if let Some(at) = sessions.iter().position(known) {
        at
    } else {
        let occupant = |at: usize| {
            let it = sessions.get(at)?.as_ref()?;
            let patience = match it.next {
                1 => SINGLE_REPLACEABLE_AFTER_NS,
                _ => REPLACEABLE_AFTER_NS,
            };
            Some(Occupant {
                peer: &it.from,
                last_received: it.last_received,
                standing: if now.ns_since(it.last_received) >= patience {
                    Standing::Idle
                } else {
                    Standing::Active
                },
            })
        };
        let at = slot_for(sessions.len(), from, &occupant)?;
        *sessions.get_mut(at)? = Some(Session {
            from: *from,
            identifier,
            next: 0,
            last_received: now,
        });
        at
    };
    let session = sessions.get_mut(at)?.as_mut()?;
    let next = session.next;
    session.next = next.wrapping_add(1);
    session.last_received = now;
    Some(next)
}

impl<const SESSIONS: usize, const WAITING: usize, const OCTETS: usize> Service
    for Reflector<SESSIONS, WAITING, OCTETS>
{
    fn next_request(&mut self) -> Option<SocketRequest> {
        let bound = core::mem::replace(&mut self.is_bound, true);
        (!bound).then_some(SocketRequest::Bind(SOCKET, Some(self.port)))
    }

    fn datagram(&mut self, _: Udp, from: SocketAddr, octets: &[u8], now: Instant) {
        self.datagram_with_ttl(from, octets, TTL_UNKNOWN, now);
    }

    fn next_datagram(&mut self, buffer: &mut [u8], now: Instant) -> Option<Datagram> {
        if buffer.len() < LEN {
            return None;
        }
        let waiting = self.waiting.first()?;
        let (to, len) = (waiting.to, waiting.len.min(buffer.len()));
        copy(start(buffer, len), &waiting.octets);
        put_sent(buffer, self.clock.stamp(now));
        self.waiting.remove_first();
        self.counts.answered += 1;
        Some(Datagram {
            socket: SOCKET,
            to,
            len,
        })
    }
}
