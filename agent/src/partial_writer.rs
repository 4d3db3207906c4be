//! Text written piecewise, without `core::fmt`, which firmware need not link for this.

use crate::octets::{divide, put_u32};
use crate::span;

/// A buffer for a part of a text whose first `from` octets were written earlier. The text is generated from
/// its start each time; octets outside the buffer are only counted.
#[derive(Debug)]
pub(crate) struct PartialWriter<'a> {
    buffer: &'a mut [u8],
    from: usize,
    at: usize,
    /// The next member or element is the first one.
    is_first: bool,
}

impl<'a> PartialWriter<'a> {
    /// Creates a writer for the text from offset `from` on.
    pub(crate) const fn new(buffer: &'a mut [u8], from: usize) -> Self {
        Self {
            buffer,
            from,
            at: 0,
            is_first: true,
        }
    }

    /// Length of the text that `write` generates.
    pub(crate) fn measure(write: impl Fn(&mut PartialWriter)) -> usize {
        let mut nothing = PartialWriter::new(&mut [], 0);
        write(&mut nothing);
        nothing.at
    }

    /// Octets of the text that fit into the buffer.
    pub(crate) fn written(&self) -> usize {
        self.at.saturating_sub(self.from).min(self.buffer.len())
    }

    /// True if the whole text has been written.
    pub(crate) fn is_complete(&self) -> bool {
        self.from + self.written() >= self.at
    }

    /// Writes octets unchanged.
    #[inline(never)]
    pub(crate) fn raw(&mut self, octets: &[u8]) {
        for octet in octets {
            let place = self.at.checked_sub(self.from);
            if let Some(place) = place.and_then(|at| self.buffer.get_mut(at)) {
                *place = *octet;
            }
            self.at += 1;
        }
    }

    /// Writes a number in four octets, big-endian.
    pub(crate) fn word(&mut self, value: u32) {
        let mut octets = [0; 4];
        put_u32(&mut octets, 0, value);
        self.raw(&octets);
    }

    /// Begins an object or an array with its bracket.
    pub(crate) fn begin(&mut self, bracket: u8) {
        self.raw(&[bracket]);
        self.is_first = true;
    }

    /// Ends an object or an array.
    pub(crate) fn end(&mut self, bracket: u8) {
        self.raw(&[bracket]);
        self.is_first = false;
    }

    /// Writes the comma before an element, except the first.
    pub(crate) fn element(&mut self) {
        if !core::mem::replace(&mut self.is_first, false) {
            self.raw(b",");
        }
    }

    /// Writes a member's name, which must not need escapes.
    pub(crate) fn key(&mut self, name: &str) {
        self.element();
        self.raw(b"\"");
        self.raw(name.as_bytes());
        self.raw(b"\":");
    }

    /// Writes a member with the value true.
    pub(crate) fn flag(&mut self, name: &str) {
        self.key(name);
        self.raw(b"true");
    }

    /// Writes a member with a number.
    pub(crate) fn number(&mut self, name: &str, value: u64) {
        self.key(name);
        self.digits(value, 10, 1);
    }

    /// Writes nanoseconds as seconds.
    pub(crate) fn seconds(&mut self, ns: u64) {
        let value = span(ns);
        self.digits(value.as_secs(), 10, 1);
        self.raw(b".");
        self.digits(value.subsec_nanos().into(), 10, 9);
    }

    /// Writes a number in this base, 16 at most, with `least` digits at least.
    pub(crate) fn digits(&mut self, mut value: u64, base: u64, least: usize) {
        let mut digits = [0; 20];
        let mut left = least;
        let mut first = 0;
        for (at, place) in digits.iter_mut().enumerate().rev() {
            let digit = divide(&mut value, base) as u8;
            *place = digit + if digit < 10 { b'0' } else { b'A' - 10 };
            left = left.saturating_sub(1);
            if left == 0 && value == 0 {
                first = at;
                break;
            }
        }
        self.raw(digits.get(first..).unwrap_or_default());
    }
}

impl core::fmt::Write for PartialWriter<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.raw(text.as_bytes());
        Ok(())
    }
}
