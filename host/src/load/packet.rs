//! Packet header: number and time, in the first 24 octets of a datagram's payload.

/// "lru1": distinguishes our datagrams from those of other programs.
const MAGIC: u32 = 0x6c72_7531;
/// Size of the header, octets, and therefore the minimum payload.
pub const HEADER_OCTETS: usize = 24;
/// Maximum payload of a datagram over IPv4.
pub const MAX_PAYLOAD_OCTETS: usize = 65_507;

/// Header of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketHeader {
    /// Identifies the stream.
    pub stream: u32,
    /// Counts the stream's datagrams from 0.
    pub number: u64,
    /// Send time on the sender's clock.
    pub sent_ns: u64,
}

impl PacketHeader {
    /// Writes the header to the start of a payload of at least [`HEADER_OCTETS`].
    pub fn write(&self, payload: &mut [u8]) {
        payload[..4].copy_from_slice(&MAGIC.to_be_bytes());
        payload[4..8].copy_from_slice(&self.stream.to_be_bytes());
        payload[8..16].copy_from_slice(&self.number.to_be_bytes());
        payload[16..HEADER_OCTETS].copy_from_slice(&self.sent_ns.to_be_bytes());
    }

    /// Reads the header; `None` if the payload is from another program.
    pub fn read(payload: &[u8]) -> Option<Self> {
        let head: &[u8; HEADER_OCTETS] = payload.first_chunk()?;
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
