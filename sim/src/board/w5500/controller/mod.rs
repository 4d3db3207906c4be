//! W5500: an Ethernet controller behind SPI (W5500 Datasheet 1.0.9), by its pins: SPI with chip select, interrupt,
//! reset, and the medium of its PHY.
//!
//! Modelled: frames of the SPI in variable and fixed length mode, common and socket registers, buffers of any division,
//! the interrupt pin with its assertion wait time, and socket 0 in MACRAW mode with its filters. The protocols that the
//! chip can process itself (TCP, UDP, PPP, the reply to ping) are not: `OPEN` of such a socket leaves it closed, and
//! [`W5500::unsupported`] counts it.
//!
//! What the datasheet leaves open: a command is accepted at once, a frame is sent at once and is in the receive buffer
//! at the end of its FCS, and a `SEND` during another one waits for it. `RECV` is an event of arrival, as users of the
//! chip found (Zephyr issue 119018, embassy issue 6456): it is not raised again for frames that remain in the buffer.
//! [`Config::raises_receive_again`] selects the other reading.

mod socket;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use socket::Socket;
pub use socket::Statistics;

use crate::time::{Instant, Span, TICKS_PER_SECOND};

/// Size of each of the two memories that the sockets share.
const MEMORY: usize = 16 << 10;
/// Number of sockets.
const SOCKETS: usize = 8;

/// Common registers.
const MR: usize = 0x00;
const SHAR: usize = 0x09;
const INTLEVEL: usize = 0x13;
const IR: usize = 0x15;
const IMR: usize = 0x16;
const SIR: usize = 0x17;
const SIMR: usize = 0x18;
const PHYCFGR: usize = 0x2e;
const VERSIONR: usize = 0x39;
const COMMON_LEN: usize = 0x40;

/// `MR`: reset.
const MR_RST: u8 = 1 << 7;
/// `PHYCFGR` with the link down and up: all modes negotiated; full duplex, 100 Mbit/s, link.
const PHY_DOWN: u8 = 0xb8;
const PHY_UP: u8 = 0xbf;

/// Duration of an octet on the medium.
const OCTET: Span = Span::from_ns(80);
/// Preamble with SFD, FCS, inter-packet gap and shortest frame without FCS, in octets.
const PREAMBLE: u64 = 8;
const FCS: u64 = 4;
const GAP: u64 = 12;
const MIN_FRAME: usize = 60;

/// Choices between readings of the datasheet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// `RECV` is raised again when frames remain after the command `RECV`.
    pub raises_receive_again: bool,
}

/// Where an SPI frame is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    AddressHigh,
    AddressLow,
    Control,
    Data,
}

/// Use of the octets of SPI frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpiOctetCounts {
    /// Address and control.
    pub header: u64,
    /// Data of registers.
    pub register: u64,
    /// Data of the receive and transmit buffers.
    pub buffer: u64,
}

/// The controller.
#[derive(Clone, Debug)]
pub struct W5500 {
    config: Config,
    common: [u8; COMMON_LEN],
    sockets: [Socket; SOCKETS],
    transmit_memory: Vec<u8>,
    receive_memory: Vec<u8>,
    is_selected: bool,
    phase: Phase,
    address: u16,
    control: u8,
    /// Data octets of this SPI frame so far.
    data: u16,
    link_up: bool,
    /// Frames that `SEND` handed to the transmitter, and the time at which the one on the medium ends.
    sending: VecDeque<Vec<u8>>,
    sent_at: Option<Instant>,
    /// End of the gap after the last frame.
    free_at: Instant,
    /// Time at which the interrupt pin went high, and from when it is low.
    released_at: Instant,
    asserted_at: Option<Instant>,
    spi: SpiOctetCounts,
    unsupported: u64,
}

impl W5500 {
    /// A chip after its reset, without a link.
    pub fn new(config: Config) -> Self {
        let mut chip = Self {
            config,
            common: [0; COMMON_LEN],
            sockets: core::array::from_fn(|_| Socket::new()),
            transmit_memory: vec![0; MEMORY],
            receive_memory: vec![0; MEMORY],
            is_selected: false,
            phase: Phase::default(),
            address: 0,
            control: 0,
            data: 0,
            link_up: false,
            sending: VecDeque::new(),
            sent_at: None,
            free_at: Instant::ZERO,
            released_at: Instant::ZERO,
            asserted_at: None,
            spi: SpiOctetCounts::default(),
            unsupported: 0,
        };
        chip.reset_registers();
        chip
    }

