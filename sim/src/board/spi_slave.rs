//! A slave on the SPI of a chip that is the master: the other end of a byte link. It is always ready; what it has not been
//! given to send is zeros. A transfer lasts while chip select is low, and its length is what the master clocks.

use std::collections::VecDeque;

use super::w5500::Pins;
use crate::pads::{Pads, SpiOctets};
use crate::time::{Instant, Span};

/// A complete transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpiTransfer {
    /// Chip select falls.
    pub selected: Instant,
    /// The first clock begins; the same as `selected` if there is none.
    pub clocks_from: Instant,
    /// The last clock ends.
    pub clocks_to: Instant,
    /// Chip select rises.
    pub released: Instant,
    /// Time in which the clock runs; the rest from the first to the last clock is idle.
    pub clocking: Span,
    /// The octets of the master.
    pub octets: Vec<u8>,
}

/// The slave with its lines.
#[derive(Debug, Clone, Default)]
pub struct SpiSlave {
    pins: Pins,
    /// The transfer under way, and the octets of the slave in it.
    transfer: Option<(SpiTransfer, Vec<u8>)>,
    /// What the slave sends next, a transfer each.
    queue: VecDeque<Vec<u8>>,
    complete: Vec<SpiTransfer>,
}

impl SpiSlave {
    /// One on these pads; interrupt and reset are not connected.
    #[must_use]
    pub fn new(pins: Pins) -> Self {
        Self {
            pins,
            ..Self::default()
        }
    }

    /// Queues the octets of a transfer. Those that the master does not clock are lost.
    pub fn send(&mut self, octets: Vec<u8>) {
        self.queue.push_back(octets);
    }

    /// Transfers that have not begun.
    #[must_use]
    pub fn backlog(&self) -> usize {
        self.queue.len()
    }

    /// Transfers that have ended since the last call.
    pub fn take_transfers(&mut self) -> Vec<SpiTransfer> {
        std::mem::take(&mut self.complete)
    }

    fn select(&mut self, at: Instant) {
        let transfer = SpiTransfer {
            selected: at,
            clocks_from: at,
            clocks_to: at,
            released: at,
            clocking: Span::ZERO,
            octets: Vec::new(),
        };
        let sent = self.queue.pop_front().unwrap_or_default();
        self.transfer = Some((transfer, sent));
    }
}

impl Pads for SpiSlave {
    fn level(&mut self, _: u8, _: Instant) -> bool {
        true
    }

    fn next_edge(&mut self, _: u8, _: Instant) -> Instant {
        Instant::NEVER
    }

    fn drive(&mut self, pad: u8, level: bool, at: Instant) {
        if pad != self.pins.select {
            return;
        }
        if !level && self.transfer.is_none() {
            self.select(at);
        } else if level && let Some((transfer, _)) = self.transfer.take() {
            self.complete.push(SpiTransfer {
                released: at,
                ..transfer
            });
        }
    }

    fn exchange(&mut self, octets: &SpiOctets<'_>, received: &mut [u8]) {
        received.fill(0xff);
        let is_clocked = octets.clock_pads >> self.pins.clock & 1 != 0;
        let Some((transfer, sent)) = self.transfer.as_mut().filter(|_| is_clocked) else {
            return;
        };
        if transfer.octets.is_empty() {
            transfer.clocks_from = octets.start;
        }
        if octets.receive_pad == Some(self.pins.miso) {
            let rest = sent.iter().skip(transfer.octets.len());
            for (to, octet) in received.iter_mut().zip(rest.chain(std::iter::repeat(&0))) {
                *to = *octet;
            }
        }
        if octets.data_pads >> self.pins.mosi & 1 != 0 {
            transfer.octets.extend(octets.sent);
        } else {
            let ones = transfer.octets.len() + octets.sent.len();
            transfer.octets.resize(ones, 0xff);
        }
        let span = Span::from_ticks(octets.octet.ticks() * octets.sent.len() as u64);
        transfer.clocking = transfer.clocking + span;
        transfer.clocks_to = octets.start + span;
    }

    fn deadline(&self) -> Instant {
        Instant::NEVER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SELECT: u8 = 10;

    fn octets(start_ns: u64, sent: &[u8]) -> SpiOctets<'_> {
        SpiOctets {
            start: Instant::from_ns(start_ns),
            octet: Span::from_ns(100),
            clock_pads: 1 << 6,
            data_pads: 1 << 7,
            receive_pad: Some(2),
            sent,
        }
    }

    #[test]
    fn a_transfer_lasts_from_the_fall_of_chip_select_to_its_rise() {
        let mut slave = SpiSlave::new(Pins::default());
        slave.send(vec![1, 2, 3, 4, 5]);
        slave.send(vec![6]);
        let mut received = [0; 2];
        slave.drive(SELECT, true, Instant::ZERO);
        slave.drive(SELECT, false, Instant::from_ns(1_000));
        slave.exchange(&octets(1_100, &[10, 11]), &mut received);
        assert_eq!(received, [1, 2]);
        // Idle in between, as from one set of data registers to the next.
        slave.exchange(&octets(1_800, &[12, 13]), &mut received);
        assert_eq!(received, [3, 4]);
        assert_eq!(slave.take_transfers(), []);
        slave.drive(SELECT, true, Instant::from_ns(2_500));
        let expected = SpiTransfer {
            selected: Instant::from_ns(1_000),
            clocks_from: Instant::from_ns(1_100),
            clocks_to: Instant::from_ns(2_000),
            released: Instant::from_ns(2_500),
            clocking: Span::from_ns(400),
            octets: vec![10, 11, 12, 13],
        };
        assert_eq!(slave.take_transfers(), [expected]);
        assert_eq!(slave.backlog(), 1);
        // The octet that was not clocked is lost; behind the last one there are zeros.
        slave.drive(SELECT, false, Instant::from_ns(3_000));
        slave.exchange(&octets(3_000, &[0, 0]), &mut received);
        assert_eq!(received, [6, 0]);
    }

    #[test]
    fn without_chip_select_or_clock_nobody_answers() {
        let mut slave = SpiSlave::new(Pins::default());
        slave.send(vec![1, 2]);
        let mut received = [0; 2];
        slave.exchange(&octets(0, &[3, 4]), &mut received);
        assert_eq!(received, [0xff; 2]);
        slave.drive(SELECT, false, Instant::from_ns(1_000));
        let unclocked = SpiOctets {
            clock_pads: 0,
            ..octets(1_000, &[3, 4])
        };
        slave.exchange(&unclocked, &mut received);
        assert_eq!(received, [0xff; 2]);
        let deaf = SpiOctets {
            receive_pad: None,
            ..octets(1_000, &[3, 4])
        };
        slave.exchange(&deaf, &mut received);
        assert_eq!(received, [0xff; 2]);
        slave.drive(SELECT, true, Instant::from_ns(2_000));
        let transfers = slave.take_transfers();
        assert_eq!(transfers.len(), 1);
        assert_eq!(transfers[0].octets, [3, 4]);
    }
}
