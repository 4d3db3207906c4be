//! Numbers in datagrams: the header of iperf, of RTP, or a counter near the start of each datagram.

use linerate_agent::{iperf2, iperf3};
use serde::Serialize;

/// Tool that sent the datagrams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// iperf 2.
    Iperf2,
    /// iperf 3 and compatible tools.
    Iperf3,
    /// iperf 3 with 64-bit numbers (`--udp-counters-64bit`).
    Iperf3Wide,
    /// RTP (RFC 3550 section 5.1), with 16-bit numbers.
    Rtp,
    /// Any program whose datagrams have a 32-bit counter, the most significant octet first, at the start.
    Counter,
    /// The same after four octets.
    CounterAt4,
    /// The same after eight octets.
    CounterAt8,
    /// A counter at the start, the least significant octet first.
    LittleCounter,
    /// The same after four octets.
    LittleCounterAt4,
    /// The same after eight octets.
    LittleCounterAt8,
    /// None: the host numbers its IPv4 packets (identification, RFC 791 section 3.1), which also those to others take.
    Identification,
}

impl Tool {
    /// The most specific ones first: a number of RTP, or of iperf 2, is a counter, too.
    pub(super) const ALL: [Self; 10] = [
        Self::Iperf2,
        Self::Iperf3,
        Self::Iperf3Wide,
        Self::Rtp,
        Self::Counter,
        Self::CounterAt4,
        Self::CounterAt8,
        Self::LittleCounter,
        Self::LittleCounterAt4,
        Self::LittleCounterAt8,
    ];

    /// Of datagrams without a known number.
    pub(super) const UNNUMBERED: [Self; 1] = [Self::Identification];

    /// True if the header shows which program sent it; another number must prove to be a counter.
    pub const fn is_iperf(self) -> bool {
        matches!(self, Self::Iperf2 | Self::Iperf3 | Self::Iperf3Wide)
    }

    /// True if the datagrams show which program or protocol they are of.
    pub const fn is_named(self) -> bool {
        self.is_iperf() || matches!(self, Self::Rtp)
    }

    /// Position of the counter, and true if its least significant octet comes first.
    const fn counter(self) -> Option<(usize, bool)> {
        match self {
            Self::Counter => Some((0, false)),
            Self::CounterAt4 => Some((4, false)),
            Self::CounterAt8 => Some((8, false)),
            Self::LittleCounter => Some((0, true)),
            Self::LittleCounterAt4 => Some((4, true)),
            Self::LittleCounterAt8 => Some((8, true)),
            _ => None,
        }
    }

    /// Display name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iperf2 => "iperf 2",
            Self::Iperf3 | Self::Iperf3Wide => "iperf 3",
            Self::Rtp => "RTP",
            Self::Identification => "a program",
            _ => "a program that numbers them",
        }
    }
}

/// Header of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DatagramHeader {
    pub(super) number: u64,
    /// On the sender's clock.
    pub(super) sent_ns: u64,
    /// It is the last datagram of the stream.
    pub(super) is_end: bool,
    /// Synchronization source of RTP, each of which has its own numbers; 0 for others.
    pub(super) source: u32,
}

impl DatagramHeader {
    /// Parses a datagram of `tool`; of numbers that wrap, the one nearest to `expected` is meant.
    #[inline]
    pub(super) fn parse(tool: Tool, octets: &[u8], expected: Option<u64>) -> Option<Self> {
        if is_rtcp(octets) && !tool.is_iperf() && tool != Tool::Identification {
            return None;
        }
        if let Some((at, is_little)) = tool.counter() {
            let word = *octets.get(at..)?.first_chunk()?;
            let number = if is_little {
                u32::from_le_bytes(word)
            } else {
                u32::from_be_bytes(word)
            };
            return Some(Self::numbered(unwrap(u64::from(number), 32, expected)));
        }
        if tool == Tool::Identification {
            let number = u64::from(u16::from_be_bytes(*octets.first_chunk()?));
            return Some(Self::numbered(unwrap(number, 16, expected)));
        }
        if tool == Tool::Rtp {
            // Version 2, a sequence number, a time, a source.
            let header: [u8; 12] = *octets.first_chunk()?;
            let number = u64::from(u16::from_be_bytes([header[2], header[3]]));
            let is_rtp = header[0] >> 6 == 2;
            return is_rtp.then(|| Self {
                source: u32::from_be_bytes([header[8], header[9], header[10], header[11]]),
                ..Self::numbered(unwrap(number, 16, expected))
            });
        }
        // A fraction of a second has less than 1,000,000 microseconds: other values are of no iperf.
        let micros_at = if tool == Tool::Iperf2 { 8 } else { 4 };
        let micros = octets.get(micros_at..)?.first_chunk()?;
        if u32::from_be_bytes(*micros) >= 1_000_000 {
            return None;
        }
        let of_iperf3 = |wide| {
            let header = iperf3::DatagramHeader::parse(octets, wide)?;
            Some(Self {
                number: header.number,
                sent_ns: header.sent_ns,
                is_end: false,
                source: 0,
            })
        };
        match tool {
            Tool::Iperf2 => {
                let header = iperf2::DatagramHeader::parse(octets)?;
                Some(Self {
                    number: header.number.unsigned_abs(),
                    sent_ns: header.sent_ns,
                    is_end: header.number < 0,
                    source: 0,
                })
            }
            Tool::Iperf3 => of_iperf3(false),
            _ => of_iperf3(true),
        }
    }

    /// Without a time.
    const fn numbered(number: u64) -> Self {
        Self {
            number,
            sent_ns: 0,
            is_end: false,
            source: 0,
        }
    }
}

/// True for a report of RTCP (RFC 5761 section 4), which has a time where others have a number.
fn is_rtcp(octets: &[u8]) -> bool {
    matches!(octets, [first, 200..=207, ..] if first >> 6 == 2)
}

/// The number whose lowest `bits` are `low`, nearest to `expected`.
fn unwrap(low: u64, bits: u32, expected: Option<u64>) -> u64 {
    let Some(expected) = expected else {
        return low;
    };
    let turn = 1_u64 << bits;
    let near = (expected & !(turn - 1)) | low;
    let candidates = [near.checked_sub(turn), Some(near), near.checked_add(turn)];
    let nearest = candidates
        .into_iter()
        .flatten()
        .min_by_key(|it| it.abs_diff(expected));
    nearest.unwrap_or(low)
}
