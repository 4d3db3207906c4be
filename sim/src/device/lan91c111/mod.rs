//! LAN91C111, a 10/100 MAC and PHY with 8 KB for packets, behind a bus (SMSC LAN91C111 data sheet, revision 1.92). Output 0
//! interrupts. Registers are accessed with byte enables ([`Device::read_bytes`], [`Device::write_bytes`]).
//!
//! Full duplex at 100 Mbit/s, as forced in `RPCR`. Not modelled: MDIO and auto-negotiation, the EEPROM, the hash table,
//! counters of collisions, the duration of a release.

mod line;
mod packets;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use self::line::Sending;
use self::packets::Packets;
use super::Device;
use super::port::{Line, LineFrame};
use crate::time::Instant;

/// The registers.
mod bank0 {
    linerate_regs::constants!(linerate_regs::LAN91C111, "BANK0":
        TCR { TXENA PAD_EN NOCRC } EPHSR { LINK_OK TX_SUC } RCR { SOFT_RST STRIP_CRC RXEN ALMUL PRMS } MIR RPCR
    );
}
mod bank1 {
    linerate_regs::constants!(linerate_regs::LAN91C111, "BANK1": CR BAR IA0 GPR CTR { AUTO_RELEASE });
}
mod bank2 {
    linerate_regs::constants!(linerate_regs::LAN91C111, "BANK2":
        MMUCR { COMMAND { ALLOC RESET REMOVE REMOVE_RELEASE RELEASE ENQUEUE RESET_TX } } PNR ARR { FAILED }
        TXFIFO { TEMPTY } RXFIFO { REMPTY } PTR { RCV AUTO_INCR POINTER } DATA IST { RX_OVRN ALLOC TX_EMPTY TX RCV } MSK
    );
}
mod bank3 {
    linerate_regs::constants!(linerate_regs::LAN91C111, "BANK3": MGMT REV);
}

/// Offset of the bank select in every bank, and the upper half of its value.
const BANK: u32 = 0x0e;
const BANK_ID: u16 = 0x3300;

/// The chip.
#[derive(Clone, Debug)]
pub struct Lan91c111 {
    bank: u16,
    /// Registers that hold what was written, by bank and offset.
    stored: [[u16; 7]; 4],
    packets: Packets,
    pnr: u8,
    pointer: u16,
    /// The packet of the last allocation; `None` while it waits for memory.
    allocated: Option<u8>,
    waits_for_memory: bool,
    to_send: VecDeque<u8>,
    sent_packets: VecDeque<u8>,
    received: VecDeque<u8>,
    sending: Option<Sending>,
    line_free: Instant,
    arriving: VecDeque<LineFrame>,
    sent: VecDeque<LineFrame>,
    is_connected: bool,
    /// Latched bits of `IST`.
    events: u8,
    mask: u8,
}

impl Default for Lan91c111 {
    fn default() -> Self {
        let mut stored = [[0; 7]; 4];
        for (bank, register) in [
            (1, bank1::CR),
            (1, bank1::BAR),
            (1, bank1::CTR),
            (3, bank3::MGMT),
        ] {
            stored[bank][register.offset as usize / 2] = register.reset as u16;
        }
        Self {
            bank: 0,
            stored,
            packets: Packets::default(),
            pnr: 0,
            pointer: 0,
            allocated: None,
            waits_for_memory: false,
            to_send: VecDeque::new(),
            sent_packets: VecDeque::new(),
            received: VecDeque::new(),
            sending: None,
            line_free: Instant::ZERO,
            arriving: VecDeque::new(),
            sent: VecDeque::new(),
            is_connected: false,
            // The transmit FIFO is empty.
            events: bank2::IST::TX_EMPTY.mask() as u8,
            mask: 0,
        }
    }
}

impl Lan91c111 {
    fn register(&self, bank: usize, register: linerate_regs::RegisterRef) -> u32 {
        self.stored[bank][register.offset as usize / 2].into()
    }

    fn address(&self) -> [u8; 6] {
        let at = bank1::IA0.offset as usize / 2;
        let mut address = [0; 6];
        for (octets, word) in address.chunks_mut(2).zip(&self.stored[1][at..at + 3]) {
            octets.copy_from_slice(&word.to_le_bytes());
        }
        address
    }

    fn interrupt_status(&self) -> u8 {
        let bits = [
            (bank2::IST::RCV, !self.received.is_empty()),
            (bank2::IST::TX, !self.sent_packets.is_empty()),
            (bank2::IST::ALLOC, self.allocated.is_some()),
        ];
        let levels = bits.iter().map(|(bit, level)| bit.of((*level).into()));
        self.events | levels.sum::<u32>() as u8
    }

