//! Writes pcapng (draft-ietf-opsawg-pcapng) with nanoseconds and truncated frames.
//!
//! The simulator's writer is for complete frames with their FCS, which an interface of this machine does not
//! pass on.

use std::io::{self, Write};

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;
const BYTE_ORDER_MAGIC: u32 = 0x1A2B_3C4D;
const LINKTYPE_ETHERNET: u16 = 1;

const END_OF_OPTIONS: u16 = 0;
const SHB_USER_APPLICATION: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TIMESTAMP_RESOLUTION: u16 = 9;
const ISB_DROPPED: u16 = 5;
/// `if_tsresol`: nanoseconds.
const RESOLUTION: u8 = 9;

/// Writes a capture of one Ethernet interface.
#[derive(Debug)]
pub(super) struct Writer<W> {
    to: W,
    last_ns: u64,
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

fn block(to: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let len = (body.len() as u32 + 12).to_le_bytes();
    to.write_all(&kind.to_le_bytes())?;
    to.write_all(&len)?;
    to.write_all(body)?;
    to.write_all(&len)
}

/// A time stamp in the order of its two words.
fn time(ns: u64) -> [u8; 8] {
    (ns.rotate_left(32)).to_le_bytes()
}

impl<W: Write> Writer<W> {
    /// Begins a capture of frames of up to `snap_octets` on the interface `name`.
    pub(super) fn new(mut to: W, name: &str, snap_octets: u32) -> io::Result<Self> {
        let mut body = Vec::new();
        body.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        body.extend(1_u16.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        body.extend((-1_i64).to_le_bytes());
        option(&mut body, SHB_USER_APPLICATION, b"linerate");
        option(&mut body, END_OF_OPTIONS, &[]);
        block(&mut to, SECTION_HEADER, &body)?;
        body.clear();
        body.extend(LINKTYPE_ETHERNET.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        body.extend(snap_octets.to_le_bytes());
        option(&mut body, IF_NAME, name.as_bytes());
        option(&mut body, IF_TIMESTAMP_RESOLUTION, &[RESOLUTION]);
        option(&mut body, END_OF_OPTIONS, &[]);
        block(&mut to, INTERFACE_DESCRIPTION, &body)?;
        Ok(Self { to, last_ns: 0 })
    }

    /// Writes a frame of `len` octets, of which `octets` are known.
    pub(super) fn frame(&mut self, octets: &[u8], len: usize, at_ns: u64) -> io::Result<()> {
        self.last_ns = at_ns;
        let mut body = Vec::with_capacity(octets.len() + 24);
        body.extend(0_u32.to_le_bytes());
        body.extend(time(at_ns));
        body.extend((octets.len() as u32).to_le_bytes());
        body.extend((len as u32).to_le_bytes());
        body.extend(octets);
        pad(&mut body);
        block(&mut self.to, ENHANCED_PACKET, &body)
    }

    /// Ends the capture, with the number of frames that are missing.
    pub(super) fn finish(mut self, dropped: u64) -> io::Result<W> {
        let mut body = Vec::new();
        body.extend(0_u32.to_le_bytes());
        body.extend(time(self.last_ns));
        option(&mut body, ISB_DROPPED, &dropped.to_le_bytes());
        option(&mut body, END_OF_OPTIONS, &[]);
        block(&mut self.to, INTERFACE_STATISTICS, &body)?;
        self.to.flush()?;
        Ok(self.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks of a file: kind and body.
    fn blocks(mut file: &[u8]) -> Vec<(u32, &[u8])> {
        let word = |octets: &[u8]| u32::from_le_bytes(octets[..4].try_into().expect("a word"));
        let mut blocks = Vec::new();
        while !file.is_empty() {
            let len = word(&file[4..]) as usize;
            assert_eq!(len % 4, 0);
            assert_eq!(word(&file[len - 4..]) as usize, len);
            blocks.push((word(file), &file[8..len - 4]));
            file = &file[len..];
        }
        blocks
    }

    #[test]
    fn a_capture_has_its_interface_its_frames_and_its_drops() {
        let mut writer = Writer::new(Vec::new(), "eth0", 128).expect("written");
        let at_ns = (7 << 32) + 5;
        writer.frame(&[1, 2, 3], 1514, at_ns).expect("written");
        let file = writer.finish(9).expect("written");
        let blocks = blocks(&file);
        let kinds: Vec<u32> = blocks.iter().map(|it| it.0).collect();
        let expected = [
            SECTION_HEADER,
            INTERFACE_DESCRIPTION,
            ENHANCED_PACKET,
            INTERFACE_STATISTICS,
        ];
        assert_eq!(kinds, expected);
        let packet = blocks[2].1;
        assert_eq!(packet[4..12], [7, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(packet[12..20], [3, 0, 0, 0, 0xEA, 5, 0, 0]);
        assert_eq!(packet[20..], [1, 2, 3, 0]);
        assert_eq!(blocks[3].1[16..24], [9, 0, 0, 0, 0, 0, 0, 0]);
    }
}
