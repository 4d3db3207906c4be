//! The split virtqueue (virtio 1.2 section 2.7): a descriptor table, the available ring (buffers
//! that the device may use) and the used ring (buffers that it has used).

use super::{Buffer, Coherence, LentBuffer, Shared, Transfer};
use core::fmt;

/// Flag of a descriptor: the device writes into the buffer (`VIRTQ_DESC_F_WRITE`).
const WRITE: u16 = 2;
/// Flag of the available ring: no interrupts (`VIRTQ_AVAIL_F_NO_INTERRUPT`).
const NO_INTERRUPT: u16 = 1;
/// Flag of the used ring: no notifications (`VIRTQ_USED_F_NO_NOTIFY`).
const NO_NOTIFY: u16 = 1;

/// A descriptor (section 2.7.5). The address is 64 bits in two halves.
#[repr(C, align(16))]
struct Descriptor {
    address: [Shared<u32>; 2],
    octets: Shared<u32>,
    flags: Shared<u16>,
    next: Shared<u16>,
}

/// Sections 2.7.6 and 2.7.8, without event indexes, which are not negotiated.
#[repr(C)]
struct Ring<E, const N: usize> {
    flags: Shared<u16>,
    /// Entries ever written, modulo 2^16.
    written: Shared<u16>,
    entries: [E; N],
    event: Shared<u16>,
}

#[repr(C)]
struct Used {
    descriptor: Shared<u32>,
    octets: Shared<u32>,
}

/// Memory of a queue of `N` descriptors, a power of two: aligned as the device requires.
#[repr(C, align(16))]
pub struct Memory<const N: usize> {
    table: [Descriptor; N],
    available: Ring<Shared<u16>, N>,
    used: Ring<Used, N>,
}

impl<const N: usize> Memory<N> {
    /// Empty rings.
    #[must_use]
    pub const fn new() -> Self {
        const { assert!(N.is_power_of_two() && N <= 0x8000) };
        Self {
            table: [const {
                Descriptor {
                    address: [const { Shared::new(0) }; 2],
                    octets: Shared::new(0),
                    flags: Shared::new(0),
                    next: Shared::new(0),
                }
            }; N],
            available: Ring {
                flags: Shared::new(0),
                written: Shared::new(0),
                entries: [const { Shared::new(0) }; N],
                event: Shared::new(0),
            },
            used: Ring {
                flags: Shared::new(0),
                written: Shared::new(0),
                entries: [const {
                    Used {
                        descriptor: Shared::new(0),
                        octets: Shared::new(0),
                    }
                }; N],
                event: Shared::new(0),
            },
        }
    }
}

impl<const N: usize> Default for Memory<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> fmt::Debug for Memory<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory")
            .field("available", &self.available.written)
            .field("used", &self.used.written)
            .finish_non_exhaustive()
    }
}

/// Error: the device reported a descriptor that it does not own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnexpectedDescriptor {
    /// Number of the reported descriptor.
    pub descriptor: u32,
}

impl fmt::Display for UnexpectedDescriptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the device used descriptor {}, which it does not own",
            self.descriptor
        )
    }
}

impl core::error::Error for UnexpectedDescriptor {}

/// Program side of a queue: one descriptor per buffer.
#[derive(Debug)]
pub struct Virtqueue<C, const N: usize> {
    memory: &'static Memory<N>,
    coherence: C,
    /// Lent buffers, by descriptor.
    lent: [Option<LentBuffer>; N],
    /// Unused descriptors: the first `unused`.
    free: [u16; N],
    unused: usize,
    available: u16,
    seen: u16,
}

impl<C: Coherence, const N: usize> Virtqueue<C, N> {
    /// An empty queue in this memory, which the device must not use yet.
    pub fn new(memory: &'static mut Memory<N>, coherence: C) -> Self {
        *memory = Memory::new();
        Self {
            memory,
            coherence,
            lent: [const { None }; N],
            free: core::array::from_fn(|index| index as u16),
            unused: N,
            available: 0,
            seen: 0,
        }
    }

    /// Addresses of the table and the two rings, for the registers `QueueDesc`, `QueueDriver` and
    /// `QueueDevice`.
    #[must_use]
    pub fn addresses(&self) -> [usize; 3] {
        let memory = core::ptr::from_ref(self.memory).expose_provenance();
        let from_start = [
            core::mem::offset_of!(Memory<N>, table),
            core::mem::offset_of!(Memory<N>, available),
            core::mem::offset_of!(Memory<N>, used),
        ];
        from_start.map(|offset| memory + offset)
    }

