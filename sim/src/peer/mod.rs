//! The other end of the cable: stations that live in virtual time.

use crate::time::Instant;

/// A station behind a MAC. Time is passed in and the caller polls; frames carry no preamble and no
/// FCS (the wire's MAC adds and checks them).
pub trait Station {
    /// A frame arrived whole, with a good FCS.
    fn receive(&mut self, frame: &[u8], now: Instant);

    /// The next frame that the station wants on the wire, if it has one ready at `now`.
    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<u8>>;

    /// When [`Station::poll_transmit`] is worth calling again without a received frame.
    fn poll_timeout(&self) -> Instant;
}
