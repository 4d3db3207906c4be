//! UDP sockets with Linux extensions.

use std::io::{self, IoSlice, IoSliceMut};
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

use nix::cmsg_space;
use nix::sys::socket::{
    ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrStorage, recvmmsg, recvmsg, sendmmsg,
    setsockopt, sockopt,
};
use nix::sys::time::TimeSpec;

/// Requested send buffer, octets.
const SEND_BUFFER: usize = 4 << 20;
/// Datagrams per system call without coalescing.
const BATCH: usize = 64;
/// Maximum message size, coalesced or not.
const MAX_MESSAGE: usize = 65_536;

/// Sending socket.
pub struct SendSocket {
    socket: UdpSocket,
}

impl SendSocket {
    pub fn connect(target: SocketAddr) -> io::Result<Self> {
        let any: SocketAddr = if target.is_ipv4() {
            ([0, 0, 0, 0], 0).into()
        } else {
            ([0; 16], 0).into()
        };
        let socket = UdpSocket::bind(any)?;
        socket.connect(target)?;
        if setsockopt(&socket, sockopt::SndBufForce, &SEND_BUFFER).is_err() {
            let _ = setsockopt(&socket, sockopt::SndBuf, &SEND_BUFFER);
        }
        Ok(Self { socket })
    }

    pub fn local_addr(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    /// Maximum datagrams in a super-packet: of newer kernels, and of older ones (`UDP_MAX_SEGMENTS`).
    pub const SEGMENTS: [usize; 2] = [128, 64];

    /// Segments later sends into datagrams of `octets`; 0 disables segmentation.
    pub fn set_segment(&self, octets: usize) -> Result<(), String> {
        setsockopt(&self.socket, sockopt::UdpGsoSegment, &(octets as i32))
            .map_err(|error| format!("the system does not segment ({error})"))
    }

    /// Method of sending without segmentation.
    #[expect(clippy::unused_self, reason = "elsewhere it depends on the socket")]
    pub const fn batch_method(&self) -> &'static str {
        "batches of 64 datagrams (sendmmsg)"
    }

    /// Sends `octets` as one datagram, or segmented.
    pub fn send(&self, octets: &[u8]) -> io::Result<()> {
        self.socket.send(octets).map(drop)
    }

    /// Sends `octets` as datagrams of `each`; returns their number.
    pub fn send_many(&self, octets: &[u8], each: usize) -> io::Result<usize> {
        let slices: Vec<[IoSlice<'_>; 1]> =
            octets.chunks(each).map(|it| [IoSlice::new(it)]).collect();
        let to: Vec<Option<SockaddrStorage>> = vec![None; slices.len()];
        let mut headers = MultiHeaders::<SockaddrStorage>::preallocate(slices.len(), None);
        let sent = sendmmsg(
            self.socket.as_raw_fd(),
            &mut headers,
            &slices,
            to,
            [],
            MsgFlags::empty(),
        )?;
        Ok(sent.count())
    }
}

/// Received message.
pub struct Message<'a> {
    /// One datagram, or several of `each` octets, of which the last may be shorter.
    pub octets: &'a [u8],
    pub each: usize,
    /// Kernel timestamp, nanoseconds since 1970.
    pub at_ns: Option<u64>,
}

/// Receiving socket.
pub struct ReceiveSocket {
    socket: UdpSocket,
    octets: Vec<u8>,
    control: Vec<u8>,
    /// True if messages carry control messages of the kernel.
    has_control: bool,
    /// Last reported kernel count of datagrams dropped because the socket was full.
    pub overflows: u32,
}

