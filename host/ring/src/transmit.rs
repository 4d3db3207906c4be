//! Frames out of an interface.

use crate::RingError;
use crate::map::Map;
use crate::socket::Socket;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

/// What the kernel is asked for as room for frames on their way.
const SEND_BUFFER: libc::c_int = 16 << 20;
/// Where a frame lies in its place: behind the kernel's header, without the address that follows it when
/// one receives.
const FRAME_AT: usize = libc::TPACKET2_HDRLEN - size_of::<libc::sockaddr_ll>();
/// Where the header has its length (`tp_len`, `tp_snaplen`) and its status.
const STATUS_AT: usize = 0;
const LEN_AT: usize = 4;
const SNAPLEN_AT: usize = 8;

/// Frames out of an interface, past its queueing discipline where that may be left out.
///
/// Places for frames are filled one after the other ([`room`](Self::room), [`commit`](Self::commit)), and
/// all that are filled are sent at once ([`flush`](Self::flush)).
pub struct Transmit {
    // Unmapped before the socket is closed.
    map: Map,
    socket: Socket,
    place_octets: usize,
    places: usize,
    next: usize,
    bypasses: bool,
}

impl Transmit {
    /// Opens `interface` with room for `frames` at least, of up to `octets` each, from destination address
    /// to the last octet before the FCS.
    ///
    /// # Errors
    /// The interface is missing or down, or this user may not.
    pub fn open(interface: &str, octets: usize, frames: usize) -> Result<Self, RingError> {
        let socket = Socket::open(interface)?;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        socket.set(libc::PACKET_VERSION, version, "the ring's version")?;
        let bypass = socket.set(libc::PACKET_QDISC_BYPASS, 1_i32, "PACKET_QDISC_BYPASS");
        let force = libc::SO_SNDBUFFORCE;
        let plain = libc::SO_SNDBUF;
        for option in [force, plain] {
            if socket
                .set_of(libc::SOL_SOCKET, option, SEND_BUFFER, "the send buffer")
                .is_ok()
            {
                break;
            }
        }
        let place_octets = (FRAME_AT + octets).next_power_of_two().max(256);
        let block = place_octets.max(64 << 10);
        let in_block = block / place_octets;
        let blocks = frames.div_ceil(in_block).max(1);
        let request = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: place_octets as u32,
            tp_frame_nr: (blocks * in_block) as u32,
        };
        socket.set(libc::PACKET_TX_RING, request, "PACKET_TX_RING")?;
        let map = Map::new(&socket.fd, block * blocks)
            .map_err(|source| socket.error("mapping the ring", source))?;
        socket.bind(0)?;
        Ok(Self {
            map,
            socket,
            place_octets,
            places: blocks * in_block,
            next: 0,
            bypasses: bypass.is_ok(),
        })
    }

    /// How many frames the ring holds.
    pub const fn places(&self) -> usize {
        self.places
    }

    /// Whether frames go past the interface's queueing discipline.
    pub const fn bypasses_queue(&self) -> bool {
        self.bypasses
    }

    /// The next place, with what an earlier frame left in it; `None`: the kernel has all of them.
    pub fn room(&mut self) -> Option<&mut [u8]> {
        let at = self.next * self.place_octets;
        let status = self.map.status(at + STATUS_AT).load(Ordering::Acquire);
        // A frame that was refused has been told of by `flush`, and its place is free.
        if status != libc::TP_STATUS_AVAILABLE && status & libc::TP_STATUS_WRONG_FORMAT == 0 {
            return None;
        }
        let room = self.place_octets - FRAME_AT;
        Some(self.map.octets_mut(at + FRAME_AT, room))
    }

    /// Which place [`room`](Self::room) gives next, of [`places`](Self::places).
    pub const fn place(&self) -> usize {
        self.next
    }

    /// The frame in the next place is ready, with so many octets.
    ///
    /// Panics where it is longer than its place.
    pub fn commit(&mut self, octets: usize) {
        assert!(octets <= self.place_octets - FRAME_AT, "a frame too long");
        let at = self.next * self.place_octets;
        self.map.write(at + LEN_AT, octets as u32);
        self.map.write(at + SNAPLEN_AT, octets as u32);
        let status = self.map.status(at + STATUS_AT);
        status.store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.next = (self.next + 1) % self.places;
    }

    /// Whether the kernel has taken all that is ready.
    fn is_flushed(&self) -> bool {
        let last = (self.next + self.places - 1) % self.places;
        let status = self.map.status(last * self.place_octets + STATUS_AT);
        status.load(Ordering::Acquire) != libc::TP_STATUS_SEND_REQUEST
    }

    /// Sends what is ready. `false`: there was no room for all of it, and it has to be called again.
    ///
    /// # Errors
    /// The interface has gone, or is down.
    pub fn flush(&self) -> Result<bool, RingError> {
        // SAFETY: without octets of its own the call has no pointer to follow.
        let sent = unsafe {
            libc::send(
                self.socket.fd.as_raw_fd(),
                std::ptr::null(),
                0,
                libc::MSG_DONTWAIT,
            )
        };
        if sent >= 0 {
            return Ok(self.is_flushed());
        }
        let source = io::Error::last_os_error();
        match source.raw_os_error() {
            Some(libc::EAGAIN | libc::ENOBUFS | libc::EINTR) => Ok(false),
            _ => Err(self.socket.error("sending", source)),
        }
    }
}
