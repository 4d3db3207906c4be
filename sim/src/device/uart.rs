//! UART with its FIFOs, timed by the baud rate.
//!
//! ESP32-C6 Technical Reference Manual, chapter "UART Controller". The line is not modelled bit by
//! bit: a byte takes the time of its frame, and the far end sends and receives bytes.

use std::collections::VecDeque;

use super::clock::XTAL_HZ;
use super::{ClockDomain, Device, InterruptRegisters};
use crate::time::{Instant, Span};

/// Bytes in each FIFO.
const FIFO_BYTES: usize = 128;

const FIFO: u32 = 0x00;
const INT_RAW: u32 = 0x04;
const INT_ST: u32 = 0x08;
const INT_ENA: u32 = 0x0c;
const INT_CLR: u32 = 0x10;
const CLKDIV: u32 = 0x14;
const STATUS: u32 = 0x1c;
const CONF0: u32 = 0x20;
const CONF1: u32 = 0x24;
const IDLE_CONF: u32 = 0x48;
const AT_CMD_CHAR: u32 = 0x5c;
const TOUT_CONF: u32 = 0x64;
const FSM_STATUS: u32 = 0x70;
const REG_UPDATE: u32 = 0x98;

/// `INT_*`.
const RXFIFO_FULL: u32 = 1 << 0;
const TXFIFO_EMPTY: u32 = 1 << 1;
const RXFIFO_OVERFLOW: u32 = 1 << 4;
const RXFIFO_TIMEOUT: u32 = 1 << 8;
const TX_DONE: u32 = 1 << 14;
const AT_CMD_DETECTED: u32 = 1 << 18;
/// `CONF0`: empty the FIFOs.
const RXFIFO_RESET: u32 = 1 << 22;
const TXFIFO_RESET: u32 = 1 << 23;
/// `STATUS` without the FIFO counts: all lines idle.
const STATUS_IDLE: u32 = 0xe000_c000;

/// A UART; interrupt output 0 is its only one.
#[derive(Clone, Debug)]
pub struct Uart {
    source_hertz: u64,
    divider: u32,
    conf0: u32,
    conf1: u32,
    timeout_conf: u32,
    idle_conf: u32,
    at_cmd_char: u32,
    interrupts: InterruptRegisters,
    /// End of each written byte on the line, including its stop bit.
    tx_end_times: VecDeque<Instant>,
    sent: Vec<u8>,
    /// Bytes being received, with their arrival times.
    rx_in_flight: VecDeque<(Instant, u8)>,
    received: VecDeque<u8>,
    timeout_at: Instant,
    /// Arrival of the last byte.
    last_byte_at: Instant,
    lost: u64,
    /// Octets that have left or will, with the end of each on the line, if they are recorded.
    departures: Option<Vec<(Instant, u8)>>,
}

impl Default for Uart {
    /// State left by the boot loader: 115200 baud from the crystal, 8N1.
    fn default() -> Self {
        Self {
            source_hertz: XTAL_HZ,
            // 347 3/16.
            divider: 0x0030_015b,
            conf0: 0x10_001c,
            conf1: 0x6060,
            timeout_conf: 0x28,
            idle_conf: 0x4_0100,
            at_cmd_char: 0x32b,
            interrupts: InterruptRegisters {
                raw: TXFIFO_EMPTY,
                enable: 0,
            },
            tx_end_times: VecDeque::new(),
            sent: Vec::new(),
            rx_in_flight: VecDeque::new(),
            received: VecDeque::new(),
            timeout_at: Instant::NEVER,
            last_byte_at: Instant::ZERO,
            lost: 0,
            departures: None,
        }
    }
}

impl Uart {
    /// Duration of `bits` on the line.
    fn bits(&self, bits: u64) -> Span {
        // The divider has four fractional bits.
        let sixteenths = u64::from(self.divider & 0xfff) * 16 + u64::from(self.divider >> 20 & 15);
        ClockDomain::ratio(self.source_hertz * 16, sixteenths).span(bits)
    }

    /// Duration of one byte with start, parity and stop bits.
    fn byte_time(&self) -> Span {
        let data = 5 + u64::from(self.conf0 >> 2 & 3);
        let parity = u64::from(self.conf0 >> 1 & 1);
        let stop = if self.conf0 >> 4 & 3 > 1 { 2 } else { 1 };
        self.bits(1 + data + parity + stop)
    }

    /// Bytes in the transmit FIFO.
    fn tx_count(&mut self, now: Instant) -> usize {
        while self.tx_end_times.front().is_some_and(|&left| left <= now) {
            self.tx_end_times.pop_front();
        }
        self.tx_end_times.len()
    }

