//! Octets from an interrupt handler to the program.

/// A ring of octets.
#[derive(Debug)]
pub struct Ring<const CAPACITY: usize> {
    octets: [u8; CAPACITY],
    head: usize,
    len: usize,
}

impl<const CAPACITY: usize> Ring<CAPACITY> {
    /// One without octets.
    pub const fn new() -> Self {
        Self {
            octets: [0; CAPACITY],
            head: 0,
            len: 0,
        }
    }

    /// Octets in it.
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Octets for which there is room.
    pub const fn room(&self) -> usize {
        CAPACITY - self.len
    }

    /// Appends `octets`; those without room are dropped. Returns the number of those that were not.
    pub fn push(&mut self, octets: &[u8]) -> usize {
        let count = octets.len().min(self.room());
        for octet in &octets[..count] {
            self.octets[(self.head + self.len) % CAPACITY] = *octet;
            self.len += 1;
        }
        count
    }

    /// Moves octets into `to`; returns their number.
    pub fn pop(&mut self, to: &mut [u8]) -> usize {
        let count = to.len().min(self.len);
        for place in &mut to[..count] {
            *place = self.octets[self.head];
            self.head = (self.head + 1) % CAPACITY;
        }
        self.len -= count;
        count
    }
}
