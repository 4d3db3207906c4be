//! General-purpose SPI controller (ESP32-C6 Technical Reference Manual, "SPI Controller"). As a master: transfers from
//! its 16 data registers or by DMA, with command, address and dummy phases. As a slave, with a [`SpiHost`] or another chip at
//! the other end: full-duplex transfers by DMA, one for each start by the program. Clock 0 is its source; output 0 interrupts.
//!
//! A transfer is cut into [`Burst`]s of up to four octets, each complete at the end of its last clock, so that the far
//! end sees every octet at its time. Dual and quad lines, segmented transfers, the slave's own data registers and its
//! half-duplex commands are not modelled; nor are the clocks between the start of a transfer and its first edge.
//!
//! A slave that is started after the first clock of a transfer takes no part in it. That is an assumption: what the
//! controller does with the rest of such a transfer is not documented.

mod host;
#[cfg(test)]
mod tests;

pub use host::{SpiHost, SpiLine};

use super::Device;
use crate::time::{Instant, Span, TICKS_PER_SECOND};

const CMD: u32 = 0x00;
const ADDR: u32 = 0x04;
const CTRL: u32 = 0x08;
const CLOCK: u32 = 0x0c;
const USER: u32 = 0x10;
const USER1: u32 = 0x14;
const USER2: u32 = 0x18;
const MS_DLEN: u32 = 0x1c;
const MISC: u32 = 0x20;
const DMA_CONF: u32 = 0x30;
const DMA_INT_ENA: u32 = 0x34;
const DMA_INT_CLR: u32 = 0x38;
const DMA_INT_RAW: u32 = 0x3c;
const DMA_INT_ST: u32 = 0x40;
const DMA_INT_SET: u32 = 0x44;
const W: u32 = 0x98;
const W_END: u32 = W + 4 * DATA_REGISTERS as u32;
const SLAVE: u32 = 0xe0;
const CLK_GATE: u32 = 0xe8;

const DATA_REGISTERS: usize = 16;

/// `CMD`: start a transfer; reads as one until it is complete.
const CMD_USR: u32 = 1 << 24;
/// `CLOCK`: the source is the clock.
const CLK_EQU_SYSCLK: u32 = 1 << 31;
/// `USER`.
const DOUTDIN: u32 = 1 << 0;
const USR_MOSI: u32 = 1 << 27;
const USR_MISO: u32 = 1 << 28;
const USR_DUMMY: u32 = 1 << 29;
const USR_ADDR: u32 = 1 << 30;
const USR_COMMAND: u32 = 1 << 31;
/// `DMA_CONF`.
const DMA_RX_ENA: u32 = 1 << 27;
const DMA_TX_ENA: u32 = 1 << 28;
/// `SLAVE`.
const SOFT_RESET: u32 = 1 << 27;
const SLAVE_MODE: u32 = 1 << 26;
/// Interrupt: the transfer is complete.
const TRANS_DONE: u32 = 1 << 12;

/// Octets of the longest burst: a data register.
pub const MAX_BURST: usize = 4;

/// A part of a transfer: consecutive octets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Burst {
    /// The first clock.
    pub start: Instant,
    /// Duration of an octet.
    pub octet: Span,
    /// Number of octets.
    pub len: usize,
    /// The octets to send; meaningless if they come by DMA.
    pub sent: [u8; MAX_BURST],
    /// True if the octets to send come by DMA.
    pub sends_by_dma: bool,
    /// True if the received octets go to memory by DMA.
    pub receives_by_dma: bool,
    /// True if this controller takes part in the transfer: a master always does, a slave if it was started before.
    pub takes_part: bool,
    /// True if it is the last one of its transfer.
    pub is_last: bool,
    /// What a [`SpiHost`] sends at the same time; `None` if this controller is the master.
    pub from_host: Option<[u8; MAX_BURST]>,
}

impl Burst {
    /// The controller takes no part: its inputs have no pads.
    pub const fn disconnect(&mut self) {
        self.takes_part = false;
        self.sends_by_dma = false;
        self.receives_by_dma = false;
        self.sent = [0xff; MAX_BURST];
    }

    /// End of its last clock.
    pub fn end(&self) -> Instant {
        self.start + Span::from_ticks(self.octet.ticks() * self.len as u64)
    }
}

/// A phase of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Command, address and dummy clocks.
    Header,
    /// Data to send, to receive, or both.
    Data { sends: bool, receives: bool },
}

/// A transfer under way.
#[derive(Clone, Debug)]
struct Transfer {
    header: Vec<u8>,
    /// Octets of each data phase.
    data: usize,
    phases: Vec<Phase>,
    /// The current phase, and the octets of it that are done.
    phase: usize,
    done: usize,
    /// Start of the next burst.
    at: Instant,
    octet: Span,
}

impl Transfer {
    fn phase_len(&self) -> usize {
        match self.phases[self.phase] {
            Phase::Header => self.header.len(),
            Phase::Data { .. } => self.data,
        }
    }
}

