//! Header of the UDP datagrams.

use crate::Instant;
use crate::octets::{put_time, put_u32, time_at, u32_at};

/// A datagram's number, counted from 1, and its send time. Big-endian: seconds, microseconds, and the number
/// in 32 bits or, with the parameter `--udp-counters-64bit`, in 64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramHeader {
    /// The number.
    pub number: u64,
    /// Seconds and microseconds on the sender's clock, as nanoseconds.
    pub sent_ns: u64,
}

impl DatagramHeader {
    /// Parses the header of a datagram; `None` if it is too short. `wide`: the number has 64 bits.
    #[must_use]
    pub fn parse(octets: &[u8], wide: bool) -> Option<Self> {
        let mut number = u64::from(u32_at(octets, 8)?);
        if wide {
            number = number << 32 | u64::from(u32_at(octets, 12)?);
        }
        Some(Self {
            number,
            sent_ns: time_at(octets, 0)?,
        })
    }

    /// Writes it to the start of a datagram.
    pub(super) fn emit(number: u64, wide: bool, now: Instant, datagram: &mut [u8]) {
        put_time(datagram, 0, now.ns());
        let mut at = 8;
        if wide {
            put_u32(datagram, at, (number >> 32) as u32);
            at += 4;
        }
        put_u32(datagram, at, number as u32);
    }
}
