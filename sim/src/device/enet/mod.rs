//! ENET, the 10/100/1000 Mbit/s MAC of the i.MX 6, with time (IMX6DQRM chapter 23): descriptors and frames pass
//! through two DMA paths that share an arbiter, and through FIFOs that run full or empty.
//!
//! - `receive`: the receive FIFO, its thresholds, and the DMA that drains it.
//! - `transmit`: descriptors to send, checksum insertion, pause frames, the line.
//! - `checksum`: the accelerators.
//! - `engine`: the rates of both DMA paths and their arbiter (erratum ERR004512).
//! - `counters`: the MIB counters.
//!
//! Master port 0 receives (writes frames), port 1 sends (reads them). Output 0 interrupts.
//!
//! # Rules
//! 1. A frame enters the FIFO octet by octet at the line's rate, and leaves it in bursts. A burst makes room for
//!    others when the bus grants it; for the pause threshold it leaves at the rate of the DMA path.
//! 2. When only RAFL words are free, the frame that arrives is cut off (overrun, `IEEE_R_MACERR`): its first part
//!    stays in the FIFO and is written to memory like any other data, with OV in its descriptor. A frame of which
//!    nothing was stored leaves no descriptor.
//!    The end of the first part is recorded as soon as `overrun_end` octets of the FIFO are free: RAFL's words usually
//!    are. If the next frame begins before, the end is lost and the next frame belongs to the first part; FTRL counts
//!    from the last end that was recorded.
//! 3. Writing of a frame begins when RSFL words of it are in the FIFO, or all of it (RSFL 0: only then), and stops
//!    while less than RAEM words are left, except at the end of a frame.
//! 4. From RSEM words on, a PAUSE frame with OPD quanta precedes the next frame that is sent, again when half of
//!    its time is over; below RSEM one with 0 quanta. Only with RCR.FCE and TCR.FDEN.
//! 5. A received PAUSE frame holds the transmitter (RCR.FCE), but not its PAUSE frames.
//!
//! Collisions are not modelled: in half duplex, a frame is sent when nothing arrives.

mod checksum;
mod counters;
mod engine;
mod parameters;
mod receive;
#[cfg(test)]
mod tests;
mod transmit;

pub use parameters::Parameters;

use std::collections::VecDeque;

use super::mdio::{self, Mdio};
use super::phy::Phy;
use super::port::{Line, LineFrame, LinkMode, Partner};
use super::{Device, Transfer};
use crate::time::{Instant, Span};
use counters::Counters;
use engine::Engine;
use receive::Receiver;
use transmit::Transmitter;

/// The registers.
mod regs {
    linerate_regs::constants!(linerate_regs::IMX6, "ENET":
        EIR { GRA TXF TXB RXF RXB MII EBERR UN BABR }
        EIMR RDAR { RDAR } TDAR { TDAR }
        ECR { DBSWP SPEED EN1588 ETHEREN RESET }
        MMFR { OP { READ WRITE } PA RA DATA }
        MSCR { MII_SPEED }
        MIBC { MIB_DIS MIB_IDLE MIB_CLEAR }
        RCR { MAX_FL CFEN PAUFWD RMII_10T FCE BC_REJ PROM }
        TCR { FDEN GTS TFC_PAUSE RFC_PAUSE }
        PALR PAUR { PADDR2 } OPD { PAUSE_DUR } IAUR IALR GAUR GALR
        TFWR { STRFWD TFWR } RSFL RSEM RAEM RAFL FTRL { TRUNC_FL } RACC { SHIFT16 }
        RDSR TDSR MRBR { R_BUF_SIZE }
    );
}

/// Bytes of its registers.
pub const SIZE: u32 = 0x800;
const WORDS: usize = SIZE as usize / 4;
/// Receive and transmit port.
pub(super) const RECEIVE: usize = 0;
pub(super) const TRANSMIT: usize = 1;

/// The MAC with its PHY.
#[derive(Debug)]
pub struct Enet {
    registers: Box<[u32; WORDS]>,
    parameters: Parameters,
    bus_hertz: u64,
    /// Events, as in EIR.
    events: u32,
    /// Events that occur when a transfer is complete.
    coming: Vec<(Instant, u32)>,
    counters: Counters,
    engine: Engine,
    mdio: Mdio,
    receiver: Receiver,
    transmitter: Transmitter,
    /// Frames that were sent, for the line partner.
    sent: VecDeque<LineFrame>,
    /// Time of the last event or access.
    clock: Instant,
}

impl Default for Enet {
    fn default() -> Self {
        Self::new(Parameters::default())
    }
}

impl Enet {
    /// A controller with these properties.
    #[must_use]
    pub fn new(parameters: Parameters) -> Self {
        let mut this = Self {
            registers: Box::new([0; WORDS]),
            parameters,
            bus_hertz: 66_000_000,
            events: 0,
            coming: Vec::new(),
            counters: Counters::new(parameters.counter_bits),
            engine: Engine::new(&parameters),
            // Negotiation takes no time.
            mdio: Mdio::new(parameters.phy, Phy::new(true, Span::ZERO)),
            receiver: Receiver::default(),
            transmitter: Transmitter::default(),
            sent: VecDeque::new(),
            clock: Instant::ZERO,
        };
        this.reset();
        this
    }
}

