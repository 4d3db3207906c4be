//! Triple-Speed Ethernet MAC with a PHY (Altera, Triple-Speed Ethernet User Guide).
//!
//! Packets to send come from its stream input, received frames go to its stream output; both have a FIFO whose level
//! follows the line octet by octet, in steps of 64. No interrupts, no master ports. Full duplex only; the magic packet,
//! supplementary addresses and `MHASH_SEL` are not modelled.

mod receive;
mod settings;
mod statistics;
#[cfg(test)]
mod tests;
mod transmit;

use std::collections::VecDeque;

use linerate_ether::ledger::DropCause;
use linerate_regs::RegisterRef;

use self::receive::Receiver;
use self::registers as tse;
use self::settings::Settings;
use self::statistics::Statistics;
use self::transmit::Transmitter;
use super::Device;
use super::phy::Phy;
use super::port::{Fragment, Line, LineFrame, LinkMode, Partner};
use crate::time::{Instant, Span};

/// The registers.
mod registers {
    linerate_regs::constants!(linerate_regs::TSE, "TSE":
        REV SCRATCH
        COMMAND_CONFIG { CNT_RESET RX_ERR_DISC ENA_10 NO_LGTH_CHECK CNTL_FRM_ENA XOFF_GEN LOOP_ENA SW_RESET TX_ADDR_INS
            PAUSE_IGNORE PAUSE_FWD CRC_FWD PAD_EN PROMIS_EN ETH_SPEED XON_GEN RX_ENA TX_ENA }
        MAC_0 MAC_1 FRM_LENGTH PAUSE_QUANT RX_SECTION_EMPTY RX_SECTION_FULL TX_SECTION_FULL RX_ALMOST_FULL
        TX_ALMOST_EMPTY TX_ALMOST_FULL MDIO_ADDR0 MDIO_ADDR1 HOLDOFF_QUANT TX_IPG_LENGTH
        FRAMES_TRANSMITTED_OK FRAMES_RECEIVED_OK FRAME_CHECK_SEQUENCE_ERRORS OCTETS_TRANSMITTED_OK OCTETS_RECEIVED_OK
        TX_PAUSE_FRAMES RX_PAUSE_FRAMES IF_IN_ERRORS IF_OUT_ERRORS IF_IN_UCAST IF_IN_MULTICAST IF_IN_BROADCAST
        IF_OUT_UCAST IF_OUT_MULTICAST IF_OUT_BROADCAST DROP_EVENTS OCTETS PKTS UNDERSIZE OVERSIZE
        PKTS_64 PKTS_65_127 PKTS_128_255 PKTS_256_511 PKTS_512_1023 PKTS_1024_1518 PKTS_1519_X JABBERS FRAGMENTS
        TX_CMD_STAT { TX_SHIFT16 OMIT_CRC } RX_CMD_STAT { RX_SHIFT16 }
        MSB_OCTETS_TRANSMITTED_OK MSB_OCTETS_RECEIVED_OK MSB_OCTETS
    );
}

/// The own address again; the hash table; registers of the first and second PHY.
const MAC_ID: std::ops::Range<u32> = 0x60..0x68;
const HASH: std::ops::Range<u32> = 0x100..0x200;
const PHYS: std::ops::Range<u32> = 0x200..0x300;
const PHY_BYTES: u32 = 0x80;
/// Revision of the core: 7.1.
const REVISION: u32 = 0x0701;

/// The MAC.
#[derive(Clone, Debug)]
pub struct Tse {
    settings: Settings,
    statistics: Statistics,
    transmitter: Transmitter,
    receiver: Receiver,
    phy: Phy,
    phy_address: u32,
    sent: VecDeque<LineFrame>,
    /// Next pause frame while the receive FIFO is full.
    holds_off: Option<Instant>,
}

impl Tse {
    /// A MAC after reset. FIFOs have `transmit_words` and `receive_words` of 32 bits; the PHY at `phy_address` negotiates
    /// for `negotiation`.
    pub fn new(
        transmit_words: u32,
        receive_words: u32,
        phy_address: u8,
        negotiation: Span,
    ) -> Self {
        Self {
            settings: Settings::default(),
            statistics: Statistics::default(),
            transmitter: Transmitter::new(4 * transmit_words as usize),
            receiver: Receiver::new(4 * receive_words as usize),
            phy: Phy::new(true, negotiation),
            phy_address: phy_address.into(),
            sent: VecDeque::new(),
            holds_off: None,
        }
    }

    fn write_command(&mut self, value: u32, now: Instant) {
        let command = tse::COMMAND_CONFIG.offset;
        let was_enabled = self.settings.command(tse::COMMAND_CONFIG::TX_ENA);
        let clears = tse::COMMAND_CONFIG::CNT_RESET.is_set(value);
        let resets = tse::COMMAND_CONFIG::SW_RESET.is_set(value);
        let mut kept = tse::COMMAND_CONFIG::SW_RESET.put(value, 0);
        kept = tse::COMMAND_CONFIG::CNT_RESET.put(kept, 0);
        if resets {
            kept = tse::COMMAND_CONFIG::TX_ENA.put(kept, 0);
            kept = tse::COMMAND_CONFIG::RX_ENA.put(kept, 0);
            self.transmitter.reset();
            self.receiver.reset();
            self.holds_off = None;
        }
        if clears || resets {
            self.statistics = Statistics::default();
        }
        let before = self.settings.value(tse::COMMAND_CONFIG);
        self.settings.set(command, kept);
        if self.settings.command(tse::COMMAND_CONFIG::TX_ENA) && !was_enabled {
            self.transmitter.enable(now);
        }
        let rises = |bits: linerate_regs::Bits| bits.is_set(kept) && !bits.is_set(before);
        if rises(tse::COMMAND_CONFIG::XOFF_GEN) {
            self.send_pause(now);
        }
        if rises(tse::COMMAND_CONFIG::XON_GEN) {
            self.transmitter.send_pause(0, now);
        }
    }