    /// The packet that `PTR` and `PNR` select.
    fn selected(&self) -> Option<u8> {
        if bank2::PTR::RCV.is_set(self.pointer.into()) {
            self.received.front().copied()
        } else {
            Some(self.pnr)
        }
    }

    fn offset(&self) -> usize {
        bank2::PTR::POINTER.get(self.pointer.into()) as usize
    }

    fn advance_pointer(&mut self, octets: u32) {
        if bank2::PTR::AUTO_INCR.is_set(self.pointer.into()) {
            let next = (self.offset() as u32 + octets) & bank2::PTR::POINTER.mask();
            self.pointer = self.pointer & !(bank2::PTR::POINTER.mask() as u16) | next as u16;
        }
    }

    fn read_data(&mut self, enables: u8) -> u32 {
        let (mut value, mut octets) = (0, 0);
        for lane in (0..4).filter(|lane| enables >> lane & 1 != 0) {
            let octet = self
                .selected()
                .map_or(0, |it| self.packets.read(it, self.offset() + octets));
            value |= u32::from(octet) << (8 * lane);
            octets += 1;
        }
        self.advance_pointer(octets as u32);
        value
    }

    fn write_data(&mut self, value: u32, enables: u8) {
        let mut octets = 0;
        for lane in (0..4).filter(|lane| enables >> lane & 1 != 0) {
            if let Some(packet) = self.selected() {
                self.packets
                    .write(packet, self.offset() + octets, (value >> (8 * lane)) as u8);
            }
            octets += 1;
        }
        self.advance_pointer(octets as u32);
    }

    fn release(&mut self, packet: u8) {
        self.packets.release(packet);
        if self.waits_for_memory {
            self.allocate();
        }
    }

    fn allocate(&mut self) {
        self.allocated = self.packets.allocate();
        self.waits_for_memory = self.allocated.is_none();
    }

    fn command(&mut self, command: u32, now: Instant) {
        use bank2::MMUCR::COMMAND as Command;
        match command {
            Command::ALLOC => self.allocate(),
            Command::RESET => {
                self.packets.release_all();
                self.pnr = 0;
                self.to_send.clear();
                self.sent_packets.clear();
                self.received.clear();
                self.sending = None;
                self.allocated = None;
                self.waits_for_memory = false;
                self.latch_empty();
            }
            Command::REMOVE => drop(self.received.pop_front()),
            Command::REMOVE_RELEASE => {
                if let Some(packet) = self.received.pop_front() {
                    self.release(packet);
                }
            }
            Command::RELEASE => self.release(self.pnr),
            Command::ENQUEUE => {
                self.to_send.push_back(self.pnr);
                self.start(now);
            }
            Command::RESET_TX => {
                self.to_send.clear();
                self.sent_packets.clear();
                self.latch_empty();
            }
            _ => {}
        }
    }

    /// `EPHSR`: the state of the link, and the fate of the last frame.
    fn frame_status(&self) -> u16 {
        let link = bank0::EPHSR::LINK_OK.of(self.is_connected.into());
        self.register(0, bank0::EPHSR) as u16 | link as u16
    }

    /// `TX_EMPTY` is set as long as nothing is to be sent, and stays until it is acknowledged afterwards (section 8.21).
    fn latch_empty(&mut self) {
        if self.to_send.is_empty() {
            self.events |= bank2::IST::TX_EMPTY.mask() as u8;
        }
    }

    /// `RCR.SOFT_RST`: everything has its values of power-on except `CR`, `BAR` and the address (section 8.7).
    fn soft_reset(&mut self) {
        let before = std::mem::take(self);
        let kept = ..bank1::GPR.offset as usize / 2;
        self.stored[1][kept].copy_from_slice(&before.stored[1][kept]);
        self.packets = before.packets;
        self.packets.release_all();
        (self.is_connected, self.sent) = (before.is_connected, before.sent);
    }

