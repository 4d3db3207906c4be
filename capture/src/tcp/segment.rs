//! A captured TCP segment: RFC 9293 section 3.1.

/// A TCP segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment<'a> {
    /// Source port.
    pub source: u16,
    /// Destination port.
    pub destination: u16,
    /// Sequence number of its first octet.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Control bits.
    pub flags: u8,
    /// Window field, unscaled.
    pub window: u16,
    /// Octets of payload on the link.
    pub len: u32,
    /// The captured part of its options.
    pub options: &'a [u8],
    /// Octets of its options on the link; 0 if `options` has all of them.
    pub options_len: u8,
    /// True if some of its options were not captured.
    pub is_cut: bool,
    /// Identification of the IPv4 packet that carries it (RFC 791 section 3.1); 0 if that is unknown, or identifies nothing.
    pub identification: u16,
    /// Time to live of that packet, or hop limit of an IPv6 one (RFC 8200 section 3); 0 if it is unknown.
    pub hop_limit: u8,
}

impl<'a> Segment<'a> {
    /// Control bit FIN.
    pub const FIN: u8 = 0x01;
    /// Control bit SYN.
    pub const SYN: u8 = 0x02;
    /// Control bit RST.
    pub const RST: u8 = 0x04;
    /// Control bit PSH.
    pub const PSH: u8 = 0x08;
    /// Control bit ACK.
    pub const ACK: u8 = 0x10;

    /// Parses a segment of `length` octets of which `octets` were captured.
    #[inline]
    pub fn parse(octets: &'a [u8], length: u32) -> Option<Self> {
        let header: &[u8; 20] = octets.first_chunk()?;
        let header_len = usize::from(header[12] >> 4) * 4;
        if header_len < 20 {
            return None;
        }
        let u16_at = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let u32_at = |at: usize| u32::from(u16_at(at)) << 16 | u32::from(u16_at(at + 2));
        Some(Self {
            source: u16_at(0),
            destination: u16_at(2),
            seq: u32_at(4),
            ack: u32_at(8),
            flags: header[13],
            window: u16_at(14),
            len: length.checked_sub(header_len as u32)?,
            options: &octets[20..header_len.min(octets.len())],
            options_len: (header_len - 20) as u8,
            is_cut: octets.len() < header_len,
            identification: 0,
            hop_limit: 0,
        })
    }

    /// True if any of `bits` is set.
    #[inline]
    pub const fn has_any(&self, bits: u8) -> bool {
        self.flags & bits != 0
    }

    /// True for SYN without ACK, which opens a connection.
    #[inline]
    pub const fn is_initial_syn(&self) -> bool {
        self.flags & (Self::SYN | Self::ACK) == Self::SYN
    }

    /// True if it has no payload and no SYN, FIN or RST.
    #[inline]
    pub const fn is_bare(&self) -> bool {
        self.len == 0 && !self.has_any(Self::SYN | Self::FIN | Self::RST)
    }

    /// Its sequence numbers: payload, SYN and FIN.
    #[inline]
    pub const fn sequence_len(&self) -> u32 {
        let controls = self.has_any(Self::SYN) as u32 + self.has_any(Self::FIN) as u32;
        self.len.wrapping_add(controls)
    }

    /// Sequence number after its last octet.
    #[inline]
    pub const fn end(&self) -> u32 {
        self.seq.wrapping_add(self.sequence_len())
    }

    /// The same without options.
    pub const fn without_options(&self) -> Segment<'static> {
        Segment {
            source: self.source,
            destination: self.destination,
            seq: self.seq,
            ack: self.ack,
            flags: self.flags,
            window: self.window,
            len: self.len,
            options: &[],
            options_len: 0,
            is_cut: false,
            identification: self.identification,
            hop_limit: self.hop_limit,
        }
    }

    /// Parses its options.
    pub fn parse_options(&self) -> Options<'a> {
        Options::parse(self.options)
    }

    /// `TSval` and `TSecr` of the timestamps option, if captured (RFC 7323 section 3).
    #[inline]
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        match self.options {
            [] => None,
            [1, 1, 8, 10, stamps @ ..] => stamps.first_chunk().copied().map(timestamps),
            options => Options::parse(options).timestamps,
        }
    }

    /// True if it has no options, or only two padding octets and timestamps: most segments.
    #[inline]
    fn has_plain_options(&self) -> bool {
        self.options.is_empty()
            || self.options.len() == 12 && self.options.starts_with(&[1, 1, 8, 10])
    }

    /// SACK blocks.
    #[inline]
    pub fn sack(&self) -> Sack<'a> {
        if self.has_plain_options() {
            Sack::default()
        } else {
            Options::parse(self.options).sack
        }
    }
}

