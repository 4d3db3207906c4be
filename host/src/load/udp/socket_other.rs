//! Portable UDP sockets.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

/// Maximum datagram size.
const MAX_MESSAGE: usize = 65_536;

/// Sending socket.
pub struct SendSocket {
    socket: UdpSocket,
}

impl SendSocket {
    pub const SEGMENTS: [usize; 0] = [];

    pub fn connect(target: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = if target.is_ipv4() {
            ([0, 0, 0, 0], 0).into()
        } else {
            ([0; 16], 0).into()
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(target)?;
        Ok(Self { socket })
    }

    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    #[expect(clippy::unused_self, reason = "on Linux it depends on the socket")]
    pub fn set_segment(&self, _octets: usize) -> Result<(), String> {
        Err("segmentation is not implemented on this system".to_owned())
    }

    #[expect(clippy::unused_self, reason = "on Linux it depends on the socket")]
    pub const fn batch_method(&self) -> &'static str {
        "one datagram at a time"
    }

    pub fn send(&self, octets: &[u8]) -> io::Result<()> {
        self.socket.send(octets).map(drop)
    }

    /// Sends `octets` as datagrams of `each`; returns their number.
    pub fn send_many(&self, octets: &[u8], each: usize) -> io::Result<usize> {
        for (sent, datagram) in octets.chunks(each).enumerate() {
            if let Err(error) = self.send(datagram) {
                return if sent > 0 { Ok(sent) } else { Err(error) };
            }
        }
        Ok(octets.len() / each)
    }
}

/// Received message.
pub struct Message<'a> {
    pub octets: &'a [u8],
    pub each: usize,
    pub at_ns: Option<u64>,
}

/// Receiving socket.
pub struct ReceiveSocket {
    socket: UdpSocket,
    octets: Vec<u8>,
    waits: bool,
    pub overflows: u32,
}

impl ReceiveSocket {
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            socket: UdpSocket::bind(address)?,
            octets: vec![0; MAX_MESSAGE],
            waits: true,
            overflows: 0,
        })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    pub fn set_buffer(&self, octets: usize) -> usize {
        let socket = socket2::SockRef::from(&self.socket);
        let _ = socket.set_recv_buffer_size(octets);
        socket.recv_buffer_size().unwrap_or(0)
    }

    #[expect(clippy::unused_self, reason = "on Linux it changes the socket")]
    pub fn enable_coalescing(&mut self) -> Result<(), String> {
        Err("coalescing is not implemented on this system".to_owned())
    }

    #[expect(clippy::unused_self, reason = "on Linux it changes the socket")]
    pub fn enable_timestamps(&mut self) -> Result<(), String> {
        Err("timestamps are not implemented on this system".to_owned())
    }

    pub fn set_timeout(&self, max_wait: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(max_wait))
    }

    pub fn receive(&mut self, wait: bool, mut take: impl FnMut(Message<'_>)) -> io::Result<usize> {
        if wait != self.waits {
            self.socket.set_nonblocking(!wait)?;
            self.waits = wait;
        }
        match self.socket.recv(&mut self.octets) {
            Ok(len) => {
                take(Message {
                    octets: &self.octets[..len],
                    each: len,
                    at_ns: None,
                });
                Ok(1)
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::WouldBlock
                        | io::ErrorKind::TimedOut
                        | io::ErrorKind::Interrupted
                        | io::ErrorKind::ConnectionReset
                ) =>
            {
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }
}