impl ReceiveSocket {
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        Ok(Self {
            socket,
            octets: vec![0; BATCH * MAX_MESSAGE],
            control: cmsg_space!(TimeSpec, i32, u32),
            has_control: false,
            overflows: 0,
        })
    }

    pub fn local_addr(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Requests a receive buffer, beyond the system limit if permitted; returns the actual size.
    pub fn set_buffer(&self, octets: usize) -> usize {
        if setsockopt(&self.socket, sockopt::RcvBufForce, &octets).is_err() {
            let _ = setsockopt(&self.socket, sockopt::RcvBuf, &octets);
        }
        // The kernel doubles the value for its bookkeeping (socket(7)).
        nix::sys::socket::getsockopt(&self.socket, sockopt::RcvBuf).map_or(0, |octets| octets / 2)
    }

    /// Allows several datagrams in one message.
    pub fn enable_coalescing(&mut self) -> Result<(), String> {
        setsockopt(&self.socket, sockopt::UdpGroSegment, &true)
            .map_err(|error| format!("the system does not coalesce ({error})"))?;
        self.has_control = true;
        Ok(())
    }

    /// Enables kernel timestamps on messages.
    pub fn enable_timestamps(&mut self) -> Result<(), String> {
        setsockopt(&self.socket, sockopt::ReceiveTimestampns, &true)
            .map_err(|error| format!("the system has no timestamps ({error})"))?;
        self.has_control = true;
        let _ = setsockopt(&self.socket, sockopt::RxqOvfl, &1);
        Ok(())
    }

    /// Sets the receive timeout.
    pub fn set_timeout(&self, max_wait: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(max_wait))
    }

    /// Receives available messages. With `wait` it sleeps until one arrives; `Ok(0)`: none arrived.
    pub fn receive(&mut self, wait: bool, take: impl FnMut(Message<'_>)) -> io::Result<usize> {
        let taken = if self.has_control {
            self.receive_one(wait, take)
        } else {
            self.receive_batch(wait, take)
        };
        match taken {
            Err(nix::Error::EAGAIN | nix::Error::EINTR | nix::Error::ECONNREFUSED) => Ok(0),
            other => Ok(other?),
        }
    }

    /// Receives one message with its control messages.
    fn receive_one(&mut self, wait: bool, mut take: impl FnMut(Message<'_>)) -> nix::Result<usize> {
        let flags = if wait {
            MsgFlags::empty()
        } else {
            MsgFlags::MSG_DONTWAIT
        };
        let mut slices = [IoSliceMut::new(&mut self.octets[..MAX_MESSAGE])];
        let fd = self.socket.as_raw_fd();
        let message = recvmsg::<()>(fd, &mut slices, Some(&mut self.control), flags)?;
        let (octets, mut each, mut at_ns) = (message.bytes, message.bytes, None);
        for control in message.cmsgs()? {
            match control {
                ControlMessageOwned::UdpGroSegments(octets) => each = octets.max(1) as usize,
                ControlMessageOwned::ScmTimestampns(at) => {
                    at_ns = Some(at.tv_sec() as u64 * 1_000_000_000 + at.tv_nsec() as u64);
                }
                ControlMessageOwned::RxqOvfl(overflows) => self.overflows = overflows,
                _ => {}
            }
        }
        take(Message {
            octets: &self.octets[..octets],
            each,
            at_ns,
        });
        Ok(1)
    }

    /// Receives all available messages, up to a batch.
    fn receive_batch(
        &mut self,
        wait: bool,
        mut take: impl FnMut(Message<'_>),
    ) -> nix::Result<usize> {
        let flags = if wait {
            MsgFlags::MSG_WAITFORONE
        } else {
            MsgFlags::MSG_DONTWAIT
        };
        let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
        let mut slices: Vec<[IoSliceMut<'_>; 1]> = self
            .octets
            .chunks_mut(MAX_MESSAGE)
            .map(|it| [IoSliceMut::new(it)])
            .collect();
        let fd = self.socket.as_raw_fd();
        let lengths: Vec<usize> = recvmmsg(fd, &mut headers, &mut slices, flags, None)?
            .map(|it| it.bytes)
            .collect();
        for (octets, len) in self.octets.chunks(MAX_MESSAGE).zip(&lengths) {
            take(Message {
                octets: &octets[..*len],
                each: *len,
                at_ns: None,
            });
        }
        Ok(lengths.len())
    }
}
