//! Frames from an interface.

use crate::RingError;
use crate::map::Map;
use crate::socket::{EVERY_TYPE, Socket};
use std::io::ErrorKind;
use std::mem::offset_of;
use std::os::fd::AsRawFd;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Octets of a block: the kernel hands over whole blocks.
const BLOCK: usize = 1 << 20;
/// After so long a block is handed over that is not full, milliseconds.
const HAND_OVER_MS: u32 = 2;
/// Where a block has its header, and what in it is read.
const HEADER_AT: usize = offset_of!(libc::tpacket_block_desc, hdr);
const STATUS_AT: usize = HEADER_AT + offset_of!(libc::tpacket_hdr_v1, block_status);

/// A received frame.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// From destination address to the last octet before the FCS, as far as was captured.
    pub octets: &'a [u8],
    /// How long it was.
    pub len: usize,
    /// When the kernel got it, on the clock of the day, nanoseconds since 1970.
    pub at_ns: u64,
}

/// What the kernel has counted since it was last asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Statistics {
    /// Frames for this ring, those dropped included.
    pub frames: u64,
    /// Of these, found no room in the ring: lost in this host, not on the link.
    pub dropped: u64,
}

/// Frames from an interface: all that arrive, whomever they are for; not those that are sent.
pub struct Receive {
    // Unmapped before the socket is closed.
    map: Map,
    socket: Socket,
    blocks: usize,
    next: usize,
}

impl Receive {
    /// Opens `interface` with a ring of so many mebioctets, for frames of one `EtherType`, or of all.
    ///
    /// # Errors
    /// The interface is missing or down, or this user may not.
    pub fn open(
        interface: &str,
        ethertype: Option<u16>,
        mebioctets: usize,
    ) -> Result<Self, RingError> {
        let socket = Socket::open(interface)?;
        let version = libc::tpacket_versions::TPACKET_V3 as libc::c_int;
        socket.set(libc::PACKET_VERSION, version, "the ring's version")?;
        let blocks = mebioctets.max(2);
        let request = libc::tpacket_req3 {
            tp_block_size: BLOCK as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: 2048,
            tp_frame_nr: (BLOCK / 2048 * blocks) as u32,
            tp_retire_blk_tov: HAND_OVER_MS,
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set(libc::PACKET_RX_RING, request, "PACKET_RX_RING")?;
        // Older kernels have no such option, and show frames that are sent from here, too.
        let _ = socket.set(
            libc::PACKET_IGNORE_OUTGOING,
            1_i32,
            "PACKET_IGNORE_OUTGOING",
        );
        let map = Map::new(&socket.fd, BLOCK * blocks)
            .map_err(|source| socket.error("mapping the ring", source))?;
        socket.bind(ethertype.unwrap_or(EVERY_TYPE))?;
        Ok(Self {
            map,
            socket,
            blocks,
            next: 0,
        })
    }

    /// Gives each frame of the next block to `take`; `None`: no block has been handed over yet.
    pub fn take(&mut self, mut take: impl FnMut(Frame<'_>)) -> Option<usize> {
        let block = self.next * BLOCK;
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

    /// Sleeps until a block is handed over, `at_most` so long: whether one was.
    ///
    /// # Errors
    /// The interface has gone.
    pub fn wait(&self, at_most: Duration) -> Result<bool, RingError> {
        let mut poll = libc::pollfd {
            fd: self.socket.fd.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let ms = at_most.as_millis().min(60_000) as libc::c_int;
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
            self.socket.check(failed, "asking for the error of")?;
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

    /// What the kernel has counted since this was last called.
    ///
    /// # Errors
    /// The system does not say.
    pub fn statistics(&self) -> Result<Statistics, RingError> {
        let mut counts = libc::tpacket_stats_v3 {
            tp_packets: 0,
            tp_drops: 0,
            tp_freeze_q_cnt: 0,
        };
        let mut octets = size_of::<libc::tpacket_stats_v3>() as libc::socklen_t;
        // SAFETY: the kernel writes at most as many octets as are said to a value that lives until then.
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
        Ok(Statistics {
            frames: counts.tp_packets.into(),
            dropped: counts.tp_drops.into(),
        })
    }
}
