//! What a board has beside its network device.

use core::fmt;
use linerate_agent::Instant;

/// A board's clock, console and sleep.
pub trait Machine: fmt::Write {
    /// The time since the start.
    fn now(&self) -> Instant;

    /// An octet that was typed on the console.
    fn typed(&mut self) -> Option<u8>;

    /// Sleeps until an interrupt is pending, or until then; not at all is right, too.
    fn sleep(&mut self, until: Instant);

    /// A number that differs from start to start, if the board has any.
    fn seed(&mut self) -> u64;
}
