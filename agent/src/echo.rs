//! UDP echo (RFC 862).

use core::net::SocketAddr;

use crate::answer::may_answer;
use crate::queue::Ring;
use crate::{Datagram, Instant, Service, SocketRequest, Udp};

/// The port of echo.
pub const PORT: u16 = 7;
const SOCKET: Udp = Udp(0);

/// Counters of received datagrams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Datagrams that were sent back.
    pub answered: u64,
    /// Datagrams from sources that may not be answered: a multicast or broadcast address, or a service port.
    pub forbidden: u64,
    /// Datagrams longer than the buffers.
    pub too_long: u64,
    /// Datagrams that arrived while all buffers were waiting to be sent back.
    pub overrun: u64,
}

#[derive(Debug, Clone, Copy)]
struct Waiting<const OCTETS: usize> {
    to: SocketAddr,
    octets: [u8; OCTETS],
    len: usize,
}

/// Sends received datagrams back unchanged.
///
/// RFC 862 echoes everything. Two such services pointed at each other by one forged datagram would never
/// stop, so this one answers only ports above its own and none below 1024: neither two of them nor one and an
/// ordinary echo service form a loop. It buffers `WAITING` datagrams of `OCTETS` per round of the driver.
#[derive(Debug)]
pub struct Echo<const WAITING: usize, const OCTETS: usize> {
    port: u16,
    is_bound: bool,
    waiting: Ring<Waiting<OCTETS>, WAITING>,
    counts: Counts,
}

impl<const WAITING: usize, const OCTETS: usize> Echo<WAITING, OCTETS> {
    /// Creates an echo on this port, which must be below those of its clients.
    #[must_use]
    pub const fn new(port: u16) -> Self {
        Self {
            port,
            is_bound: false,
            waiting: Ring::new(),
            counts: Counts {
                answered: 0,
                forbidden: 0,
                too_long: 0,
                overrun: 0,
            },
        }
    }

    /// Counters so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }
}

impl<const WAITING: usize, const OCTETS: usize> Service for Echo<WAITING, OCTETS> {
    fn next_request(&mut self) -> Option<SocketRequest> {
        let bound = core::mem::replace(&mut self.is_bound, true);
        (!bound).then_some(SocketRequest::Bind(SOCKET, Some(self.port)))
    }

    fn datagram(&mut self, _: Udp, from: SocketAddr, octets: &[u8], _: Instant) {
        if !may_answer(&from, self.port) {
            self.counts.forbidden += 1;
        } else if octets.len() > OCTETS {
            self.counts.too_long += 1;
        } else if let Some(free) = self.waiting.free() {
            let mut copy = [0; OCTETS];
            copy[..octets.len()].copy_from_slice(octets);
            *free = Some(Waiting {
                to: from,
                octets: copy,
                len: octets.len(),
            });
        } else {
            self.counts.overrun += 1;
        }
    }

    fn next_datagram(&mut self, buffer: &mut [u8], _: Instant) -> Option<Datagram> {
        let waiting = self.waiting.first()?;
        let (to, len) = (waiting.to, waiting.len);
        // A truncated echo is wrong: with too little buffer space it waits.
        buffer
            .get_mut(..len)?
            .copy_from_slice(&waiting.octets[..len]);
        self.waiting.remove_first();
        self.counts.answered += 1;
        Some(Datagram {
            socket: SOCKET,
            to,
            len,
        })
    }
}