/// Value of a register's field.
macro_rules! field {
    ($device:expr, $register:ident, $field:ident) => {
        $crate::device::enet::regs::$register::$field
            .get($device.register($crate::device::enet::regs::$register.offset))
    };
}
pub(super) use field;

impl Enet {
    fn reset(&mut self) {
        *self.registers = [0; WORDS];
        for (offset, value) in [
            (regs::ECR.offset, 0xf000_0000_u32),
            (regs::MIBC.offset, 0xc000_0000),
            (regs::RCR.offset, 0x05ee_0001),
            (regs::PAUR.offset, 0x8808),
            (regs::OPD.offset, 0x1_0000),
            (regs::RAEM.offset, 4),
            (regs::RAFL.offset, 4),
            (regs::FTRL.offset, 0x7ff),
        ] {
            self.set_register(offset, value);
        }
        self.events = 0;
        self.coming.clear();
        self.stop();
    }

    /// Everything of the data path as after reset.
    fn stop(&mut self) {
        self.receiver.stop();
        self.transmitter.stop();
        self.set_register(regs::RDAR.offset, 0);
        self.set_register(regs::TDAR.offset, 0);
    }

    fn register(&self, offset: u32) -> u32 {
        self.registers[offset as usize / 4 % WORDS]
    }

    fn set_register(&mut self, offset: u32, value: u32) {
        self.registers[offset as usize / 4 % WORDS] = value;
    }

    fn is_enabled(&self) -> bool {
        field!(self, ECR, ETHEREN) != 0
    }

    fn is_enhanced(&self) -> bool {
        field!(self, ECR, EN1588) != 0
    }

    /// Bytes of a descriptor.
    fn descriptor_bytes(&self) -> u32 {
        if self.is_enhanced() { 32 } else { 8 }
    }

    /// A word of a descriptor, as the program sees it.
    fn word(&self, bytes: &[u8], at: usize) -> u32 {
        let Some(word) = bytes.get(at..).and_then(|it| it.first_chunk()) else {
            return 0;
        };
        if field!(self, ECR, DBSWP) != 0 {
            u32::from_le_bytes(*word)
        } else {
            u32::from_be_bytes(*word)
        }
    }

    fn bytes(&self, word: u32) -> [u8; 4] {
        if field!(self, ECR, DBSWP) != 0 {
            word.to_le_bytes()
        } else {
            word.to_be_bytes()
        }
    }

    /// Mode of the line that the MAC is set to.
    fn line_mode(&self) -> LinkMode {
        let mbit_per_s = if field!(self, ECR, SPEED) != 0 {
            1000
        } else if field!(self, RCR, RMII_10T) != 0 {
            10
        } else {
            100
        };
        LinkMode { mbit_per_s }
    }

    fn is_full_duplex(&self) -> bool {
        field!(self, TCR, FDEN) != 0
    }

    /// True if the MAC sends and obeys PAUSE frames.
    fn has_flow_control(&self) -> bool {
        field!(self, RCR, FCE) != 0 && self.is_full_duplex()
    }

    fn address(&self) -> [u8; 6] {
        let high = self.register(regs::PALR.offset).to_be_bytes();
        let low = field!(self, PAUR, PADDR2).to_be_bytes();
        [high[0], high[1], high[2], high[3], low[2], low[3]]
    }

    fn raise(&mut self, events: u32) {
        self.events |= events;
    }

    /// Raises these events at `at`.
    fn raise_at(&mut self, at: Instant, events: u32) {
        self.coming.push((at, events));
    }

    fn count(&mut self, offset: u32, by: u32) {
        if field!(self, MIBC, MIB_DIS) == 0 {
            self.counters.add(offset, by);
        }
    }

    /// True if both sides negotiated that this side may send PAUSE frames.
    pub fn may_pause_partner(&self) -> bool {
        self.mdio.phy.has_pause()
    }

    /// Frames whose end was lost, so that the next one is joined to them.
    pub fn lost_ends(&self) -> u64 {
        self.receiver.lost_ends
    }

    /// A MIB counter by its offset, with its full width.
    pub fn counter(&self, offset: u32) -> u64 {
        self.counters.total(offset)
    }
}

/// The frame that MMFR describes.
fn mdio_frame(value: u32) -> mdio::Frame {
    mdio::Frame {
        phy: regs::MMFR::PA.get(value),
        register: regs::MMFR::RA.get(value),
        operation: match regs::MMFR::OP.get(value) {
            regs::MMFR::OP::READ => mdio::Operation::Read,
            regs::MMFR::OP::WRITE => mdio::Operation::Write(regs::MMFR::DATA.get(value) as u16),
            _ => mdio::Operation::Unknown,
        },
    }
}

