//! The counters (IEEE 802.3, RFC 2863, RFC 2819).

use linerate_ether::frame::{HEADER_LEN, MacAddress};
use linerate_ether::{fcs, frame};
use linerate_regs::RegisterRef;

use super::registers as tse;

/// Offset of the first counter, and their number.
const FIRST: u32 = tse::FRAMES_TRANSMITTED_OK.offset;
const COUNT: usize = ((tse::FRAGMENTS.offset - FIRST) / 4 + 1) as usize;

/// The counters.
#[derive(Clone, Debug)]
pub(super) struct Statistics([u64; COUNT]);

impl Default for Statistics {
    fn default() -> Self {
        Self([0; COUNT])
    }
}

/// A kind of destination address.
fn by_destination(octets: &[u8], registers: [RegisterRef; 3]) -> RegisterRef {
    let address = octets.first_chunk().map(|it| MacAddress(*it));
    let [station, group, all] = registers;
    match address {
        Some(it) if it.is_broadcast() => all,
        Some(it) if it.is_multicast() => group,
        _ => station,
    }
}

/// Octets of payload and padding.
fn payload(octets: &[u8]) -> u64 {
    octets.len().saturating_sub(HEADER_LEN + fcs::LEN) as u64
}

impl Statistics {
    /// The register at `offset`; `None` if it is no counter.
    pub fn read(&self, offset: u32) -> Option<u32> {
        let upper = [
            (tse::MSB_OCTETS_TRANSMITTED_OK, tse::OCTETS_TRANSMITTED_OK),
            (tse::MSB_OCTETS_RECEIVED_OK, tse::OCTETS_RECEIVED_OK),
            (tse::MSB_OCTETS, tse::OCTETS),
        ];
        if let Some((_, lower)) = upper.into_iter().find(|(it, _)| it.offset == offset) {
            return Some((self.0[index(lower)] >> 32) as u32);
        }
        let index = offset.checked_sub(FIRST)? / 4;
        self.0.get(index as usize).map(|value| *value as u32)
    }

    fn add(&mut self, register: RegisterRef, more: u64) {
        let value = &mut self.0[index(register)];
        *value = value.wrapping_add(more);
    }

    pub fn count(&mut self, register: RegisterRef) {
        self.add(register, 1);
    }

    /// A frame was sent completely.
    pub fn sent(&mut self, octets: &[u8]) {
        self.count(tse::FRAMES_TRANSMITTED_OK);
        self.add(tse::OCTETS_TRANSMITTED_OK, payload(octets));
        let destination = [tse::IF_OUT_UCAST, tse::IF_OUT_MULTICAST, tse::IF_OUT_BROADCAST];
        self.count(by_destination(octets, destination));
    }

    /// A pause frame was sent.
    pub fn sent_pause(&mut self) {
        self.count(tse::FRAMES_TRANSMITTED_OK);
        self.count(tse::TX_PAUSE_FRAMES);
    }

    /// A frame for this station has arrived, good or not.
    pub fn arrived(&mut self, octets: &[u8], is_intact: bool, longest: usize) {
        self.count(tse::PKTS);
        self.add(tse::OCTETS, octets.len() as u64);
        let len = octets.len();
        let size = match len {
            ..frame::MIN_LEN if is_intact => tse::UNDERSIZE,
            ..frame::MIN_LEN => tse::FRAGMENTS,
            _ if len > longest && is_intact => tse::OVERSIZE,
            _ if len > longest => tse::JABBERS,
            64 => tse::PKTS_64,
            65..=127 => tse::PKTS_65_127,
            128..=255 => tse::PKTS_128_255,
            256..=511 => tse::PKTS_256_511,
            512..=1023 => tse::PKTS_512_1023,
            1024..=1518 => tse::PKTS_1024_1518,
            _ => tse::PKTS_1519_X,
        };
        self.count(size);
        if !is_intact && (frame::MIN_LEN..=longest).contains(&len) {
            self.count(tse::FRAME_CHECK_SEQUENCE_ERRORS);
        }
    }

    /// The frame is good.
    pub fn received(&mut self, octets: &[u8], is_pause: bool) {
        self.count(tse::FRAMES_RECEIVED_OK);
        self.add(tse::OCTETS_RECEIVED_OK, payload(octets));
        let destination = [tse::IF_IN_UCAST, tse::IF_IN_MULTICAST, tse::IF_IN_BROADCAST];
        self.count(if is_pause {
            tse::RX_PAUSE_FRAMES
        } else {
            by_destination(octets, destination)
        });
    }
}

fn index(register: RegisterRef) -> usize {
    ((register.offset - FIRST) / 4) as usize
}
