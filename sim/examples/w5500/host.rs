//! The programs of the host.

use core::net::{Ipv4Addr, SocketAddr};

use linerate_agent::{
    Close, Connection, Datagram, Instant, Opened, Refused, Service, SocketRequest, Udp,
};
use linerate_sim::peer::host::program::Program;

/// Address of the device.
const DEVICE: Ipv4Addr = Ipv4Addr::new(169, 254, 10, 2);

/// A TCP connection to `port`, on which it sends as much as it can or nothing.
#[derive(Debug)]
pub struct Stream {
    port: u16,
    sends: bool,
    asked: bool,
    /// Octets that arrived.
    pub received: u64,
}

impl Stream {
    pub const fn new(port: u16, sends: bool) -> Self {
        Self {
            port,
            sends,
            asked: false,
            received: 0,
        }
    }
}

impl Service for Stream {
    fn next_request(&mut self) -> Option<SocketRequest> {
        let first = !std::mem::replace(&mut self.asked, true);
        first.then(|| SocketRequest::Connect {
            to: SocketAddr::from((DEVICE, self.port)),
            token: 0,
        })
    }

    fn opened(&mut self, _: Connection, _: Opened, _: Instant) -> Result<(), Refused> {
        Ok(())
    }

    fn failed(&mut self, _: u8, _: Instant) {
        self.asked = false;
    }

    fn received(&mut self, _: Connection, octets: &[u8], _: Instant) {
        self.received += octets.len() as u64;
    }

    fn fill(&mut self, _: Connection, room: &mut [u8], _: Instant) -> usize {
        if !self.sends {
            return 0;
        }
        room.fill(0);
        room.len()
    }

    fn close(&self, _: Connection) -> Close {
        Close::Keep
    }
}

impl Program for Stream {
    fn poll_finished(&mut self, _: Instant) -> bool {
        false
    }
}

/// Datagrams to `port`: one asks for `count` of `octets`, or each is sent when its echo has arrived.
#[derive(Debug)]
pub struct Datagrams {
    port: u16,
    octets: usize,
    /// Number of datagrams to ask for, or the number in the next one that is echoed.
    count: u16,
    bound: bool,
    sent_at: Option<Instant>,
    due: bool,
    /// Times of arrival.
    pub arrived: Vec<Instant>,
    /// Times from a datagram to its echo.
    pub round_trips: Vec<core::time::Duration>,
}

/// Port of the echo service.
const ECHO: u16 = 7;
const PORT: u16 = 4_000;
/// Time without an echo after which another one is sent.
const TIMEOUT: core::time::Duration = core::time::Duration::from_millis(50);

impl Datagrams {
    /// Asks for `count` datagrams.
    pub const fn ask(octets: usize, count: u16) -> Self {
        Self::new(19, octets, count)
    }

    /// Sends datagrams that are echoed.
    pub const fn echo(octets: usize) -> Self {
        Self::new(ECHO, octets, 0)
    }

    const fn new(port: u16, octets: usize, count: u16) -> Self {
        Self {
            port,
            octets,
            count,
            bound: false,
            sent_at: None,
            due: true,
            arrived: Vec::new(),
            round_trips: Vec::new(),
        }
    }
}

impl Service for Datagrams {
    fn next_request(&mut self) -> Option<SocketRequest> {
        let first = !std::mem::replace(&mut self.bound, true);
        first.then_some(SocketRequest::Bind(Udp(0), Some(PORT)))
    }

    fn datagram(&mut self, _: Udp, _: SocketAddr, octets: &[u8], now: Instant) {
        self.arrived.push(now);
        // Not one that was sent again, nor one that an earlier program asked for.
        let is_last = octets.get(2..4) == Some(&self.count.to_be_bytes());
        if self.port == ECHO
            && is_last
            && octets.len() == self.octets
            && let Some(sent_at) = self.sent_at.take()
        {
            self.count = self.count.wrapping_add(1);
            self.round_trips.push(now.since(sent_at));
            self.due = true;
        }
    }

    fn next_datagram(&mut self, room: &mut [u8], now: Instant) -> Option<Datagram> {
        let is_late = self.sent_at.is_some_and(|at| now.since(at) >= TIMEOUT);
        let is_due = self.due || is_late && self.arrived.is_empty();
        if !is_due {
            return None;
        }
        self.due = false;
        self.sent_at = Some(now);
        let len = if self.port == ECHO { self.octets } else { 4 };
        room[..len].fill(0);
        room[..2].copy_from_slice(&(self.octets as u16).to_be_bytes());
        room[2..4].copy_from_slice(&self.count.to_be_bytes());
        Some(Datagram {
            socket: Udp(0),
            to: SocketAddr::from((DEVICE, self.port)),
            len,
        })
    }

    fn wake_at(&self) -> Option<Instant> {
        self.sent_at
            .filter(|_| self.arrived.is_empty())
            .map(|at| at.after(TIMEOUT))
    }
}

impl Program for Datagrams {
    fn poll_finished(&mut self, _: Instant) -> bool {
        false
    }
}
