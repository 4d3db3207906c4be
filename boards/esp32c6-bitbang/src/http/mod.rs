//! As much of HTTP/1.1 (RFC 9112) as it takes to move known bytes: `GET /N` is answered with the
//! first N bytes of [`linerate_ether::pattern`].

mod head;
mod server;

pub use head::{Head, HeadError, Request};
pub use server::{Connection, Served};

/// The longest message head that is accepted.
pub const MAX_HEAD: usize = 1024;
