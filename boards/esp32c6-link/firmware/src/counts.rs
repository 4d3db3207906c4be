//! What the program counts, for a debugger or a simulator.

use core::sync::atomic::{AtomicU32, Ordering};

/// Indices in [`COUNTS`].
#[derive(Clone, Copy, Debug)]
pub enum Count {
    /// Octets received from the port.
    Received,
    /// Octets that did not arrive, by the numbers of those that did (modulo 256).
    Missed,
    /// Times that the receive FIFO overflowed, as the driver reports.
    Overflows,
    /// Most octets that were taken from the FIFO in one interrupt.
    Fullest,
    /// Octets that the interrupt handler had no memory for.
    Unread,
    /// Interrupts of the UART.
    Interrupts,
    /// Other work that the counting program has done: the time that is left.
    Turns,
    /// Octets of the messages that were received on channel 1.
    Bulk,
}

/// The counts, in the order of [`Count`].
#[unsafe(no_mangle)]
pub static COUNTS: [AtomicU32; 8] = [const { AtomicU32::new(0) }; 8];

/// Adds to a count.
pub fn add(count: Count, number: u32) {
    COUNTS[count as usize].fetch_add(number, Ordering::Relaxed);
}

/// Raises a count to at least `number`.
pub fn raise(count: Count, number: u32) {
    COUNTS[count as usize].fetch_max(number, Ordering::Relaxed);
}
