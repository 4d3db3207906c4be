//! Reset, registers, MDIO, link settings, stop.

use super::engine::Engine;
use crate::dma::controller::{InitError, Settings};
use crate::mdio::{FlowControl, MdioBus, MdioError, Speed};
use crate::mmio::Registers;
use linerate_ether::frame::{MAX_TAGGED_LEN, MacAddress};
use linerate_regs::RegisterRef;

/// The registers.
pub(super) mod tse {
    linerate_regs::constants!(linerate_regs::TSE, "TSE":
        COMMAND_CONFIG { SW_RESET CNT_RESET ENA_10 HD_ENA PAUSE_IGNORE PROMIS_EN ETH_SPEED RX_ENA TX_ENA }
        MAC_0 MAC_1 FRM_LENGTH PAUSE_QUANT RX_SECTION_EMPTY RX_SECTION_FULL TX_SECTION_EMPTY TX_SECTION_FULL
        RX_ALMOST_EMPTY RX_ALMOST_FULL TX_ALMOST_EMPTY TX_ALMOST_FULL MDIO_ADDR0 TX_IPG_LENGTH
        FRAMES_TRANSMITTED_OK TX_PAUSE_FRAMES IF_OUT_ERRORS DROP_EVENTS
        TX_CMD_STAT { TX_SHIFT16 } RX_CMD_STAT { RX_SHIFT16 }
    );

    /// The hash table, and the registers of the PHY `MDIO_ADDR0`.
    pub const HASH: usize = offset("HASH{}");
    pub const PHY: usize = offset("PHY0_{}");
    pub const GROUPS: usize = 64;

    const fn offset(name: &str) -> usize {
        match BLOCK.register(name) {
            Some(register) => register.offset as usize,
            None => panic!("the map has no such register"),
        }
    }
}

/// Octets before each frame in memory: they align the IP header.
pub(super) const SHIFT: usize = 2;
/// Maximum polls of a register: the longest frame takes 1.2 ms at 10 Mbit/s.
const MAX_POLLS: u32 = 100_000;
/// Inter-packet gap in octets.
const GAP: u32 = 12;
/// Words left in a FIFO at which it reports to be full, and words in it at which it reports to be empty.
const ALMOST_EMPTY: u32 = 8;
const RECEIVE_ALMOST_FULL: u32 = 8;
const TRANSMIT_ALMOST_FULL: u32 = 3;
const NEARLY_FULL: u32 = 16;
/// Words in a receive FIFO from which on a frame is forwarded if the FIFO has no room for a whole one.
const CUT_THROUGH: u32 = 16;
/// Words for the frames that still arrive after a PAUSE frame was requested: one of ours that is being sent, one of the
/// partner's, and the part of another that was on the cable.
const PAUSE_ROOM: u32 = 3 * MAX_TAGGED_LEN as u32 / 4;
/// Pause time; a PAUSE frame of 0 quanta ends it.
const PAUSE_QUANTA: u32 = 0xffff;

/// Words of a FIFO that holds the longest frame with the octets before it, and keeps `spare` words free.
const fn whole_frames(spare: u32) -> u32 {
    (MAX_TAGGED_LEN + SHIFT).div_ceil(4) as u32 + spare
}

/// Configuration of the MAC: how it was generated, and how it is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Depth of the transmit FIFO in words of 32 bits, at least 64. If it has room for the longest frame, the MAC sends
    /// a frame when it is complete in the FIFO, else when the FIFO is nearly full: a DMA engine slower than the line then
    /// breaks frames off.
    pub transmit_fifo_words: u32,
    /// Depth of the receive FIFO in words of 32 bits, at least 64. If it has room for the longest frame, the MAC forwards
    /// complete frames, else what it has of one.
    pub receive_fifo_words: u32,
    /// True to receive all frames, whatever their destination.
    pub promiscuous: bool,
}

/// Registers of MAC and DMA.
#[derive(Debug)]
pub struct Blocks<R> {
    /// The MAC.
    pub mac: R,
    /// The engine from the MAC to memory.
    pub receive: R,
    /// The engine from memory to the MAC.
    pub transmit: R,
}

