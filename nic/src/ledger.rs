//! Counters of the device: one array of atomics for everything between PHY and stack.

use crate::device::LinkState;
use crate::sync::{AtomicU32, Ordering};
use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;

/// All counters of a device, indexed by [`Counter`]` as usize`.
///
/// Firmware has one as a `static`. It is a plain array of 32-bit words, so that a debugger or a
/// simulator that knows the symbol can read it without help from the firmware.
#[repr(C)]
pub struct Ledger {
    counts: [AtomicU32; Counter::COUNT],
}

impl Ledger {
    /// All counters at zero.
    #[cfg(not(loom))]
    pub const fn new() -> Self {
        Self {
            counts: [const { AtomicU32::new(0) }; Counter::COUNT],
        }
    }

    /// All counters at zero (not `const`: loom's atomics are not).
    #[cfg(loom)]
    pub fn new() -> Self {
        Self {
            counts: core::array::from_fn(|_| AtomicU32::new(0)),
        }
    }

    /// Adds one. Wraps at 2^32. Callable from any context: one atomic addition.
    #[inline(always)]
    pub fn count(&self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Adds `amount`. Wraps at 2^32.
    #[inline(always)]
    pub fn add(&self, counter: Counter, amount: u32) {
        // In range for all variants; the compiler proves it once `counter` is a constant.
        self.counts[counter as usize].fetch_add(amount, Ordering::Relaxed);
    }

    /// Counts a frame to a group address as multicast or broadcast.
    #[inline]
    pub(crate) fn count_group(&self, frame: &[u8], multicast: Counter, broadcast: Counter) {
        let Some(address) = frame.first_chunk() else {
            return;
        };
        let address = MacAddress(*address);
        if address.is_broadcast() {
            self.count(broadcast);
        } else if address.is_multicast() {
            self.count(multicast);
        }
    }

    /// Counts a change of the link state, if there is one.
    pub(crate) fn count_link(&self, before: LinkState, now: LinkState) {
        match (before, now) {
            (LinkState::Down, LinkState::Up) => self.count(Counter::LinkUps),
            (LinkState::Up, LinkState::Down) => self.count(Counter::LinkDowns),
            _ => {}
        }
    }

    /// The current count.
    pub fn get(&self, counter: Counter) -> u32 {
        self.counts[counter as usize].load(Ordering::Relaxed)
    }

    /// The counters that are not zero, in their order.
    pub fn non_zero(&self) -> impl Iterator<Item = (Counter, u32)> + '_ {
        Counter::ALL
            .iter()
            .map(|&counter| (counter, self.get(counter)))
            .filter(|&(_, n)| n != 0)
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self::new()
    }
}
