//! USB serial/JTAG controller: its serial port, with a host that always reads, or one as a real controller
//! ([`UsbHost`]).
//!
//! ESP32-C6 Technical Reference Manual, chapter "USB Serial/JTAG Controller".

use std::collections::VecDeque;

use super::usb_host::{Bus, UsbHost};
use super::{Device, InterruptRegisters};
use crate::time::{Instant, Span};

/// Bytes in a bulk packet, and in each FIFO.
const PACKET_BYTES: usize = 64;

const EP1: u32 = 0x00;
const EP1_CONF: u32 = 0x04;
const INT_RAW: u32 = 0x08;
const INT_ST: u32 = 0x0c;
const INT_ENA: u32 = 0x10;
const INT_CLR: u32 = 0x14;

/// `EP1_CONF`: send the bytes to the host; the FIFO has room; there are bytes to read.
const WR_DONE: u32 = 1 << 0;
const IN_EP_DATA_FREE: u32 = 1 << 1;
const OUT_EP_DATA_AVAIL: u32 = 1 << 2;
/// `INT_*`: a packet was received; the host has read everything.
const SERIAL_OUT_RECV_PKT: u32 = 1 << 2;
const SERIAL_IN_EMPTY: u32 = 1 << 3;

/// The serial port; interrupt output 0 is its only one.
#[derive(Clone, Debug)]
pub struct UsbSerial {
    packet_time: Span,
    interrupts: InterruptRegisters,
    /// Bytes written since the last packet.
    filled: usize,
    /// When the host has read the last packet.
    free_at: Instant,
    sent: Vec<u8>,
    received: VecDeque<u8>,
    lost: u64,
    /// A host as a real controller.
    bus: Option<Bus>,
    /// Octets of the packet that is being written.
    packet: Vec<u8>,
}

impl UsbSerial {
    /// A port whose host takes `packet_time` to fetch a packet.
    pub fn new(packet_time: Span) -> Self {
        Self {
            packet_time,
            interrupts: InterruptRegisters {
                raw: SERIAL_IN_EMPTY,
                enable: 0,
            },
            filled: 0,
            free_at: Instant::ZERO,
            sent: Vec::new(),
            received: VecDeque::new(),
            lost: 0,
            bus: None,
            packet: Vec::new(),
        }
    }

    /// Connects a host with frames, polls and latency instead of the one that always reads.
    pub fn connect(&mut self, host: UsbHost) {
        self.bus = Some(Bus::new(host));
    }

    /// The host, if one is [connected](Self::connect).
    pub fn host(&mut self) -> Option<&mut Bus> {
        self.bus.as_mut()
    }

    /// Bytes that were written while the FIFO was full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Time at which a byte can be written.
    pub fn tx_ready_at(&self, now: Instant) -> Instant {
        self.free_at.max(now)
    }

    /// Writes a byte; a full packet is sent to the host without a flush.
    pub fn transmit(&mut self, byte: u8, now: Instant) {
        if now < self.free_at {
            self.lost += 1;
            return;
        }
        self.sent.push(byte);
        self.filled += 1;
        if self.bus.is_some() {
            self.packet.push(byte);
        }
        if self.filled == PACKET_BYTES {
            self.flush(now);
        }
    }

    /// Sends the written bytes to the host.
    pub fn flush(&mut self, now: Instant) {
        if self.filled > 0 {
            self.filled = 0;
            self.free_at = match &mut self.bus {
                None => now + self.packet_time,
                Some(bus) => bus.fetch(std::mem::take(&mut self.packet), now),
            };
            self.interrupts.raw &= !SERIAL_IN_EMPTY;
        } else if let Some(bus) = &mut self.bus
            && let Some(free_at) = bus.end_transfer(now.max(self.free_at))
        {
            self.free_at = free_at;
            self.interrupts.raw &= !SERIAL_IN_EMPTY;
        }
    }
}

impl Device for UsbSerial {
    fn read(&mut self, offset: u32, now: Instant) -> Option<u32> {
        self.advance(now);
        Some(match offset {
            EP1 => {
                let octet = self.received.pop_front();
                if self.received.is_empty()
                    && let Some(bus) = &mut self.bus
                {
                    bus.on_emptied(now);
                }
                u32::from(octet.unwrap_or(0))
            }
            EP1_CONF => {
                let free = if now >= self.free_at {
                    IN_EP_DATA_FREE
                } else {
                    0
                };
                let available = if self.received.is_empty() {
                    0
                } else {
                    OUT_EP_DATA_AVAIL
                };
                free | available
            }
            INT_RAW => self.interrupts.raw,
            INT_ST => self.interrupts.status(),
            INT_ENA => self.interrupts.enable,
            INT_CLR => 0,
            _ => return None,
        })
    }