/// The MAC without its rings: gives access to PHYs.
#[derive(Debug)]
pub struct Mac<R> {
    pub(super) registers: R,
    pub(super) receive: Engine<R>,
    pub(super) transmit: Engine<R>,
    config: Config,
    /// Address before the reset.
    previous_address: MacAddress,
    /// Since the MAC was started: frames that it took to send, and frames counted that it dropped.
    pub(super) taken: u32,
    pub(super) dropped: u32,
}

impl<R: Registers> Mac<R> {
    /// Resets MAC and DMA.
    ///
    /// # Errors
    /// [`InitError::InReset`].
    pub fn reset(blocks: Blocks<R>, config: Config) -> Result<Self, InitError> {
        let low = blocks.mac.read(tse::MAC_0).to_le_bytes();
        let high = blocks.mac.read(tse::MAC_1).to_le_bytes();
        let mac = Self {
            registers: blocks.mac,
            receive: Engine(blocks.receive),
            transmit: Engine(blocks.transmit),
            config,
            previous_address: MacAddress([low[0], low[1], low[2], low[3], high[0], high[1]]),
            taken: 0,
            dropped: 0,
        };
        if mac.reset_core() {
            Ok(mac)
        } else {
            Err(InitError::InReset)
        }
    }

    /// The address that the MAC had before its reset, if it is a valid station address.
    #[must_use]
    pub fn previous_address(&self) -> Option<MacAddress> {
        let is_station =
            self.previous_address.is_unicast() && self.previous_address != MacAddress::default();
        is_station.then_some(self.previous_address)
    }

    /// Resets MAC and DMA: they access no memory after it, and the FIFOs are empty. Returns false if the reset does not
    /// end.
    pub(super) fn reset_core(&self) -> bool {
        self.receive.reset();
        self.transmit.reset();
        let reset = tse::COMMAND_CONFIG::SW_RESET;
        self.registers.write(tse::COMMAND_CONFIG, reset.mask());
        self.poll(|registers| !reset.is_set(registers.read(tse::COMMAND_CONFIG)))
    }

    fn poll(&self, is_so: impl Fn(&R) -> bool) -> bool {
        (0..MAX_POLLS).any(|_| is_so(&self.registers))
    }

    /// Stops receiving; returns when the frames of completed descriptors, `sent` since the start, are on the line.
    pub(super) fn drain(&self, sent: u32) {
        let command = self.registers.read(tse::COMMAND_CONFIG);
        let command = tse::COMMAND_CONFIG::RX_ENA.put(command, 0);
        self.registers.write(tse::COMMAND_CONFIG, command);
        self.poll(|registers| {
            let pauses = registers.read(tse::TX_PAUSE_FRAMES);
            let errors = registers.read(tse::IF_OUT_ERRORS);
            let good = registers.read(tse::FRAMES_TRANSMITTED_OK);
            good.wrapping_sub(pauses).wrapping_add(errors) == sent
        });
    }

    /// Frames lost since the start for lack of room in the receive FIFO, of which no descriptor reports.
    pub(super) fn drop_events(&self) -> u32 {
        self.registers.read(tse::DROP_EVENTS)
    }