    /// The reset pin is low, or `MR` requests a reset: a frame on the medium is cut off.
    fn reset_registers(&mut self) {
        self.sending.clear();
        self.sent_at = None;
        self.common = [0; COMMON_LEN];
        // RTR, RCR, PTIMER, version.
        self.common[0x19..0x1d].copy_from_slice(&[0x07, 0xd0, 0x08, 0x28]);
        self.common[VERSIONR] = 0x04;
        let statistics: [Statistics; SOCKETS] =
            core::array::from_fn(|number| self.sockets[number].statistics);
        for (socket, statistics) in self.sockets.iter_mut().zip(statistics) {
            *socket = Socket::new();
            socket.statistics = statistics;
        }
    }

    /// Sets the level of the reset pin, which is active low.
    pub fn set_reset(&mut self, level: bool, at: Instant) {
        if !level {
            self.reset_registers();
            self.update_interrupt(at);
        }
    }

    /// The medium is connected or not.
    pub fn set_link(&mut self, up: bool) {
        self.link_up = up;
    }

    /// Sets the level of chip select, which is active low.
    pub fn select(&mut self, level: bool) {
        if self.is_selected == level {
            self.is_selected = !level;
            self.phase = Phase::default();
        }
    }

    /// True while chip select is low.
    pub const fn is_selected(&self) -> bool {
        self.is_selected
    }

    /// An octet is clocked in until `at`; returns the one that is clocked out at the same time.
    pub fn exchange(&mut self, octet: u8, at: Instant) -> u8 {
        if !self.is_selected {
            return 0xff;
        }
        match self.phase {
            Phase::AddressHigh => {
                self.address = u16::from(octet) << 8;
                self.phase = Phase::AddressLow;
            }
            Phase::AddressLow => {
                self.address |= u16::from(octet);
                self.phase = Phase::Control;
            }
            Phase::Control => {
                self.control = octet;
                self.data = 0;
                self.phase = Phase::Data;
            }
            Phase::Data => return self.exchange_data(octet, at),
        }
        self.spi.header += 1;
        0
    }

    fn exchange_data(&mut self, octet: u8, at: Instant) -> u8 {
        let (block, writes) = (self.control >> 3, self.control & 1 << 2 != 0);
        let address = self.address;
        self.address = address.wrapping_add(1);
        self.data = self.data.saturating_add(1);
        // Block 0: common; then register, transmit buffer and receive buffer of each socket, and a reserved one.
        let (number, part) = (usize::from(block >> 2), block & 3);
        let is_buffer = part >= 2;
        if is_buffer {
            self.spi.buffer += 1;
        } else {
            self.spi.register += 1;
        }
        let read = match part {
            0 if block == 0 => self.common_register(address, writes.then_some(octet)),
            1 => self.socket_register(number, address, writes.then_some(octet), at),
            2 | 3 => self.buffer(number, part == 3, address, writes.then_some(octet)),
            _ => 0,
        };
        // Modes of 1, 2 and 4 octets.
        let fixed = [u16::MAX, 1, 2, 4][usize::from(self.control & 3)];
        if self.data == fixed {
            self.phase = Phase::default();
        }
        self.update_interrupt(at);
        if writes { 0 } else { read }
    }

    fn common_register(&mut self, address: u16, written: Option<u8>) -> u8 {
        let address = usize::from(address);
        let Some(&value) = self.common.get(address) else {
            return 0;
        };
        let Some(octet) = written else {
            return match address {
                SIR => self.socket_interrupts(),
                PHYCFGR if self.link_up => PHY_UP,
                PHYCFGR => PHY_DOWN,
                _ => value,
            };
        };
        match address {
            MR if octet & MR_RST != 0 => {
                self.reset_registers();
            }
            IR => self.common[IR] &= !octet,
            SIR | PHYCFGR | VERSIONR => {}
            _ => self.common[address] = octet,
        }
        0
    }

    fn socket_register(
        &mut self,
        number: usize,
        address: u16,
        written: Option<u8>,
        at: Instant,
    ) -> u8 {
        let Some(octet) = written else {
            return self.sockets[number].read(address);
        };
        let base: usize = self.sockets[..number].iter().map(Socket::send_size).sum();
        let socket = &mut self.sockets[number];
        match socket.write(address, octet, self.config.raises_receive_again) {
            Some(socket::Effect::Open) if number != 0 => {
                socket.close();
                self.unsupported += 1;
            }
            None | Some(socket::Effect::Open) => {}
            Some(socket::Effect::Unsupported) => self.unsupported += 1,
            Some(socket::Effect::Send { from, len }) => {
                let size = socket.send_size();
                let memory = &self.transmit_memory;
                let octet = |at: usize| memory[(base + (from + at) % size.max(1)) % MEMORY];
                let mut frame: Vec<u8> = (0..len).map(octet).collect();
                frame.resize(len.max(MIN_FRAME), 0);
                self.sending.push_back(frame);
                self.start_sending(at);
            }
        }
        0
    }

