//! Memory-mapped registers of a device.

use core::ptr;
use linerate_regs::RegisterRef;

/// Registers of width `W` at offsets, in octets, from the base of a device: the device itself
/// ([`Mmio`]), or a model of it in a test.
///
/// Each access is performed exactly once, in the width of `W` and in program order;
/// [`dma::Coherence`](crate::dma::Coherence) orders it with respect to memory accesses.
pub trait Registers<W = u32> {
    /// Reads the register at `offset`.
    fn read_at(&self, offset: usize) -> W;

    /// Writes the register at `offset`.
    fn write_at(&self, offset: usize, value: W);

    /// Reads a register of this width.
    #[inline(always)]
    fn read(&self, register: RegisterRef) -> W {
        debug_assert!(usize::from(register.width) == 8 * size_of::<W>());
        self.read_at(register.offset as usize)
    }

    /// Writes a register of this width.
    #[inline(always)]
    fn write(&self, register: RegisterRef, value: W) {
        debug_assert!(usize::from(register.width) == 8 * size_of::<W>());
        self.write_at(register.offset as usize, value);
    }
}

/// A device in the address space.
#[derive(Debug)]
pub struct Mmio {
    base: usize,
}

impl Mmio {
    /// The device whose first register is at address `base`.
    ///
    /// # Safety
    /// The registers of the device whose driver gets this value start at `base`, mapped so that
    /// accesses are neither cached, merged nor repeated. Nothing else uses them during the lifetime
    /// of this value, and all accesses to memory that the driver requests from the device are
    /// sound.
    #[must_use]
    pub const unsafe fn new(base: usize) -> Self {
        Self { base }
    }
}

macro_rules! width {
    ($($word:ty),*) => {$(
        impl Registers<$word> for Mmio {
            #[inline(always)]
            fn read_at(&self, offset: usize) -> $word {
                // SAFETY: a register of the device, as promised to `new`.
                unsafe { ptr::read_volatile(ptr::with_exposed_provenance(self.base + offset)) }
            }

            #[inline(always)]
            fn write_at(&self, offset: usize, value: $word) {
                let register = ptr::with_exposed_provenance_mut(self.base + offset);
                // SAFETY: a register of the device, as promised to `new`.
                unsafe { ptr::write_volatile(register, value) }
            }
        }
    )*};
}

width!(u8, u16, u32);
