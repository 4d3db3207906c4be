//! [`Service`](linerate_agent::Service)s over the sockets of smoltcp 0.14: what a device's main loop calls
//! between taking in frames and sending some.
//!
//! A [`Driver`] has a fixed number of TCP and UDP sockets, whose buffers the program chose, and lends them
//! to all services of the program: a connection takes a TCP socket for as long as it lives, the others
//! listen, at least one of them on each port as long as there are enough. It allocates nothing.
//!
//! smoltcp sends what lies in a row in its ring of octets: a TCP transmit buffer should be a multiple of
//! the segment size.

#![no_std]
#![forbid(unsafe_code)]

mod address;
mod driver;
mod tcp;
mod udp;

pub use driver::Driver;
pub use udp::DATAGRAM;
