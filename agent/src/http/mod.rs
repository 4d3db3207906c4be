//! HTTP/1.1 (RFC 9110, RFC 9112) as far as a measurement needs it.
//!
//! The [server](Server) gives `GET /N` N octets of the [pattern](crate::pattern), takes whatever is put
//! or posted and answers with how many octets that were. The [client](Client) gets and puts, from and to
//! this server or any other.

mod body;
mod client;
mod fields;
mod line;
mod server;

pub use client::{Client, Failure, Outcome, Plan, Progress, Upload};
pub use server::{Finished, Server};

/// The port of HTTP.
pub const PORT: u16 = 80;

/// Reads a decimal number that is nothing but digits and fits.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = char::from(*digit).to_digit(10)?;
        sum.checked_mul(10)?.checked_add(digit.into())
    })
}

/// Text that is written into a place of so many octets; what does not fit is cut off.
struct Text<const MOST: usize> {
    octets: [u8; MOST],
    len: usize,
}

impl<const MOST: usize> Text<MOST> {
    fn new(text: core::fmt::Arguments) -> Self {
        let mut it = Self {
            octets: [0; MOST],
            len: 0,
        };
        // Never fails: see below.
        let _ = core::fmt::Write::write_fmt(&mut it, text);
        it
    }

    fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }
}

impl<const MOST: usize> core::fmt::Write for Text<MOST> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        let len = text.len().min(MOST - self.len);
        self.octets[self.len..self.len + len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        Ok(())
    }
}

/// Copies the part of `from` behind `skip` to `room`: how much.
fn copy_part(from: &[u8], skip: usize, room: &mut [u8]) -> usize {
    let part = from.get(skip..).unwrap_or_default();
    let len = part.len().min(room.len());
    room[..len].copy_from_slice(&part[..len]);
    len
}