/// The controller.
#[derive(Clone, Debug)]
pub struct SpiController {
    source_hertz: u64,
    addr: u32,
    ctrl: u32,
    clock: u32,
    user: u32,
    user1: u32,
    user2: u32,
    ms_dlen: u32,
    misc: u32,
    dma_conf: u32,
    slave: u32,
    clk_gate: u32,
    raw: u32,
    enabled: u32,
    data: [u32; DATA_REGISTERS],
    transfer: Option<Transfer>,
    /// A master at the other end.
    line: Option<SpiLine>,
    /// The program has started the slave, for one transfer.
    armed_at: Option<Instant>,
}

impl Default for SpiController {
    fn default() -> Self {
        Self {
            source_hertz: 0,
            addr: 0,
            ctrl: 0x3c_0000,
            clock: 0x8000_3043,
            user: 0x8000_00c0,
            user1: 0xb841_0007,
            user2: 0x7800_0000,
            ms_dlen: 0,
            misc: 0x3e,
            dma_conf: 3,
            slave: 0x280_0000,
            clk_gate: 0,
            raw: 0,
            enabled: 0,
            data: [0; DATA_REGISTERS],
            transfer: None,
            line: None,
            armed_at: None,
        }
    }
}

impl SpiController {
    /// Connects a master to the other end, from `now` on.
    pub fn connect(&mut self, host: SpiHost, now: Instant) {
        self.line = Some(SpiLine::new(host, now));
    }

    /// The master at the other end, if one is [connected](Self::connect).
    pub fn line(&mut self) -> Option<&mut SpiLine> {
        self.line.as_mut()
    }

    /// A master outside clocks the first octet of a transfer at `at`: true if the slave takes part in it.
    pub fn is_armed(&self, at: Instant) -> bool {
        self.armed_at.is_some_and(|armed_at| armed_at <= at)
    }

    /// True if a slave sends by DMA, and true if it receives by DMA.
    pub const fn slave_dma(&self) -> (bool, bool) {
        let [sends, receives] = [DMA_TX_ENA, DMA_RX_ENA];
        (self.dma_conf & sends != 0, self.dma_conf & receives != 0)
    }

    /// Chip select of a master outside rises behind a transfer in which the slave took part.
    pub const fn release(&mut self) {
        if self.armed_at.take().is_some() {
            self.raw |= TRANS_DONE;
        }
    }

    /// Duration of an octet; `None` if the clock is off.
    fn octet(&self) -> Option<Span> {
        let divider = if self.clock & CLK_EQU_SYSCLK != 0 {
            1
        } else {
            u64::from((self.clock >> 18 & 0xf) + 1) * u64::from((self.clock >> 12 & 0x3f) + 1)
        };
        let ticks = (8 * divider * TICKS_PER_SECOND).checked_div(self.source_hertz)?;
        Some(Span::from_ticks(ticks))
    }

    /// Command, address and dummy clocks as octets; a part of an octet at the end is filled with zeros.
    fn header(&self) -> Vec<u8> {
        let mut bits = Vec::new();
        if self.user & USR_COMMAND != 0 {
            // The low byte first, each from its highest bit.
            let value = (self.user2 as u16).swap_bytes();
            let count = (self.user2 >> 28) + 1;
            bits.extend((0..count).map(|bit| value >> (15 - bit.min(15)) & 1 != 0));
        }
        if self.user & USR_ADDR != 0 {
            let count = (self.user1 >> 27) + 1;
            bits.extend((0..count).map(|bit| self.addr >> (31 - bit) & 1 != 0));
        }
        if self.user & USR_DUMMY != 0 {
            let count = (self.user1 & 0xff) + 1;
            bits.extend((0..count).map(|_| false));
        }
        let octet = |bits: &[bool]| {
            let with = |octet, (number, &bit)| octet | u8::from(bit) << (7 - number);
            bits.iter().enumerate().fold(0, with)
        };
        bits.chunks(8).map(octet).collect()
    }

    fn start(&mut self, now: Instant) {
        let Some(octet) = self.octet() else { return };
        let header = self.header();
        let (sends, receives) = (self.user & USR_MOSI != 0, self.user & USR_MISO != 0);
        let mut phases = Vec::new();
        if !header.is_empty() {
            phases.push(Phase::Header);
        }
        if self.user & DOUTDIN != 0 {
            phases.push(Phase::Data { sends, receives });
        } else {
            for (sends, receives) in [(sends, false), (false, receives)] {
                if sends || receives {
                    phases.push(Phase::Data { sends, receives });
                }
            }
        }
        if phases.is_empty() {
            self.raw |= TRANS_DONE;
            return;
        }
        let bits = (self.ms_dlen & 0x3_ffff) as usize + 1;
        self.transfer = Some(Transfer {
            header,
            data: bits.div_ceil(8),
            phases,
            phase: 0,
            done: 0,
            at: now,
            octet,
        });
    }

    /// `SOFT_RESET` reads as zero.
    const fn set_slave(&mut self, value: u32) {
        self.slave = value & !SOFT_RESET;
        if value & SOFT_RESET != 0 {
            self.armed_at = None;
            if let Some(line) = &mut self.line {
                line.forget();
            }
        }
    }

