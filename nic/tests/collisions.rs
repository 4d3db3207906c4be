//! The transmit path of a PHY that detects collisions: access to a shared medium, and PAUSE.
#![cfg(not(loom))]

mod support;

use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_nic::device::LinkState;
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{INTER_PACKET_GAP, Transmitter};
use support::frame;
use support::shared::{FRAGMENT_BITS, SLOT, Shared, counted, send, send_out};

#[test]
fn a_phy_that_appends_the_fcs_gets_packets_without_it() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[]), &ledger);
    for len in [14, 60, 61, 1514] {
        let frame = frame(len, 1);
        transmitter
            .send(len, |buffer| buffer.copy_from_slice(&frame))
            .unwrap();
        let packet = transmitter.phy().sent.last().unwrap();
        assert_eq!(packet.len(), 8 + len.max(60));
        assert_eq!(packet[8..8 + len], frame);
    }
    assert_eq!(
        counted(&ledger),
        [
            (Counter::TxFrames, 4),
            (Counter::TxOctets, 64 + 64 + 65 + 1518)
        ]
    );
}

#[test]
fn a_frame_that_collides_is_sent_again_after_whole_slots() {
    for (collisions, expected) in [
        (1, Counter::TxSingleCollisions),
        (2, Counter::TxMultipleCollisions),
        (15, Counter::TxMultipleCollisions),
    ] {
        let ledger = Ledger::new();
        let phy = Shared::new(&vec![Some(10); collisions]);
        let mut transmitter = Transmitter::new(phy, &ledger);
        send_out(&mut transmitter, 0);
        let attempts = &transmitter.phy().attempts;
        assert_eq!(attempts.len(), collisions + 1);
        for (index, pair) in attempts.windows(2).enumerate() {
            assert_eq!(pair[0].1 - pair[0].0, FRAGMENT_BITS);
            let waited = pair[1].0 - pair[0].1;
            let range = 1 << (index as u32 + 1).min(10);
            assert!(
                waited < (range - 1) * SLOT + 10 || waited < INTER_PACKET_GAP.0 + 3,
                "{waited} bit times after collision {}",
                index + 1
            );
            // Not before its slot, and not much later; slot 0 is the gap.
            assert!(
                waited % SLOT < 10 || waited < INTER_PACKET_GAP.0 + 3,
                "{waited}"
            );
            assert!(waited >= INTER_PACKET_GAP.0, "{waited}");
        }
        assert_eq!(
            counted(&ledger),
            [
                (Counter::TxFrames, 1),
                (Counter::TxOctets, 64),
                (expected, 1)
            ]
        );
    }
}

#[test]
fn the_sixteenth_collision_drops_the_frame() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[Some(10); 16]), &ledger);
    send_out(&mut transmitter, 0);
    assert_eq!(transmitter.phy().attempts.len(), 16);
    assert!(transmitter.phy().sent.is_empty());
    assert_eq!(counted(&ledger), [(Counter::TxExcessiveCollisions, 1)]);
    send_out(&mut transmitter, 1);
    assert_eq!(ledger.get(Counter::TxFrames), 1);
}

#[test]
fn a_collision_after_the_first_slot_drops_the_frame_at_once() {
    for (bits, late) in [(64, false), (512, false), (513, true), (12_000, true)] {
        let ledger = Ledger::new();
        let mut transmitter = Transmitter::new(Shared::new(&[Some(bits)]), &ledger);
        send_out(&mut transmitter, 0);
        assert_eq!(ledger.get(Counter::TxLateCollisions), u32::from(late));
        assert_eq!(ledger.get(Counter::TxFrames), u32::from(!late));
    }
}

/// Waits after the last collision of many frames, in slots.
fn slots(station: MacAddress, collisions: usize) -> Vec<u32> {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[]), &ledger);
    transmitter.seed(station);
    let frames = 0..400_u32;
    frames
        .map(|_| {
            transmitter.phy_mut().collisions = vec![None];
            transmitter
                .phy_mut()
                .collisions
                .extend(vec![Some(10); collisions]);
            transmitter.phy_mut().attempts.clear();
            send_out(&mut transmitter, 0);
            let attempts = &transmitter.phy().attempts;
            let [.., last, again] = attempts[..] else {
                panic!("too few attempts")
            };
            (again.0 - last.1) / SLOT
        })
        .collect()
}

#[test]
fn back_off_is_uniform_and_differs_between_stations() {
    let here = MacAddress([2, 0, 0, 0, 0, 2]);
    for (collisions, range) in [(1, 2), (2, 4), (4, 16), (10, 1024), (12, 1024)] {
        let waits = slots(here, collisions);
        assert!(waits.iter().all(|&wait| wait < range), "{range}");
        let mean = f64::from(waits.iter().sum::<u32>()) / waits.len() as f64;
        let expected = f64::from(range - 1) / 2.0;
        assert!((mean / expected - 1.0).abs() < 0.15, "{mean} of {expected}");
        let most = waits.iter().max().unwrap();
        assert!(*most >= range - range.div_ceil(50), "{most} of {range}");
    }
    assert_eq!(slots(here, 3), slots(here, 3));
    assert_ne!(slots(here, 3), slots(MacAddress([2, 0, 0, 0, 0, 3]), 3));
}

#[test]
fn a_carrier_in_the_last_third_of_the_gap_is_not_deferred_to() {
    // The frame of another station ended at 1000; the next one begins 70 bit times later.
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[]), &ledger);
    transmitter.phy_mut().now.set(1_040);
    transmitter.phy_mut().carrier = Some((500, 1_000));
    send_out(&mut transmitter, 0);
    let (begin, _) = transmitter.phy().attempts[0];
    assert_eq!(begin, 1_096);
    assert_eq!(ledger.get(Counter::TxDeferred), 0);
}

