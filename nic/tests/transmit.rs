//! The transmit path over a PHY with its own clock.
#![cfg(not(loom))]

mod support;

use linerate_ether::fcs;
use linerate_ether::ledger::Counter;
use linerate_ether::preamble::PREAMBLE_AND_SFD;
use linerate_nic::device::{FrameTooLong, LinkState};
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{
    BitTimes, INTER_PACKET_GAP, MAX_DEFER, MAX_TX_LEN, Phy, TransmitError, Transmitter, TxStart,
};
use std::cell::Cell;
use support::frame;

/// A PHY in which each read of the clock takes one bit time.
struct Wire {
    now: Cell<u32>,
    /// Start and end of a transmission by another station.
    carrier: Option<(u32, u32)>,
    /// Number of times that the medium becomes busy at the last moment.
    busy: u32,
    link: LinkState,
    /// Start, end and octets of each packet sent.
    sent: Vec<(u32, u32, Vec<u8>)>,
}

impl Wire {
    fn at(now: u32) -> Self {
        let now = Cell::new(now);
        Self {
            now,
            carrier: None,
            busy: 0,
            link: LinkState::Up,
            sent: Vec::new(),
        }
    }
}

impl Phy for Wire {
    fn now(&self) -> BitTimes {
        self.now.set(self.now.get().wrapping_add(1));
        BitTimes(self.now.get())
    }

    fn transmit(&mut self, packet: &[u8], _start: TxStart) -> Result<BitTimes, TransmitError> {
        if self.busy > 0 {
            self.busy -= 1;
            return Err(TransmitError::Busy);
        }
        let start = self.now.get();
        self.now.set(start.wrapping_add(packet.len() as u32 * 8));
        self.sent.push((start, self.now.get(), packet.to_vec()));
        Ok(BitTimes(self.now.get()))
    }

    fn carrier(&self) -> bool {
        self.carrier
            .is_some_and(|(start, end)| (start..end).contains(&self.now.get()))
    }

    fn reception_ended(&self) -> Option<BitTimes> {
        self.carrier
            .filter(|&(_, end)| self.now.get() >= end)
            .map(|(_, end)| BitTimes(end))
    }

    fn link_state(&self) -> LinkState {
        self.link
    }
}

fn send(transmitter: &mut Transmitter<'_, Wire>, frame: &[u8]) {
    transmitter
        .send(frame.len(), |buffer| buffer.copy_from_slice(frame))
        .unwrap();
}

#[test]
fn a_packet_is_preamble_frame_padding_and_fcs() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Wire::at(0), &ledger);
    // Longest first, so that its octets could show up in the padding of the others.
    for len in [MAX_TX_LEN, 14, 59, 60, 61, 62, 63, 64, 65, 1513, 0] {
        let frame = frame(len.max(14), 0xA7)[..len].to_vec();
        send(&mut transmitter, &frame);
        let packet = &transmitter.phy().sent.last().unwrap().2;
        let (preamble, octets) = packet.split_at(8);
        assert_eq!(preamble, PREAMBLE_AND_SFD);
        assert_eq!(octets.len(), len.max(60) + 4);
        assert_eq!(octets[..len], frame, "{len}");
        assert!(
            octets[len..octets.len() - 4]
                .iter()
                .all(|&octet| octet == 0),
            "{len}"
        );
        assert!(fcs::is_good(octets), "{len}");
    }
    assert_eq!(ledger.get(Counter::TxFrames), 11);
    assert_eq!(
        ledger.get(Counter::TxOctets),
        (1514 + 60 * 3 + 61 + 62 + 63 + 64 + 65 + 1513 + 60) + 44
    );
}

#[test]
fn packets_in_a_row_keep_the_gap_and_do_not_waste_time() {
    // Starting shortly before the clock wraps.
    for start in [0, 5_000, u32::MAX - 700, u32::MAX - 100] {
        let ledger = Ledger::new();
        let mut transmitter = Transmitter::new(Wire::at(start), &ledger);
        for seed in 0..5 {
            send(&mut transmitter, &frame(60, seed));
        }
        let sent = &transmitter.phy().sent;
        assert_eq!(sent.len(), 5);
        for pair in sent.windows(2) {
            let gap = pair[1].0.wrapping_sub(pair[0].1);
            assert!(
                (INTER_PACKET_GAP.0..INTER_PACKET_GAP.0 + 3).contains(&gap),
                "{gap}"
            );
        }
        assert_eq!(ledger.get(Counter::TxDeferred), 0);
    }
}

