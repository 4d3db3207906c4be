//! A host at the other end of a full-speed bulk pipe, as a real controller: frames, tokens, NAKs and latency.
//!
//! USB 2.0, chapters 5.8 and 8. In a frame of 1 ms there are 1,500 octet times; a bulk transaction takes 13 more than its
//! data (table 5-9), and one that does not fit the frame waits for the next. While a device has no packet, or no room for
//! one, it answers a token with NAK, and the host asks again after [`retry`](UsbHost::retry). The time of NAKs on the bus,
//! bit stuffing and other devices are not modelled.

use std::collections::VecDeque;

use crate::time::{Instant, Span};

/// Octets of a full-speed bulk packet.
const PACKET_OCTETS: usize = 64;
/// Octet times of a bulk transaction in addition to its data (USB 2.0, table 5-9).
const OVERHEAD_OCTETS: usize = 13;
/// Duration of a frame.
const FRAME: Span = Span::from_ms(1);

/// Duration of a bulk transaction with `octets` of data at 12 Mbit/s.
fn transaction(octets: usize) -> Span {
    Span::from_ns(((octets + OVERHEAD_OCTETS) * 8) as u64 * 1000 / 12)
}

/// Behaviour of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsbHost {
    /// From a token that is answered with NAK to the next one.
    pub retry: Span,
    /// From the end of a transfer to the program, and from the program to the first token.
    pub latency: Span,
    /// Octets of a transfer: it ends with them or with a packet that is not full. cdc-acm of Linux uses 128.
    pub transfer_octets: usize,
    /// From the end of a transfer to the next token: zero if other transfers are queued.
    pub turnaround: Span,
}

impl Default for UsbHost {
    /// Guesses: 10 µs until a NAK is tried again, 20 µs of latency; transfers of cdc-acm, several of which are queued.
    fn default() -> Self {
        Self {
            retry: Span::from_us(10),
            latency: Span::from_us(20),
            transfer_octets: 128,
            turnaround: Span::ZERO,
        }
    }
}

/// The bus with the host's transfers.
#[derive(Clone, Debug)]
pub struct Bus {
    host: UsbHost,
    /// The end of the last transaction.
    free_at: Instant,
    /// From when on the host asks for packets.
    asks_from: Instant,
    /// Octets of the transfer that is being received.
    transfer: Vec<u8>,
    /// Octets that the host's program has, with the time.
    arrived: Vec<(Instant, u8)>,
    /// Packets to the device, each with the time of its first token.
    packets: VecDeque<(Instant, Vec<u8>)>,
    /// The end of the transaction of the first of them, if the device takes it.
    delivered_at: Option<Instant>,
    /// Octets of the last packet are in the device's FIFO.
    is_full: bool,
}

impl Bus {
    /// A bus without traffic.
    pub fn new(host: UsbHost) -> Self {
        Self {
            host,
            free_at: Instant::ZERO,
            asks_from: Instant::ZERO,
            transfer: Vec::new(),
            arrived: Vec::new(),
            packets: VecDeque::new(),
            delivered_at: None,
            is_full: false,
        }
    }

    /// The end of a transaction with `octets` of data whose tokens come from `from` on, and which the device can make
    /// from `ready` on.
    fn transact(&mut self, from: Instant, ready: Instant, octets: usize) -> Instant {
        let retry = self.host.retry.ticks().max(1);
        let late = ready.ticks().saturating_sub(from.ticks());
        let tokens = late.div_ceil(retry);
        let mut token = Instant::from_ticks(from.ticks() + tokens * retry).max(self.free_at);
        let frame = FRAME.ticks();
        let span = transaction(octets);
        if token.ticks() % frame + span.ticks() > frame {
            token = Instant::from_ticks((token.ticks() / frame + 1) * frame);
        }
        self.free_at = token + span;
        self.free_at
    }

    /// The device has a packet from `now` on; returns the time at which the host has it.
    pub fn fetch(&mut self, packet: Vec<u8>, now: Instant) -> Instant {
        let end = self.transact(self.asks_from, now, packet.len());
        let is_short = packet.len() < PACKET_OCTETS;
        self.transfer.extend(packet);
        self.asks_from = end;
        if is_short || self.transfer.len() >= self.host.transfer_octets {
            let at = end + self.host.latency;
            let octets = self.transfer.drain(..);
            self.arrived.extend(octets.map(|octet| (at, octet)));
            self.asks_from = end + self.host.turnaround;
        }
        end
    }

