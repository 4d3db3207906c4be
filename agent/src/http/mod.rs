//! HTTP/1.1 (RFC 9110, RFC 9112), as far as needed for measurements.
//!
//! The [server](Server) answers `GET /N` with N octets of the [pattern](linerate_ether::pattern), accepts any
//! PUT or POST and answers with the number of octets received, or on `/crc32` with their CRC-32. The
//! [client](Client) gets and puts, with this server or any other.

mod body;
mod client;
mod fields;
mod line;
mod server;

pub use client::{Client, Failure, Outcome, Plan, Progress, Upload};
pub use server::{Finished, Server};

use crate::octets::with_digit;

/// The port of HTTP.
pub const PORT: u16 = 80;

/// Parses a decimal number that consists of digits only and fits.
fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let is_one = digit.is_ascii_digit();
        is_one.then(|| with_digit(sum, digit - b'0'))?
    })
}

/// Splits at the first of these octets, if there is one.
#[inline(never)]
fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|octet| *octet == at)?;
    Some((&text[..place], &text[place + 1..]))
}
