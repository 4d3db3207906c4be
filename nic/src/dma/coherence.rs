//! Visibility of memory writes between program and device.

use super::{Buffer, Transfer};
use core::sync::atomic::{Ordering, fence};

/// Operations of a board that keep memory coherent between device and processor.
///
/// Drivers call these where the rules of the device require it; a board without a data cache in
/// between needs only [`barrier`](Self::barrier).
pub trait Coherence {
    /// Orders accesses to memory and registers before it before those after it, as seen by the
    /// device.
    fn barrier(&self);

    /// Before the device reads these octets: writes caches back to memory.
    #[inline]
    fn clean(&self, address: usize, octets: usize) {
        let _ = (address, octets);
    }

    /// Before the device writes, or after it has written, these octets: discards cached copies.
    #[inline]
    fn invalidate(&self, address: usize, octets: usize) {
        let _ = (address, octets);
    }

    /// Prepares the transfer of a buffer to the device.
    #[inline]
    fn before_transfer(&self, buffer: &Buffer, transfer: Transfer) {
        match transfer {
            Transfer::ToDevice(octets) => self.clean(buffer.address(), octets),
            Transfer::FromDevice => self.invalidate(buffer.address(), buffer.len()),
        }
    }
}

/// No cache, or a cache coherent with DMA, and a processor whose fence also orders device accesses
/// (DMB of Armv7; not `fence rw,rw` of RISC-V).
#[derive(Debug, Clone, Copy, Default)]
pub struct Coherent;

impl Coherence for Coherent {
    #[inline(always)]
    fn barrier(&self) {
        fence(Ordering::SeqCst);
    }
}
