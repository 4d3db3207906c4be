//! Capture files, read packet by packet.
//!
//! | module | contents |
//! |---|---|
//! | `clock` | clocks that are set back while a capture is taken |
//! | `compressed` | gzip and Zstandard decompression |
//! | `pcap`, `pcapng` | the two formats |
//! | `link` | from a frame to the network layer: Ethernet, VLAN, Linux cooked, raw IP, loopback |
//! | `wlan` | frames of wireless networks |
//! | `datagram` | IPv4, IPv6 and their payload |
//!
//! [`Reader`] reads a stream of any length with one buffer. From a truncated or damaged capture it gives the packets
//! before the damage, and a [`ReadError`] with its position.

mod clock;
mod compressed;
mod datagram;
mod link;
mod pcap;
mod pcapng;
mod source;
#[cfg(test)]
mod tests;
mod wlan;

use std::fmt;
use std::io::{self, Read};

pub use datagram::{Address, Datagram, Protocol};
pub use link::{Frame, FramePayload, LinkType};

use clock::Clocks;
use compressed::Decompressed;
use pcap::Pcap;
use pcapng::Pcapng;
use source::Source;

/// A packet or block larger than this is treated as damage. No link has frames of this size, and it bounds the memory
/// that a file can request.
const MAX_RECORD_OCTETS: usize = 16 * 1024 * 1024;

/// Reads a capture.
pub struct Reader<R: Read> {
    source: Source<Decompressed<R>>,
    format: Format,
    packets: u64,
    clocks: Clocks,
    error: Option<ReadError>,
    at_end: bool,
}

enum Format {
    Pcap(Pcap),
    Pcapng(Pcapng),
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// Offset of its record in the decompressed capture.
    pub offset: u64,
    /// Capture time: nanoseconds since 1970. If the clock is set back by 1 ms or more, later times are those of the
    /// clock before.
    pub time_ns: u64,
    /// Octets on the link.
    pub length: u32,
    /// Type of its link header.
    pub link: LinkType,
    /// The captured part of it.
    pub octets: &'a [u8],
}

/// Error within a capture, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Packets before the error.
    pub packets: u64,
    /// Offset of the error in the decompressed capture.
    pub offset: u64,
    /// Description.
    pub what: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the capture {} (after packet {}, at octet {})",
            self.what, self.packets, self.offset
        )
    }
}

impl std::error::Error for ReadError {}

/// Error when opening a capture.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Read error.
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    /// Another file format.
    #[error("not a pcap or pcapng capture: it begins with {}", octets(.0))]
    Unknown(Vec<u8>),
    /// Truncated within the header.
    #[error("{0}")]
    Header(ReadError),
}

fn octets(octets: &[u8]) -> String {
    if octets.is_empty() {
        return "nothing".to_owned();
    }
    let octets: Vec<String> = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    octets.join(" ")
}

impl<R: Read> Reader<R> {
    /// Detects the format of `inner`.
    ///
    /// # Errors
    /// [`OpenError`] if it is no capture.
    pub fn new(inner: R) -> Result<Self, OpenError> {
        let mut source = Source::new(Decompressed::new(inner)?);
        let there = source.fill_to(4);
        let first = source.peek(there).to_vec();
        let format = match <[u8; 4]>::try_from(first.as_slice()) {
            Ok(pcapng::SECTION_HEADER) => Format::Pcapng(Pcapng::new()),
            Ok(magic) => match Pcap::recognize(magic) {
                Some(kind) => {
                    Format::Pcap(Pcap::open(&mut source, kind).map_err(OpenError::Header)?)
                }
                None => return Err(OpenError::Unknown(first)),
            },
            Err(_) => {
                return Err(match source.io_error() {
                    Some(error) => OpenError::Io(io::Error::new(error.kind(), error.to_string())),
                    None => OpenError::Unknown(first),
                });
            }
        };
        Ok(Self {
            source,
            format,
            packets: 0,
            clocks: Clocks::default(),
            error: None,
            at_end: false,
        })
    }

