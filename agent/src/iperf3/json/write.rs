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
        self.decimal(value, 1);
    }

    /// A member that is a time in seconds.
    pub(crate) fn seconds(&mut self, name: &str, value: core::time::Duration) {
        self.key(name);
        self.decimal(value.as_secs(), 1);
        self.raw(b".");
        self.decimal(value.subsec_nanos().into(), 9);
    }

    fn decimal(&mut self, mut value: u64, least_digits: usize) {
        let mut digits = [b'0'; 20];
        let mut at = digits.len();
        while value > 0 || digits.len() - at < least_digits {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
        }
        self.raw(&digits[at..]);
    }
}
