//! A full-duplex line of 10, 100 or 1000 Mbit/s between a MAC model and a switch, frame by frame.
//!
//! - [`SwitchPort`]: the other end of the line: a queue of finite size, pause frames, and a station behind it.
//! - [`DatagramSource`]: a host that sends UDP datagrams at a rate, in bursts.
//! - [`EnetBoard`]: a soft SoC with an ENET on such a line.

mod board;
mod source;
mod switch;

pub use board::{EnetBoard, Error, Stop};
pub use source::{DatagramSource, SourceConfig};
pub use switch::{SwitchConfig, SwitchPort, SwitchStatistics};

#[cfg(test)]
mod tests;
