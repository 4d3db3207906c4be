//! Registers of a device that the processor reaches by address.

use core::ptr;
use linerate_regs::Place;

/// Registers of `W` bits at offsets, in octets, from where a device begins: the device itself ([`Mmio`]), or
/// in a test what stands for it.
///
/// Each access happens, once, as wide as `W` and in the order of the program; beside accesses to memory it
/// is ordered by [`dma::Coherence`](crate::dma::Coherence).
pub trait Registers<W = u32> {
    /// Reads what lies there.
    fn read_at(&self, offset: usize) -> W;

    /// Writes what lies there.
    fn write_at(&self, offset: usize, value: W);

    /// Reads a register of that width.
    #[inline(always)]
    fn read(&self, register: Place) -> W {
        debug_assert!(usize::from(register.width) == 8 * size_of::<W>());
        self.read_at(register.offset as usize)
    }

    /// Writes a register of that width.
    #[inline(always)]
    fn write(&self, register: Place, value: W) {
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
    /// The device whose first register lies at `base`.
    ///
    /// # Safety
    /// From `base` on lie the registers of the device that this is passed to the driver of, mapped so that
    /// accesses are neither cached, merged nor repeated. Nothing else uses them for as long as this lives,
    /// and what the device is told to do to memory is sound if that driver tells it.
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
                // SAFETY: a register of the device, as `new` was promised.
                unsafe { ptr::read_volatile(ptr::with_exposed_provenance(self.base + offset)) }
            }

            #[inline(always)]
            fn write_at(&self, offset: usize, value: $word) {
                let register = ptr::with_exposed_provenance_mut(self.base + offset);
                // SAFETY: a register of the device, as `new` was promised.
                unsafe { ptr::write_volatile(register, value) }
            }
        }
    )*};
}

width!(u8, u16, u32);
