//! The interface between a chip and the circuit around it.

use crate::time::{Instant, Span};

/// Octets that an SPI master clocks in both directions, the highest bit first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpiOctets<'a> {
    /// The first clock.
    pub start: Instant,
    /// Duration of an octet.
    pub octet: Span,
    /// Pads with the clock and with the master's data, one bit each.
    pub clock_pads: u32,
    /// See above.
    pub data_pads: u32,
    /// The pad from which the master receives.
    pub receive_pad: Option<u8>,
    /// The octets that the master sends.
    pub sent: &'a [u8],
}

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

    /// The chip's SPI master has clocked octets out and in: `received` are those that the circuit sends at the same
    /// time. Without a circuit they are ones, as a line with a pull-up.
    fn exchange(&mut self, octets: &SpiOctets<'_>, received: &mut [u8]) {
        let _ = octets;
        received.fill(0xff);
    }

    /// The time by which the chip must return control to process the circuit's next event. Re-read
    /// after every access above, which may have made it earlier.
    fn deadline(&self) -> Instant;
}
