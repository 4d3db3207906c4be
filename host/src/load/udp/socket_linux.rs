//! Sockets with what Linux adds to them.

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

/// What is asked for as a send buffer.
const SEND_BUFFER: usize = 4 << 20;
/// Datagrams taken by a system call where nothing is coalesced.
const BATCH: usize = 64;
/// The longest a message can be, coalesced or not.
const MESSAGE: usize = 65_536;

/// The sending end.
pub struct Out {
    socket: UdpSocket,
}

impl Out {
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

    pub fn local(&self) -> Option<SocketAddr> {
        self.socket.local_addr().ok()
    }

    /// Datagrams in a super-packet: what newer kernels take, and older ones (`UDP_MAX_SEGMENTS`).
    pub const SEGMENTS: [usize; 2] = [128, 64];

    /// From now on what is sent is cut into datagrams of `octets`; 0: it is not.
    pub fn segment(&self, octets: usize) -> Result<(), String> {
        setsockopt(&self.socket, sockopt::UdpGsoSegment, &(octets as i32))
            .map_err(|error| format!("the system segments nothing ({error})"))
    }

    /// How datagrams go that are not segmented.
    #[expect(clippy::unused_self, reason = "elsewhere it depends on the socket")]
    pub const fn batches(&self) -> &'static str {
        "batches of 64 datagrams (sendmmsg)"
    }

    /// Sends all of `octets` as one, or cut.
    pub fn send(&self, octets: &[u8]) -> io::Result<()> {
        self.socket.send(octets).map(drop)
    }

    /// Sends `octets` as datagrams of `each`: how many.
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

/// What came in one message.
pub struct Message<'a> {
    /// One datagram, or several of `each` octets, the last of them maybe shorter.
    pub octets: &'a [u8],
    pub each: usize,
    /// The kernel's time, nanoseconds since 1970.
    pub at_ns: Option<u64>,
}

/// The receiving end.
pub struct In {
    socket: UdpSocket,
    octets: Vec<u8>,
    control: Vec<u8>,
    /// Whether messages come with what the kernel says of them.
    told: bool,
    /// The kernel's count of datagrams that found no room, as last told.
    pub overflows: u32,
}

impl In {
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        Ok(Self {
            socket,
            octets: vec![0; BATCH * MESSAGE],
            control: cmsg_space!(TimeSpec, i32, u32),
            told: false,
            overflows: 0,
        })
    }

    pub fn local(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Asks for a receive buffer, past the system's limit where this user may: what it is now.
    pub fn buffer(&self, octets: usize) -> usize {
        if setsockopt(&self.socket, sockopt::RcvBufForce, &octets).is_err() {
            let _ = setsockopt(&self.socket, sockopt::RcvBuf, &octets);
        }
        // The kernel counts its own bookkeeping and says twice what was asked for (socket(7)).
        nix::sys::socket::getsockopt(&self.socket, sockopt::RcvBuf).map_or(0, |octets| octets / 2)
    }

    /// Several datagrams may come as one message from now on.
    pub fn coalesce(&mut self) -> Result<(), String> {
        setsockopt(&self.socket, sockopt::UdpGroSegment, &true)
            .map_err(|error| format!("the system coalesces nothing ({error})"))?;
        self.told = true;
        Ok(())
    }

    /// Messages come with the kernel's time from now on.
    pub fn timestamps(&mut self) -> Result<(), String> {
        setsockopt(&self.socket, sockopt::ReceiveTimestampns, &true)
            .map_err(|error| format!("the system gives no times ({error})"))?;
        self.told = true;
        let _ = setsockopt(&self.socket, sockopt::RxqOvfl, &1);
        Ok(())
    }

    /// Waits no longer than this for a message.
    pub fn patience(&self, at_most: Duration) -> io::Result<()> {
        self.socket.set_read_timeout(Some(at_most))
    }

    /// Takes what is there. With `wait` it sleeps until something is; `Ok(0)`: nothing was.
    pub fn take(&mut self, wait: bool, take: impl FnMut(Message<'_>)) -> io::Result<usize> {
        let taken = if self.told {
            self.take_told(wait, take)
        } else {
            self.take_batch(wait, take)
        };
        match taken {
            Err(nix::Error::EAGAIN | nix::Error::EINTR | nix::Error::ECONNREFUSED) => Ok(0),
            other => Ok(other?),
        }
    }

    /// One message, with what the kernel says of it.
    fn take_told(&mut self, wait: bool, mut take: impl FnMut(Message<'_>)) -> nix::Result<usize> {
        let flags = if wait {
            MsgFlags::empty()
        } else {
            MsgFlags::MSG_DONTWAIT
        };
        let mut slices = [IoSliceMut::new(&mut self.octets[..MESSAGE])];
        let fd = self.socket.as_raw_fd();
        let message = recvmsg::<()>(fd, &mut slices, Some(&mut self.control), flags)?;
        let (octets, mut each, mut at_ns) = (message.bytes, message.bytes, None);
        for told in message.cmsgs()? {
            match told {
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

    /// As many messages as are there, up to a batch.
    fn take_batch(&mut self, wait: bool, mut take: impl FnMut(Message<'_>)) -> nix::Result<usize> {
        let flags = if wait {
            MsgFlags::MSG_WAITFORONE
        } else {
            MsgFlags::MSG_DONTWAIT
        };
        let mut headers = MultiHeaders::<()>::preallocate(BATCH, None);
        let mut slices: Vec<[IoSliceMut<'_>; 1]> = self
            .octets
            .chunks_mut(MESSAGE)
            .map(|it| [IoSliceMut::new(it)])
            .collect();
        let fd = self.socket.as_raw_fd();
        let lengths: Vec<usize> = recvmmsg(fd, &mut headers, &mut slices, flags, None)?
            .map(|it| it.bytes)
            .collect();
        for (octets, len) in self.octets.chunks(MESSAGE).zip(&lengths) {
            take(Message {
                octets: &octets[..*len],
                each: *len,
                at_ns: None,
            });
        }
        Ok(lengths.len())
    }
}
