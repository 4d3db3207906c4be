//! Memory shared with the kernel.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::AtomicU32;

/// Memory-mapped ring of a socket, unmapped on drop.
pub struct RingMemory {
    start: NonNull<u8>,
    octets: usize,
}

// SAFETY: the mapping belongs to the process, not to the thread that created it, and only this value has its
// address.
unsafe impl Send for RingMemory {}

impl RingMemory {
    /// Maps the first `octets` of the socket's ring.
    pub fn new(socket: &OwnedFd, octets: usize) -> io::Result<Self> {
        // SAFETY: a new mapping at an address that the kernel chooses touches no memory of ours.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                octets,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                socket.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast::<u8>())
            .ok_or_else(|| io::Error::other("mapped at address 0"))?;
        Ok(Self { start, octets })
    }

    /// Address of `octets` starting at `at`.
    ///
    /// Panics if they exceed the mapping: offsets from the kernel are checked.
    fn at(&self, at: usize, octets: usize) -> *mut u8 {
        let end = at.checked_add(octets);
        assert!(
            end.is_some_and(|end| end <= self.octets),
            "a ring of {} octets has no {octets} at {at}",
            self.octets
        );
        // SAFETY: just checked to be in the mapping.
        unsafe { self.start.as_ptr().add(at) }
    }

    /// Status word that assigns the following data to the kernel or to this program.
    pub fn status(&self, at: usize) -> &AtomicU32 {
        let word = self.at(at, size_of::<u32>());
        assert!(
            word.addr().is_multiple_of(align_of::<AtomicU32>()),
            "unaligned status word"
        );
        // SAFETY: in the mapping, aligned, and both sides change it only as a whole.
        unsafe { AtomicU32::from_ptr(word.cast()) }
    }

    /// Reads a kernel structure that is currently assigned to this program.
    pub fn read<T: Plain>(&self, at: usize) -> T {
        let from = self.at(at, size_of::<T>()).cast::<T>();
        // SAFETY: in the mapping, of any alignment, and any octets are a `T`.
        unsafe { from.read_unaligned() }
    }

    /// Writes a kernel structure that is currently assigned to this program.
    pub fn write<T: Plain>(&mut self, at: usize, value: T) {
        let to = self.at(at, size_of::<T>()).cast::<T>();
        // SAFETY: in the mapping, and of any alignment.
        unsafe { to.write_unaligned(value) }
    }

    /// Octets that are currently assigned to this program by their status.
    pub fn octets(&self, at: usize, octets: usize) -> &[u8] {
        let start = self.at(at, octets);
        // SAFETY: in the mapping; by the status, which the caller has read, the kernel does not access them
        // until the caller returns them, which the borrow of `self` prevents.
        unsafe { std::slice::from_raw_parts(start, octets) }
    }

    /// Mutable variant of [`octets`](Self::octets).
    pub fn octets_mut(&mut self, at: usize, octets: usize) -> &mut [u8] {
        let start = self.at(at, octets);
        // SAFETY: as in `octets`, and the borrow of `self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(start, octets) }
    }
}

impl Drop for RingMemory {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and no borrow remains.
        unsafe {
            libc::munmap(self.start.as_ptr().cast(), self.octets);
        }
    }
}

/// Types for which any octets are a valid value.
///
/// # Safety
///
/// The type consists of integers only.
pub unsafe trait Plain: Copy {}

// SAFETY: an integer.
unsafe impl Plain for u32 {}
// SAFETY: integers, in `linux/if_packet.h`.
unsafe impl Plain for libc::tpacket3_hdr {}
// SAFETY: integers, in `linux/if_packet.h`.
unsafe impl Plain for libc::tpacket_hdr_v1 {}
