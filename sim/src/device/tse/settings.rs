//! Registers that hold what was written, and their meaning for transmitter and receiver.

use linerate_ether::frame::MacAddress;
use linerate_regs::{Bits, RegisterRef};

use super::registers as tse;
use crate::device::port::LinkMode;

/// Words below the statistics.
const WORDS: usize = 0x60 / 4;

/// The settings.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    words: [u32; WORDS],
    transmit: u32,
    receive: u32,
    /// Groups accepted, by hash.
    pub hash: u64,
}

impl Default for Settings {
    fn default() -> Self {
        let mut settings = Self {
            words: [0; WORDS],
            transmit: 0,
            receive: 0,
            hash: 0,
        };
        for register in [
            tse::FRM_LENGTH,
            tse::MDIO_ADDR1,
            tse::HOLDOFF_QUANT,
            tse::TX_IPG_LENGTH,
        ] {
            settings.set(register.offset, register.reset);
        }
        settings
    }
}

impl Settings {
    /// Value of the register at `offset`; `None` if it is not one of these.
    pub fn get(&self, offset: u32) -> Option<u32> {
        match offset {
            it if it == tse::TX_CMD_STAT.offset => Some(self.transmit),
            it if it == tse::RX_CMD_STAT.offset => Some(self.receive),
            it => self.words.get(it as usize / 4).copied(),
        }
    }

    /// Sets the register at `offset`; returns false if it is not one of these.
    pub fn set(&mut self, offset: u32, value: u32) -> bool {
        let word = if offset == tse::TX_CMD_STAT.offset {
            Some(&mut self.transmit)
        } else if offset == tse::RX_CMD_STAT.offset {
            Some(&mut self.receive)
        } else {
            self.words.get_mut(offset as usize / 4)
        };
        word.map(|word| *word = value).is_some()
    }

    pub fn value(&self, register: RegisterRef) -> u32 {
        self.get(register.offset).unwrap_or(0)
    }

    /// A bit of the command register.
    pub fn command(&self, bits: Bits) -> bool {
        bits.is_set(self.value(tse::COMMAND_CONFIG))
    }

    /// A threshold in octets: its register has words.
    pub fn octets(&self, threshold: RegisterRef) -> usize {
        4 * (self.value(threshold) & 0xfff) as usize
    }

    pub fn address(&self) -> MacAddress {
        let mut octets = [0; 6];
        octets[..4].copy_from_slice(&self.value(tse::MAC_0).to_le_bytes());
        octets[4..].copy_from_slice(&self.value(tse::MAC_1).to_le_bytes()[..2]);
        MacAddress(octets)
    }

    /// The mode that the program has set.
    pub fn mode(&self) -> LinkMode {
        let mbit_per_s = if self.command(tse::COMMAND_CONFIG::ETH_SPEED) {
            1000
        } else if self.command(tse::COMMAND_CONFIG::ENA_10) {
            10
        } else {
            100
        };
        LinkMode { mbit_per_s }
    }

    pub fn omits_fcs(&self) -> bool {
        tse::TX_CMD_STAT::OMIT_CRC.is_set(self.transmit)
    }

    pub fn shifts_sent(&self) -> bool {
        tse::TX_CMD_STAT::TX_SHIFT16.is_set(self.transmit)
    }

    pub fn shifts_received(&self) -> bool {
        tse::RX_CMD_STAT::RX_SHIFT16.is_set(self.receive)
    }

    pub fn longest_frame(&self) -> usize {
        (self.value(tse::FRM_LENGTH) & 0x3fff) as usize
    }

    /// True if frames to `destination` are received.
    pub fn accepts(&self, destination: MacAddress) -> bool {
        self.command(tse::COMMAND_CONFIG::PROMIS_EN)
            || destination == self.address()
            || destination.is_broadcast()
            || destination == MacAddress::MAC_CONTROL
            || destination.is_multicast() && self.hash >> hash(destination) & 1 != 0
    }
}

/// Entry of a group in the hash table: bit n is the parity of octet n.
fn hash(group: MacAddress) -> u32 {
    let parity = |octet: &u8| octet.count_ones() & 1;
    let bits = group.0.iter().rev().map(parity);
    bits.fold(0, |hash, bit| hash << 1 | bit)
}
