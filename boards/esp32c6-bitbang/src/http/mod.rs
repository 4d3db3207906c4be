//! As much of HTTP/1.1 (RFC 9112) as is needed to move known bytes: `GET /N` is answered with the first N
//! bytes of [`linerate_ether::pattern`], `PUT /N` sends them.

mod body;
mod client;
mod head;
mod server;
mod upload;

pub use client::{Download, Failure, Fetched, Step, close, get};
pub use head::{Head, HeadError, Request};
pub use server::{Connection, Served};
pub use upload::{Upload, put};

use crate::{event, info};

/// Maximum length of a message head.
pub const MAX_HEAD: usize = 1024;

/// Reports a download of `/bytes` as an event, and to a person.
pub fn report_get(bytes: u64, fetched: &Fetched) {
    let Fetched { body, crc, took } = *fetched;
    let took = took.total_micros();
    event!(
        "get",
        "\"path\":\"/{bytes}\",\"body_bytes\":{body},\"crc32\":{crc},\"duration_us\":{took}"
    );
    report("Received", fetched);
}

/// Reports an upload of `/bytes` as an event, and to a person.
pub fn report_put(bytes: u64, sent: &Fetched) {
    let Fetched { body, crc, took } = *sent;
    let took = took.total_micros();
    event!(
        "put",
        "\"path\":\"/{bytes}\",\"body_bytes\":{body},\"crc32\":{crc},\"duration_us\":{took}"
    );
    report("Sent", sent);
}

fn report(what: &str, transfer: &Fetched) {
    let took = transfer.took.total_micros();
    // kB/s with one decimal: bytes per 100 us.
    let rate = transfer.body * 10_000 / took.max(1);
    info!(
        "{what} {} bytes over {}.{:03} s ({}.{} kB/sec) with CRC32 {}",
        transfer.body,
        took / 1_000_000,
        took / 1000 % 1000,
        rate / 10,
        rate % 10,
        transfer.crc,
    );
}

/// Formats into a socket's transmit buffer; an error means that there was no space.
struct Writer<'s, 'b>(&'s mut smoltcp::socket::tcp::Socket<'b>);

impl core::fmt::Write for Writer<'_, '_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        match self.0.send_slice(text.as_bytes()) {
            Ok(len) if len == text.len() => Ok(()),
            _ => Err(core::fmt::Error),
        }
    }
}
