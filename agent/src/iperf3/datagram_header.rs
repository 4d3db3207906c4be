//! Header of the UDP datagrams.

use crate::Instant;
use crate::octets::{put_u32, u32_at};

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
        let [seconds, micros, number] = [0, 4, 8].map(|at| u32_at(octets, at));
        let number = if wide {
            u64::from(number?) << 32 | u64::from(u32_at(octets, 12)?)
        } else {
            u64::from(number?)
        };
        Some(Self {
            number,
            sent_ns: Instant::from_seconds_and_micros(seconds?, micros?).ns(),
        })
    }

    /// Writes it to the start of a datagram.
    pub(super) fn emit(number: u64, wide: bool, now: Instant, datagram: &mut [u8]) {
        let (seconds, micros) = now.to_seconds_and_micros();
        put_u32(datagram, 0, seconds);
        put_u32(datagram, 4, micros);
        if wide {
            put_u32(datagram, 8, (number >> 32) as u32);
            put_u32(datagram, 12, number as u32);
        } else {
            put_u32(datagram, 8, number as u32);
        }
    }
}
