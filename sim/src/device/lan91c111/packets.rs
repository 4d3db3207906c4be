//! The packet memory: 8 KB in packets of 2 KB, shared by both directions.

const COUNT: usize = 4;
/// Octets of a packet.
pub(super) const BYTES: usize = 2048;

/// The memory.
#[derive(Clone, Debug)]
pub(super) struct Packets {
    octets: Box<[u8]>,
    used: [bool; COUNT],
}

impl Default for Packets {
    fn default() -> Self {
        Self {
            octets: vec![0; COUNT * BYTES].into_boxed_slice(),
            used: [false; COUNT],
        }
    }
}

impl Packets {
    /// Allocates a packet and returns its number; `None` if none is free.
    pub fn allocate(&mut self) -> Option<u8> {
        let free = self.used.iter().position(|used| !used)?;
        self.used[free] = true;
        Some(free as u8)
    }

    /// Frees a packet; a number without packet has no effect.
    pub fn release(&mut self, packet: u8) {
        if let Some(used) = self.used.get_mut(usize::from(packet)) {
            *used = false;
        }
    }

    /// Frees all packets; their contents stay.
    pub fn release_all(&mut self) {
        self.used = [false; COUNT];
    }

    /// Number of free packets.
    pub fn free(&self) -> u8 {
        self.used.iter().filter(|used| !**used).count() as u8
    }

    fn index(packet: u8, at: usize) -> usize {
        usize::from(packet) % COUNT * BYTES + at % BYTES
    }

    /// The octet at `at` of a packet.
    pub fn read(&self, packet: u8, at: usize) -> u8 {
        self.octets[Self::index(packet, at)]
    }

    /// The 16-bit word at `at`.
    pub fn word(&self, packet: u8, at: usize) -> u16 {
        u16::from_le_bytes([self.read(packet, at), self.read(packet, at + 1)])
    }

    /// Writes the octet at `at`.
    pub fn write(&mut self, packet: u8, at: usize, octet: u8) {
        self.octets[Self::index(packet, at)] = octet;
    }
}