/// Options that the analysis uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options<'a> {
    /// Maximum segment size that its sender accepts (RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale of its sender (RFC 7323 section 2).
    pub window_shift: Option<u8>,
    /// SACK-permitted (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// SACK blocks.
    pub sack: Sack<'a>,
    /// `TSval` and `TSecr` (RFC 7323 section 3).
    pub timestamps: Option<(u32, u32)>,
}

/// Blocks of a SACK option: RFC 2018 section 3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sack<'a>(&'a [[u8; 8]]);

impl Sack<'_> {
    /// True if there are no blocks.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Left and right edges of the blocks.
    pub fn blocks(&self) -> impl Iterator<Item = (u32, u32)> {
        self.0.iter().map(|[a, b, c, d, e, f, g, h]| {
            let left = u32::from_be_bytes([*a, *b, *c, *d]);
            (left, u32::from_be_bytes([*e, *f, *g, *h]))
        })
    }
}

/// `TSval` and `TSecr` in the value of the option.
fn timestamps(octets: [u8; 8]) -> (u32, u32) {
    let both = u64::from_be_bytes(octets);
    ((both >> 32) as u32, both as u32)
}

/// Largest window scale (RFC 7323 section 2.3).
const MAX_SHIFT: u8 = 14;

impl<'a> Options<'a> {
    #[cold]
    fn parse(mut octets: &'a [u8]) -> Self {
        let mut options = Self::default();
        while let [kind, rest @ ..] = octets {
            match kind {
                0 => break,
                1 => {
                    octets = rest;
                    continue;
                }
                _ => {}
            }
            let len = usize::from(*rest.first().unwrap_or(&0));
            let Some(value) = octets.get(2..len) else {
                break;
            };
            match (kind, value) {
                (2, [high, low]) => options.mss = Some(u16::from_be_bytes([*high, *low])),
                (3, [shift]) => options.window_shift = Some((*shift).min(MAX_SHIFT)),
                (4, []) => options.sack_permitted = true,
                (5, blocks) => options.sack = Sack(blocks.as_chunks().0),
                (8, stamps) => options.timestamps = stamps.first_chunk().copied().map(timestamps),
                _ => {}
            }
            octets = &octets[len..];
        }
        options
    }
}

/// True if sequence number `a` precedes `b`; they wrap (RFC 9293 section 3.4).
#[inline]
pub(crate) const fn seq_lt(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// True if sequence number `a` precedes or equals `b`.
#[inline]
pub(crate) const fn seq_le(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) <= 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_options_and_payload() {
        let mut octets = vec![
            0, 80, 0x10, 0, 0, 0, 0, 5, 0, 0, 0, 9, 0xB0, 0x12, 0x02, 0x00, 0, 0, 0, 0,
        ];
        octets.extend([
            2, 4, 5, 0xB4, 1, 3, 3, 20, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0,
        ]);
        octets.extend(*b"abc");
        let segment = Segment::parse(&octets, 47).expect("whole");
        assert_eq!(
            (segment.source, segment.destination, segment.window),
            (80, 4096, 512)
        );
        assert_eq!(
            (segment.seq, segment.ack, segment.len, segment.end()),
            (5, 9, 3, 9)
        );
        let parsed = segment.parse_options();
        assert_eq!((parsed.mss, parsed.window_shift), (Some(1460), Some(14)));
        assert!(parsed.sack_permitted && parsed.sack.is_empty());
        assert_eq!(parsed.timestamps, Some((1, 2)));
        assert_eq!(segment.timestamps(), Some((1, 2)));
        for len in 0..octets.len() {
            let cut = Segment::parse(&octets[..len], 47);
            assert_eq!(cut.is_some(), len >= 20, "{len}");
            cut.map(|segment| segment.parse_options());
        }
        assert_eq!(Segment::parse(&octets, 43), None);
    }

    #[test]
    fn selective_acknowledgments() {
        let mut options = vec![1, 1, 5, 18];
        options.extend([0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 5, 0, 0, 0, 9]);
        let segment = Segment {
            options: &options,
            ..Segment::default()
        };
        let blocks: Vec<_> = segment.sack().blocks().collect();
        assert_eq!(blocks, [(1, 2), (5, 9)]);
        assert_eq!(segment.parse_options().sack, segment.sack());
    }

    #[test]
    fn sequence_numbers_wrap() {
        assert!(seq_lt(u32::MAX, 3) && !seq_lt(3, u32::MAX) && !seq_lt(3, 3) && seq_le(3, 3));
    }
}
