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

use crate::octets::{self, product};

/// The port of HTTP.
pub const PORT: u16 = 80;

/// Parses a number that consists of digits of this base only and fits.
#[inline(never)]
fn number(digits: &[u8], base: u8) -> Option<u64> {
    let mut number = 0;
    for digit in digits {
        let digit = char::from(*digit).to_digit(base.into())?;
        number = product(number, base.into())?.checked_add(digit.into())?;
    }
    (!digits.is_empty()).then_some(number)
}

/// Splits at the first of these octets, if there is one.
#[inline(never)]
fn split(text: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = text.iter().position(|octet| *octet == at)?;
    let (before, rest) = octets::split(text, place);
    Some((before, octets::split(rest, 1).1))
}