    fn send_pause(&mut self, now: Instant) {
        let quanta = self.settings.value(tse::PAUSE_QUANT) as u16;
        self.transmitter.send_pause(quanta, now);
    }

    /// Sends pause frames while the level of the receive FIFO asks for it.
    fn hold_off(&mut self, now: Instant) {
        let limit = self.settings.octets(tse::RX_SECTION_EMPTY);
        let is_full = limit > 0 && self.receiver.level() >= limit;
        match self.holds_off {
            None if !is_full => return,
            Some(next) if is_full && next > now => return,
            _ => {}
        }
        if is_full {
            self.send_pause(now);
            let holdoff = self.settings.value(tse::HOLDOFF_QUANT) & 0xffff;
            self.holds_off = Some(now + self.settings.mode().quanta(holdoff.max(1)));
        } else {
            self.transmitter.send_pause(0, now);
            self.holds_off = None;
        }
    }

    /// The PHY at the address in this register, if it is there.
    fn phy(&mut self, address: RegisterRef) -> Option<&mut Phy> {
        let here = self.settings.value(address) & 0x1f == self.phy_address;
        here.then_some(&mut self.phy)
    }

    /// The PHY and the number of its register for an offset in [`PHYS`].
    fn phy_at(&mut self, offset: u32) -> (Option<&mut Phy>, u32) {
        let inside = offset - PHYS.start;
        let number = inside % PHY_BYTES / 4;
        let address = if inside < PHY_BYTES {
            tse::MDIO_ADDR0
        } else {
            tse::MDIO_ADDR1
        };
        (self.phy(address), number)
    }

    /// A frame has left the MAC.
    fn emit(&mut self, mut frame: LineFrame) {
        if self.settings.command(tse::COMMAND_CONFIG::LOOP_ENA) {
            let duration = frame.end.since(frame.start);
            (frame.start, frame.end) = (frame.end, frame.end + duration);
            self.receiver.receive(frame);
            return;
        }
        let fault = match self.phy.mode() {
            None => Some(DropCause::LinkDown),
            Some(mode) if mode != self.settings.mode() => Some(DropCause::SymbolError),
            Some(_) => None,
        };
        frame.fault = frame.fault.or(fault);
        self.sent.push_back(frame);
    }
}

impl Device for Tse {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.advance(now);
        if PHYS.contains(&offset) {
            let (phy, number) = self.phy_at(offset);
            // An undriven bus is pulled up.
            let value = phy.map_or(0xffff, |phy| phy.read(number, now));
            return Some(value.into());
        }
        if HASH.contains(&offset) {
            return None;
        }
        if offset == tse::REV.offset {
            return Some(REVISION);
        }
        if MAC_ID.contains(&offset) {
            return self.settings.get(tse::MAC_0.offset + offset - MAC_ID.start);
        }
        let counter = || self.statistics.read(offset);
        self.settings.get(offset).or_else(counter)
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        self.advance(now);
        if PHYS.contains(&offset) {
            let (phy, number) = self.phy_at(offset);
            if let Some(phy) = phy {
                phy.write(number, value as u16, now);
            }
        } else if HASH.contains(&offset) {
            let bit = 1 << ((offset - HASH.start) / 4);
            if value & 1 != 0 {
                self.settings.hash |= bit;
            } else {
                self.settings.hash &= !bit;
            }
        } else if offset == tse::COMMAND_CONFIG.offset {
            self.write_command(value, now);
        } else if offset != tse::REV.offset {
            return self.settings.set(offset, value);
        }
        self.advance(now);
        true
    }

    fn next_event(&self) -> Instant {
        let holdoff = self.holds_off.unwrap_or(Instant::NEVER);
        self.phy
            .next_event()
            .min(self.transmitter.next_event(&self.settings))
            .min(self.receiver.next_event(&self.settings))
            .min(holdoff)
    }

    fn advance(&mut self, now: Instant) {
        self.phy.advance(now);
        loop {
            if let Some(request) = self
                .receiver
                .advance(&self.settings, &mut self.statistics, now)
            {
                let span = self.settings.mode().quanta(request.quanta.into());
                self.transmitter.pause(span, request.at);
                continue;
            }
            self.hold_off(now);
            match self
                .transmitter
                .advance(&self.settings, &mut self.statistics, now)
            {
                Some(frame) => self.emit(frame),
                None => break,
            }
        }
    }

    fn stream_output(&mut self, room: usize, now: Instant) -> Option<Fragment> {
        let fragment = self.receiver.output(room, &self.settings);
        self.hold_off(now);
        fragment
    }

    fn stream_room(&self, now: Instant) -> usize {
        self.transmitter.room(&self.settings, now)
    }

    fn stream_input(&mut self, fragment: Fragment, now: Instant) {
        self.transmitter.input(fragment, &self.settings, now);
        self.advance(now);
    }

    fn line(&mut self) -> Option<&mut dyn Line> {
        Some(self)
    }
}

impl Line for Tse {
    fn connect(&mut self, partner: Option<Partner>, now: Instant) {
        self.phy.connect(partner, now);
    }

    fn mode(&self) -> Option<LinkMode> {
        self.phy.mode()
    }

    fn take_frame(&mut self) -> Option<LineFrame> {
        self.sent.pop_front()
    }

    fn receive_frame(&mut self, frame: LineFrame) {
        self.receiver.receive(frame);
    }
}
