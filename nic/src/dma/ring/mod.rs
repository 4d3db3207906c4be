//! A ring of descriptors, each with an ownership bit, as used by most network devices.
//!
//! The format of a descriptor depends on the device ([`Descriptor`]); the ring manages buffer
//! ownership, wrapping and the order of writes.

use super::{Buffer, Coherence, LentBuffer, Transfer};
use core::fmt;

/// Format of a descriptor, in memory that the device reads and writes: its fields are
/// [`Shared`](super::Shared).
///
/// As with registers, a wrong implementation is unsound together with a device: the promise made
/// for a driver ([`Mmio::new`](crate::mmio::Mmio::new)) covers this, too.
pub trait Descriptor {
    /// An unused descriptor that belongs to the program.
    const IDLE: Self;
    /// Request to the device for a frame.
    type Command: Copy;
    /// Status returned by the device.
    type Status;

    /// Writes everything except the word with the ownership bit.
    fn prepare(&self, fields: &DescriptorFields, command: Self::Command);

    /// Writes the word with the ownership bit: the descriptor now belongs to the device.
    fn hand_over(&self, fields: &DescriptorFields, command: Self::Command);

    /// True if the device has returned it to the program.
    fn is_done(&self) -> bool;

    /// Length in octets and status reported by the device; the descriptor belongs to the program.
    fn status(&self) -> (usize, Self::Status);

    /// Returns it to the program unconditionally: the device is stopped.
    fn release(&self);
}

/// Content of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptorFields {
    /// Address of the buffer.
    pub address: usize,
    /// Direction and length of the transfer.
    pub transfer: Transfer,
    /// True if this is the last descriptor of the frame.
    pub is_last: bool,
    /// True if the first descriptor of the ring follows.
    pub wraps: bool,
}

/// Memory of a ring of `N` descriptors, aligned to a cache line: no device requires more.
#[repr(C, align(64))]
pub struct Memory<D, const N: usize>([D; N]);

impl<D: Descriptor, const N: usize> Memory<D, N> {
    /// All descriptors belong to the program.
    #[must_use]
    pub const fn new() -> Self {
        Self([const { D::IDLE }; N])
    }
}

impl<D: Descriptor, const N: usize> Default for Memory<D, N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<D, const N: usize> fmt::Debug for Memory<D, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({N} descriptors)")
    }
}

/// Memory of the two rings of a network device, `N` frames per direction.
#[derive(Debug)]
pub struct Rings<D, const N: usize> {
    pub(crate) receive: Memory<D, N>,
    pub(crate) transmit: Memory<D, N>,
}

impl<D: Descriptor, const N: usize> Rings<D, N> {
    /// Empty rings.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            receive: Memory::new(),
            transmit: Memory::new(),
        }
    }
}

impl<D: Descriptor, const N: usize> Default for Rings<D, N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Program side of a ring: one descriptor per buffer, returned in order.
#[derive(Debug)]
pub struct Ring<D: 'static, C, const N: usize> {
    memory: &'static Memory<D, N>,
    coherence: C,
    /// Lent buffers, by descriptor.
    lent: [Option<LentBuffer>; N],
    /// Next descriptor to submit, and number of descriptors before it that belong to the device.
    next: usize,
    submitted: usize,
}

/// A buffer returned by the device.
#[derive(Debug)]
pub struct Completion<S> {
    /// The buffer.
    pub buffer: Buffer,
    /// Octets reported by the device, limited to the length of the buffer.
    pub octets: usize,
    /// Status reported by the device.
    pub status: S,
}

impl<D: Descriptor, C: Coherence, const N: usize> Ring<D, C, N> {
    /// An empty ring in this memory, which the device must not use yet.
    pub fn new(memory: &'static mut Memory<D, N>, coherence: C) -> Self {
        *memory = Memory::new();
        Self {
            memory,
            coherence,
            lent: [const { None }; N],
            next: 0,
            submitted: 0,
        }
    }

    /// Address of the first descriptor.
    #[must_use]
    pub fn address(&self) -> usize {
        core::ptr::from_ref(self.memory).expose_provenance()
    }

