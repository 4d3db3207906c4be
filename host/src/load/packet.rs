//! What a datagram says of itself: its number and time, in the first 24 octets of its payload.

/// "lru1": other programs may send to the same port.
const MAGIC: u32 = 0x6c72_7531;
/// Octets of the head, and so the shortest payload.
pub const HEAD: usize = 24;
/// The longest payload of a datagram over IPv4.
pub const LONGEST: usize = 65_507;

/// What a datagram says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// Tells streams apart.
    pub stream: u32,
    /// Counts the stream's datagrams from 0.
    pub number: u64,
    /// When it was sent, on its sender's clock.
    pub sent_ns: u64,
}

impl Head {
    /// Writes it to the start of a payload, which has room for it.
    pub fn write(&self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&MAGIC.to_be_bytes());
        payload[4..8].copy_from_slice(&self.stream.to_be_bytes());
        payload[8..16].copy_from_slice(&self.number.to_be_bytes());
        payload[16..HEAD].copy_from_slice(&self.sent_ns.to_be_bytes());
    }

    /// Reads it; `None`: the payload is none of ours.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let head: &[u8; HEAD] = payload.first_chunk()?;
        let word = |at: usize| head[at..].first_chunk().map(|it| u32::from_be_bytes(*it));
        let wide = |at: usize| head[at..].first_chunk().map(|it| u64::from_be_bytes(*it));
        if word(0)? != MAGIC {
            return None;
        }
        Some(Self {
            stream: word(4)?,
            number: wide(8)?,
            sent_ns: wide(16)?,
        })
    }
}
