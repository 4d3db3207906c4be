//! Counters that the simulator reads.

use core::sync::atomic::{AtomicU32, Ordering};

/// Counters, in the order of the words of `KERNEL_AGENT`.
#[derive(Clone, Copy)]
pub enum Count {
    /// 1 when the program is ready.
    Ready,
    /// Ends of an idle time: interrupts of the MAC or of the timer.
    Interrupts,
    /// Times that the program slept in the WAIT mode.
    Sleeps,
    /// Frames received.
    Received,
    /// Frames sent.
    Sent,
}

const COUNT: usize = 8;

#[unsafe(no_mangle)]
static KERNEL_AGENT: [AtomicU32; COUNT] = [const { AtomicU32::new(0) }; COUNT];

/// Adds to a counter.
pub fn count(counter: Count, by: u32) {
    KERNEL_AGENT[counter as usize].fetch_add(by, Ordering::Relaxed);
}