    /// The device ends the transfer with an empty packet at `now`, if it has one; returns the time at which the host has
    /// that.
    pub fn end_transfer(&mut self, now: Instant) -> Option<Instant> {
        (!self.transfer.is_empty()).then(|| self.fetch(Vec::new(), now))
    }

    /// Octets that the host's program received since the last call, with the time, which may be later than now.
    pub fn take_arrived(&mut self) -> Vec<(Instant, u8)> {
        std::mem::take(&mut self.arrived)
    }

    /// The host's program sends `octets`.
    pub fn send(&mut self, octets: &[u8], now: Instant) {
        let first = now + self.host.latency;
        for packet in octets.chunks(PACKET_OCTETS) {
            self.packets.push_back((first, packet.to_vec()));
        }
        if !self.is_full && self.delivered_at.is_none() {
            self.start(now);
        }
    }

    /// Octets that the host has not sent yet.
    pub fn backlog(&self) -> usize {
        self.packets.iter().map(|(_, packet)| packet.len()).sum()
    }

    fn start(&mut self, ready: Instant) {
        if let Some((first, packet)) = self.packets.front() {
            let (first, len) = (*first, packet.len());
            self.delivered_at = Some(self.transact(first, ready, len));
        }
    }

    /// The device has taken the last octet of a packet.
    pub fn on_emptied(&mut self, now: Instant) {
        if std::mem::take(&mut self.is_full) {
            self.start(now);
        }
    }

    /// The time at which the device has the next packet.
    pub fn delivered_at(&self) -> Option<Instant> {
        self.delivered_at
    }

    /// The packet that has arrived at the device by `now`.
    pub fn deliver(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.delivered_at.take_if(|at| *at <= now)?;
        self.is_full = true;
        self.packets.pop_front().map(|(_, packet)| packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOST: UsbHost = UsbHost {
        retry: Span::from_us(10),
        latency: Span::from_us(20),
        transfer_octets: 128,
        turnaround: Span::ZERO,
    };

    #[test]
    fn a_frame_has_19_full_packets() {
        let mut bus = Bus::new(HOST);
        let mut ends = Vec::new();
        let mut now = Instant::ZERO;
        for _ in 0..20 {
            now = bus.fetch(vec![0; 64], now);
            ends.push(now);
        }
        let in_first = ends.iter().filter(|end| **end <= Instant::ZERO + FRAME);
        assert_eq!(in_first.count(), 19);
        assert_eq!(ends[19], Instant::ZERO + FRAME + transaction(64));
    }

    #[test]
    fn a_packet_waits_for_the_next_token_and_the_program_for_the_transfer() {
        let mut bus = Bus::new(HOST);
        let end = bus.fetch(vec![7; 64], Instant::ZERO + Span::from_us(3));
        assert_eq!(end, Instant::ZERO + Span::from_us(10) + transaction(64));
        assert!(bus.take_arrived().is_empty(), "the transfer is not over");
        let end = bus.end_transfer(end).unwrap();
        let arrived = bus.take_arrived();
        assert_eq!(arrived.len(), 64);
        assert_eq!(arrived[0], (end + HOST.latency, 7));
        assert_eq!(bus.end_transfer(end), None);
    }

    #[test]
    fn the_device_gets_a_packet_when_it_has_read_the_one_before() {
        let mut bus = Bus::new(HOST);
        bus.send(&[1; 100], Instant::ZERO);
        let first = bus.delivered_at().unwrap();
        assert_eq!(first, Instant::ZERO + HOST.latency + transaction(64));
        assert_eq!(bus.deliver(first).unwrap().len(), 64);
        assert_eq!(bus.delivered_at(), None, "NAK");
        assert_eq!(bus.backlog(), 36);
        let read = Instant::ZERO + Span::from_us(205);
        bus.on_emptied(read);
        let second = bus.delivered_at().unwrap();
        assert_eq!(second, Instant::ZERO + Span::from_us(210) + transaction(36));
        assert_eq!(bus.deliver(second).unwrap().len(), 36);
    }
}