    /// Number of buffers that can be submitted now.
    #[must_use]
    pub const fn free_descriptors(&self) -> usize {
        self.unused
    }

    /// Lends a buffer to the device. Returns `true` if the device must be notified.
    ///
    /// # Errors
    /// The buffer, if all descriptors are in use.
    #[inline]
    pub fn submit(&mut self, buffer: Buffer, transfer: Transfer) -> Result<bool, Buffer> {
        let Some(last) = self.unused.checked_sub(1) else {
            return Err(buffer);
        };
        self.unused = last;
        let index = self.free[last];
        let transfer = transfer.limited_to(&buffer);
        let (octets, flags) = match transfer {
            Transfer::ToDevice(octets) => (octets, 0),
            Transfer::FromDevice => (buffer.len(), WRITE),
        };
        let address = buffer.address();
        self.coherence.before_transfer(&buffer, transfer);
        let descriptor = &self.memory.table[usize::from(index)];
        descriptor.address[0].write(address as u32);
        descriptor.address[1].write((address as u64 >> 32) as u32);
        descriptor.octets.write(octets as u32);
        descriptor.flags.write(flags);
        self.lent[usize::from(index)] = Some(buffer.lend());
        let entries = &self.memory.available.entries;
        entries[usize::from(self.available) % N].write(index);
        self.available = self.available.wrapping_add(1);
        // The entry is written before the index (2.7.13.3), and the index before the device is
        // checked for suppressed notifications (2.7.13.4).
        self.coherence.barrier();
        self.memory.available.written.write(self.available);
        self.coherence.barrier();
        Ok(self.memory.used.flags.read() & NO_NOTIFY == 0)
    }

    /// True if a used buffer has not been taken yet.
    #[inline]
    #[must_use]
    pub fn has_used(&self) -> bool {
        self.memory.used.written.read() != self.seen
    }

    /// Takes the next buffer that the device has used, with the number of octets that it wrote,
    /// limited to the length of the buffer.
    ///
    /// # Errors
    /// [`UnexpectedDescriptor`] if the device reports a descriptor that it does not own.
    #[inline]
    pub fn take(&mut self) -> Result<Option<(Buffer, usize)>, UnexpectedDescriptor> {
        if !self.has_used() {
            return Ok(None);
        }
        // The entry is read after the index.
        self.coherence.barrier();
        let used = &self.memory.used.entries[usize::from(self.seen) % N];
        let (index, octets) = (used.descriptor.read(), used.octets.read() as usize);
        self.seen = self.seen.wrapping_add(1);
        let lent = self.lent.get_mut(index as usize).and_then(Option::take);
        let lent = lent.ok_or(UnexpectedDescriptor { descriptor: index })?;
        // SAFETY: the device has put it into the used ring, and the barrier above makes its writes
        // visible.
        let buffer = unsafe { lent.into_buffer() };
        self.free[self.unused] = index as u16;
        self.unused += 1;
        let octets = octets.min(buffer.len());
        self.coherence.invalidate(buffer.address(), octets);
        Ok(Some((buffer, octets)))
    }

    /// Passes all lent buffers to `back` and resets the queue. For a driver that has reset its
    /// device.
    pub(crate) fn reclaim_all(&mut self, mut take_back: impl FnMut(Buffer)) {
        self.coherence.barrier();
        for lent in self.lent.iter_mut().filter_map(Option::take) {
            // SAFETY: a device in reset accesses no memory.
            take_back(unsafe { lent.into_buffer() });
        }
        self.free = core::array::from_fn(|index| index as u16);
        (self.unused, self.available, self.seen) = (N, 0, 0);
        let Memory {
            available, used, ..
        } = self.memory;
        available.written.write(0);
        used.written.write(0);
        used.flags.write(0);
        self.coherence.barrier();
    }

    /// The memory, for the device model of a test.
    #[cfg(test)]
    pub(crate) fn memory(&self) -> &'static Memory<N> {
        self.memory
    }

    /// Enables or disables interrupts for used buffers. After disabling, one may still occur.
    #[inline]
    pub fn set_interrupts(&mut self, wanted: bool) {
        let flags = if wanted { 0 } else { NO_INTERRUPT };
        self.memory.available.flags.write(flags);
        self.coherence.barrier();
    }
}

#[cfg(test)]
pub(crate) mod tests;
