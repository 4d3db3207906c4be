//! Interrupt entry with minimum latency: handlers bound directly to the vector table, and the storage for
//! their data.

use core::cell::UnsafeCell;

/// Data of one interrupt, or shared by several and the main thread with interrupts off. Installed before the
/// interrupts are enabled.
pub(super) struct Slot<T>(UnsafeCell<Option<T>>);

// SAFETY: callers of `install` and `get` guarantee exclusive access.
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T> Slot<T> {
    /// An empty slot.
    pub(super) const fn new() -> Self {
        Self(UnsafeCell::new(None))
    }

    /// A slot with initial content.
    #[cfg(feature = "line-rate")]
    pub(super) const fn holding(content: T) -> Self {
        Self(UnsafeCell::new(Some(content)))
    }

    /// Stores `content`.
    ///
    /// # Safety
    /// The interrupts that use the slot are not enabled yet.
    pub(super) unsafe fn install(&self, content: T) {
        // SAFETY: exclusive access is guaranteed by the caller.
        unsafe { *self.0.get() = Some(content) }
    }

    /// Returns the content.
    ///
    /// # Safety
    /// Nobody else accesses the content meanwhile: the caller is the interrupt that owns the slot and does
    /// not nest, or interrupts are off each time.
    #[inline(always)]
    #[allow(clippy::mut_from_ref)]
    pub(super) unsafe fn get(&self) -> Option<&mut T> {
        // SAFETY: the only reference, as guaranteed by the caller.
        unsafe { (*self.0.get()).as_mut() }
    }
}

/// A trap handler that saves the caller-saved registers, calls a function and returns from the trap. `first`
/// and `last` are the instructions right at the entry and right before the return.
macro_rules! trap {
    ($(#[$meta:meta])* $name:ident calls $function:path, $first:literal, $last:literal) => {
        $(#[$meta])*
        #[unsafe(naked)]
        #[unsafe(link_section = ".rwtext.interrupt.linerate")]
        pub(super) unsafe extern "C" fn $name() {
            ::core::arch::naked_asm!(
                $first,
                "addi sp, sp, -64",
                "sw ra, 0(sp)",
                "sw t0, 4(sp)",
                "sw t1, 8(sp)",
                "sw t2, 12(sp)",
                "sw t3, 16(sp)",
                "sw t4, 20(sp)",
                "sw t5, 24(sp)",
                "sw t6, 28(sp)",
                "sw a0, 32(sp)",
                "sw a1, 36(sp)",
                "sw a2, 40(sp)",
                "sw a3, 44(sp)",
                "sw a4, 48(sp)",
                "sw a5, 52(sp)",
                "sw a6, 56(sp)",
                "sw a7, 60(sp)",
                "call {function}",
                "lw ra, 0(sp)",
                "lw t0, 4(sp)",
                "lw t1, 8(sp)",
                "lw t2, 12(sp)",
                "lw t3, 16(sp)",
                "lw t4, 20(sp)",
                "lw t5, 24(sp)",
                "lw t6, 28(sp)",
                "lw a0, 32(sp)",
                "lw a1, 36(sp)",
                "lw a2, 40(sp)",
                "lw a3, 44(sp)",
                "lw a4, 48(sp)",
                "lw a5, 52(sp)",
                "lw a6, 56(sp)",
                "lw a7, 60(sp)",
                "addi sp, sp, 64",
                $last,
                "mret",
                function = sym $function,
                debug = const $crate::phy::pins::DEBUG,
            )
        }
    };
}

pub(super) use trap;
