//! The client: one request, and the check of the response.

use core::fmt::Write as _;

use smoltcp::{
    iface::SocketHandle,
    socket::tcp,
    time::{Duration, Instant},
};

use super::{Head, Writer, body::Body};
use crate::{
    config,
    net::{self, Network},
};

/// Timeout of a request without a byte received: longer than any retransmission's delay.
pub(super) const STALLED: Duration = Duration::from_secs(130);
/// Maximum wait for the peer to close its side.
const CLOSING: Duration = Duration::from_secs(1);

/// Reason for a failed request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The connection could not be established.
    Refused,
    /// Nothing came for a long time.
    Stalled,
    /// The response is not HTTP/1.1, or its status is not 200.
    Protocol,
    /// The connection ended before the response did.
    Incomplete,
}

/// Result of one step of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step<T> {
    /// It is over.
    Done(T),
    /// Something happened.
    Busy,
    /// Nothing happened.
    Idle,
}

/// Result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fetched {
    /// Bytes of the body.
    pub body: u64,
    /// The body's CRC-32 (IEEE 802.3 polynomial).
    pub crc: u32,
    /// From the first attempt to connect to the last byte.
    pub took: Duration,
}

/// A response as it arrives.
struct Response {
    head: Head,
    head_complete: bool,
    expected: Option<u64>,
    body: Body,
}

impl Response {
    fn new(port: u16) -> Self {
        Self {
            head: Head::new(),
            head_complete: false,
            expected: None,
            body: Body::new(port),
        }
    }

    fn take(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        if !self.head_complete {
            let (used, complete) = self.head.push(bytes).map_err(|_| Failure::Protocol)?;
            if complete {
                let (status, length) = self.head.response().map_err(|_| Failure::Protocol)?;
                if status != 200 {
                    return Err(Failure::Protocol);
                }
                self.head_complete = true;
                self.expected = length;
            }
            self.body.skip(used);
            bytes = &bytes[used..];
        }
        self.body.read(bytes);
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.head_complete && self.expected == Some(self.body.len())
    }
}

/// A download in progress.
pub struct Download {
    handle: SocketHandle,
    bytes: u64,
    response: Response,
    requested: bool,
    start: Instant,
    last_received: Instant,
}

impl Download {
    /// Connects, to request the first `bytes` bytes of the pattern from the peer.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the socket is in use.
    pub fn start(network: &mut Network, handle: SocketHandle, bytes: u64) -> Result<Self, Failure> {
        let start = net::now();
        let port = connect(network, handle)?;
        Ok(Self {
            handle,
            bytes,
            response: Response::new(port),
            requested: false,
            start,
            last_received: start,
        })
    }

    /// Processes received data: call it between [`Network::take`] and [`Network::give`].
    ///
    /// # Errors
    /// The reason for the failure. The connection may still be open: [`close`] it in any case.
    pub fn step(&mut self, network: &mut Network) -> Result<Step<Fetched>, Failure> {
        let socket = network.sockets.get_mut::<tcp::Socket>(self.handle);
        let response = &mut self.response;
        let mut step = Step::Idle;
        if !self.requested && socket.may_send() {
            request(socket, self.bytes);
            self.requested = true;
            step = Step::Busy;
        }
        if socket.can_recv() {
            self.last_received = net::now();
            step = Step::Busy;
            // Repeated, as the buffer may wrap.
            while socket.can_recv() {
                socket
                    .recv(|data| (data.len(), response.take(data)))
                    .map_err(|_| Failure::Incomplete)??;
            }
        } else if !socket.is_open() {
            return Err(if self.requested {
                Failure::Incomplete
            } else {
                Failure::Refused
            });
        } else if self.requested && !socket.may_recv() {
            // Closed in order: complete if its length was not announced.
            if response.expected.is_some() || !response.head_complete {
                return Err(Failure::Incomplete);
            }
            return Ok(Step::Done(self.fetched()));
        } else if net::now() > self.last_received + STALLED {
            return Err(Failure::Stalled);
        }
        if self.response.is_complete() {
            return Ok(Step::Done(self.fetched()));
        }
        Ok(step)
    }

    /// [`Network::take`]; also records the body's segments if the stage supports it.
    pub fn receive(&mut self, network: &mut Network) {
        if cfg!(feature = "line-rate") && const { !config::Without::Digest.is_set() } {
            network.take_with(|frame| {
                self.response.body.on_frame(frame);
                false
            });
        } else {
            network.take();
        }
    }

    fn fetched(&self) -> Fetched {
        Fetched {
            body: self.response.body.len(),
            crc: self.response.body.crc(),
            took: net::now() - self.start,
        }
    }
}

/// Requests the first `bytes` bytes of the pattern from the peer.
///
/// # Errors
/// The reason for the failure. The connection may still be open: [`close`] it in any case.
#[inline(never)]
pub fn get(network: &mut Network, handle: SocketHandle, bytes: u64) -> Result<Fetched, Failure> {
    let mut download = Download::start(network, handle, bytes)?;
    loop {
        download.receive(network);
        match download.step(network)? {
            Step::Done(fetched) => return Ok(fetched),
            Step::Busy => network.give(),
            Step::Idle => {
                network.give();
                network.idle();
            }
        }
    }
}

/// Connects a socket to the peer's server; returns the local port.
pub(super) fn connect(network: &mut Network, handle: SocketHandle) -> Result<u16, Failure> {
    let local_port = network.local_port();
    network
        .sockets
        .get_mut::<tcp::Socket>(handle)
        .connect(
            network.iface.context(),
            (config::peer(), config::HTTP_PORT),
            local_port,
        )
        .map_err(|_| Failure::Refused)?;
    Ok(local_port)
}

fn request(socket: &mut tcp::Socket, bytes: u64) {
    // It fits the transmit buffer, which is empty.
    let _ = write!(
        Writer(socket),
        "GET /{bytes} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
        config::peer()
    );
}

/// Ends the connection: the peer closes first, as requested; otherwise this side does.
pub fn close(network: &mut Network, handle: SocketHandle) {
    let deadline = net::now() + CLOSING;
    let mut closed = false;
    loop {
        network.poll();
        let socket = network.sockets.get_mut::<tcp::Socket>(handle);
        let late = net::now() > deadline;
        if !socket.is_open() {
            return;
        } else if !closed && (late || !socket.may_recv()) {
            socket.close();
            closed = true;
        } else if socket.state() == tcp::State::TimeWait || net::now() > deadline + CLOSING {
            socket.abort();
        } else {
            network.idle();
        }
    }
}
