//! Runs [`Service`](linerate_agent::Service)s over the sockets of smoltcp 0.14: a device's main loop calls it
//! between receiving and sending frames.
//!
//! A [`Driver`] has a fixed number of TCP and UDP sockets, whose buffers the program provides, and shares
//! them among all services: a connection occupies a TCP socket for its lifetime, the others listen, at least
//! one on each port while there are enough. It allocates nothing.
//!
//! smoltcp sends contiguous parts of its ring buffer: the size of a TCP transmit buffer should be a multiple
//! of the segment size.

#![no_std]
#![forbid(unsafe_code)]

mod address;
mod driver;
mod tcp;
mod udp;

pub use driver::Driver;
pub use udp::MAX_DATAGRAM;
