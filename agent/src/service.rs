use core::net::SocketAddr;

use crate::Instant;

/// A TCP connection, numbered by the driver. It may reuse a number after [`Service::closed`] for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(pub u8);

/// A UDP socket, numbered by the service that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Udp(pub u8);

/// Request of a service to its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketRequest {
    /// Accept TCP connections on this port from now on.
    Listen(u16),
    /// Open a UDP socket on this port, or on a free one.
    Bind(Udp, Option<u16>),
    /// Close the UDP socket.
    Unbind(Udp),
    /// Connect to this address; [`Service::opened`] gives `token` back.
    Connect {
        /// Destination address.
        to: SocketAddr,
        /// Identifies the request in the service.
        token: u8,
    },
}

/// Origin of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// The peer connected to a port that the service listens on.
    Accepted {
        /// The port.
        port: u16,
        /// The peer.
        from: SocketAddr,
    },
    /// The service requested it.
    Connected {
        /// As in [`SocketRequest::Connect`].
        token: u8,
    },
}

/// The service has no capacity for a connection: reset it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// Action on a connection after the data from [`Service::fill`] have been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// Keep it open.
    Keep,
    /// Send FIN: the service has no more data; the peer may.
    Finish,
    /// Send RST: discard unsent data.
    Reset,
}

/// Progress of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<F> {
    /// Still running.
    Running,
    /// Complete: the outcome is final.
    Done,
    /// Failed: the outcome is partial.
    Failed(F),
}

/// A datagram to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Source socket.
    pub socket: Udp,
    /// Destination address.
    pub to: SocketAddr,
    /// Octets of payload, from the start of the given buffer.
    pub len: usize,
}

/// One end of a protocol, without its sockets.
///
/// The driver calls, in a loop: [`next_request`](Self::next_request) until it returns `None`; the callbacks
/// for received data; [`next_datagram`](Self::next_datagram) until it returns `None`; [`fill`](Self::fill)
/// for each connection with buffer space; [`close`](Self::close) for each connection. The order matters:
/// `next_datagram` also advances the service's time, even in a service without datagrams, and the
/// consequences are sent and closed in the same turn. Then the driver sleeps until something arrives or until
/// [`wake_at`](Self::wake_at). If `wake_at` has passed and nothing was received or sent, the service is
/// waiting for buffer space. No call blocks or allocates.
///
/// The defaults are for a protocol without the feature: no connections, no datagrams, no timers.
pub trait Service {
    /// Returns the service's next request to its driver.
    fn next_request(&mut self) -> Option<SocketRequest>;

    /// A connection was established.
    ///
    /// # Errors
    /// [`Refused`] if the service cannot serve it.
    fn opened(&mut self, _: Connection, _: Opened, _: Instant) -> Result<(), Refused> {
        Err(Refused)
    }

    /// A connection requested with this token could not be established.
    fn failed(&mut self, _token: u8, _: Instant) {}

    /// Octets arrived, in order; how they are split is irrelevant. All of them are consumed.
    fn received(&mut self, _: Connection, _octets: &[u8], _: Instant) {}

    /// Number of zero octets to send now, `most` at most. They count as sent: a driver that has zeros at hand need not
    /// have them written by [`fill`](Self::fill). 0: there may be other data, which `fill` writes.
    fn zeros(&mut self, _: Connection, _most: usize, _: Instant) -> usize {
        0
    }

    /// Writes data to send to the start of `buffer` and returns their length: 0 = nothing now.
    fn fill(&mut self, _: Connection, _room: &mut [u8], _: Instant) -> usize {
        0
    }

    /// The peer has no more data to send (FIN).
    fn ended(&mut self, _: Connection, _: Instant) {}

    /// The connection is gone, for whatever reason.
    fn closed(&mut self, _: Connection, _: Instant) {}

    /// Action on the connection.
    fn close(&self, _: Connection) -> Close {
        Close::Reset
    }

    /// A datagram arrived.
    fn datagram(&mut self, _: Udp, _from: SocketAddr, _octets: &[u8], _: Instant) {}

    /// Writes the next due datagram to the start of `buffer`. If `buffer` is too small, the datagram is truncated
    /// where the protocol allows it.
    fn next_datagram(&mut self, _room: &mut [u8], _: Instant) -> Option<Datagram> {
        None
    }

    /// Time at which the service must run without any event: to send a datagram that is due then, or to time
    /// out.
    fn wake_at(&self) -> Option<Instant> {
        None
    }
}