    /// Configures a stopped MAC and enables it; the engines are started separately.
    pub(super) fn start(&self, settings: &Settings) {
        let registers = &self.registers;
        let octets = settings.address.0.iter().rev();
        let address = octets.fold(0, |bits, &octet| bits << 8 | u64::from(octet));
        registers.write(tse::MAC_0, address as u32);
        registers.write(tse::MAC_1, (address >> 32) as u32);
        self.set_groups(settings.groups);
        registers.write(tse::FRM_LENGTH, MAX_TAGGED_LEN as u32);
        registers.write(tse::TX_IPG_LENGTH, GAP);
        registers.write(tse::PAUSE_QUANT, PAUSE_QUANTA);
        let (transmit, receive) = (
            self.config.transmit_fifo_words,
            self.config.receive_fifo_words,
        );
        let FlowControl {
            send,
            receive: obeys,
        } = settings.link.flow_control;
        let pause = receive.saturating_sub(PAUSE_ROOM).max(receive / 2);
        registers.write(tse::RX_SECTION_EMPTY, if send { pause } else { 0 });
        let holds_received = receive >= whole_frames(RECEIVE_ALMOST_FULL);
        let holds_sent = transmit >= whole_frames(TRANSMIT_ALMOST_FULL);
        let nearly_full = transmit - NEARLY_FULL;
        registers.write(
            tse::RX_SECTION_FULL,
            if holds_received { 0 } else { CUT_THROUGH },
        );
        registers.write(tse::TX_SECTION_EMPTY, nearly_full);
        registers.write(
            tse::TX_SECTION_FULL,
            if holds_sent { 0 } else { nearly_full },
        );
        registers.write(tse::RX_ALMOST_EMPTY, ALMOST_EMPTY);
        registers.write(tse::RX_ALMOST_FULL, RECEIVE_ALMOST_FULL);
        registers.write(tse::TX_ALMOST_EMPTY, ALMOST_EMPTY);
        registers.write(tse::TX_ALMOST_FULL, TRANSMIT_ALMOST_FULL);
        registers.write(tse::TX_CMD_STAT, tse::TX_CMD_STAT::TX_SHIFT16.mask());
        registers.write(tse::RX_CMD_STAT, tse::RX_CMD_STAT::RX_SHIFT16.mask());
        let command = tse::COMMAND_CONFIG::ETH_SPEED
            .of((settings.link.speed == Speed::Mbit1000).into())
            | tse::COMMAND_CONFIG::ENA_10.of((settings.link.speed == Speed::Mbit10).into())
            | tse::COMMAND_CONFIG::HD_ENA.of((!settings.link.full_duplex).into())
            | tse::COMMAND_CONFIG::PAUSE_IGNORE.of((!obeys).into())
            | tse::COMMAND_CONFIG::PROMIS_EN.of(self.config.promiscuous.into())
            | tse::COMMAND_CONFIG::CNT_RESET.mask();
        registers.write(tse::COMMAND_CONFIG, command);
        self.poll(|it| !tse::COMMAND_CONFIG::CNT_RESET.is_set(it.read(tse::COMMAND_CONFIG)));
        let enabled = tse::COMMAND_CONFIG::RX_ENA.mask() | tse::COMMAND_CONFIG::TX_ENA.mask();
        let command = tse::COMMAND_CONFIG::CNT_RESET.put(command, 0);
        registers.write(tse::COMMAND_CONFIG, command | enabled);
    }

    /// Sets the accepted groups: one bit per [`hash_bin`].
    pub(super) fn set_groups(&self, groups: u64) {
        for entry in 0..tse::GROUPS {
            let is_accepted = groups >> entry & 1;
            self.registers
                .write_at(tse::HASH + 4 * entry, is_accepted as u32);
        }
    }

    /// Selects the PHY, and returns the offset of its register.
    fn select(&self, phy: u8, register: RegisterRef) -> usize {
        self.registers.write(tse::MDIO_ADDR0, phy.into());
        tse::PHY + 4 * register.offset as usize
    }
}

/// The MAC holds the bus until the transfer is over: it has no time-out.
impl<R: Registers> MdioBus for Mac<R> {
    fn read(&self, phy: u8, register: RegisterRef) -> Result<u16, MdioError> {
        let at = self.select(phy, register);
        Ok(self.registers.read_at(at) as u16)
    }

    fn write(&self, phy: u8, register: RegisterRef, value: u16) -> Result<(), MdioError> {
        let at = self.select(phy, register);
        self.registers.write_at(at, value.into());
        Ok(())
    }
}

/// Entry of a group in the hash table: bit n is the parity of octet n of the address.
pub(super) fn hash_bin(group: MacAddress) -> u32 {
    let octets = group.0.iter().enumerate();
    octets.fold(0, |bin, (n, octet)| bin | (octet.count_ones() & 1) << n)
}