    /// Time at which the transmit FIFO is empty and the line idle.
    pub fn idle_at(&self) -> Instant {
        self.tx_end_times.back().copied().unwrap_or(Instant::ZERO)
    }

    /// Time at which the transmit FIFO has room for a byte.
    pub fn tx_ready_at(&mut self, now: Instant) -> Instant {
        let waiting = self.tx_count(now);
        if waiting < FIFO_BYTES {
            now
        } else {
            self.tx_end_times[waiting - FIFO_BYTES]
        }
    }

    /// Writes a byte into the transmit FIFO; lost if it is full.
    pub fn transmit(&mut self, byte: u8, now: Instant) {
        if self.tx_count(now) >= FIFO_BYTES {
            self.lost += 1;
            return;
        }
        let begin = self.idle_at().max(now);
        let end = begin + self.byte_time();
        self.tx_end_times.push_back(end);
        self.sent.push(byte);
        if let Some(departures) = &mut self.departures {
            departures.push((end, byte));
        }
        self.interrupts.raw &= !TX_DONE;
        self.update_tx_empty(now);
    }

    /// Bytes that were lost because a FIFO was full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Records the octets that are sent from now on, for [`take_departures`](Self::take_departures).
    pub fn record_departures(&mut self) {
        self.departures.get_or_insert_default();
    }

    /// Octets that were sent since the last call, with the end of each on the line, which may be later than now.
    pub fn take_departures(&mut self) -> Vec<(Instant, u8)> {
        self.departures
            .as_mut()
            .map(std::mem::take)
            .unwrap_or_default()
    }

    /// Octets on their way from the far end.
    pub fn backlog(&self) -> usize {
        self.rx_in_flight.len()
    }

    /// True if the receive FIFO has a byte.
    pub fn has_received(&self) -> bool {
        !self.received.is_empty()
    }

    /// Room in the transmit FIFO.
    pub fn tx_room(&mut self, now: Instant) -> usize {
        FIFO_BYTES - self.tx_count(now).min(FIFO_BYTES)
    }

    /// Time at which the receiving line counts as idle, if nothing more arrives: `RX_IDLE_THRHD`, in bits.
    pub fn rx_idle_at(&self) -> Instant {
        self.last_byte_at + self.bits(u64::from(self.idle_conf & 0x3ff))
    }

    /// Takes a byte from the receive FIFO.
    pub fn read_byte(&mut self) -> Option<u8> {
        self.received.pop_front()
    }

    fn empty_threshold(&self) -> usize {
        (self.conf1 >> 8 & 0xff) as usize
    }

    fn update_tx_empty(&mut self, now: Instant) {
        if self.tx_count(now) < self.empty_threshold() {
            self.interrupts.raw |= TXFIFO_EMPTY;
        }
    }

    fn on_byte(&mut self, byte: u8, at: Instant) {
        self.last_byte_at = at;
        if self.received.len() >= FIFO_BYTES {
            self.lost += 1;
            self.interrupts.raw |= RXFIFO_OVERFLOW;
            return;
        }
        self.received.push_back(byte);
        if self.received.len() > (self.conf1 & 0xff) as usize {
            self.interrupts.raw |= RXFIFO_FULL;
        }
        if byte == self.at_cmd_char as u8 {
            self.interrupts.raw |= AT_CMD_DETECTED;
        }
        let idle_bits = u64::from(self.timeout_conf >> 2 & 0x3ff);
        self.timeout_at = if self.timeout_conf & 1 == 0 {
            Instant::NEVER
        } else {
            at + self.bits(idle_bits)
        };
    }
}

