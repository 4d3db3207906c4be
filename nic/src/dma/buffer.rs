//! Buffers whose owner changes between program and device.

use crate::accounts::OutgoingFrame;
use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::slice;

/// A buffer that belongs to the program, and can be lent to a device.
pub struct Buffer {
    octets: NonNull<u8>,
    len: usize,
    /// The frame in it, for the account of its end.
    pub(crate) frame: OutgoingFrame,
}

/// A buffer lent to a device: the program cannot access its content.
pub struct LentBuffer(Buffer);

/// A DMA transfer: its direction and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfer {
    /// The device reads this many octets of the buffer.
    ToDevice(usize),
    /// The device writes, up to the length of the buffer.
    FromDevice,
}

impl Transfer {
    /// The same, limited to the length of the buffer.
    pub(super) fn limited_to(self, buffer: &Buffer) -> Self {
        match self {
            Self::ToDevice(octets) => Self::ToDevice(octets.min(buffer.len())),
            Self::FromDevice => Self::FromDevice,
        }
    }
}

// SAFETY: a buffer is the only access to its octets, which are not tied to a thread.
unsafe impl Send for Buffer {}

impl Buffer {
    /// A buffer in this memory. With a data cache the memory must begin and end at a cache line, or
    /// adjacent data is corrupted.
    #[must_use]
    pub fn new(memory: &'static mut [u8]) -> Self {
        Self {
            len: memory.len(),
            octets: NonNull::from(memory).cast(),
            frame: OutgoingFrame::default(),
        }
    }

    /// Address of the buffer, for the device.
    #[must_use]
    pub fn address(&self) -> usize {
        // Exposed, because a device may access the memory in any way, like foreign code.
        self.octets.as_ptr().expose_provenance()
    }

    /// Lends it to the device.
    pub(super) fn lend(self) -> LentBuffer {
        LentBuffer(self)
    }
}

impl LentBuffer {
    /// Returns it to the program.
    ///
    /// # Safety
    /// The device has reported that it no longer uses the buffer, and its writes are visible.
    pub(super) unsafe fn into_buffer(self) -> Buffer {
        self.0
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the memory passed to `new` is `'static`, and nobody else accesses it while this
        // is a `Buffer`.
        unsafe { slice::from_raw_parts(self.octets.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`.
        unsafe { slice::from_raw_parts_mut(self.octets.as_ptr(), self.len) }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} octets)", self.len)
    }
}

impl fmt::Debug for LentBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LentBuffer({} octets)", self.0.len)
    }
}