impl Device for Enet {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.advance(now);
        Some(match offset {
            _ if offset == regs::EIR.offset => self.events,
            _ if offset == regs::MIBC.offset => self.register(offset) | regs::MIBC::MIB_IDLE.mask(),
            _ if offset == regs::TCR.offset => {
                let paused = self.transmitter.paused_until > now;
                self.register(offset) | regs::TCR::RFC_PAUSE.of(paused.into())
            }
            0x200..=0x2fc => self.counters.read(offset),
            _ => self.register(offset),
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        self.advance(now);
        let is = |register: linerate_regs::RegisterRef| offset == register.offset;
        if is(regs::EIR) {
            self.events &= !value;
        } else if is(regs::ECR) {
            if value & regs::ECR::RESET.mask() != 0 {
                self.reset();
                return true;
            }
            let was_on = self.is_enabled();
            self.set_register(offset, value & 0xffff | 0xf000_0000);
            if was_on != self.is_enabled() {
                self.stop();
                self.receiver.descriptor = self.register(regs::RDSR.offset) & !7;
                self.transmitter.descriptor = self.register(regs::TDSR.offset) & !7;
            }
        } else if is(regs::RDAR) {
            if self.is_enabled() {
                self.set_register(offset, regs::RDAR::RDAR.mask());
                self.receiver.wake(now);
            }
        } else if is(regs::TDAR) {
            if self.is_enabled() {
                self.set_register(offset, regs::TDAR::TDAR.mask());
                self.transmitter.wake(now);
            }
        } else if is(regs::MMFR) {
            self.set_register(offset, value);
            let speed = field!(self, MSCR, MII_SPEED);
            if speed != 0 {
                let divisor = 2 * u64::from(speed + 1);
                self.mdio
                    .start(mdio_frame(value), divisor, self.bus_hertz, now);
            }
        } else if is(regs::MIBC) {
            self.set_register(offset, value & regs::MIBC::MIB_DIS.mask());
            if value & regs::MIBC::MIB_CLEAR.mask() != 0 {
                self.counters.clear();
            }
        } else if is(regs::TCR) {
            let asked = value & regs::TCR::TFC_PAUSE.mask() != 0;
            self.transmitter.pause_requested |= asked && self.is_full_duplex();
            self.set_register(offset, value & !regs::TCR::TFC_PAUSE.mask());
            self.check_stop();
        } else if is(regs::OPD) {
            self.set_register(offset, value & 0xffff | 0x1_0000);
        } else if is(regs::PAUR) {
            self.set_register(offset, value & 0xffff_0000 | 0x8808);
        } else if !(0x200..=0x2fc).contains(&offset) {
            self.set_register(offset, value);
        }
        self.check_pause(now);
        true
    }

    fn next_event(&self) -> Instant {
        let coming = self.coming.iter().map(|(at, _)| *at);
        coming
            .min()
            .unwrap_or(Instant::NEVER)
            .min(self.mdio.done_at())
            .min(self.receive_event())
            .min(self.transmit_event())
    }

    fn advance(&mut self, now: Instant) {
        // Each step settles one event, in their order.
        while self.next_event() <= now {
            // What a register write made due has no time of its own.
            let at = self.next_event().max(self.clock);
            self.clock = at;
            let due = |(when, _): &(Instant, u32)| *when <= at;
            if let Some(index) = self.coming.iter().position(due) {
                let (_, events) = self.coming.swap_remove(index);
                self.raise(events);
            } else if self.mdio.done_at() <= at {
                if let Some(value) = self.mdio.finish() {
                    let frame = self.register(regs::MMFR.offset) & !0xffff;
                    self.set_register(regs::MMFR.offset, frame | u32::from(value));
                }
                self.raise(regs::EIR::MII.mask());
            } else if self.receive_event() <= at {
                self.advance_receiver(at);
            } else {
                self.advance_transmitter(at);
            }
        }
        self.clock = self.clock.max(now);
    }

    fn transfer(&self, port: usize) -> Option<Transfer> {
        let wanted = [self.receive_transfer(), self.transmit_transfer()];
        let ready = wanted.each_ref().map(|it| it.as_ref().map(|it| it.from));
        let from = self.engine.grant(port, ready)?.max(self.clock);
        let [receive, transmit] = wanted;
        let transfer = if port == RECEIVE { receive } else { transmit }?;
        Some(Transfer { from, ..transfer })
    }

    fn transferred(&mut self, port: usize, data: &[u8], done: Instant) {
        let Some(transfer) = self.transfer(port) else {
            return;
        };
        if port == RECEIVE {
            self.received(&transfer, data, done);
        } else {
            self.fetched(&transfer, data, done);
        }
        self.check_pause(transfer.from);
    }

    fn interrupts(&self) -> u32 {
        u32::from(self.events & self.register(regs::EIMR.offset) != 0)
    }

    fn reads_have_side_effects(&self) -> bool {
        false
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

impl Line for Enet {
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
