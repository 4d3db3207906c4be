//! HTTP/1.1 (RFC 9110, RFC 9112) as far as a measurement needs it.
//!
//! The [server](Server) gives `GET /N` N octets of the [pattern](linerate_ether::pattern), takes whatever is put
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

/// Text that is written into a place of so many octets; what does not fit is cut off. Not by `core::fmt`,
/// which a firmware need not have for this.
struct Text<const MOST: usize> {
    octets: [u8; MOST],
    len: usize,
}

impl<const MOST: usize> Text<MOST> {
    const fn new() -> Self {
        Self {
            octets: [0; MOST],
            len: 0,
        }
    }

    fn octets(&self) -> &[u8] {
        &self.octets[..self.len]
    }

    /// The text and this behind it.
    fn and(mut self, text: &str) -> Self {
        self.put(text.as_bytes());
        self
    }

    /// The text and a number behind it, in this base.
    fn and_number(mut self, value: u64, base: u64) -> Self {
        let mut digits = [0; 20];
        let (mut rest, mut at) = (value, digits.len());
        loop {
            at -= 1;
            digits[at] = b"0123456789ABCDEF"[(rest % base) as usize];
            rest /= base;
            if rest == 0 {
                break;
            }
        }
        self.put(&digits[at..]);
        self
    }

    fn put(&mut self, octets: &[u8]) {
        let len = octets.len().min(MOST - self.len);
        self.octets[self.len..self.len + len].copy_from_slice(&octets[..len]);
        self.len += len;
    }
}

impl<const MOST: usize> core::fmt::Write for Text<MOST> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.put(text.as_bytes());
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
