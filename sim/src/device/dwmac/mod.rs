//! The `DesignWare` MAC, universal 3.x, with time: the Ethernet MAC of STM32 and ESP32, and of many Linux systems (RM0090
//! chapter 33). Frames pass through FIFOs that run full or empty, and through one DMA that serves both directions.
//!
//! - `descriptor`: descriptors, normal and enhanced, in rings and chains.
//! - `receive`: the receive FIFO and the DMA that drains it.
//! - `transmit`: descriptors to send, the transmit FIFO, PAUSE frames, the line.
//! - `checksum`: the checksum engine. `counters`: the management counters.
//!
//! Master port 0 serves both directions, one transfer after the other. Output 0 interrupts.
//!
//! # Rules
//! 1. A frame enters the receive FIFO octet by octet at the line's rate, and leaves it in bursts of DMABMR.PBL words.
//! 2. With RSF a frame is written when all of it has arrived, else from RTC octets on. If the FIFO is full, the rest of
//!    the frame is lost: without anything written the frame leaves no trace but ROS and MFA, else its last descriptor
//!    has OE. Frames with errors are dropped unless FEF is set, or their first part was written.
//! 3. The DMA reads a receive descriptor before it needs it. If that is not its own, it suspends (RBUS); the next frame or
//!    a poll demand lets it read again. A frame without a descriptor is dropped and counted in MFC, unless DFRF is set.
//! 4. A frame is sent when all of it is in the transmit FIFO (TSF) or TTC octets. Its last descriptor is returned after
//!    its end; only with OSF the next frame is read meanwhile.
//! 5. While both directions wait for the bus, RTPR + 1 receive transfers precede each transmit transfer, or with DA the
//!    receiver always goes first.
//! 6. PAUSE frames (MACFCR.TFCE) are sent from a level of the receive FIFO on, again before their time ends (PLT), and
//!    with time 0 below it. A received one (RFCE) holds the transmitter, but not its PAUSE frames.
//!
//! Collisions are not modelled: in half duplex, a frame is sent when nothing arrives.

mod checksum;
mod counters;
mod descriptor;
mod parameters;
mod receive;
mod receive_dma;
mod receive_filter;
mod registers;
#[cfg(test)]
mod tests;
mod transmit;
mod transmit_dma;
mod transmit_pause;

pub use parameters::Parameters;

use std::collections::VecDeque;

use super::mdio::Mdio;
use super::phy::Phy;
use super::port::{Line, LineFrame, LinkMode, Partner};
use super::{Device, Transfer};
use crate::time::Instant;
use counters::Counters;
use receive::Receiver;
use transmit::Transmitter;

/// The registers.
mod regs {
    linerate_regs::constants!(linerate_regs::DWMAC, "ETH":
        MACCR { CSTF WD JD PS FES DM IPCO APCS TE RE }
        MACFFR { RA HPF PCF { NONE NOT_PAUSE ALL } BFD PAM DAIF HM HU PM }
        MACHTHR MACHTLR MACMIIAR { PA MR CR MW MB } MACMIIDR
        MACFCR { PT ZQPD PLT RFCE TFCE FCB } MACVR MACDBGR { MTP RFFL } MACA0HR MACA0LR MACA1HR { AE } MACA1LR
        MMCCR { MCF ROR CSR CR }
        DMABMR { FPM USP RDP RTPR PBL EDFE DSL DA SR } DMATPDR DMARPDR DMARDLAR DMATDLAR
        DMASR { TPS { STOPPED FETCHING WAITING READING SUSPENDED CLOSING }
            RPS { FETCHING SUSPENDED CLOSING WRITING }
            NIS AIS ERS FBES RWTS RPSS RBUS RS TUS ROS TBUS TPSS TS }
        DMAOMR { DTCEFD RSF DFRF RFA2 RFD2 TSF FTF TTC ST RFD RFA EFC FEF FUGF RTC OSF SR }
        DMAIER { NISE AISE } DMAMFBOCR { OFOC MFA OMFC MFC } DMARSWTR { RSWTC }
        DMACHTDR DMACHRDR DMACHTBAR DMACHRBAR
        DMAHWFR { ENHDESSEL RXFIFOSIZE RXTYP2COE TXCOESEL MMCSEL SMASEL ADDMACADRSEL HASHSEL HDSEL MIISEL }
    );
}

/// Bytes of its registers.
pub const SIZE: u32 = 0x2000;
const WORDS: usize = SIZE as usize / 4;
/// Offset of the DMA registers.
const DMA: u32 = 0x1000;

/// Direction of a DMA transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Receive,
    Transmit,
}

