//! Buffers that change their owner.

use core::fmt;
use core::ops::{Deref, DerefMut};
use core::ptr::NonNull;
use core::slice;

/// Octets that belong to the program, and can be lent to a device.
pub struct Buffer {
    octets: NonNull<u8>,
    len: usize,
}

/// Octets that belong to a device for now: the program sees nothing of them.
pub struct Lent(Buffer);

/// Which way the octets of a buffer go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// The device reads the first so many.
    ToDevice(usize),
    /// The device writes.
    FromDevice,
}

impl Way {
    /// The same, but of no more than the buffer has.
    pub(super) fn within(self, buffer: &Buffer) -> Self {
        match self {
            Self::ToDevice(octets) => Self::ToDevice(octets.min(buffer.len())),
            Self::FromDevice => Self::FromDevice,
        }
    }
}

// SAFETY: a buffer is the only way to its octets, and no thread is special to them.
unsafe impl Send for Buffer {}

impl Buffer {
    /// This memory. Where the processor has a cache, it must begin and end with a line of it, or what lies
    /// beside it is damaged.
    #[must_use]
    pub fn new(memory: &'static mut [u8]) -> Self {
        Self {
            len: memory.len(),
            octets: NonNull::from(memory).cast(),
        }
    }

    /// Where it lies, for the device.
    #[must_use]
    pub fn address(&self) -> usize {
        // A device is as good as a foreign program: it may do anything to what is exposed to it.
        self.octets.as_ptr().expose_provenance()
    }

    /// Lends it.
    pub(super) fn lend(self) -> Lent {
        Lent(self)
    }
}

impl Lent {
    /// Gives it back to the program.
    ///
    /// # Safety
    /// The device has said that it is through with it, and what it wrote can be seen.
    pub(super) unsafe fn back(self) -> Buffer {
        self.0
    }
}

impl Deref for Buffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the memory that `new` was given for ever, which nobody else has while this is a `Buffer`.
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

impl fmt::Debug for Lent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Lent({} octets)", self.0.len)
    }
}