    /// Number of buffers that can be submitted now.
    #[must_use]
    pub const fn free_descriptors(&self) -> usize {
        N - self.submitted
    }

    /// Lends the buffers of one frame to the device, which the caller must then notify.
    ///
    /// # Errors
    /// The buffers, if there are not enough free descriptors.
    #[inline]
    pub fn submit<const K: usize>(
        &mut self,
        buffers: [(Buffer, Transfer); K],
        command: D::Command,
    ) -> Result<(), [(Buffer, Transfer); K]> {
        if self.free_descriptors() < K {
            return Err(buffers);
        }
        let begin = self.next;
        let mut first = None;
        for (number, (buffer, transfer)) in buffers.into_iter().enumerate() {
            let index = (begin + number) % N;
            let fields = DescriptorFields {
                address: buffer.address(),
                transfer: transfer.limited_to(&buffer),
                is_last: number + 1 == K,
                wraps: index + 1 == N,
            };
            self.coherence.before_transfer(&buffer, fields.transfer);
            let descriptor = &self.memory.0[index];
            descriptor.prepare(&fields, command);
            self.lent[index] = Some(buffer.lend());
            if number == 0 {
                first = Some((descriptor, fields));
            } else {
                self.coherence.barrier();
                descriptor.hand_over(&fields, command);
            }
        }
        self.next = (begin + K) % N;
        self.submitted += K;
        // The first descriptor is handed over last: the device waits at it, and must find all
        // others ready.
        if let Some((descriptor, fields)) = first {
            self.coherence.barrier();
            descriptor.hand_over(&fields, command);
            self.coherence.barrier();
        }
        Ok(())
    }

    /// Oldest submitted descriptor, if any.
    #[inline]
    fn oldest(&self) -> Option<usize> {
        (self.submitted > 0).then_some((self.next + N - self.submitted) % N)
    }

    /// Address of the oldest descriptor that belongs to the device, for one that does not find it by itself.
    #[inline]
    #[must_use]
    pub fn pending_address(&self) -> Option<usize> {
        let oldest = self.next + N - self.submitted;
        let pending = (0..self.submitted)
            .map(|it| &self.memory.0[(oldest + it) % N])
            .find(|it| !it.is_done())?;
        Some(core::ptr::from_ref(pending).addr())
    }

    /// True if a returned buffer has not been taken yet.
    #[inline]
    #[must_use]
    pub fn has_completed(&self) -> bool {
        self.oldest()
            .is_some_and(|index| self.memory.0[index].is_done())
    }

    /// Takes the next buffer that the device has returned.
    #[inline]
    pub fn take(&mut self) -> Option<Completion<D::Status>> {
        let index = self.oldest()?;
        let descriptor = &self.memory.0[index];
        if !descriptor.is_done() {
            return None;
        }
        // The status is read after the ownership bit.
        self.coherence.barrier();
        let (octets, status) = descriptor.status();
        let lent = self.lent[index].take()?;
        self.submitted -= 1;
        // SAFETY: the device has returned the descriptor, and the barrier makes its earlier writes
        // visible.
        let buffer = unsafe { lent.into_buffer() };
        let octets = octets.min(buffer.len());
        self.coherence.invalidate(buffer.address(), octets);
        Some(Completion {
            buffer,
            octets,
            status,
        })
    }

    /// Passes all lent buffers to `back`. After that the ring is empty, starts at its first
    /// descriptor, and a restarted device finds no descriptor that it owns. For a driver that has
    /// stopped its device.
    pub(crate) fn reclaim_all(&mut self, mut take_back: impl FnMut(Buffer)) {
        self.coherence.barrier();
        while let Some(index) = self.oldest() {
            self.submitted -= 1;
            if let Some(lent) = self.lent[index].take() {
                // SAFETY: a stopped device accesses no memory.
                take_back(unsafe { lent.into_buffer() });
            }
            self.memory.0[index].release();
        }
        self.next = 0;
        self.coherence.barrier();
    }

    /// The descriptors, for the device model of a test.
    #[cfg(test)]
    pub(crate) fn descriptors(&self) -> &'static [D; N] {
        &self.memory.0
    }
}

#[cfg(test)]
mod tests;
