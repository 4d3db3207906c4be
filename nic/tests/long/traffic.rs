//! Traffic on the wire: frames of every length and address, intact and damaged in every way,
//! received at every alignment, and pulses.

use crate::support::{DEVICE, PEER};
use linerate_ether::frame::check_received;
use linerate_ether::ledger::Counter;
use linerate_ether::preamble::{
    PREAMBLE_AND_SFD, PREAMBLE_AND_SFD_BITS, align_into, find_frame_bitwise,
};
use linerate_ether::{fcs, pattern};
use linerate_nic::mac::Reception;

/// Marsaglia's xorshift: the same sequence everywhere.
pub struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`; zero if that is zero.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    pub fn chance(&mut self, of: u64, in_all: u64) -> bool {
        self.below(in_all) < of
    }

    fn between(&mut self, least: usize, most: usize) -> usize {
        least + self.below((most - least + 1) as u64) as usize
    }
}

/// Expected fate of a reception, if there is room for it.
pub enum Fate {
    /// Offered to the stack, these octets without FCS.
    Good(Vec<u8>),
    /// Intact, but for another station.
    Filtered(Vec<u8>),
    /// Rejected by the MAC and counted here.
    Lost(Counter),
}

/// An event at the receive pin.
pub struct Arrival {
    pub reception: Reception,
    /// Data that the PHY writes, for a packet.
    pub raw: Vec<u8>,
    pub fate: Fate,
    /// Counter incremented by the PHY; `RxFrames` for a packet.
    pub counted_at_once: Counter,
    /// True if it is a frame: not a pulse, not a disturbance.
    pub is_frame: bool,
}

/// The wire.
pub struct Traffic {
    pub random: Random,
    /// Offset of the next payload in the sequence that all payload is taken from.
    offset: u64,
}

impl Traffic {
    pub const fn new(seed: u64) -> Self {
        Self {
            random: Random(seed),
            offset: 0,
        }
    }

    /// The next arrival.
    pub fn next(&mut self) -> Arrival {
        match self.random.below(100) {
            0..70 => self.intact(),
            70..75 => self.of_wrong_length(),
            75..77 => self.with_wrong_length_field(),
            77..84 => self.with_wrong_bits(),
            84..88 => self.cut_short(),
            88..92 => self.received_late(),
            other => event(other),
        }
    }

    /// A frame without FCS: `len` octets, to `to`.
    fn frame(&mut self, len: usize, to: [u8; 6]) -> Vec<u8> {
        let mut frame = vec![0; len];
        pattern::fill(self.offset, &mut frame);
        self.offset += len as u64;
        let head = [&to[..], &PEER, &[0x88, 0xB5]].concat();
        let known = head.len().min(len);
        frame[..known].copy_from_slice(&head[..known]);
        frame
    }

    /// A frame with a valid length and header; `true` if it is for this station.
    fn good_frame(&mut self) -> (Vec<u8>, bool) {
        let len = match self.random.below(8) {
            0 => 60,
            1 => 1514,
            2 => self.random.between(60, 68),
            _ => self.random.between(60, 1514),
        };
        let (to, here) = match self.random.below(20) {
            0 => ([0xFF; 6], true),
            1 => ([0x01, 0x00, 0x5E, 0, 0, 0xFB], true),
            2 => (PEER, false),
            _ => (DEVICE, true),
        };
        let mut frame = self.frame(len, to);
        match self.random.below(10) {
            // 802.3: as much data as present, or less (padding).
            0 => {
                let data = self.random.below(len as u64 - 13).min(1500) as u16;
                frame[12..14].copy_from_slice(&data.to_be_bytes());
            }
            1 => {
                let tag = [0x81, 0, self.random.next() as u8, 1];
                frame.splice(12..12, tag);
            }
            _ => {}
        }
        (frame, here)
    }

    fn intact(&mut self) -> Arrival {
        let (frame, here) = self.good_frame();
        let octets = with_fcs(&frame);
        let raw = self.raw_reception(&octets, octets.len() * 8, 56);
        let fate = if here {
            Fate::Good(frame)
        } else {
            Fate::Filtered(frame)
        };
        packet(raw, fate)
    }

    fn of_wrong_length(&mut self) -> Arrival {
        let (len, counter) = if self.random.chance(1, 2) {
            (self.random.between(1, 59), Counter::RxRunts)
        } else {
            // Up to the size of the buffer; the PHY rejects longer ones.
            (self.random.between(1515, 1518), Counter::RxOversize)
        };
        let octets = with_fcs(&self.frame(len, DEVICE));
        let raw = self.raw_reception(&octets, octets.len() * 8, 56);
        packet(raw, Fate::Lost(counter))
    }

    fn with_wrong_length_field(&mut self) -> Arrival {
        let len = self.random.between(60, 1513);
        let mut frame = self.frame(len, DEVICE);
        let data = self.random.between(len - 13, 1500) as u16;
        frame[12..14].copy_from_slice(&data.to_be_bytes());
        let octets = with_fcs(&frame);
        let raw = self.raw_reception(&octets, octets.len() * 8, 56);
        packet(raw, Fate::Lost(Counter::RxLengthErrors))
    }

    /// One to three wrong bits, which the FCS detects in frames of any length.
    fn with_wrong_bits(&mut self) -> Arrival {
        let mut octets = with_fcs(&self.good_frame().0);
        let first = self.random.below(octets.len() as u64 * 8);
        for more in 0..=self.random.below(3) {
            let bit = ((first + more * 37) % (octets.len() as u64 * 8)) as usize;
            octets[bit / 8] ^= 1 << (bit % 8);
        }
        let raw = self.raw_reception(&octets, octets.len() * 8, 56);
        let fate = Fate::Lost(refusal(&raw));
        packet(raw, fate)
    }

    /// The end is missing: from a few bits to almost all.
    fn cut_short(&mut self) -> Arrival {
        let octets = with_fcs(&self.good_frame().0);
        let bits = self.random.between(0, octets.len() * 8 - 16);
        let raw = self.raw_reception(&octets, bits, 56);
        let fate = Fate::Lost(refusal(&raw));
        packet(raw, fate)
    }

    /// The receiver started in the SFD or after it.
    fn received_late(&mut self) -> Arrival {
        let octets = with_fcs(&self.good_frame().0);
        let late = self.random.between(0, octets.len() * 8 - 128);
        let (octets, late) = (&octets[late / 8..], 57 + late % 8);
        let mut raw = self.raw_reception(octets, octets.len() * 8, 0);
        // Removes the preamble and SFD, except for the bits received of them.
        shift_down(&mut raw, late);
        let fate = Fate::Lost(refusal(&raw));
        packet(raw, fate)
    }

    /// Raw reception of the first `bits` bits of `octets`, with up to `missed` bits of the preamble
    /// missing, followed by the start of idle and arbitrary padding.
    fn raw_reception(&mut self, octets: &[u8], bits: usize, missed: u64) -> Vec<u8> {
        let missed = self.random.below(missed + 1) as usize;
        let idle = self.random.between(0, 2);
        let padding = self.random.next() as u8;
        let mut line = [&PREAMBLE_AND_SFD, octets, &[0, 0, 0]].concat();
        let end = PREAMBLE_AND_SFD_BITS + bits;
        // Only some bits after the end can be received.
        for (place, at) in (end..(end + 10).min(line.len() * 8)).enumerate() {
            let level = place < idle || padding >> (place % 8) & 1 == 1;
            line[at / 8] = line[at / 8] & !(1 << (at % 8)) | u8::from(level) << (at % 8);
        }
        let len = (end + idle - missed).div_ceil(8);
        shift_down(&mut line, missed);
        line.truncate(len);
        line
    }
}

/// Drops the first `bits` bits; the last octets keep arbitrary data.
fn shift_down(line: &mut Vec<u8>, bits: usize) {
    line.drain(..bits / 8);
    let shift = bits % 8;
    if shift == 0 {
        return;
    }
    for at in 0..line.len() {
        let next = line.get(at + 1).map_or(0, |next| next << (8 - shift));
        line[at] = line[at] >> shift | next;
    }
}

/// Events that the PHY detects.
fn event(which: u64) -> Arrival {
    let (reception, counter, is_frame) = match which {
        92..94 => (Reception::LinkPulse, Counter::RxLinkPulses, false),
        94..95 => (Reception::LinkBurst, Counter::RxLinkBursts, false),
        95..97 => (Reception::Truncated, Counter::RxTruncated, true),
        97..98 => (Reception::SymbolError, Counter::RxSymbolErrors, true),
        98..99 => (Reception::Oversize, Counter::RxOversize, true),
        _ => (Reception::Nothing, Counter::RxFrames, false),
    };
    Arrival {
        reception,
        raw: Vec::new(),
        fate: Fate::Lost(counter),
        counted_at_once: counter,
        is_frame,
    }
}

fn packet(raw: Vec<u8>, fate: Fate) -> Arrival {
    Arrival {
        reception: Reception::Packet(raw.len()),
        raw,
        fate,
        counted_at_once: Counter::RxFrames,
        is_frame: true,
    }
}

fn with_fcs(frame: &[u8]) -> Vec<u8> {
    [frame, &fcs::crc32(frame).to_le_bytes()].concat()
}

/// Counter for a damaged reception, by a search bit by bit and the checks of `ether`. Of its two
/// possible lengths, the longer counts if both are wrong.
fn refusal(raw: &[u8]) -> Counter {
    let Some(start) = find_frame_bitwise(raw, PREAMBLE_AND_SFD_BITS) else {
        return Counter::RxBadSfd;
    };
    let mut octets = vec![0; raw.len()];
    let len = align_into(raw, start, &mut octets);
    let octets = &octets[..len];
    let shorter = &octets[..len.saturating_sub(1)];
    assert!(check_received(shorter).is_err(), "the damage made a frame");
    let error = check_received(octets).expect_err("the damage made a frame");
    error.cause().counter().expect("a counter for each cause")
}
