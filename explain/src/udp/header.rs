//! What iperf writes at the start of each datagram.

use linerate_agent::iperf2;
use serde::Serialize;

/// Whose datagrams they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tool {
    /// iperf 2.
    Iperf2,
    /// iperf 3, and those who speak as it does.
    Iperf3,
    /// The same with numbers of 64 bits (`--udp-counters-64bit`).
    Iperf3Wide,
}

impl Tool {
    pub(super) const ALL: [Self; 3] = [Self::Iperf2, Self::Iperf3, Self::Iperf3Wide];

    /// Its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Iperf2 => "iperf 2",
            Self::Iperf3 | Self::Iperf3Wide => "iperf 3",
        }
    }
}

/// What a datagram says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numbered {
    pub(super) number: u64,
    /// On the sender's clock.
    pub(super) sent_ns: u64,
    /// It ends the stream.
    pub(super) ends: bool,
}

impl Numbered {
    /// What the datagram says if it is one of `tool`.
    #[inline]
    pub(super) fn parse(tool: Tool, octets: &[u8]) -> Option<Self> {
        let word = |at: usize| {
            let octets = octets.get(4 * at..)?.first_chunk()?;
            Some(u32::from_be_bytes(*octets))
        };
        let micros = |micros: u32| (micros < 1_000_000).then_some(micros);
        let sent_ns = |seconds: u32, micros: u32| {
            u64::from(seconds) * 1_000_000_000 + u64::from(micros) * 1_000
        };
        Some(match tool {
            Tool::Iperf2 => {
                micros(word(2)?)?;
                let said = iperf2::Numbered::parse(octets)?;
                Self {
                    number: said.number.unsigned_abs(),
                    sent_ns: said.sent_ns,
                    ends: said.number < 0,
                }
            }
            Tool::Iperf3 => Self {
                number: word(2)?.into(),
                sent_ns: sent_ns(word(0)?, micros(word(1)?)?),
                ends: false,
            },
            Tool::Iperf3Wide => Self {
                number: u64::from(word(2)?) << 32 | u64::from(word(3)?),
                sent_ns: sent_ns(word(0)?, micros(word(1)?)?),
                ends: false,
            },
        })
    }
}
