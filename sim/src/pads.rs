//! The seam between a chip and what is soldered to it.

use crate::time::Instant;

/// What a chip's pads are connected to. The chip passes the exact time of each access; it never
/// knows whether a cable, a logic analyser or nothing is there.
pub trait Pads {
    /// The level that the outside world puts on `pad` at `at`. Calls come in the order of time.
    fn level(&mut self, pad: u8, at: Instant) -> bool;

    /// The first time strictly after `after` at which the outside level of `pad` changes, as far
    /// as it is known now; [`Instant::NEVER`] if no change is scheduled.
    fn next_edge(&mut self, pad: u8, after: Instant) -> Instant;

    /// The chip drives `pad` to `level` at `at`.
    fn drive(&mut self, pad: u8, level: bool, at: Instant);

    /// The time by which the chip must hand back control because the outside world has something
    /// to do. Asked again after every access above, which may have made it earlier.
    fn deadline(&self) -> Instant;
}
