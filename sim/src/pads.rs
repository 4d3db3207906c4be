//! The interface between a chip and the circuit around it.

use crate::time::Instant;

/// The circuit that a chip's pads are connected to. The chip passes the exact time of each access;
/// it does not depend on whether a cable, a logic analyser or nothing is connected.
pub trait Pads {
    /// The level that the circuit drives on `pad` at `at`. Calls are in the order of time.
    fn level(&mut self, pad: u8, at: Instant) -> bool;

    /// The first time strictly after `after` at which the outside level of `pad` changes, as far as
    /// known now; [`Instant::NEVER`] if no change is scheduled.
    fn next_edge(&mut self, pad: u8, after: Instant) -> Instant;

    /// The chip drives `pad` to `level` at `at`.
    fn drive(&mut self, pad: u8, level: bool, at: Instant);

    /// The time by which the chip must return control to process the circuit's next event. Re-read
    /// after every access above, which may have made it earlier.
    fn deadline(&self) -> Instant;
}
