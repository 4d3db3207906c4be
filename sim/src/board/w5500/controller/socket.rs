//! A socket's registers and pointers, in MACRAW mode.

/// Registers.
const MR: u16 = 0x00;
const CR: u16 = 0x01;
const IR: u16 = 0x02;
const SR: u16 = 0x03;
const RXBUF_SIZE: u16 = 0x1e;
const TXBUF_SIZE: u16 = 0x1f;
const TX_FSR: u16 = 0x20;
const TX_WR: u16 = 0x24;
const RX_RSR: u16 = 0x26;
const RX_RD: u16 = 0x28;
const RX_WR: u16 = 0x2a;
const IMR: u16 = 0x2c;
const LEN: usize = 0x30;

/// `MR`: protocol, and filters of MACRAW.
const PROTOCOL: u8 = 0x0f;
const MACRAW: u8 = 0x04;
const IPV6_BLOCKING: u8 = 1 << 4;
const MULTICAST_BLOCKING: u8 = 1 << 5;
const BROADCAST_BLOCKING: u8 = 1 << 6;
const MAC_FILTER: u8 = 1 << 7;
/// Commands.
const OPEN: u8 = 0x01;
const CLOSE: u8 = 0x10;
const SEND: u8 = 0x20;
const RECV: u8 = 0x40;
/// Interrupts.
const INTERRUPT_RECV: u8 = 1 << 2;
const INTERRUPT_SENDOK: u8 = 1 << 4;
/// `SR`: open in MACRAW mode.
const SOCK_MACRAW: u8 = 0x42;

/// What a write requires of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It was opened in MACRAW mode.
    Open,
    /// A command or mode that is not modelled.
    Unsupported,
    /// Send these octets of the transmit buffer.
    Send { from: usize, len: usize },
}

/// Counts of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Frames that were put into the receive buffer.
    pub received: u64,
    /// Frames that the filters dropped, or that arrived while the socket was closed.
    pub filtered: u64,
    /// Frames that the receive buffer had no room for.
    pub overflowed: u64,
    /// Frames that were sent.
    pub sent: u64,
    /// Most octets in the receive buffer at once.
    pub high_water: u64,
}

/// The registers.
#[derive(Clone, Debug)]
pub(super) struct Socket {
    registers: [u8; LEN],
    /// Pointers that the chip uses: those of the program apply with the next command.
    read: u16,
    write: u16,
    sent_to: u16,
    /// Octets handed to the transmitter and not yet on the medium, by frame.
    unsent: std::collections::VecDeque<u16>,
    pub statistics: Statistics,
}

impl Socket {
    pub fn new() -> Self {
        let mut registers = [0; LEN];
        for (register, value) in [
            (0x16, 0x80),
            (0x1e, 2),
            (0x1f, 2),
            (0x2c, 0xff),
            (0x2d, 0x40),
        ] {
            registers[register] = value;
        }
        Self {
            registers,
            read: 0,
            write: 0,
            sent_to: 0,
            unsent: std::collections::VecDeque::new(),
            statistics: Statistics::default(),
        }
    }

    fn word(&self, at: u16) -> u16 {
        let at = usize::from(at);
        u16::from_be_bytes([self.registers[at], self.registers[at + 1]])
    }

    fn set_word(&mut self, at: u16, value: u16) {
        self.registers[usize::from(at)..][..2].copy_from_slice(&value.to_be_bytes());
    }

    /// Size of its receive buffer.
    pub fn receive_size(&self) -> usize {
        usize::from(self.registers[usize::from(RXBUF_SIZE)]) << 10
    }

    /// Size of its transmit buffer.
    pub fn send_size(&self) -> usize {
        usize::from(self.registers[usize::from(TXBUF_SIZE)]) << 10
    }

    /// Octets in its receive buffer.
    pub fn received(&self) -> usize {
        usize::from(self.write.wrapping_sub(self.read))
    }

    /// True if an enabled interrupt is pending.
    pub fn is_interrupting(&self) -> bool {
        self.registers[usize::from(IR)] & self.registers[usize::from(IMR)] != 0
    }

