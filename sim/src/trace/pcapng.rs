//! Captures for Wireshark: pcapng (draft-ietf-opsawg-pcapng) with nanoseconds and directions.
//!
//! Implemented here because no released crate writes pcapng with nanosecond time stamps. Blocks are
//! little-endian; each is written immediately, without buffering.

use std::io::{self, Write};

use crate::time::Instant;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LINKTYPE_ETHERNET: u16 = 1;

const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
const SHB_USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
const IF_SPEED: u16 = 8;
const IF_TIMESTAMP_RESOLUTION: u16 = 9;
const IF_FCS_LENGTH: u16 = 13;
const PACKET_FLAGS: u16 = 2;

/// `if_tsresol`: nanoseconds.
const RESOLUTION: u8 = 9;
/// Octets of FCS at the end of each packet.
const FCS_LENGTH: u8 = 4;

/// Direction of a frame, seen from the device under test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// To the device.
    Inbound,
    /// From the device.
    Outbound,
}

/// Link-layer errors of a frame, for the capture's flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameErrors {
    /// The FCS is wrong.
    pub fcs: bool,
    /// Shorter than 64 octets.
    pub short: bool,
    /// Longer than 1518 octets.
    pub long: bool,
    /// A pair of half-bits is not a Manchester symbol.
    pub symbol: bool,
    /// The start frame delimiter is missing.
    pub delimiter: bool,
}

impl FrameErrors {
    /// The link-layer error bits of `epb_flags`.
    const fn bits(self) -> u32 {
        (self.fcs as u32) << 24
            | (self.long as u32) << 25
            | (self.short as u32) << 26
            | (self.delimiter as u32) << 29
            | (self.symbol as u32) << 31
    }
}

/// Writes a capture of one Ethernet interface.
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
}

/// Body of a block, with its options.
struct Block {
    body: Vec<u8>,
}

impl Block {
    fn new() -> Self {
        Self {
            body: Vec::with_capacity(64),
        }
    }

    fn put(&mut self, bytes: &[u8]) -> &mut Self {
        self.body.extend(bytes);
        self
    }

    fn pad(&mut self) -> &mut Self {
        self.body.resize(self.body.len().next_multiple_of(4), 0);
        self
    }

    /// Values longer than the length field can represent are truncated.
    fn option(&mut self, code: u16, value: &[u8]) -> &mut Self {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.put(&code.to_le_bytes())
            .put(&(value.len() as u16).to_le_bytes())
            .put(value)
            .pad()
    }

    fn write(&mut self, kind: u32, to: &mut impl Write) -> io::Result<()> {
        self.option(END_OF_OPTIONS, &[]);
        let len = (self.body.len() as u32 + 12).to_le_bytes();
        to.write_all(&kind.to_le_bytes())?;
        to.write_all(&len)?;
        to.write_all(&self.body)?;
        to.write_all(&len)
    }
}

impl<W: Write> Writer<W> {
    /// Begins a capture on an interface called `name`.
    ///
    /// # Errors
    /// Errors of writing to `to`.
    pub fn new(mut to: W, name: &str, description: &str) -> io::Result<Self> {
        Block::new()
            .put(&BYTE_ORDER_MAGIC.to_le_bytes())
            .put(&1_u16.to_le_bytes())
            .put(&0_u16.to_le_bytes())
            // The section's length is unspecified.
            .put(&u64::MAX.to_le_bytes())
            .option(SHB_USER_APPLICATION, b"linerate")
            .write(SECTION_HEADER, &mut to)?;
        Block::new()
            .put(&LINKTYPE_ETHERNET.to_le_bytes())
            .put(&0_u16.to_le_bytes())
            .put(&0_u32.to_le_bytes())
            .option(IF_NAME, name.as_bytes())
            .option(IF_DESCRIPTION, description.as_bytes())
            .option(IF_SPEED, &10_000_000_u64.to_le_bytes())
            .option(IF_TIMESTAMP_RESOLUTION, &[RESOLUTION])
            .option(IF_FCS_LENGTH, &[FCS_LENGTH])
            .write(INTERFACE_DESCRIPTION, &mut to)?;
        Ok(Self { to })
    }