/// The MAC with its PHY.
#[derive(Debug)]
pub struct Dwmac {
    registers: Box<[u32; WORDS]>,
    parameters: Parameters,
    bus_hertz: u64,
    /// Events of DMASR.
    events: u32,
    /// Events that occur when a transfer is complete.
    coming: Vec<(Instant, u32)>,
    counters: Counters,
    /// Frames lost without a descriptor, and by overflow, since the last read.
    missed: [u32; 2],
    mdio: Mdio,
    receiver: Receiver,
    transmitter: Transmitter,
    /// When the bus is free, and the receive transfers since the last transmit transfer.
    bus_free: Instant,
    in_turn: u32,
    /// Frames that were sent, for the line partner.
    sent: VecDeque<LineFrame>,
    /// Time of the last event or access.
    clock: Instant,
}

impl Default for Dwmac {
    fn default() -> Self {
        Self::new(Parameters::default())
    }
}

/// Value of a register's field.
macro_rules! field {
    ($device:expr, $register:ident, $field:ident) => {
        $crate::device::dwmac::regs::$register::$field
            .get($device.register($crate::device::dwmac::regs::$register.offset))
    };
}
use field;

impl Dwmac {
    /// A controller with these properties.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        let mut this = Self {
            registers: Box::new([0; WORDS]),
            parameters,
            bus_hertz: 80_000_000,
            events: 0,
            coming: Vec::new(),
            counters: Counters::new(),
            missed: [0; 2],
            mdio: Mdio::new(parameters.phy, Phy::new(false, parameters.negotiation)),
            receiver: Receiver::default(),
            transmitter: Transmitter::default(),
            bus_free: Instant::ZERO,
            in_turn: 0,
            sent: VecDeque::new(),
            clock: Instant::ZERO,
        };
        this.reset();
        this
    }

    fn reset(&mut self) {
        self.reset_registers();
        self.events = 0;
        self.coming.clear();
        self.counters = Counters::new();
        self.missed = [0; 2];
        self.receiver.reset();
        self.transmitter.reset();
    }

    fn register(&self, offset: u32) -> u32 {
        self.registers[offset as usize / 4 % WORDS]
    }

    fn set_register(&mut self, offset: u32, value: u32) {
        self.registers[offset as usize / 4 % WORDS] = value;
    }

    fn is_enhanced(&self) -> bool {
        field!(self, DMABMR, EDFE) != 0 && self.parameters.has_enhanced_descriptors
    }

    /// Bytes of a descriptor, and from one to the next in a ring.
    fn descriptor_bytes(&self) -> (u32, u32) {
        let bytes = if self.is_enhanced() { 32 } else { 16 };
        (bytes, bytes + 4 * field!(self, DMABMR, DSL))
    }

    /// Longest burst in bytes.
    fn burst(&self, path: Path) -> u32 {
        let own = path == Path::Receive && field!(self, DMABMR, USP) != 0;
        let words = if own {
            field!(self, DMABMR, RDP)
        } else {
            field!(self, DMABMR, PBL)
        };
        let scale = if field!(self, DMABMR, FPM) != 0 { 4 } else { 1 };
        (4 * scale * words.max(1)).min(256)
    }

    /// Mode of the line that the MAC is set to.
    fn line_mode(&self) -> LinkMode {
        let mbit_per_s = match (field!(self, MACCR, PS), field!(self, MACCR, FES)) {
            (0, _) => 1000,
            (_, 0) => 10,
            _ => 100,
        };
        LinkMode { mbit_per_s }
    }

    fn is_full_duplex(&self) -> bool {
        field!(self, MACCR, DM) != 0
    }

    fn raise_at(&mut self, at: Instant, events: u32) {
        self.coming.push((at, events));
    }

    fn count(&mut self, register: linerate_regs::RegisterRef, by: u32) {
        if field!(self, MMCCR, MCF) == 0 {
            let stops = field!(self, MMCCR, CSR) != 0;
            self.counters.add(register.offset, by, stops);
        }
    }

    /// A bus error: the DMA stops until a reset.
    fn fail(&mut self, at: Instant) {
        self.raise_at(at, regs::DMASR::FBES.mask());
        let stopped = regs::DMAOMR::ST.mask() | regs::DMAOMR::SR.mask();
        let mode = self.register(regs::DMAOMR.offset);
        self.set_register(regs::DMAOMR.offset, mode & !stopped);
        self.receiver.reset();
        self.transmitter.reset();
    }

    /// The next transfer of either direction.
    fn next_transfer(&self) -> Option<(Path, Transfer)> {
        let at = |transfer: Transfer| {
            let from = transfer.from.max(self.bus_free).max(self.clock);
            Transfer { from, ..transfer }
        };
        let receive = self.receive_transfer().map(at);
        let transmit = self.transmit_transfer().map(at);
        match (receive, transmit) {
            (Some(receive), Some(transmit)) => {
                let ratio = field!(self, DMABMR, RTPR) + 1;
                let has_turn = field!(self, DMABMR, DA) != 0 || self.in_turn < ratio;
                let is_first =
                    receive.from < transmit.from || receive.from == transmit.from && has_turn;
                Some(if is_first {
                    (Path::Receive, receive)
                } else {
                    (Path::Transmit, transmit)
                })
            }
            (Some(receive), None) => Some((Path::Receive, receive)),
            (None, transmit) => Some((Path::Transmit, transmit?)),
        }
    }

    /// A counter by its register.
    pub fn counter(&mut self, register: linerate_regs::RegisterRef) -> u32 {
        self.counters.read(register.offset, false)
    }
}