    /// Accesses an octet of a socket's buffer.
    fn buffer(&mut self, number: usize, receive: bool, address: u16, written: Option<u8>) -> u8 {
        let sizes = |socket: &Socket| {
            if receive {
                socket.receive_size()
            } else {
                socket.send_size()
            }
        };
        let base: usize = self.sockets[..number].iter().map(sizes).sum();
        let size = sizes(&self.sockets[number]);
        if size == 0 {
            return 0;
        }
        let at = (base + usize::from(address) % size) % MEMORY;
        let memory = if receive {
            &mut self.receive_memory
        } else {
            &mut self.transmit_memory
        };
        match written {
            None => memory[at],
            // The receive buffer can be written as well; nobody needs to.
            Some(octet) => {
                memory[at] = octet;
                0
            }
        }
    }

    /// `SIR`: the sockets with an enabled interrupt.
    fn socket_interrupts(&self) -> u8 {
        let level = |socket: &Socket| u8::from(socket.is_interrupting());
        let sockets = self.sockets.iter().enumerate();
        sockets.fold(0, |bits, (number, socket)| bits | level(socket) << number)
    }

    fn update_interrupt(&mut self, at: Instant) {
        let sockets = self.socket_interrupts() & self.common[SIMR];
        let pending = sockets | self.common[IR] & self.common[IMR] != 0;
        match (pending, self.asserted_at) {
            (true, None) => {
                // Assertion wait time: 4 clocks of 150 MHz a count.
                let level = u16::from_be_bytes([self.common[INTLEVEL], self.common[INTLEVEL + 1]]);
                let clocks = if level == 0 {
                    0
                } else {
                    4 * (u64::from(level) + 1)
                };
                let wait = Span::from_ticks(clocks * (TICKS_PER_SECOND / 150_000_000));
                self.asserted_at = Some(at.max(self.released_at + wait));
            }
            (false, Some(_)) => {
                self.asserted_at = None;
                self.released_at = at;
            }
            _ => {}
        }
    }

    /// The time from which the interrupt pin is low; `None` while it is high.
    pub const fn interrupt_since(&self) -> Option<Instant> {
        self.asserted_at
    }

    /// A frame, without its FCS, that has passed the check of the FCS ends at `at`.
    pub fn receive(&mut self, frame: &[u8], at: Instant) {
        let own: [u8; 6] = core::array::from_fn(|number| self.common[SHAR + number]);
        let socket = &mut self.sockets[0];
        let size = socket.receive_size();
        if let Some(start) = socket.accept(frame, own) {
            let len = (frame.len() as u16 + 2).to_be_bytes();
            for (offset, &octet) in len.iter().chain(frame).enumerate() {
                self.receive_memory[(start + offset) % size % MEMORY] = octet;
            }
        }
        self.update_interrupt(at);
    }

    fn start_sending(&mut self, now: Instant) {
        if self.sent_at.is_none()
            && let Some(frame) = self.sending.front()
        {
            let octets = PREAMBLE + frame.len() as u64 + FCS;
            let start = self.free_at.max(now);
            self.sent_at = Some(start + Span::from_ticks(OCTET.ticks() * octets));
        }
    }

    /// Time of the next change by itself: the end of a frame on the medium.
    pub fn next_event(&self) -> Instant {
        self.sent_at.unwrap_or(Instant::NEVER)
    }

    /// The frame, without its FCS, that has ended on the medium at or before `now`, and its end.
    pub fn poll_sent(&mut self, now: Instant) -> Option<(Instant, Vec<u8>)> {
        let at = self.sent_at.filter(|&at| at <= now)?;
        let frame = self.sending.pop_front()?;
        self.free_at = at + Span::from_ticks(OCTET.ticks() * GAP);
        self.sent_at = None;
        self.sockets[0].sent();
        self.start_sending(at);
        self.update_interrupt(at);
        Some((at, frame))
    }

    /// Counts of socket 0.
    pub const fn statistics(&self) -> Statistics {
        self.sockets[0].statistics
    }

    /// Octets in the receive buffer of socket 0.
    pub fn waiting_octets(&self) -> usize {
        self.sockets[0].received()
    }

    /// Octets of SPI frames by use.
    pub const fn spi_octets(&self) -> SpiOctetCounts {
        self.spi
    }

    /// Number of sockets opened in a mode that is not modelled.
    pub const fn unsupported(&self) -> u64 {
        self.unsupported
    }
}
