//! An upload to the peer's server: `PUT /N` with N bytes of the pattern.

use core::fmt::Write as _;

use linerate_ether::{
    fcs::{Crc32, SLICING_8, Tables},
    pattern,
};
use smoltcp::{iface::SocketHandle, socket::tcp, time::Instant};

use super::{
    Failure, Fetched, Head, Step, Writer,
    client::{STALLED, connect},
};
use crate::{
    config,
    net::{self, Network},
};

/// The peer's status for a correct upload.
const NO_CONTENT: u16 = 204;

/// An upload in progress.
pub struct Upload {
    handle: SocketHandle,
    bytes: u64,
    sent: u64,
    crc: Crc32<'static, Tables<8>>,
    head: Head,
    announced: bool,
    start: Instant,
    progress_at: Instant,
}

impl Upload {
    /// Connects, to send the first `bytes` bytes of the pattern to the peer.
    ///
    /// # Errors
    /// [`Failure::Refused`] if the socket is in use.
    pub fn start(network: &mut Network, handle: SocketHandle, bytes: u64) -> Result<Self, Failure> {
        let start = net::now();
        connect(network, handle)?;
        Ok(Self {
            handle,
            bytes,
            sent: 0,
            crc: Crc32::with(&SLICING_8),
            head: Head::new(),
            announced: false,
            start,
            progress_at: start,
        })
    }

    /// Writes as much to the socket as it has space for: call it between [`Network::take`] and
    /// [`Network::give`].
    ///
    /// # Errors
    /// The reason for the failure; [`Failure::Protocol`] also if the peer received wrong bytes. The
    /// connection may still be open: [`close`](super::close) it in any case.
    pub fn step(&mut self, network: &mut Network) -> Result<Step<Fetched>, Failure> {
        let socket = network.sockets.get_mut::<tcp::Socket>(self.handle);
        let mut step = Step::Idle;
        if !self.announced && socket.may_send() {
            announce(socket, self.bytes);
            self.announced = true;
        }
        if self.announced {
            while self.sent < self.bytes && socket.can_send() {
                let sent = self.sent;
                let crc = &mut self.crc;
                let rest = self.bytes - sent;
                self.sent += socket
                    .send(|room| {
                        let count = rest.min(room.len() as u64) as usize;
                        pattern::fill(sent, &mut room[..count]);
                        crc.update(&room[..count]);
                        (count, count as u64)
                    })
                    .map_err(|_| Failure::Incomplete)?;
                step = Step::Busy;
            }
        }
        if socket.can_recv() {
            let head = &mut self.head;
            let complete = socket
                .recv(|data| match head.push(data) {
                    Ok((used, complete)) => (used, Ok(complete)),
                    Err(_) => (data.len(), Err(Failure::Protocol)),
                })
                .map_err(|_| Failure::Incomplete)??;
            if complete {
                return self.answered();
            }
            step = Step::Busy;
        } else if !socket.is_open() || self.announced && !socket.may_recv() {
            return Err(if self.announced {
                Failure::Incomplete
            } else {
                Failure::Refused
            });
        }
        if step == Step::Busy {
            self.progress_at = net::now();
        } else if net::now() > self.progress_at + STALLED {
            return Err(Failure::Stalled);
        }
        Ok(step)
    }

    fn answered(&self) -> Result<Step<Fetched>, Failure> {
        match self.head.response() {
            Ok((NO_CONTENT, _)) if self.sent == self.bytes => Ok(Step::Done(Fetched {
                body: self.sent,
                crc: self.crc.finish(),
                took: net::now() - self.start,
            })),
            _ => Err(Failure::Protocol),
        }
    }
}

/// Sends the first `bytes` bytes of the pattern to the peer.
///
/// # Errors
/// As [`Upload::step`].
#[inline(never)]
pub fn put(network: &mut Network, handle: SocketHandle, bytes: u64) -> Result<Fetched, Failure> {
    let mut upload = Upload::start(network, handle, bytes)?;
    loop {
        network.take();
        match upload.step(network)? {
            Step::Done(sent) => return Ok(sent),
            Step::Busy => network.give(),
            Step::Idle => {
                network.give();
                network.idle();
            }
        }
    }
}

fn announce(socket: &mut tcp::Socket, bytes: u64) {
    // It fits the transmit buffer, which is empty.
    let _ = write!(
        Writer(socket),
        "PUT /{bytes} HTTP/1.1\r\nHost: {}\r\nContent-Length: {bytes}\r\n\
         Connection: close\r\n\r\n",
        config::peer()
    );
}