    /// The next packet; `None` at the end, or at an [`error`](Self::error).
    #[inline]
    #[expect(
        clippy::should_implement_trait,
        reason = "a packet lends the reader's buffer"
    )]
    pub fn next(&mut self) -> Option<Packet<'_>> {
        if let Format::Pcap(pcap) = &self.format
            && let Some(record) = pcap.record(&mut self.source)
        {
            return Some(self.packet(&record));
        }
        self.read()
    }

    #[inline(never)]
    fn read(&mut self) -> Option<Packet<'_>> {
        if self.at_end {
            return None;
        }
        let next = match &mut self.format {
            Format::Pcap(pcap) => pcap.read(&mut self.source, self.packets),
            Format::Pcapng(pcapng) => pcapng.next(&mut self.source, self.packets),
        };
        match next {
            Ok(Some(record)) => return Some(self.packet(&record)),
            Ok(None) => {}
            Err(error) => self.error = Some(error),
        }
        self.at_end = true;
        None
    }

    #[inline]
    fn packet(&mut self, record: &Record) -> Packet<'_> {
        self.packets += 1;
        let time_ns = self.clocks.correct(record.interface, record.time_ns);
        let octets = self.source.last_consumed(record.captured + record.padding);
        Packet {
            number: self.packets,
            offset: record.offset,
            time_ns,
            length: record.length,
            link: record.link,
            octets: &octets[..record.captured],
        }
    }

    /// Packets read so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// Packets dropped by the capturing system, as far as the capture reports them; pcap files do not.
    pub fn dropped(&self) -> u64 {
        match &self.format {
            Format::Pcapng(pcapng) => pcapng.dropped(),
            Format::Pcap(_) => 0,
        }
    }

    /// Number of times that a clock of the capture was set back so far.
    pub fn clock_steps(&self) -> u64 {
        self.clocks.steps
    }

    /// The error that ended the capture early, after [`next`](Self::next) returned `None`.
    pub fn error(&self) -> Option<&ReadError> {
        self.error.as_ref()
    }
}

/// A packet whose octets a [`Source`] consumed last.
struct Record {
    offset: u64,
    time_ns: u64,
    captured: usize,
    /// Octets between those of the packet and the current position.
    padding: usize,
    length: u32,
    link: LinkType,
    interface: usize,
}

impl ReadError {
    fn at<R: Read>(source: &Source<R>, packets: u64, what: &str) -> Self {
        let what = match source.io_error() {
            // The decompressor's or the system's error is more specific than missing octets.
            Some(error) => format!("cannot be read further: {error}"),
            None => what.to_owned(),
        };
        Self {
            packets,
            offset: source.offset(),
            what,
        }
    }
}

/// The byte order of the machine that wrote a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ByteOrder {
    Big,
    Little,
}

impl ByteOrder {
    #[inline]
    fn u32(self, octets: [u8; 4]) -> u32 {
        match self {
            Self::Big => u32::from_be_bytes(octets),
            Self::Little => u32::from_le_bytes(octets),
        }
    }

    #[inline]
    fn words(self, octets: &[u8; 16]) -> [u32; 4] {
        let word = |at: usize| {
            let [a, b, c, d] = [octets[at], octets[at + 1], octets[at + 2], octets[at + 3]];
            u32::from_le_bytes([a, b, c, d])
        };
        let words = [word(0), word(4), word(8), word(12)];
        match self {
            Self::Big => words.map(u32::swap_bytes),
            Self::Little => words,
        }
    }

    #[inline]
    fn u32_at(self, octets: &[u8], at: usize) -> u32 {
        self.u32(octets[at..at + 4].try_into().expect("four octets"))
    }

    #[inline]
    fn u16_at(self, octets: &[u8], at: usize) -> u16 {
        let octets = octets[at..at + 2].try_into().expect("two octets");
        match self {
            Self::Big => u16::from_be_bytes(octets),
            Self::Little => u16::from_le_bytes(octets),
        }
    }

    /// Offset of the lower word in eight octets.
    fn low_word(self) -> usize {
        match self {
            Self::Big => 4,
            Self::Little => 0,
        }
    }
}
