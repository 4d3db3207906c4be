//! Receive ring.

use crate::RingError;
use crate::map::RingMemory;
use crate::socket::{EVERY_TYPE, Socket};
use std::io::ErrorKind;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Block size, octets: the kernel hands over whole blocks.
const BLOCK_OCTETS: usize = 1 << 20;
/// Time after which a partly filled block is handed over, milliseconds: soon where each frame is waited for, later in a
/// capture, so that the ring holds a second even if each block has a few frames only.
const HAND_OVER_MS: u32 = 2;
const CAPTURE_HAND_OVER_MS: u32 = 64;
// Offsets of the header and its status word in a block.
const HEADER_AT: usize = offset_of!(libc::tpacket_block_desc, hdr);
const STATUS_AT: usize = HEADER_AT + offset_of!(libc::tpacket_hdr_v1, block_status);

/// Received frame.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Captured octets, from the destination address to the last octet before the FCS.
    pub octets: &'a [u8],
    /// Frame length on the wire.
    pub len: usize,
    /// Kernel timestamp of the real-time clock, nanoseconds since 1970.
    pub at_ns: u64,
}

/// Kernel counters since the last query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingStatistics {
    /// Frames for this ring, including dropped ones.
    pub frames: u64,
    /// Frames dropped because the ring was full: lost in this host, not on the link.
    pub dropped: u64,
}

/// Receives all frames that arrive on an interface, for any destination; those that are sent only in a
/// [capture](Self::open_capture).
pub struct ReceiveRing {
    // Unmapped before the socket is closed.
    map: RingMemory,
    socket: Socket,
    blocks: usize,
    next: usize,
}

impl ReceiveRing {
    /// Opens `interface` with a ring of `size_mib`, for frames of one `EtherType` or of all.
    ///
    /// # Errors
    /// The interface is missing or down, or the user lacks the privilege.
    pub fn open(
        interface: &str,
        ethertype: Option<u16>,
        size_mib: usize,
    ) -> Result<Self, RingError> {
        let socket = Socket::open(interface)?;
        // Older kernels lack this option and also capture frames that this host sends.
        let _ = socket.set(
            libc::PACKET_IGNORE_OUTGOING,
            1_i32,
            "PACKET_IGNORE_OUTGOING",
        );
        Self::with(socket, ethertype, size_mib, HAND_OVER_MS)
    }

    /// Opens `interface` with a ring of `size_mib` for a capture: the first `snap_octets` of all frames, also of
    /// those that this host sends. On the loopback interface each frame appears once.
    ///
    /// # Errors
    /// The interface is missing or down, or the user lacks the privilege.
    pub fn open_capture(
        interface: &str,
        snap_octets: u32,
        size_mib: usize,
    ) -> Result<Self, RingError> {
        let socket = Socket::open(interface)?;
        if interface == "lo" {
            let _ = socket.set(
                libc::PACKET_IGNORE_OUTGOING,
                1_i32,
                "PACKET_IGNORE_OUTGOING",
            );
        }
        socket.truncate(snap_octets)?;
        Self::with(socket, None, size_mib, CAPTURE_HAND_OVER_MS)
    }

    fn with(
        socket: Socket,
        ethertype: Option<u16>,
        size_mib: usize,
        hand_over_ms: u32,
    ) -> Result<Self, RingError> {
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        socket.set(libc::PACKET_VERSION, version, "setting the ring version")?;
        let blocks = size_mib.max(2);
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK_OCTETS as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: 2048,
            tp_frame_nr: (BLOCK_OCTETS / 2048 * blocks) as u32,
            tp_retire_blk_tov: hand_over_ms,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set(libc::PACKET_RX_RING, request, "PACKET_RX_RING")?;
        let map = RingMemory::new(&socket.fd, BLOCK_OCTETS * blocks)
            .map_err(|source| socket.error("mapping the ring", source))?;
        socket.bind(ethertype.unwrap_or(EVERY_TYPE))?;
        Ok(Self {
            map,
            socket,
            blocks,
            next: 0,
        })
    }

    /// Passes each frame of the next block to `take`; `None` if no block has been handed over yet.
    pub fn take(&mut self, mut take: impl FnMut(Frame<'_>)) -> Option<usize> {
        let block = self.next * BLOCK_OCTETS;
        let status = self.map.status(block + STATUS_AT);
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        let header: libc::tpacket_hdr_v1 = self.map.read(block + HEADER_AT);
        let mut at = block + header.offset_to_first_pkt as usize;
        for _ in 0..header.num_pkts {
            let frame: libc::tpacket3_hdr = self.map.read(at);
            let octets = self
                .map
                .octets(at + frame.tp_mac as usize, frame.tp_snaplen as usize);
            take(Frame {
                octets,
                len: frame.tp_len as usize,
                at_ns: u64::from(frame.tp_sec) * 1_000_000_000 + u64::from(frame.tp_nsec),
            });
            at += frame.tp_next_offset as usize;
        }
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        Some(header.num_pkts as usize)
    }

    /// Sleeps until a block is handed over, up to `max_wait`; returns whether one was.
    ///
    /// # Errors
    /// The interface was removed.
    pub fn wait(&self, max_wait: Duration) -> Result<bool, RingError> {
        let mut poll = libc::pollfd {
            fd: self.socket.fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let ms = max_wait.as_millis().min(60_000) as libc::c_int;
        // SAFETY: one entry, which lives until the call returns.
        let ready = unsafe { libc::poll(&raw mut poll, 1, ms) };
        if ready > 0 && poll.revents & (libc::POLLERR | libc::POLLHUP | libc::POLLNVAL) != 0 {
            let (mut error, mut len) = (0_i32, size_of::<i32>() as libc::socklen_t);
            // SAFETY: the kernel writes an int, and its length, to values that live until it returns.
            let failed = unsafe {
                libc::getsockopt(
                    self.socket.fd.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_ERROR,
                    (&raw mut error).cast(),
                    &raw mut len,
                )
            };
            self.socket.check(failed, "reading the error")?;
            if error != 0 {
                let source = std::io::Error::from_raw_os_error(error);
                return Err(self.socket.error("waiting", source));
            }
        }
        match self.socket.check(ready, "waiting") {
            Err(RingError::Io { source, .. }) if source.kind() == ErrorKind::Interrupted => {
                Ok(true)
            }
            other => other.map(|()| ready > 0),
        }
    }

    /// Returns the kernel counters since the last call.
    ///
    /// # Errors
    /// The system call failed.
    pub fn statistics(&self) -> Result<RingStatistics, RingError> {
        let mut counts = libc::tpacket_stats_v3 {
            tp_packets: 0,
            tp_drops: 0,
            tp_freeze_q_cnt: 0,
        };
        let mut octets = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
        // SAFETY: the kernel writes at most the given number of octets to a value that lives until it returns.
        let failed = unsafe {
            libc::getsockopt(
                self.socket.fd.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &raw mut octets,
            )
        };
        self.socket.check(failed, "PACKET_STATISTICS")?;
        Ok(RingStatistics {
            frames: counts.tp_packets.into(),
            dropped: counts.tp_drops.into(),
        })
    }
}
