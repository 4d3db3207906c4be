//! Events of a service, derived from the fuzzer's octets.

use libfuzzer_sys::arbitrary::{Arbitrary as _, Result, Unstructured};
use std::time::Duration;

/// Sources of connections and datagrams: first the server of clients under test; last, group and other
/// addresses that cannot open a TCP connection.
pub(crate) const ADDRESSES: [&str; 14] = [
    "192.0.2.9:5201",
    "192.0.2.1:40000",
    "192.0.2.1:40001",
    "192.0.2.9:40002",
    "192.0.2.2:50000",
    "192.0.2.2:862",
    "[2001:db8::1]:40000",
    "[::ffff:192.0.2.1]:40000",
    "192.0.2.1:7",
    "224.0.0.1:40000",
    "255.255.255.255:40000",
    "0.0.0.0:0",
    "[ff02::1]:40000",
    "[::]:40000",
];
/// Number of unicast addresses among them.
pub(crate) const STATIONS: usize = 9;
/// Maximum octets of one repetition.
const MAX_REPETITION: usize = 1 << 16;
/// Maximum buffer space: more than an Ethernet frame.
pub(crate) const MAX_ROOM: usize = 2000;

/// Received octets.
#[derive(Debug)]
pub(crate) enum Content {
    /// These.
    Octets(Vec<u8>),
    /// A valid message with alterations; its index, and the position and change of each alteration.
    Phrase(usize, Vec<(u8, u8)>),
    /// The answer to the service's last message, with alterations.
    Answer(Vec<(u8, u8)>),
}

#[derive(Debug)]
pub(crate) enum Event {
    /// A peer connects.
    Accept { address: usize },
    /// A requested connection is established, or fails.
    Connect { which: usize, well: bool },
    /// Octets on a connection, in pieces of this size, repeated.
    Octets {
        which: usize,
        content: Content,
        piece: usize,
        times: usize,
    },
    /// The peer closes its end.
    Ended { which: usize },
    /// The connection breaks.
    Broken { which: usize },
    /// A datagram, repeated.
    Datagram {
        socket: usize,
        address: usize,
        content: Content,
        times: usize,
    },
    /// Time passes.
    Passes(Duration),
    /// Time passes until the service's wake time.
    Wakes,
    /// The driver runs one turn with this much buffer space.
    Turn { stream: usize, datagram: usize },
    /// The driver runs turns until the service wants no more.
    Settles,
}

fn alterations(input: &mut Unstructured) -> Result<Vec<(u8, u8)>> {
    let many = u8::arbitrary(input)? % 8;
    // Mostly unchanged.
    (4..many)
        .map(|_| Ok((u8::arbitrary(input)?, u8::arbitrary(input)?)))
        .collect()
}

fn content(input: &mut Unstructured, kind: u8) -> Result<Content> {
    Ok(match kind % 3 {
        0 => {
            let len = usize::from(u8::arbitrary(input)?).min(input.len());
            Content::Octets(input.bytes(len)?.to_vec())
        }
        1 => Content::Phrase(u8::arbitrary(input)?.into(), alterations(input)?),
        _ => Content::Answer(alterations(input)?),
    })
}

/// Once, mostly.
fn times(input: &mut Unstructured) -> Result<usize> {
    let kind = u8::arbitrary(input)?;
    Ok(match kind {
        0xf0.. => usize::from(u16::arbitrary(input)?).min(MAX_REPETITION),
        0xe0.. => usize::from(kind & 0xf),
        _ => 1,
    })
}

fn room(input: &mut Unstructured) -> Result<usize> {
    Ok(usize::from(u16::arbitrary(input)?) % (MAX_ROOM + 1))
}

impl Event {
    /// The next event.
    pub(crate) fn next(input: &mut Unstructured) -> Result<Self> {
        let kind = u8::arbitrary(input)? % 20;
        Ok(match kind {
            0 | 1 => Self::Accept {
                address: usize::from(u8::arbitrary(input)?) % STATIONS,
            },
            2 | 3 => Self::Connect {
                which: u8::arbitrary(input)?.into(),
                well: kind == 2,
            },
            4..=6 => Self::Octets {
                which: u8::arbitrary(input)?.into(),
                content: content(input, kind - 4)?,
                piece: usize::from(u8::arbitrary(input)?).max(1) * 8 - 7,
                times: times(input)?,
            },
            7 => Self::Ended {
                which: u8::arbitrary(input)?.into(),
            },
            8 => Self::Broken {
                which: u8::arbitrary(input)?.into(),
            },
            9..=11 => Self::Datagram {
                socket: u8::arbitrary(input)?.into(),
                address: usize::from(u8::arbitrary(input)?) % ADDRESSES.len(),
                content: content(input, kind - 9)?,
                times: times(input)?.min(1000),
            },
            12 => Self::Passes(Duration::from_micros(u16::arbitrary(input)?.into())),
            13 => Self::Passes(Duration::from_millis(u16::arbitrary(input)?.into())),
            14 => Self::Passes(Duration::from_secs(u32::arbitrary(input)?.into())),
            15 => Self::Wakes,
            16 | 17 => Self::Turn {
                stream: room(input)?,
                datagram: room(input)?,
            },
            _ => Self::Settles,
        })
    }
}
