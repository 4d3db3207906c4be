//! As much of HTTP/1.1 (RFC 9112) as it takes to move known bytes: `GET /N` is answered with the
//! first N bytes of [`linerate_ether::pattern`].

mod client;
mod head;
mod server;

pub use client::{Failure, Fetched, close, get};
pub use head::{Head, HeadError, Request};
pub use server::{Connection, Served};

/// The longest message head that is accepted.
pub const MAX_HEAD: usize = 1024;

/// Formats into a socket's transmit buffer; an error means that there was no room.
struct Writer<'s, 'b>(&'s mut smoltcp::socket::tcp::Socket<'b>);

impl core::fmt::Write for Writer<'_, '_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        match self.0.send_slice(text.as_bytes()) {
            Ok(len) if len == text.len() => Ok(()),
            _ => Err(core::fmt::Error),
        }
    }
}
