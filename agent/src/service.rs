use core::net::SocketAddr;

use crate::Instant;

/// A TCP connection. The driver numbers them as it likes, and may use a number again when
/// [`Service::closed`] has been called for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(pub u8);

/// A UDP socket, numbered by the service that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Udp(pub u8);

/// What a service wants of its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// Accept TCP connections on this port from now on.
    Listen(u16),
    /// Open a UDP socket, on this port or on one that is free.
    Bind(Udp, Option<u16>),
    /// The UDP socket is of no more use.
    Unbind(Udp),
    /// Connect to this address; [`Service::opened`] gives `token` back.
    Connect {
        /// Where to.
        to: SocketAddr,
        /// Says to the service which of its requests has come true.
        token: u8,
    },
}

/// How a connection came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// The peer connected to a port that the service listens on.
    Accepted {
        /// The port.
        port: u16,
        /// The peer.
        from: SocketAddr,
    },
    /// The service asked for it.
    Connected {
        /// As in [`Ask::Connect`].
        token: u8,
    },
}

/// The service has no room for a connection: it is to be reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// What should become of a connection, once what [`Service::fill`] gave has been sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Close {
    /// It stays.
    Keep,
    /// The service has no more to send (FIN); the peer may.
    Finish,
    /// It is over at once (RST): what was not sent is of no use any more.
    Reset,
}

/// How far a client is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress<F> {
    /// It is at it.
    Running,
    /// The outcome is complete.
    Done,
    /// It ended before; the outcome has what there is.
    Failed(F),
}

/// A datagram to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// From which socket.
    pub socket: Udp,
    /// Where to.
    pub to: SocketAddr,
    /// Octets of payload, from the start of the room that was given.
    pub len: usize,
}

/// A protocol's end without its sockets.
///
/// The driver calls, in a loop: [`ask`](Self::ask) until there is nothing to be asked for; what has come
/// in; [`next_datagram`](Self::next_datagram) until there is none; [`fill`](Self::fill) for each connection
/// that has room; [`close`](Self::close) for each connection. In this order: with `next_datagram` a service
/// sees that time has passed, one without datagrams, too, and what follows from that is sent and closed at
/// once. Then the driver sleeps until something comes in or [`wake_at`](Self::wake_at); where that has passed
/// and nothing came or went any more, what is due waits for room. No call waits, and none needs memory that
/// the service has not.
///
/// What a protocol does without is left out: by default there are no connections, no datagrams and
/// nothing to wake for.
pub trait Service {
    /// What the service wants of its driver next.
    fn ask(&mut self) -> Option<Ask>;

    /// A connection exists.
    ///
    /// # Errors
    /// The service can't serve it.
    fn opened(&mut self, _: Connection, _: Opened, _: Instant) -> Result<(), Refused> {
        Err(Refused)
    }

    /// A connection that was asked for with this token can't be had.
    fn failed(&mut self, _token: u8, _: Instant) {}

    /// Octets came, in order; how they were split means nothing. All of them are taken.
    fn received(&mut self, _: Connection, _octets: &[u8], _: Instant) {}

    /// Writes what is to be sent to the start of `room` and says how much: 0 = nothing now.
    fn fill(&mut self, _: Connection, _room: &mut [u8], _: Instant) -> usize {
        0
    }

    /// The peer has no more to send (FIN).
    fn ended(&mut self, _: Connection, _: Instant) {}

    /// The connection is gone, however.
    fn closed(&mut self, _: Connection, _: Instant) {}

    /// What should become of the connection.
    fn close(&self, _: Connection) -> Close {
        Close::Reset
    }

    /// A datagram came.
    fn datagram(&mut self, _: Udp, _from: SocketAddr, _octets: &[u8], _: Instant) {}

    /// Writes the next datagram that is due to the start of `room`. With less room than a datagram
    /// takes, the datagram is shortened where the protocol allows it.
    fn next_datagram(&mut self, _room: &mut [u8], _: Instant) -> Option<Datagram> {
        None
    }

    /// When the service has something to do without being told anything: to send a datagram that is
    /// not due before, or to give up waiting.
    fn wake_at(&self) -> Option<Instant> {
        None
    }
}