    /// Reads the 16-bit register at `offset`.
    fn read_half(&self, offset: u32) -> u16 {
        let pair = |low: u8, high: u8| u16::from(low) | u16::from(high) << 8;
        let number = |queue: &VecDeque<u8>, none: linerate_regs::Bits| {
            queue.front().copied().unwrap_or(none.mask() as u8)
        };
        if offset == BANK {
            return BANK_ID | self.bank;
        }
        match (self.bank, offset) {
            (0, it) if it == bank0::EPHSR.offset => self.frame_status(),
            (0, it) if it == bank0::MIR.offset => pair(4, self.packets.free()),
            (2, it) if it == bank2::PNR.offset => {
                let failed = bank2::ARR::FAILED.mask() as u8;
                pair(self.pnr, self.allocated.unwrap_or(failed))
            }
            (2, it) if it == bank2::TXFIFO.offset => pair(
                number(&self.sent_packets, bank2::TXFIFO::TEMPTY),
                number(&self.received, bank2::RXFIFO::REMPTY),
            ),
            (2, it) if it == bank2::PTR.offset => self.pointer,
            (2, it) if it == bank2::IST.offset => pair(self.interrupt_status(), self.mask),
            (3, it) if it == bank3::REV.offset => bank3::REV.reset as u16,
            (bank, it) => self.stored[bank as usize & 3][it as usize / 2],
        }
    }

    /// Writes the octets of the 16-bit register at `offset` that `enables` selects.
    fn write_half(&mut self, offset: u32, value: u16, enables: u8, now: Instant) {
        let [low, high] = value.to_le_bytes();
        let (has_low, has_high) = (enables & 1 != 0, enables & 2 != 0);
        if offset == BANK {
            if has_low {
                self.bank = u16::from(low & 3);
            }
            return;
        }
        match (self.bank, offset) {
            (2, it) if it == bank2::MMUCR.offset => {
                if has_low {
                    self.command(bank2::MMUCR::COMMAND.get(value.into()), now);
                }
            }
            (2, it) if it == bank2::PNR.offset => {
                if has_low {
                    self.pnr = low & 0x3f;
                }
            }
            (2, it) if it == bank2::PTR.offset => self.pointer = value,
            (2, it) if it == bank2::IST.offset => {
                if has_low {
                    self.events &= !low;
                    self.latch_empty();
                    if bank2::IST::TX.is_set(low.into()) {
                        self.sent_packets.pop_front();
                    }
                }
                if has_high {
                    self.mask = high;
                }
            }
            (0 | 3, it) if it == bank0::EPHSR.offset && self.bank == 0 => {}
            (bank, it) => {
                let stored = &mut self.stored[bank as usize & 3][it as usize / 2];
                let mask = if has_low { 0x00ff } else { 0 } | if has_high { 0xff00 } else { 0 };
                *stored = *stored & !mask | value & mask;
                if self.bank == 0 && it == bank0::TCR.offset {
                    self.start(now);
                }
                let control = self.register(0, bank0::RCR);
                if self.bank == 0 && it == bank0::RCR.offset && bank0::RCR::SOFT_RST.is_set(control)
                {
                    self.soft_reset();
                }
            }
        }
    }
}

impl Device for Lan91c111 {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.read_bytes(offset, 0xf, now)
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        self.write_bytes(offset, value, 0xf, now)
    }

    fn read_bytes(&mut self, offset: u32, enables: u8, now: Instant) -> Option<u32> {
        self.advance(now);
        if self.bank == 2 && offset == bank2::DATA.offset {
            return Some(self.read_data(enables));
        }
        let (low, high) = (self.read_half(offset), self.read_half(offset + 2));
        Some(u32::from(low) | u32::from(high) << 16)
    }

    fn write_bytes(&mut self, offset: u32, value: u32, enables: u8, now: Instant) -> bool {
        self.advance(now);
        if self.bank == 2 && offset == bank2::DATA.offset {
            self.write_data(value, enables);
            return true;
        }
        let halves = [
            (offset, value as u16, enables & 3),
            (offset + 2, (value >> 16) as u16, enables >> 2),
        ];
        for (offset, value, enables) in halves {
            if enables != 0 {
                self.write_half(offset, value, enables, now);
            }
        }
        true
    }

    fn next_event(&self) -> Instant {
        let sent = self.sending.map_or(Instant::NEVER, |it| it.end);
        self.arriving
            .front()
            .map_or(sent, |frame| frame.end.min(sent))
    }

    fn advance(&mut self, now: Instant) {
        while let Some(sending) = self.sending.take_if(|it| it.end <= now) {
            self.finish_sending(sending);
            self.start(sending.end);
        }
        while let Some(frame) = self.arriving.pop_front_if(|frame| frame.end <= now) {
            self.take_in(&frame);
        }
    }

    fn line(&mut self) -> Option<&mut dyn Line> {
        Some(self)
    }

    fn interrupts(&self) -> u32 {
        u32::from(self.interrupt_status() & self.mask != 0)
    }

    fn reads_have_side_effects(&self) -> bool {
        true
    }
}