impl Device for Dwmac {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.advance(now);
        let at = self.offset(offset);
        let value = self.read_register(at, now);
        self.settle();
        Some(value)
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        self.advance(now);
        let at = self.offset(offset);
        self.write_register(at, value, now);
        self.settle();
        self.check_pause(now);
        true
    }

    fn next_event(&self) -> Instant {
        let coming = self.coming.iter().map(|(at, _)| *at);
        coming
            .min()
            .unwrap_or(Instant::NEVER)
            .min(self.mdio.done_at())
            .min(self.mdio.phy.next_event())
            .min(self.receive_event())
            .min(self.transmit_event())
    }

    fn advance(&mut self, now: Instant) {
        // Each step settles one event, in their order.
        while self.next_event() <= now {
            // What a register write made due has no time of its own.
            let at = self.next_event().max(self.clock);
            self.clock = at;
            if let Some(index) = self.coming.iter().position(|(when, _)| *when <= at) {
                let (_, events) = self.coming.swap_remove(index);
                self.raise(events);
            } else if self.mdio.done_at() <= at {
                if let Some(value) = self.mdio.finish() {
                    self.set_register(regs::MACMIIDR.offset, value.into());
                }
                let address = self.register(regs::MACMIIAR.offset);
                self.set_register(regs::MACMIIAR.offset, address & !regs::MACMIIAR::MB.mask());
            } else if self.mdio.phy.next_event() <= at {
                self.mdio.phy.advance(at);
            } else if self.receive_event() <= at {
                self.advance_receiver(at);
            } else {
                self.advance_transmitter(at);
            }
            self.settle();
        }
        self.clock = self.clock.max(now);
    }

    fn transfer(&self, _: usize) -> Option<Transfer> {
        self.next_transfer().map(|(_, transfer)| transfer)
    }

    fn transferred(&mut self, _: usize, data: &[u8], done: Instant) {
        let Some((path, transfer)) = self.next_transfer() else {
            return;
        };
        self.bus_free = done;
        if path == Path::Receive {
            self.in_turn += 1;
        } else {
            self.in_turn = 0;
        }
        if transfer.data.is_none() && data.len() < transfer.bytes as usize {
            // Nothing answers at this address.
            self.fail(done);
        } else if path == Path::Receive {
            self.received(&transfer, data, done);
        } else {
            self.fetched(&transfer, data, done);
        }
        self.settle();
        self.check_pause(transfer.from);
    }

    fn interrupts(&self) -> u32 {
        let enabled = self.register(regs::DMAIER.offset);
        let both = regs::DMASR::NIS.mask() | regs::DMASR::AIS.mask();
        u32::from(self.events & enabled & both != 0)
    }

    fn reads_have_side_effects(&self) -> bool {
        true
    }

    fn set_clocks(&mut self, hertz: &[u64], _: Instant) {
        if let Some(&bus) = hertz.first().filter(|it| **it > 0) {
            self.bus_hertz = bus;
        }
    }

    fn line(&mut self) -> Option<&mut dyn Line> {
        Some(self)
    }
}

impl Line for Dwmac {
    fn connect(&mut self, partner: Option<Partner>, now: Instant) {
        self.mdio.phy.connect(partner, now);
    }

    fn mode(&self) -> Option<LinkMode> {
        self.mdio.phy.mode()
    }

    fn take_frame(&mut self) -> Option<LineFrame> {
        self.sent.pop_front()
    }

    fn receive_frame(&mut self, frame: LineFrame) {
        // Without a link nothing arrives.
        if self.mode().is_some() {
            self.receiver.arrivals.push_back(frame);
        }
    }
}