impl Device for Uart {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.advance(now);
        Some(match offset {
            FIFO => u32::from(self.read_byte().unwrap_or(0)),
            INT_RAW => self.interrupts.raw,
            INT_ST => self.interrupts.status(),
            INT_ENA => self.interrupts.enable,
            INT_CLR | REG_UPDATE => 0,
            CLKDIV => self.divider,
            STATUS => {
                let tx = self.tx_count(now) as u32;
                STATUS_IDLE | tx << 16 | self.received.len() as u32
            }
            CONF0 => self.conf0,
            CONF1 => self.conf1,
            AT_CMD_CHAR => self.at_cmd_char,
            TOUT_CONF => self.timeout_conf,
            IDLE_CONF => self.idle_conf,
            // Transmitter idle (0) or sending data (2).
            FSM_STATUS => {
                if self.tx_count(now) == 0 {
                    0
                } else {
                    2 << 4
                }
            }
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        match offset {
            FIFO => self.transmit(value as u8, now),
            // `REG_UPDATE` copies the registers into the UART's clock domain; here they act at once.
            INT_RAW | INT_ST | STATUS | FSM_STATUS | REG_UPDATE => {}
            INT_ENA => self.interrupts.enable = value,
            INT_CLR => {
                self.interrupts.clear(value);
                self.update_tx_empty(now);
            }
            CLKDIV => self.divider = value,
            CONF0 => {
                self.conf0 = value & !(RXFIFO_RESET | TXFIFO_RESET);
                if value & RXFIFO_RESET != 0 {
                    self.received.clear();
                }
                if value & TXFIFO_RESET != 0 {
                    self.tx_end_times.clear();
                }
            }
            CONF1 => {
                self.conf1 = value;
                self.update_tx_empty(now);
            }
            AT_CMD_CHAR => self.at_cmd_char = value,
            TOUT_CONF => self.timeout_conf = value,
            IDLE_CONF => self.idle_conf = value,
            _ => return false,
        }
        true
    }

    fn next_event(&self) -> Instant {
        let mut next = self.timeout_at;
        if let Some(&(at, _)) = self.rx_in_flight.front() {
            next = next.min(at);
        }
        // Transmit interrupts matter only if the program enables them.
        if self.interrupts.enable & !self.interrupts.raw & TX_DONE != 0
            && !self.tx_end_times.is_empty()
        {
            next = next.min(self.idle_at());
        }
        if self.interrupts.enable & !self.interrupts.raw & TXFIFO_EMPTY != 0 {
            let above = self
                .tx_end_times
                .len()
                .saturating_sub(self.empty_threshold());
            if let Some(&at) = self.tx_end_times.get(above) {
                next = next.min(at);
            }
        }
        next
    }

    fn advance(&mut self, now: Instant) {
        while let Some(&(at, byte)) = self.rx_in_flight.front()
            && at <= now
        {
            self.rx_in_flight.pop_front();
            self.on_byte(byte, at);
        }
        if self.timeout_at <= now {
            self.timeout_at = Instant::NEVER;
            self.interrupts.raw |= RXFIFO_TIMEOUT;
        }
        if !self.tx_end_times.is_empty() && self.idle_at() <= now {
            self.interrupts.raw |= TX_DONE;
        }
        self.update_tx_empty(now);
    }

    fn interrupts(&self) -> u32 {
        self.interrupts.level()
    }

    fn reads_have_side_effects(&self) -> bool {
        true
    }

    /// The function clock; bytes already in flight keep their time.
    fn set_clocks(&mut self, hertz: &[u64], _: Instant) {
        self.source_hertz = hertz[0];
    }

    fn take_sent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sent)
    }

    /// Back to back.
    fn receive(&mut self, bytes: &[u8], now: Instant) {
        let mut at = self.rx_in_flight.back().map_or(now, |&(at, _)| at.max(now));
        for &byte in bytes {
            at += self.byte_time();
            self.rx_in_flight.push_back((at, byte));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_takes_ten_bits() {
        let uart = Uart::default();
        let bit = 347.1875 / 40e6;
        assert!((uart.byte_time().as_secs_f64() - 10.0 * bit).abs() < 1e-9);
    }

    #[test]
    fn the_fifo_fills_and_drains_at_the_baud_rate() {
        let mut uart = Uart::default();
        let start = Instant::from_ns(1000);
        for _ in 0..FIFO_BYTES + 3 {
            uart.write(FIFO, 0x55, start);
        }
        assert_eq!(uart.lost(), 3);
        assert_eq!(uart.read(STATUS, start).unwrap() >> 16 & 0xff, 128);
        let room = uart.tx_ready_at(start);
        assert_eq!(room, start + uart.byte_time());
        assert_eq!(uart.tx_count(room), 127);
        assert_eq!(uart.tx_count(uart.idle_at()), 0);
        assert_eq!(uart.take_sent().len(), 128);
    }

    #[test]
    fn received_bytes_arrive_in_sequence_and_time_out() {
        let mut uart = Uart::default();
        uart.write(TOUT_CONF, 1 | 10 << 2, Instant::ZERO);
        uart.write(INT_ENA, RXFIFO_TIMEOUT, Instant::ZERO);
        uart.receive(b"ab", Instant::ZERO);
        let first = uart.next_event();
        assert_eq!(first, Instant::ZERO + uart.byte_time());
        uart.advance(first);
        assert_eq!(uart.read(STATUS, first).unwrap() & 0xff, 1);
        let second = uart.next_event();
        uart.advance(second);
        assert_eq!(uart.interrupts(), 0);
        uart.advance(uart.next_event());
        assert_eq!(uart.interrupts(), 1);
        assert_eq!(uart.read(FIFO, second), Some(u32::from(b'a')));
        assert_eq!(uart.read(FIFO, second), Some(u32::from(b'b')));
        assert_eq!(uart.read(FIFO, second), Some(0));
    }
}
