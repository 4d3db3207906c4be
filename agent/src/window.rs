//! Text, written a part at a time. Not by `core::fmt`, which a firmware need not have for this.

use core::time::Duration;

/// Room for a part of a text, of which the octets before were written earlier: the text is written from
/// its start each time, and what has no place is only counted.
#[derive(Debug)]
pub(crate) struct Window<'a> {
    room: &'a mut [u8],
    from: usize,
    at: usize,
    /// The next member or element is the first.
    is_first: bool,
}

impl<'a> Window<'a> {
    /// Room for the text from `from` on.
    pub(crate) const fn new(room: &'a mut [u8], from: usize) -> Self {
        Self {
            room,
            from,
            at: 0,
            is_first: true,
        }
    }

    /// The length of what `write` writes.
    pub(crate) fn measure(write: impl Fn(&mut Window)) -> usize {
        let mut nothing = Window::new(&mut [], 0);
        write(&mut nothing);
        nothing.at
    }

    /// How many octets of the text have found room.
    pub(crate) fn written(&self) -> usize {
        self.at.saturating_sub(self.from).min(self.room.len())
    }

    /// Nothing is left for another time.
    pub(crate) fn is_complete(&self) -> bool {
        self.from + self.written() >= self.at
    }

    /// Writes octets as they are.
    #[inline(never)]
    pub(crate) fn raw(&mut self, octets: &[u8]) {
        for octet in octets {
            let place = self.at.checked_sub(self.from);
            if let Some(place) = place.and_then(|at| self.room.get_mut(at)) {
                *place = *octet;
            }
            self.at += 1;
        }
    }

    /// Begins an object or an array by its bracket.
    pub(crate) fn begin(&mut self, bracket: u8) {
        self.raw(&[bracket]);
        self.is_first = true;
    }

    /// Ends one.
    pub(crate) fn end(&mut self, bracket: u8) {
        self.raw(&[bracket]);
        self.is_first = false;
    }

    /// Before each element of an array.
    pub(crate) fn element(&mut self) {
        if !core::mem::replace(&mut self.is_first, false) {
            self.raw(b",");
        }
    }

    /// A member's name, in which nothing is to be escaped.
    pub(crate) fn key(&mut self, name: &str) {
        self.element();
        self.raw(b"\"");
        self.raw(name.as_bytes());
        self.raw(b"\":");
    }

    /// A member that is true.
    pub(crate) fn truth(&mut self, name: &str) {
        self.key(name);
        self.raw(b"true");
    }

    /// A member that is a number.
    pub(crate) fn number(&mut self, name: &str, value: u64) {
        self.key(name);
        self.digits(value, 10, 1);
    }

    /// A time in seconds.
    pub(crate) fn seconds(&mut self, value: Duration) {
        self.digits(value.as_secs(), 10, 1);
        self.raw(b".");
        self.digits(value.subsec_nanos().into(), 10, 9);
    }

    /// A number in this base, 16 at most, of so many digits at least.
    pub(crate) fn digits(&mut self, mut value: u64, base: u64, least: usize) {
        let mut digits = [0; 20];
        let mut at = digits.len();
        while value > 0 || digits.len() - at < least {
            at -= 1;
            digits[at] = b"0123456789ABCDEF"[(value % base) as usize];
            value /= base;
        }
        self.raw(&digits[at..]);
    }
}

impl core::fmt::Write for Window<'_> {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        self.raw(text.as_bytes());
        Ok(())
    }
}