/// Sends a frame that collides once while another station sends at `carrier`. Returns the end of
/// the jam and the start of the second attempt.
fn again(station: MacAddress, carrier: Option<(u32, u32)>) -> (u32, u32) {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[Some(10)]), &ledger);
    transmitter.seed(station);
    transmitter.phy_mut().carrier = carrier;
    send_out(&mut transmitter, 0);
    assert_eq!(ledger.get(Counter::TxSingleCollisions), 1);
    let attempts = &transmitter.phy().attempts;
    (attempts[0].1, attempts[1].0)
}

#[test]
fn a_carrier_at_the_end_of_a_back_off_is_deferred_to() {
    let mut slots = [0; 2];
    for last in 0..20 {
        let station = MacAddress([2, 0, 0, 0, 0, last]);
        let (jammed, begin) = again(station, None);
        let slot = (begin - jammed) / SLOT;
        slots[slot as usize] += 1;
        for ahead in [1, 20, 31, 60] {
            let carrier = (begin - ahead, begin + 1_000);
            let deferred = again(station, Some(carrier)).1 != begin;
            // Slot 0: the wait is the gap, in whose last third the carrier is ignored.
            assert_eq!(deferred, slot > 0 || ahead > 32, "slot {slot}, {ahead}");
            if deferred {
                let (_, after) = again(station, Some(carrier));
                let gap = after - carrier.1;
                assert!((96..100).contains(&gap), "{gap}");
            }
        }
    }
    assert!(slots.iter().all(|&times| times > 3), "{slots:?}");
}

#[test]
fn without_a_back_off_nothing_is_deferred_to_at_any_time_of_the_clock() {
    for frame_before in [false, true] {
        for ahead in 1..140 {
            let ledger = Ledger::new();
            let mut transmitter = Transmitter::new(Shared::new(&[]), &ledger);
            if frame_before {
                // The last back-off ended at some time; now the clock has wrapped once.
                transmitter.phy_mut().collisions = vec![None, Some(10)];
                send_out(&mut transmitter, 0);
            }
            let over = transmitter.phy().attempts.last().map_or(0, |last| last.0);
            transmitter.phy_mut().attempts.clear();
            let now = over.wrapping_sub(ahead);
            transmitter.phy_mut().now.set(now);
            send_out(&mut transmitter, 1);
            let begin = transmitter.phy().attempts[0].0;
            assert!(begin.wrapping_sub(now) < 5, "{ahead}: {begin}");
        }
    }
}

#[test]
fn a_raw_packet_of_any_length_is_sent_unchanged_and_counted() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[]), &ledger);
    let packet = vec![0xFF; 8 + 5_000];
    transmitter.send_packet(&packet);
    assert_eq!(transmitter.phy().sent, [&packet[..]]);
    assert_eq!(
        counted(&ledger),
        [
            (Counter::TxFrames, 1),
            (Counter::TxOctets, 5_004),
            (Counter::TxBroadcast, 1)
        ]
    );
}

#[test]
fn a_packet_that_is_cut_off_is_counted_as_jabber_only() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[]), &ledger);
    transmitter.phy_mut().jabbers = true;
    transmitter.send_packet(&vec![0xFF; 40_000]);
    send_out(&mut transmitter, 1);
    assert_eq!(counted(&ledger), [(Counter::TxJabbers, 2)]);
}

#[test]
fn a_raw_packet_does_not_wait_for_a_pause() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[]), &ledger);
    transmitter.pause(3);
    transmitter.send_packet(&[0; 72]);
    assert_eq!(transmitter.phy().sent.len(), 1);
    assert!(!transmitter.poll_ready());
}

#[test]
fn a_link_that_goes_down_ends_the_attempts() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[]), &ledger);
    transmitter.phy_mut().link = LinkState::Down;
    send_out(&mut transmitter, 0);
    assert!(transmitter.phy().attempts.is_empty());
    assert_eq!(counted(&ledger), [(Counter::TxLinkDown, 1)]);
}

#[test]
fn a_pause_holds_one_frame_back() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[]), &ledger);
    transmitter.phy_mut().now.set(1_000);
    transmitter.pause(3);
    assert!(!transmitter.poll_ready());
    send(&mut transmitter, 1);
    send(&mut transmitter, 2);
    assert!(transmitter.phy().sent.is_empty());
    transmitter.phy_mut().now.set(999 + 3 * SLOT);
    assert!(!transmitter.poll_ready());
    transmitter.phy_mut().now.set(1_000 + 3 * SLOT);
    assert!(transmitter.poll_ready());
    // The later one was dropped.
    assert_eq!(transmitter.phy().sent.len(), 1);
    assert_eq!(transmitter.phy().sent[0][8..68], frame(60, 1));
    assert_eq!(
        counted(&ledger),
        [
            (Counter::TxFrames, 1),
            (Counter::TxOctets, 64),
            (Counter::TxQueueFull, 1)
        ]
    );
}

#[test]
fn a_pause_of_zero_cancels_an_earlier_one() {
    let ledger = Ledger::new();
    let mut transmitter = Transmitter::new(Shared::new(&[]), &ledger);
    transmitter.pause(0xFFFF);
    send(&mut transmitter, 1);
    transmitter.pause(0);
    assert!(transmitter.poll_ready());
    assert_eq!(transmitter.phy().sent.len(), 1);
    send(&mut transmitter, 2);
    assert_eq!(transmitter.phy().sent.len(), 2);
}
