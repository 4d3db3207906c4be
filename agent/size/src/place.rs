//! Static memory for a value that is created at run time.

#![allow(dead_code, reason = "without services, the driver alone")]

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// Memory for one value: its size is in the ELF's symbols.
pub struct Place<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: the program has one thread, and each place is filled once.
unsafe impl<T> Sync for Place<T> {}

impl<T> Place<T> {
    pub const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    #[expect(clippy::mut_from_ref, reason = "it is called once")]
    pub fn put(&'static self, value: T) -> &'static mut T {
        // SAFETY: called once for each place, by the only thread.
        unsafe { (*self.0.get()).write(value) }
    }
}