    /// Adds a frame from its destination address to its FCS.
    ///
    /// # Errors
    /// Errors of writing.
    pub fn frame(
        &mut self,
        at: Instant,
        direction: Direction,
        octets: &[u8],
        errors: FrameErrors,
        comment: Option<&str>,
    ) -> io::Result<()> {
        let ns = at.as_ns();
        let len = (octets.len() as u32).to_le_bytes();
        let flags = errors.bits()
            | u32::from(FCS_LENGTH) << 5
            | match direction {
                Direction::Inbound => 1,
                Direction::Outbound => 2,
            };
        let mut block = Block::new();
        block
            .put(&0_u32.to_le_bytes())
            .put(&((ns >> 32) as u32).to_le_bytes())
            .put(&(ns as u32).to_le_bytes())
            .put(&len)
            .put(&len)
            .put(octets)
            .pad()
            .option(PACKET_FLAGS, &flags.to_le_bytes());
        if let Some(comment) = comment {
            block.option(COMMENT, comment.as_bytes());
        }
        block.write(ENHANCED_PACKET, &mut self.to)
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// Errors of flushing.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn word(bytes: &[u8], at: usize) -> u32 {
        u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
    }

    /// An independent reader: type and body of each block, with the format's requirements checked.
    fn blocks(mut bytes: &[u8]) -> Vec<(u32, Vec<u8>)> {
        let mut blocks = Vec::new();
        while !bytes.is_empty() {
            let len = word(bytes, 4) as usize;
            assert_eq!(len % 4, 0);
            assert_eq!(word(bytes, len - 4) as usize, len);
            blocks.push((word(bytes, 0), bytes[8..len - 4].to_vec()));
            bytes = &bytes[len..];
        }
        blocks
    }

    fn options(mut bytes: &[u8]) -> Vec<(u16, Vec<u8>)> {
        let mut options = Vec::new();
        loop {
            let code = u16::from_le_bytes([bytes[0], bytes[1]]);
            let len = usize::from(u16::from_le_bytes([bytes[2], bytes[3]]));
            if code == END_OF_OPTIONS {
                assert_eq!(bytes.len(), 4);
                return options;
            }
            options.push((code, bytes[4..4 + len].to_vec()));
            bytes = &bytes[4 + len.next_multiple_of(4)..];
        }
    }

    #[test]
    fn the_header_has_the_options_that_wireshark_needs() {
        let writer = Writer::new(Vec::new(), "wire", "10BASE-T").unwrap();
        let blocks = blocks(&writer.finish().unwrap());
        assert_eq!(blocks[0].0, SECTION_HEADER);
        assert_eq!(word(&blocks[0].1, 0), BYTE_ORDER_MAGIC);
        assert_eq!(blocks[1].0, INTERFACE_DESCRIPTION);
        assert_eq!(word(&blocks[1].1, 0), u32::from(LINKTYPE_ETHERNET));
        let options = options(&blocks[1].1[8..]);
        assert!(options.contains(&(IF_NAME, b"wire".to_vec())));
        assert!(options.contains(&(IF_TIMESTAMP_RESOLUTION, vec![9])));
        assert!(options.contains(&(IF_FCS_LENGTH, vec![4])));
        assert!(options.contains(&(IF_SPEED, 10_000_000_u64.to_le_bytes().to_vec())));
    }

    proptest! {
        #[test]
        fn frames_keep_time_direction_octets_and_comment(
            ns in 0..u64::MAX / 12,
            octets in proptest::collection::vec(any::<u8>(), 0..200),
            outbound in any::<bool>(),
            fcs in any::<bool>(),
            comment in proptest::option::of(".{0,20}"),
        ) {
            let mut writer = Writer::new(Vec::new(), "w", "").unwrap();
            let direction = if outbound { Direction::Outbound } else { Direction::Inbound };
            let errors = FrameErrors { fcs, ..FrameErrors::default() };
            writer
                .frame(Instant::from_ns(ns), direction, &octets, errors, comment.as_deref())
                .unwrap();
            let blocks = blocks(&writer.finish().unwrap());
            let (kind, body) = &blocks[2];
            prop_assert_eq!(*kind, ENHANCED_PACKET);
            prop_assert_eq!(u64::from(word(body, 4)) << 32 | u64::from(word(body, 8)), ns);
            prop_assert_eq!(word(body, 12) as usize, octets.len());
            prop_assert_eq!(&body[20..20 + octets.len()], &octets[..]);
            let options = options(&body[20 + octets.len().next_multiple_of(4)..]);
            let flags = 1 << u32::from(outbound) | 4 << 5 | u32::from(fcs) << 24;
            prop_assert_eq!(&options[0], &(PACKET_FLAGS, flags.to_le_bytes().to_vec()));
            prop_assert_eq!(options.get(1).map(|(_, text)| text.clone()), comment.map(String::into_bytes));
        }
    }
}
