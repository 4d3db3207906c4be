//! Board features beside the network device.

use core::fmt;
use linerate_agent::Instant;

/// A board's clock, console and sleep.
pub trait Machine: fmt::Write {
    /// Time since the start.
    fn now(&self) -> Instant;

    /// Reads an octet from the console.
    fn read_console(&mut self) -> Option<u8>;

    /// Sleeps until an interrupt is pending, or until the given time; returning early is allowed.
    fn sleep(&mut self, until: Instant);

    /// A number that differs from start to start, if possible.
    fn seed(&mut self) -> u64;
}
