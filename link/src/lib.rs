//! A link layer for byte links: UART, USB serial, SPI, a pipe.
//!
//! A byte link loses, damages and inserts octets, and its receiver has only so much memory. [`Link`] makes messages
//! out of it that arrive whole and in order, or are counted as lost:
//!
//! - *Framing* with COBS, which finds the next frame behind any damage, and a CRC-32C that detects any five wrong bits.
//! - *Credit*: an end sends only what its peer has memory for.
//! - *Channels*, each with its own sequence numbers and memory. The lowest channel that has something to send is next
//!   when a frame ends, so an urgent message waits for at most one fragment of another channel, also while that one
//!   recovers from a loss.
//! - *Retransmission* on reliable channels; unreliable ones count what is lost.
//! - *Sessions*: an end learns that its peer has restarted.
//! - *Probes* measure round trip and one-way spread.
//!
//! Beside the link, and without cost if unused: [`measure`] has test messages with their [`Responder`](measure::Responder),
//! and [`SelfTest`] measures the link in place, compares it with a baseline and names what got worse.
//!
//! It allocates nothing, reads no clock and knows no device: octets and time are passed in. It has no buffer for a
//! frame; payload goes from the transmit queue to the wire and from the wire to the receive FIFO. The format is in
//! `docs/link-protocol.md`; `link/c` and `link/python` are two more implementations of it.
//!
//! ```
//! use linerate_link::{Channel, Config, Instant, Link};
//!
//! // Two ends, each with an urgent and a bulk channel; memory may also be borrowed: `&mut [u8]`.
//! let channels = || [Channel::reliable([0; 64], [0; 64]), Channel::reliable([0; 64], [0; 64])];
//! let mut one = Link::new(Config::new(0x1234), channels());
//! let mut two = Link::new(Config::new(0x5678), channels());
//! let now = Instant::from_us(0);
//! let mut wire = [0; 32];
//! let mut exchange = |one: &mut Link<[u8; 64], 2>, two: &mut Link<[u8; 64], 2>| loop {
//!     let forth = one.transmit(now, &mut wire);
//!     two.receive(now, &wire[..forth]);
//!     let back = two.transmit(now, &mut wire);
//!     one.receive(now, &wire[..back]);
//!     if forth + back == 0 {
//!         break;
//!     }
//! };
//! exchange(&mut one, &mut two);
//! assert!(one.is_up() && two.is_up());
//!
//! one.send(1, b"bulk").unwrap();
//! one.send(0, b"stop").unwrap();
//! exchange(&mut one, &mut two);
//! let mut message = [0; 64];
//! assert_eq!(two.read(0, &mut message), Some(4));
//! assert_eq!(&message[..4], b"stop");
//! ```

#![no_std]
#![forbid(unsafe_code)]

#[cfg(test)]
extern crate std;

mod counters;
mod crc;
mod decoder;
mod encoder;
mod link;
pub mod measure;
mod probe;
mod receive_fifo;
mod receiver;
mod ring;
mod round_trip;
pub mod self_test;
mod sender;
mod time;
mod transmit_queue;
mod wire;

pub use counters::Counters;
pub use link::{Channel, Config, Event, Link, SendError, memory_octets};
pub use probe::Probe;
pub use self_test::SelfTest;
pub use time::Instant;
pub use wire::{ACKNOWLEDGMENT, MAX_CAPACITY, MAX_CHANNELS, MAX_FRAGMENT, frame_octets};
