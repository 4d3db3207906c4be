//! Control frames and destination addresses (RM0090 section 33.5.4, MACFFR).

use linerate_ether::fcs::{Crc32, SLICING_4};
use linerate_ether::frame::EtherType;
use linerate_ether::pause::Pause;

use super::counters::offsets;
use super::receive::FILTER_FAILED;
use super::{Dwmac, LineFrame, field, regs};

impl Dwmac {
    /// Flags of an accepted frame; `None` if it is dropped. A PAUSE frame is taken note of.
    pub(super) fn filter(&mut self, frame: &LineFrame) -> Option<u32> {
        let octets = &frame.octets;
        let is_control = octets.get(12..14) == Some(&EtherType::MAC_CONTROL.0.to_be_bytes());
        if is_control && frame.fault.is_none() {
            let pause = Pause::parse(octets).ok();
            if let Some(pause) = pause {
                self.count(offsets::RX_PAUSE_FRAMES, 1);
                if field!(self, MACFCR, RFCE) != 0 && self.is_full_duplex() {
                    self.receiver.pauses.push_back((frame.end, pause.quanta));
                }
            }
            match field!(self, MACFFR, PCF) {
                regs::MACFFR::PCF::NONE => return None,
                regs::MACFFR::PCF::NOT_PAUSE if pause.is_some() => return None,
                regs::MACFFR::PCF::NOT_PAUSE | regs::MACFFR::PCF::ALL => return Some(0),
                _ => {}
            }
        }
        let to: [u8; 6] = *octets.first_chunk()?;
        let passes = self.accepts(to);
        if passes || field!(self, MACFFR, PM) != 0 {
            Some(0)
        } else {
            (field!(self, MACFFR, RA) != 0).then_some(FILTER_FAILED)
        }
    }

    pub(super) fn accepts(&self, to: [u8; 6]) -> bool {
        if to == [0xff; 6] {
            return field!(self, MACFFR, BFD) == 0;
        }
        let is_group = to[0] & 1 != 0;
        if is_group && field!(self, MACFFR, PAM) != 0 {
            return true;
        }
        let hashes = if is_group {
            field!(self, MACFFR, HM) != 0
        } else {
            field!(self, MACFFR, HU) != 0
        };
        let is_perfect = || (0..4).any(|number| self.is_address(number, to));
        let passes = if hashes {
            self.is_in_table(to) || field!(self, MACFFR, HPF) != 0 && is_perfect()
        } else {
            is_perfect()
        };
        passes != (field!(self, MACFFR, DAIF) != 0)
    }

    /// The upper six bits of the CRC, most significant bit first, select a bit of the table.
    pub(super) fn is_in_table(&self, to: [u8; 6]) -> bool {
        let bin = Crc32::with(&SLICING_4).update(&to).finish().reverse_bits() >> 26;
        let high = u64::from(self.register(regs::MACHTHR.offset));
        let table = high << 32 | u64::from(self.register(regs::MACHTLR.offset));
        table >> bin & 1 != 0
    }

    pub(super) fn is_address(&self, number: u32, to: [u8; 6]) -> bool {
        let high = self.register(regs::MACA0HR.offset + 8 * number);
        let low = self.register(regs::MACA0LR.offset + 8 * number);
        let is_enabled = number == 0 || regs::MACA1HR::AE.is_set(high);
        let own = u64::from(high & 0xffff) << 32 | u64::from(low);
        is_enabled && own.to_le_bytes()[..6] == to
    }
}
