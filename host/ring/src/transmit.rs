//! Transmit ring.

use crate::RingError;
use crate::map::RingMemory;
use crate::socket::Socket;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;

/// Requested send buffer of the kernel for frames in flight.
const SEND_BUFFER: libc::c_int = 16 << 20;
/// Offset of a frame in its slot: after the kernel's header, without the address that follows it in receive
/// rings.
const FRAME_AT: usize = libc::TPACKET2_HDRLEN - size_of::<libc::sockaddr_ll>();
// Offsets of status and lengths (`tp_len`, `tp_snaplen`) in the header.
const STATUS_AT: usize = 0;
const LEN_AT: usize = 4;
const SNAPLEN_AT: usize = 8;

/// Sends frames on an interface, bypassing its queueing discipline if possible.
///
/// Slots are filled in sequence ([`next_slot`](Self::next_slot), [`commit`](Self::commit)), and all filled slots
/// are sent at once ([`flush`](Self::flush)).
pub struct TransmitRing {
    // Unmapped before the socket is closed.
    map: RingMemory,
    socket: Socket,
    slot_octets: usize,
    slots: usize,
    next: usize,
    bypasses: bool,
}

impl TransmitRing {
    /// Opens `interface` with slots for at least `frames` of up to `octets` each, from the destination address
    /// to the last octet before the FCS.
    ///
    /// # Errors
    /// The interface is missing or down, or the user lacks the privilege.
    pub fn open(interface: &str, octets: usize, frames: usize) -> Result<Self, RingError> {
        let socket = Socket::open(interface)?;
        let version = libc::tpacket_versions::TPACKET_V2 as libc::c_int;
        socket.set(libc::PACKET_VERSION, version, "setting the ring version")?;
        let bypass = socket.set(libc::PACKET_QDISC_BYPASS, 1_i32, "PACKET_QDISC_BYPASS");
        let force = libc::SO_SNDBUFFORCE;
        let plain = libc::SO_SNDBUF;
        for option in [force, plain] {
            if socket
                .set_at_level(
                    libc::SOL_SOCKET,
                    option,
                    SEND_BUFFER,
                    "setting the send buffer",
                )
                .is_ok()
            {
                break;
            }
        }
        let slot_octets = (FRAME_AT + octets).next_power_of_two().max(256);
        let block = slot_octets.max(64 << 10);
        let in_block = block / slot_octets;
        let blocks = frames.div_ceil(in_block).max(1);
        let request = libc::tpacket_req {
            tp_block_size: block as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_octets as u32,
            tp_frame_nr: (blocks * in_block) as u32,
        };
        socket.set(libc::PACKET_TX_RING, request, "PACKET_TX_RING")?;
        let map = RingMemory::new(&socket.fd, block * blocks)
            .map_err(|source| socket.error("mapping the ring", source))?;
        socket.bind(0)?;
        Ok(Self {
            map,
            socket,
            slot_octets,
            slots: blocks * in_block,
            next: 0,
            bypasses: bypass.is_ok(),
        })
    }

    /// Number of slots in the ring.
    pub const fn slots(&self) -> usize {
        self.slots
    }

    /// True if frames bypass the interface's queueing discipline.
    pub const fn bypasses_queue(&self) -> bool {
        self.bypasses
    }

    /// Next slot, with the content of an earlier frame; `None` if the kernel owns all slots.
    pub fn next_slot(&mut self) -> Option<&mut [u8]> {
        let at = self.next * self.slot_octets;
        let status = self.map.status(at + STATUS_AT).load(Ordering::Acquire);
        // `flush` has reported a rejected frame, and its slot is free.
        if status != libc::TP_STATUS_AVAILABLE && status & libc::TP_STATUS_WRONG_FORMAT == 0 {
            return None;
        }
        let octets = self.slot_octets - FRAME_AT;
        Some(self.map.octets_mut(at + FRAME_AT, octets))
    }

    /// Marks the frame in the next slot as ready, with its size in octets.
    ///
    /// Panics if it is larger than the slot.
    pub fn commit(&mut self, octets: usize) {
        assert!(
            octets <= self.slot_octets - FRAME_AT,
            "frame larger than its slot"
        );
        let at = self.next * self.slot_octets;
        self.map.write(at + LEN_AT, octets as u32);
        self.map.write(at + SNAPLEN_AT, octets as u32);
        let status = self.map.status(at + STATUS_AT);
        status.store(libc::TP_STATUS_SEND_REQUEST, Ordering::Release);
        self.next = (self.next + 1) % self.slots;
    }

    /// True if the kernel has accepted all ready frames.
    fn is_flushed(&self) -> bool {
        let last = (self.next + self.slots - 1) % self.slots;
        let status = self.map.status(last * self.slot_octets + STATUS_AT);
        status.load(Ordering::Acquire) != libc::TP_STATUS_SEND_REQUEST
    }

    /// Sends the ready frames. `false`: not all were accepted, call it again.
    ///
    /// # Errors
    /// The interface was removed or is down.
    pub fn flush(&self) -> Result<bool, RingError> {
        // SAFETY: with a length of 0 the call does not dereference the pointer.
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
