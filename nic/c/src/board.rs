//! The board's cache operations, which C provides.

use core::sync::atomic::{Ordering, fence};

use linerate_nic::dma::Coherence;

/// Cache operation of the firmware on a range of memory.
pub(crate) type CacheOperation = extern "C" fn(address: usize, octets: usize);

/// Cache operations of the board; none: no data cache, or one that is coherent with DMA.
#[derive(Clone, Copy)]
pub(crate) struct Caches {
    pub(crate) clean: Option<CacheOperation>,
    pub(crate) invalidate: Option<CacheOperation>,
}

impl Coherence for Caches {
    #[inline]
    fn barrier(&self) {
        // A fence of Rust orders memory only; on Arm (DMB) it also orders device accesses.
        #[cfg(any(target_arch = "riscv32", target_arch = "riscv64"))]
        // SAFETY: a fence only.
        unsafe {
            core::arch::asm!("fence iorw, iorw", options(nostack, preserves_flags));
        }
        fence(Ordering::SeqCst);
    }

    #[inline]
    fn clean(&self, address: usize, octets: usize) {
        if let Some(clean) = self.clean {
            clean(address, octets);
        }
    }

    #[inline]
    fn invalidate(&self, address: usize, octets: usize) {
        if let Some(invalidate) = self.invalidate {
            invalidate(address, octets);
        }
    }
}
