//! Words that device and program both read and write.

use core::cell::UnsafeCell;
use core::fmt;

/// An integer in memory that a device may access at any time: each access is performed exactly
/// once, in its full width.
#[repr(transparent)]
pub struct Shared<T>(UnsafeCell<T>);

// SAFETY: it is accessed only by volatile reads and writes of integers that the machine accesses as
// a unit.
unsafe impl<T: Integer> Sync for Shared<T> {}

/// Integers that the machine accesses as a unit. Little-endian, as in descriptor rings.
pub trait Integer: Copy + sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! integers {
    ($($integer:ty),*) => {$(
        impl sealed::Sealed for $integer {}
        impl Integer for $integer {}
    )*};
}

// No u64: a 32-bit machine writes it in two parts.
integers!(u16, u32);

impl<T: Integer> Shared<T> {
    /// A word with this value.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// Reads the current value.
    #[inline(always)]
    pub fn read(&self) -> T {
        // SAFETY: valid for as long as `self`, and any value of an integer is one.
        unsafe { self.0.get().read_volatile() }
    }

    /// Writes a value.
    #[inline(always)]
    pub fn write(&self, value: T) {
        // SAFETY: as in `read`; concurrent readers read the full width.
        unsafe { self.0.get().write_volatile(value) }
    }
}

impl<T: Integer + fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}