    /// The next part of the transfer under way, whose [end](Burst::end) is its time. [`Self::complete`] must follow.
    pub fn burst(&self) -> Option<Burst> {
        if let Some(line) = &self.line {
            let mut burst = line.burst(self.armed_at);
            burst.sends_by_dma &= self.dma_conf & DMA_TX_ENA != 0;
            burst.receives_by_dma &= self.dma_conf & DMA_RX_ENA != 0;
            return Some(burst);
        }
        let transfer = self.transfer.as_ref()?;
        let len = (transfer.phase_len() - transfer.done).min(MAX_BURST);
        let mut sent = [0; MAX_BURST];
        let (mut sends_by_dma, mut receives_by_dma) = (false, false);
        match transfer.phases[transfer.phase] {
            Phase::Header => sent[..len].copy_from_slice(&transfer.header[transfer.done..][..len]),
            Phase::Data { sends, receives } => {
                sends_by_dma = sends && self.dma_conf & DMA_TX_ENA != 0;
                receives_by_dma = receives && self.dma_conf & DMA_RX_ENA != 0;
                if sends && !sends_by_dma {
                    sent = self.data[transfer.done / 4 % DATA_REGISTERS].to_le_bytes();
                }
            }
        }
        Some(Burst {
            start: transfer.at,
            octet: transfer.octet,
            len,
            sent,
            sends_by_dma,
            receives_by_dma,
            takes_part: true,
            is_last: transfer.phase + 1 == transfer.phases.len()
                && transfer.done + len == transfer.phase_len(),
            from_host: None,
        })
    }

    /// The burst is complete; `sent` are the octets of this controller, `received` those of the far end.
    pub fn complete(&mut self, burst: &Burst, sent: [u8; MAX_BURST], received: [u8; MAX_BURST]) {
        if let Some(line) = &mut self.line {
            if line.complete(burst, sent) && burst.is_last {
                self.armed_at = None;
                self.raw |= TRANS_DONE;
            }
            return;
        }
        let Some(transfer) = &mut self.transfer else {
            return;
        };
        if let Phase::Data { receives: true, .. } = transfer.phases[transfer.phase]
            && !burst.receives_by_dma
        {
            let register = &mut self.data[transfer.done / 4 % DATA_REGISTERS];
            let mut octets = register.to_le_bytes();
            octets[..burst.len].copy_from_slice(&received[..burst.len]);
            *register = u32::from_le_bytes(octets);
        }
        transfer.at = burst.end();
        transfer.done += burst.len;
        if transfer.done == transfer.phase_len() {
            transfer.phase += 1;
            transfer.done = 0;
        }
        if burst.is_last {
            self.transfer = None;
            self.raw |= TRANS_DONE;
        }
    }
}

impl Device for SpiController {
    fn read(&mut self, offset: u32, _: Instant) -> Option<u32> {
        Some(match offset {
            // `UPDATE` is over at once.
            CMD if self.transfer.is_some() || self.armed_at.is_some() => CMD_USR,
            ADDR => self.addr,
            CTRL => self.ctrl,
            CLOCK => self.clock,
            USER => self.user,
            USER1 => self.user1,
            USER2 => self.user2,
            MS_DLEN => self.ms_dlen,
            MISC => self.misc,
            DMA_CONF => self.dma_conf,
            DMA_INT_ENA => self.enabled,
            DMA_INT_RAW => self.raw,
            DMA_INT_ST => self.raw & self.enabled,
            CMD | DMA_INT_CLR | DMA_INT_SET => 0,
            W..W_END => self.data[(offset - W) as usize / 4],
            SLAVE => self.slave,
            CLK_GATE => self.clk_gate,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        match offset {
            CMD if value & CMD_USR != 0 && self.slave & SLAVE_MODE != 0 => {
                self.armed_at.get_or_insert(now);
            }
            CMD if value & CMD_USR != 0 && self.transfer.is_none() => self.start(now),
            ADDR => self.addr = value,
            CTRL => self.ctrl = value,
            CLOCK => self.clock = value,
            USER => self.user = value,
            USER1 => self.user1 = value,
            USER2 => self.user2 = value,
            MS_DLEN => self.ms_dlen = value,
            MISC => self.misc = value,
            DMA_CONF => self.dma_conf = value,
            DMA_INT_ENA => self.enabled = value,
            DMA_INT_CLR => self.raw &= !value,
            DMA_INT_SET => self.raw |= value,
            CMD | DMA_INT_RAW | DMA_INT_ST => {}
            W..W_END => self.data[(offset - W) as usize / 4] = value,
            SLAVE => self.set_slave(value),
            CLK_GATE => self.clk_gate = value,
            _ => return false,
        }
        true
    }

    fn next_event(&self) -> Instant {
        self.burst().map_or(Instant::NEVER, |burst| burst.end())
    }

    fn interrupts(&self) -> u32 {
        u32::from(self.raw & self.enabled != 0)
    }

    fn set_clocks(&mut self, hertz: &[u64], _: Instant) {
        self.source_hertz = hertz.first().copied().unwrap_or(0);
    }
}
