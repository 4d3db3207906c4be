//! Header that iperf writes at the start of each datagram.

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
}

impl Tool {
    pub(super) const ALL: [Self; 3] = [Self::Iperf2, Self::Iperf3, Self::Iperf3Wide];

    /// Display name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iperf2 => "iperf 2",
            Self::Iperf3 | Self::Iperf3Wide => "iperf 3",
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
}

impl DatagramHeader {
    /// Parses a datagram of `tool`.
    #[inline]
    pub(super) fn parse(tool: Tool, octets: &[u8]) -> Option<Self> {
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
            })
        };
        match tool {
            Tool::Iperf2 => {
                let header = iperf2::DatagramHeader::parse(octets)?;
                Some(Self {
                    number: header.number.unsigned_abs(),
                    sent_ns: header.sent_ns,
                    is_end: header.number < 0,
                })
            }
            Tool::Iperf3 => of_iperf3(false),
            Tool::Iperf3Wide => of_iperf3(true),
        }
    }
}