    pub fn read(&self, address: u16) -> u8 {
        let high = |value: u16, at: u16| value.to_be_bytes()[usize::from(address - at)];
        match address {
            TX_FSR..0x22 => {
                let unsent: u16 = self.unsent.iter().sum();
                high((self.send_size() as u16).saturating_sub(unsent), TX_FSR)
            }
            RX_RSR..0x28 => high(self.received() as u16, RX_RSR),
            RX_WR..0x2c => high(self.write, RX_WR),
            CR => 0,
            _ => self
                .registers
                .get(usize::from(address))
                .copied()
                .unwrap_or(0),
        }
    }

    pub fn write(&mut self, address: u16, octet: u8, raises_again: bool) -> Option<Effect> {
        match address {
            CR => return self.command(octet, raises_again),
            IR => self.registers[usize::from(IR)] &= !octet,
            SR | TX_FSR..TX_WR | RX_RSR..RX_RD | RX_WR..IMR => {}
            _ => {
                if let Some(register) = self.registers.get_mut(usize::from(address)) {
                    *register = octet;
                }
            }
        }
        None
    }

    pub fn close(&mut self) {
        self.registers[usize::from(SR)] = 0;
    }

    fn is_open(&self) -> bool {
        self.registers[usize::from(SR)] == SOCK_MACRAW
    }

    fn command(&mut self, command: u8, raises_again: bool) -> Option<Effect> {
        match command {
            OPEN if self.registers[usize::from(MR)] & PROTOCOL == MACRAW => {
                (self.read, self.write, self.sent_to) = (0, 0, 0);
                for pointer in [0x22, TX_WR, RX_RD] {
                    self.set_word(pointer, 0);
                }
                self.registers[usize::from(SR)] = SOCK_MACRAW;
                return Some(Effect::Open);
            }
            CLOSE => self.close(),
            SEND if self.is_open() => {
                let to = self.word(TX_WR);
                let (from, len) = (self.sent_to, to.wrapping_sub(self.sent_to));
                self.sent_to = to;
                self.unsent.push_back(len);
                let (from, len) = (usize::from(from), usize::from(len));
                return Some(Effect::Send { from, len });
            }
            RECV if self.is_open() => {
                self.read = self.word(RX_RD);
                if raises_again && self.received() > 0 {
                    self.registers[usize::from(IR)] |= INTERRUPT_RECV;
                }
            }
            SEND | RECV => {}
            _ => return Some(Effect::Unsupported),
        }
        None
    }

    /// The transmitter has sent the first of the frames that it was handed.
    pub fn sent(&mut self) {
        if let Some(len) = self.unsent.pop_front() {
            let read = self.word(0x22).wrapping_add(len);
            self.set_word(0x22, read);
            self.registers[usize::from(IR)] |= INTERRUPT_SENDOK;
            self.statistics.sent += 1;
        }
    }

    /// Makes room for `frame` behind its length; returns the offset in the buffer, `None` if it is dropped.
    pub fn accept(&mut self, frame: &[u8], own: [u8; 6]) -> Option<usize> {
        if !self.is_open() || !self.passes(frame, own) {
            self.statistics.filtered += 1;
            return None;
        }
        let len = frame.len() + 2;
        if self.received() + len > self.receive_size() {
            self.statistics.overflowed += 1;
            return None;
        }
        let start = usize::from(self.write);
        self.write = self.write.wrapping_add(len as u16);
        self.registers[usize::from(IR)] |= INTERRUPT_RECV;
        self.statistics.received += 1;
        self.statistics.high_water = self.statistics.high_water.max(self.received() as u64);
        Some(start)
    }

    /// The filters of MACRAW.
    fn passes(&self, frame: &[u8], own: [u8; 6]) -> bool {
        let mode = self.registers[usize::from(MR)];
        let Some((destination, rest)) = frame.split_first_chunk::<6>() else {
            return false;
        };
        let blocked = match destination {
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff] => mode & BROADCAST_BLOCKING != 0,
            [first, ..] if first & 1 != 0 => mode & MULTICAST_BLOCKING != 0,
            _ => mode & MAC_FILTER != 0 && *destination != own,
        };
        let is_ipv6 = rest.get(6..8) == Some(&[0x86, 0xdd]);
        !(blocked || is_ipv6 && mode & IPV6_BLOCKING != 0)
    }
}