    fn write(&mut self, offset: u32, value: u32, now: Instant) -> bool {
        match offset {
            EP1 => self.transmit(value as u8, now),
            EP1_CONF => {
                if value & WR_DONE != 0 {
                    self.flush(now);
                }
            }
            INT_RAW | INT_ST => {}
            INT_ENA => self.interrupts.enable = value,
            INT_CLR => self.interrupts.clear(value),
            _ => return false,
        }
        true
    }

    fn next_event(&self) -> Instant {
        let waits = self.interrupts.raw & SERIAL_IN_EMPTY == 0 && self.free_at != Instant::ZERO;
        let fetched = if waits && self.interrupts.enable & SERIAL_IN_EMPTY != 0 {
            self.free_at
        } else {
            Instant::NEVER
        };
        let delivered = self.bus.as_ref().and_then(Bus::delivered_at);
        fetched.min(delivered.unwrap_or(Instant::NEVER))
    }

    fn advance(&mut self, now: Instant) {
        if self.free_at != Instant::ZERO && self.free_at <= now {
            self.free_at = Instant::ZERO;
            self.interrupts.raw |= SERIAL_IN_EMPTY;
        }
        if let Some(packet) = self.bus.as_mut().and_then(|bus| bus.deliver(now)) {
            self.received.extend(packet);
            self.interrupts.raw |= SERIAL_OUT_RECV_PKT;
        }
    }

    fn interrupts(&self) -> u32 {
        self.interrupts.level()
    }

    fn reads_have_side_effects(&self) -> bool {
        true
    }

    fn take_sent(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sent)
    }

    fn receive(&mut self, bytes: &[u8], now: Instant) {
        if let Some(bus) = &mut self.bus {
            return bus.send(bytes, now);
        }
        self.received.extend(bytes);
        if !bytes.is_empty() {
            self.interrupts.raw |= SERIAL_OUT_RECV_PKT;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_keeps_the_fifo_busy_until_the_host_took_it() {
        let mut usb = UsbSerial::new(Span::from_us(53));
        let now = Instant::from_ns(5000);
        usb.write(EP1, u32::from(b'x'), now);
        assert_eq!(usb.read(EP1_CONF, now), Some(IN_EP_DATA_FREE));
        usb.write(EP1_CONF, WR_DONE, now);
        assert_eq!(usb.read(EP1_CONF, now), Some(0));
        usb.write(EP1, u32::from(b'y'), now);
        assert_eq!(usb.lost(), 1);
        let free = now + Span::from_us(53);
        assert_eq!(usb.read(EP1_CONF, free), Some(IN_EP_DATA_FREE));
        assert_eq!(usb.take_sent(), b"x");
    }

    #[test]
    fn a_full_packet_is_sent_without_a_flush() {
        let mut usb = UsbSerial::new(Span::from_us(53));
        for _ in 0..PACKET_BYTES {
            usb.write(EP1, 0, Instant::from_ns(1));
        }
        assert_eq!(usb.read(EP1_CONF, Instant::from_ns(1)), Some(0));
    }

    #[test]
    fn input_is_announced_and_read() {
        let mut usb = UsbSerial::new(Span::from_us(53));
        usb.receive(b"hi", Instant::ZERO);
        usb.write(INT_ENA, SERIAL_OUT_RECV_PKT, Instant::ZERO);
        assert_eq!(usb.interrupts(), 1);
        assert_eq!(usb.read(EP1, Instant::ZERO), Some(u32::from(b'h')));
        assert_eq!(
            usb.read(EP1_CONF, Instant::ZERO).unwrap() & OUT_EP_DATA_AVAIL,
            4
        );
        assert_eq!(usb.read(EP1, Instant::ZERO), Some(u32::from(b'i')));
        assert_eq!(
            usb.read(EP1_CONF, Instant::ZERO).unwrap() & OUT_EP_DATA_AVAIL,
            0
        );
    }
}