#[test]
fn a_packet_after_a_pause_is_sent_at_once() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Wire::at(0), &ledger);
    send(&mut transmitter, &frame(60, 0));
    transmitter.phy().now.set(100_000);
    send(&mut transmitter, &frame(60, 1));
    assert!(transmitter.phy().sent[1].0 < 100_010);
}

#[test]
fn a_busy_medium_is_waited_for_and_the_gap_after_it_is_kept() {
    let ledger = Ledger::new();
    let mut wire = Wire::at(1_000);
    wire.carrier = Some((500, 2_000));
    let mut transmitter = Transmitter::new(wire, &ledger);
    send(&mut transmitter, &frame(60, 0));
    let start = transmitter.phy().sent[0].0;
    assert!((2_096..2_100).contains(&start), "{start}");
    assert_eq!(
        (
            ledger.get(Counter::TxDeferred),
            ledger.get(Counter::TxFrames)
        ),
        (1, 1)
    );
}

#[test]
fn a_medium_that_is_busy_at_the_last_moment_is_retried() {
    let ledger = Ledger::new();
    let mut wire = Wire::at(0);
    wire.busy = 3;
    let mut transmitter = Transmitter::new(wire, &ledger);
    send(&mut transmitter, &frame(60, 0));
    assert_eq!(transmitter.phy().sent.len(), 1);
    assert_eq!(
        (
            ledger.get(Counter::TxDeferred),
            ledger.get(Counter::TxFrames)
        ),
        (1, 1)
    );
}

#[test]
fn a_medium_that_stays_busy_loses_the_frame_but_not_the_device() {
    let stuck = |wire: &mut Wire| wire.carrier = Some((0, u32::MAX));
    let always_busy = |wire: &mut Wire| wire.busy = u32::MAX;
    for jam in [stuck, always_busy] {
        let ledger = Ledger::new();
        let mut wire = Wire::at(10);
        jam(&mut wire);
        let mut transmitter = Transmitter::new(wire, &ledger);
        send(&mut transmitter, &frame(60, 0));
        assert!(transmitter.phy().sent.is_empty());
        assert!(transmitter.phy().now.get() > MAX_DEFER.0);
        let counted: Vec<_> = ledger.non_zero().collect();
        assert_eq!(counted, [(Counter::TxExcessiveDeferrals, 1)]);
        // The next one goes out once the medium is free.
        (transmitter.phy_mut().carrier, transmitter.phy_mut().busy) = (None, 0);
        send(&mut transmitter, &frame(60, 1));
        assert_eq!(transmitter.phy().sent.len(), 1);
    }
}

#[test]
fn frames_that_cannot_be_sent_are_counted() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Wire::at(0), &ledger);
    let refused = transmitter.send(MAX_TX_LEN + 1, |_| unreachable!());
    assert_eq!(
        refused,
        Err(FrameTooLong {
            len: 1515,
            max: 1514
        })
    );
    transmitter.phy_mut().link = LinkState::Down;
    send(&mut transmitter, &frame(60, 0));
    assert!(transmitter.phy().sent.is_empty());
    let counted: Vec<_> = ledger.non_zero().collect();
    assert_eq!(
        counted,
        [(Counter::TxOversize, 1), (Counter::TxLinkDown, 1)]
    );
}

#[test]
fn frames_to_groups_are_counted() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Wire::at(0), &ledger);
    for destination in [[0xFF; 6], [0x33, 0x33, 0, 0, 0, 1], [2, 0, 0, 0, 0, 1]] {
        let mut frame = frame(60, 0);
        frame[..6].copy_from_slice(&destination);
        send(&mut transmitter, &frame);
    }
    let counted = [
        Counter::TxFrames,
        Counter::TxMulticast,
        Counter::TxBroadcast,
    ];
    assert_eq!(counted.map(|counter| ledger.get(counter)), [3, 1, 1]);
}
