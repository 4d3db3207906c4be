//! When a device sees what the program wrote, and the program what the device wrote.

use super::{Buffer, Way};
use core::sync::atomic::{Ordering, fence};

/// What a board does so that device and processor see the same memory.
///
/// A driver calls these where the device's rules want it; a board without a data cache between the two
/// needs only [`barrier`](Self::barrier).
pub trait Coherence {
    /// Accesses to memory and registers before it are done before those after it, in the device's eyes.
    fn barrier(&self);

    /// The device is to read these octets: caches write them to memory.
    #[inline]
    fn clean(&self, address: usize, octets: usize) {
        let _ = (address, octets);
    }

    /// The device writes, or has written these octets: caches forget them.
    #[inline]
    fn invalidate(&self, address: usize, octets: usize) {
        let _ = (address, octets);
    }

    /// The buffer goes to the device.
    #[inline]
    fn before(&self, buffer: &Buffer, way: Way) {
        match way {
            Way::ToDevice(octets) => self.clean(buffer.address(), octets),
            Way::FromDevice => self.invalidate(buffer.address(), buffer.len()),
        }
    }
}

/// No cache, or one that sees what the device does, and a processor whose fence orders accesses to devices,
/// too (Armv7's DMB; not RISC-V's `fence rw,rw`).
#[derive(Debug, Clone, Copy, Default)]
pub struct Coherent;

impl Coherence for Coherent {
    #[inline(always)]
    fn barrier(&self) {
        fence(Ordering::SeqCst);
    }
}
