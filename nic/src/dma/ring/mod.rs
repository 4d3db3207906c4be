//! A ring of descriptors, each with a bit that says whose it is: what most network devices have.
//!
//! How a descriptor is written is its device's matter ([`Descriptor`]); whose a buffer is, where the ring ends
//! and what order writes have is the ring's.

use super::{Buffer, Coherence, Lent, Way};
use core::fmt;

/// One kind of descriptor, in memory that the device reads and writes: its fields are
/// [`Shared`](super::Shared).
///
/// As with registers, a wrong one is unsound beside a device: who vouches for a driver
/// ([`Mmio::new`](crate::mmio::Mmio::new)) vouches for this, too.
pub trait Descriptor {
    /// A descriptor that belongs to the program and says nothing.
    const IDLE: Self;
    /// What is asked of the device with a frame.
    type Order: Copy;
    /// What the device says when it is through.
    type Outcome;

    /// Writes everything but the word with the bit that says whose it is.
    fn prepare(&self, piece: &Piece, order: Self::Order);

    /// Writes that word: from now on the descriptor is the device's.
    fn hand_over(&self, piece: &Piece, order: Self::Order);

    /// Whether it is the program's.
    fn is_back(&self) -> bool;

    /// What the device says, and of how many octets; the descriptor is the program's.
    fn outcome(&self) -> (usize, Self::Outcome);

    /// Makes it the program's, whosever it is: the device is stopped.
    fn take_back(&self);
}

/// What a descriptor is to say of a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// Where the buffer lies.
    pub address: usize,
    /// How much of it is a frame's; which way.
    pub way: Way,
    /// No descriptor of this frame follows.
    pub is_last: bool,
    /// The first descriptor follows.
    pub wraps: bool,
}

/// The memory of a ring of `N` descriptors, aligned to a line of a cache: no device asks for more.
#[repr(C, align(64))]
pub struct Memory<D, const N: usize>([D; N]);

impl<D: Descriptor, const N: usize> Memory<D, N> {
    /// All of it the program's.
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

/// The program's side of a ring: one descriptor a buffer, taken back in the order in which they were given.
#[derive(Debug)]
pub struct Ring<D: 'static, C, const N: usize> {
    memory: &'static Memory<D, N>,
    coherence: C,
    /// By descriptor.
    lent: [Option<Lent>; N],
    /// The descriptor that is given next, and how many before it are the device's.
    next: usize,
    given: usize,
}

/// A buffer that the device is through with.
#[derive(Debug)]
pub struct Returned<O> {
    /// The buffer.
    pub buffer: Buffer,
    /// Octets that the device speaks of, no more than the buffer has.
    pub octets: usize,
    /// What it says.
    pub outcome: O,
}

impl<D: Descriptor, C: Coherence, const N: usize> Ring<D, C, N> {
    /// An empty ring in this memory, which the device must not know yet.
    pub fn new(memory: &'static mut Memory<D, N>, coherence: C) -> Self {
        *memory = Memory::new();
        Self {
            memory,
            coherence,
            lent: [const { None }; N],
            next: 0,
            given: 0,
        }
    }

    /// Where the first descriptor lies.
    #[must_use]
    pub fn address(&self) -> usize {
        core::ptr::from_ref(self.memory).expose_provenance()
    }

    /// How many buffers can be lent now.
    #[must_use]
    pub const fn room(&self) -> usize {
        N - self.given
    }

    /// Lends the pieces of one frame to the device, which is to be told of it.
    ///
    /// # Errors
    /// The pieces, when there are fewer descriptors than pieces.
    #[inline]
    pub fn give<const K: usize>(
        &mut self,
        pieces: [(Buffer, Way); K],
        order: D::Order,
    ) -> Result<(), [(Buffer, Way); K]> {
        if self.room() < K {
            return Err(pieces);
        }
        let begin = self.next;
        let mut first = None;
        for (number, (buffer, way)) in pieces.into_iter().enumerate() {
            let index = (begin + number) % N;
            let piece = Piece {
                address: buffer.address(),
                way: way.within(&buffer),
                is_last: number + 1 == K,
                wraps: index + 1 == N,
            };
            self.coherence.before(&buffer, piece.way);
            let descriptor = &self.memory.0[index];
            descriptor.prepare(&piece, order);
            self.lent[index] = Some(buffer.lend());
            if number == 0 {
                first = Some((descriptor, piece));
            } else {
                self.coherence.barrier();
                descriptor.hand_over(&piece, order);
            }
        }
        self.next = (begin + K) % N;
        self.given += K;
        // The device stops at the first, and must find all else behind it.
        if let Some((descriptor, piece)) = first {
            self.coherence.barrier();
            descriptor.hand_over(&piece, order);
            self.coherence.barrier();
        }
        Ok(())
    }

    /// The descriptor that comes back next, if any is lent.
    #[inline]
    fn oldest(&self) -> Option<usize> {
        (self.given > 0).then_some((self.next + N - self.given) % N)
    }

    /// Whether the device is through with a buffer that was not taken back yet.
    #[inline]
    #[must_use]
    pub fn has_returned(&self) -> bool {
        self.oldest()
            .is_some_and(|index| self.memory.0[index].is_back())
    }

    /// Takes back the next buffer that the device is through with.
    #[inline]
    pub fn take(&mut self) -> Option<Returned<D::Outcome>> {
        let index = self.oldest()?;
        let descriptor = &self.memory.0[index];
        if !descriptor.is_back() {
            return None;
        }
        // What the device says is read after the bit.
        self.coherence.barrier();
        let (octets, outcome) = descriptor.outcome();
        let lent = self.lent[index].take()?;
        self.given -= 1;
        // SAFETY: the device has given up the descriptor, and the barrier lets be seen what it wrote before.
        let buffer = unsafe { lent.back() };
        let octets = octets.min(buffer.len());
        self.coherence.invalidate(buffer.address(), octets);
        Some(Returned {
            buffer,
            octets,
            outcome,
        })
    }

    /// Hands every buffer to `back`; then the ring is empty, begins with its first descriptor, and a device that
    /// starts again finds none that is its own. For a driver that has stopped its device.
    pub(crate) fn recall(&mut self, mut back: impl FnMut(Buffer)) {
        self.coherence.barrier();
        while let Some(index) = self.oldest() {
            self.given -= 1;
            if let Some(lent) = self.lent[index].take() {
                // SAFETY: a device that is stopped uses no memory.
                back(unsafe { lent.back() });
            }
            self.memory.0[index].take_back();
        }
        self.next = 0;
        self.coherence.barrier();
    }

    /// What a device in a test sees.
    #[cfg(test)]
    pub(crate) fn descriptors(&self) -> &'static [D; N] {
        &self.memory.0
    }
}

#[cfg(test)]
mod tests;
