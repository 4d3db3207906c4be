//! Words that a device and the program both read and write.

use core::cell::UnsafeCell;
use core::fmt;

/// An integer in memory that a device reads or writes at any time: each access happens, once, whole.
#[repr(transparent)]
pub struct Shared<T>(UnsafeCell<T>);

// SAFETY: it is read and written by volatile accesses only, of integers that the machine accesses whole.
unsafe impl<T: Integer> Sync for Shared<T> {}

/// Integers that the machine accesses whole. Little-endian, as rings are.
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

// No u64: a machine of 32 bits writes it in two.
integers!(u16, u32);

impl<T: Integer> Shared<T> {
    /// With this in it.
    pub const fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    /// What is in it now.
    #[inline(always)]
    pub fn read(&self) -> T {
        // SAFETY: valid for as long as `self`, and any value of an integer is one.
        unsafe { self.0.get().read_volatile() }
    }

    /// Writes it.
    #[inline(always)]
    pub fn write(&self, value: T) {
        // SAFETY: as in `read`; whoever reads at the same time reads whole.
        unsafe { self.0.get().write_volatile(value) }
    }
}

impl<T: Integer + fmt::Debug> fmt::Debug for Shared<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.read().fmt(f)
    }
}
