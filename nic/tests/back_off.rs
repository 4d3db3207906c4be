//! A back-off that does not block its caller: the frame waits in the transmitter, which a main loop
//! polls in every round.
#![cfg(not(loom))]

mod support;

use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_nic::device::{Device, LinkState, RxToken as _, TxToken as _};
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{
    AlwaysOn, Mac, Receiver, ReceiverState, Reception, Transmitter, Windowed, receiver_words,
};
use support::shared::{SLOT, Shared, counted, send};
use support::{DEVICE, Hearing, frame, reception, with_fcs};

const COLLIDES: Option<u32> = Some(10);
/// Time waited for in place: slots, and an attempt that collides directly after its gap.
const MAX_BLOCKING_WAIT: u32 = 32 * SLOT;
const ATTEMPT: u32 = 200;

/// A transmitter with a frame that collides `collisions` times, the last of them still pending; it
/// backs off. The station address varies the back-off.
fn backing_off(ledger: &Ledger, collisions: usize, station: u8) -> Transmitter<'_, Shared> {
    let mut transmitter = Transmitter::new(Shared::new(&vec![COLLIDES; collisions]), ledger);
    transmitter.seed(MacAddress([2, 0, 0, 0, 0, station]));
    send(&mut transmitter, 1);
    assert!(transmitter.has_pending_tx(), "no long back-off was drawn");
    transmitter
}

fn now(transmitter: &Transmitter<'_, Shared>) -> u32 {
    transmitter.phy().now.get()
}

/// Polls the transmitter every `round` bit times until it holds nothing.
fn poll_until_idle(transmitter: &mut Transmitter<'_, Shared>, round: u32) {
    while !transmitter.poll_ready() {
        transmitter.phy().pass(round);
    }
}

/// Seeds of the frames that were sent.
fn seeds(transmitter: &Transmitter<'_, Shared>) -> Vec<u8> {
    let seed = |packet: &Vec<u8>| {
        (0..=u8::MAX)
            .find(|&seed| packet[8..68] == frame(60, seed))
            .expect("one of the frames sent here")
    };
    transmitter.phy().sent.iter().map(seed).collect()
}

#[test]
fn the_caller_is_never_blocked_for_long_however_often_a_frame_collides() {
    for station in 0..20 {
        let ledger = Ledger::new();
        let mut transmitter = backing_off(&ledger, 16, station);
        // The first five back-offs are waited for in place, at most 1, 3, 7, 15, 31 slots, and
        // others by chance.
        let first = transmitter.phy().attempts.len() as u32;
        let longest = 57 * SLOT + first.saturating_sub(6) * MAX_BLOCKING_WAIT + first * ATTEMPT;
        assert!(now(&transmitter) < longest, "{first}");
        let mut waited = 0;
        loop {
            let (begun, attempts) = (now(&transmitter), transmitter.phy().attempts.len());
            let ready = transmitter.poll_ready();
            let took = now(&transmitter) - begun;
            let attempts = (transmitter.phy().attempts.len() - attempts) as u32;
            // Without an attempt it is one read of the clock.
            assert!(
                took <= 1 + attempts * (MAX_BLOCKING_WAIT + ATTEMPT),
                "{took}"
            );
            if ready {
                break;
            }
            transmitter.phy().pass(100);
            waited += 100;
        }
        assert_eq!(transmitter.phy().attempts.len(), 16);
        assert!(waited > 1_000 * SLOT, "most of it passed outside: {waited}");
        assert_eq!(counted(&ledger), [(Counter::TxExcessiveCollisions, 1)]);
    }
}

#[test]
fn a_frame_starts_in_its_slot_even_with_the_longest_reception_between_two_polls() {
    const LONGEST: u32 = (8 + 1518 + 12) * 8;
    let mut slots = Vec::new();
    for (station, round) in (0..60).zip([1, 100, 5_000, LONGEST].into_iter().cycle()) {
        let ledger = Ledger::new();
        let mut transmitter = backing_off(&ledger, 12, station);
        poll_until_idle(&mut transmitter, round);
        let attempts = &transmitter.phy().attempts;
        assert_eq!(attempts.len(), 13);
        for pair in attempts.windows(2) {
            let waited = pair[1].0 - pair[0].1;
            // Slot 0 is the gap.
            assert!(waited % SLOT < 4 || waited < 100, "{waited} with {round}");
            slots.push(waited / SLOT);
        }
        assert_eq!(ledger.get(Counter::TxMultipleCollisions), 1);
    }
    assert!(slots.iter().any(|&slot| slot > 900));
}

#[test]
fn a_late_station_sends_at_once_or_defers_to_a_carrier() {
    for taken in [false, true] {
        let ledger = Ledger::new();
        let mut transmitter = backing_off(&ledger, 7, 5);
        let late = now(&transmitter) + 1_100 * SLOT;
        transmitter.phy().now.set(late);
        // Another station took the slot, or its frame ended less than a gap ago.
        let end = late + 900;
        transmitter.phy_mut().carrier = taken.then_some((late - 200, end));
        assert!(transmitter.poll_ready());
        let (begin, _) = *transmitter.phy().attempts.last().unwrap();
        let from = if taken { end + 96 } else { late };
        assert!((from..from + 8).contains(&begin), "{begin} from {from}");
        assert_eq!(ledger.get(Counter::TxFrames), 1);
    }
}

#[test]
fn a_frame_that_backs_off_goes_first_and_others_are_dropped_until_then() {
    let ledger = Ledger::new();
    let mut alone = backing_off(&ledger, 10, 7);
    poll_until_idle(&mut alone, 1);

    let ledger = Ledger::new();
    let mut transmitter = backing_off(&ledger, 10, 7);
    send(&mut transmitter, 2);
    // Longer than the waiting frame.
    let long = frame(1_514, 3);
    transmitter
        .send(long.len(), |buffer| buffer.copy_from_slice(&long))
        .unwrap();
    assert_eq!(ledger.get(Counter::TxQueueFull), 2);
    poll_until_idle(&mut transmitter, 1);
    assert_eq!(transmitter.phy().sent[0].len(), 68, "including its length");
    send(&mut transmitter, 4);
    assert_eq!(seeds(&transmitter), [1, 4]);
    // As many attempts as without the others, and the last of them in the same slot.
    let attempts = &transmitter.phy().attempts;
    assert_eq!(attempts.len(), 12);
    let slot = |attempts: &[(u32, u32)]| (attempts[10].0 - attempts[9].1) / SLOT;
    assert_eq!(slot(attempts), slot(&alone.phy().attempts));
    assert_eq!(
        counted(&ledger),
        [
            (Counter::TxFrames, 2),
            (Counter::TxOctets, 128),
            (Counter::TxMultipleCollisions, 1),
            (Counter::TxQueueFull, 2),
        ]
    );
}

#[test]
fn each_frame_has_one_fate() {
    const FATES: [Counter; 7] = [
        Counter::TxFrames,
        Counter::TxExcessiveDeferrals,
        Counter::TxLateCollisions,
        Counter::TxExcessiveCollisions,
        Counter::TxJabbers,
        Counter::TxLinkDown,
        Counter::TxQueueFull,
    ];
    /// Event while the frame backs off.
    type Event = fn(&mut Transmitter<'_, Shared>);
    let events: [(Counter, Event); 7] = [
        (Counter::TxFrames, |_| ()),
        (Counter::TxExcessiveCollisions, |transmitter| {
            transmitter.phy_mut().collisions = vec![COLLIDES; 16];
        }),
        (Counter::TxLateCollisions, |transmitter| {
            transmitter.phy_mut().collisions = vec![Some(513)];
        }),
        (Counter::TxExcessiveDeferrals, |transmitter| {
            transmitter.phy_mut().carrier = Some((0, u32::MAX));
        }),
        (Counter::TxJabbers, |transmitter| {
            transmitter.phy_mut().jabbers = true;
        }),
        (Counter::TxLinkDown, |transmitter| {
            transmitter.phy_mut().link = LinkState::Down;
        }),
        (Counter::TxQueueFull, |transmitter| send(transmitter, 2)),
    ];
    for (expected, event) in events {
        let ledger = Ledger::new();
        let mut transmitter = backing_off(&ledger, 6, 3);
        assert_eq!(FATES.map(|fate| ledger.get(fate)), [0; 7]);
        event(&mut transmitter);
        poll_until_idle(&mut transmitter, 50);
        // Including the fate of the frame sent meanwhile.
        let frames = 1 + u32::from(expected == Counter::TxQueueFull);
        assert_eq!(ledger.get(expected), 1, "{expected:?}");
        let fates = FATES.map(|fate| ledger.get(fate));
        assert_eq!(fates.iter().sum::<u32>(), frames, "{expected:?}");
        // And nothing remains of it.
        let attempts = transmitter.phy().attempts.len();
        transmitter.phy().pass(2_000 * SLOT);
        assert!(transmitter.poll_ready() && !transmitter.has_pending_tx());
        assert_eq!(transmitter.phy().attempts.len(), attempts);
    }
}

#[test]
fn a_pause_and_a_back_off_must_both_be_over() {
    for (quanta, longer) in [(1, "the back-off"), (3_000, "the pause")] {
        let ledger = Ledger::new();
        let mut transmitter = backing_off(&ledger, 10, 9);
        let begun = now(&transmitter);
        let jammed = transmitter.phy().attempts.last().unwrap().1;
        let collided = transmitter.phy().attempts.len();
        transmitter.phy_mut().collisions.clear();
        transmitter.pause(quanta);
        poll_until_idle(&mut transmitter, 10);
        let attempts = &transmitter.phy().attempts;
        assert_eq!(attempts.len(), collided + 1);
        let begin = attempts[collided].0;
        assert!(begin >= begun + u32::from(quanta) * SLOT, "{longer}");
        if quanta == 1 {
            assert!((begin - jammed) % SLOT < 4, "{longer}");
        }
        assert_eq!(seeds(&transmitter), [1]);
        assert_eq!(ledger.get(Counter::TxMultipleCollisions), 1);
    }
}

#[test]
fn a_raw_packet_waits_for_the_frame_that_backs_off_and_backs_off_in_place() {
    let ledger = Ledger::new();
    let mut transmitter = backing_off(&ledger, 8, 2);
    let mut script = vec![None; 2];
    script.splice(1..1, vec![COLLIDES; 12]);
    transmitter.phy_mut().collisions = script;
    let packet = [0x55; 100];
    transmitter.send_packet(&packet);
    let sent = &transmitter.phy().sent;
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0][8..68], frame(60, 1));
    assert_eq!(sent[1], packet);
    assert!(!transmitter.has_pending_tx());
    let counts = [Counter::TxFrames, Counter::TxMultipleCollisions];
    assert_eq!(counts.map(|counter| ledger.get(counter)), [2, 2]);
}

#[test]
fn a_device_that_backs_off_keeps_receiving_and_drops_frames_sent_meanwhile() {
    const WORDS: usize = receiver_words(3);
    let (ledger, receiver) = (Ledger::new(), Receiver::<WORDS>::new());
    let (mut interrupt, main) = receiver.split::<Windowed, _>(&ledger, AlwaysOn).unwrap();
    let phy = Shared::new(&[COLLIDES; 10]);
    let mut nic = Mac::new(main, Transmitter::new(phy, &ledger), DEVICE);
    let reply = frame(60, 1);
    let token = nic.transmit().unwrap();
    token
        .consume(60, |buffer| buffer.copy_from_slice(&reply))
        .unwrap();
    assert!(nic.has_pending_tx());
    // More than the queue holds: each is taken before the next.
    for seed in 0..20 {
        let hearing = Hearing {
            missed_bits: 13,
            idle_bits: 2,
            padding: false,
        };
        let raw = reception(&with_fcs(&frame(1_514, seed)), hearing);
        let outcome = interrupt.receive(|buffer| {
            buffer[..raw.len()].copy_from_slice(&raw);
            Reception::Packet(raw.len())
        });
        assert_eq!(outcome, ReceiverState::Listening);
        let (token, _) = nic.receive().expect("a frame");
        assert_eq!(token.consume(|frame| frame.to_vec()), frame(1_514, seed));
    }
    assert_eq!(ledger.get(Counter::RxDelivered), 20);
    // A stack that gets no token may treat its frame as sent.
    let token = nic.transmit().expect("a token");
    assert_eq!(token.consume(60, |buffer| buffer.len()), Ok(60));
    assert!(nic.tx.phy().sent.is_empty());
    // Polling for frames is enough to send the held frame.
    while nic.has_pending_tx() {
        assert!(nic.receive().is_none());
    }
    assert_eq!(nic.tx.phy().sent[0][8..68], reply);
    let counts = [Counter::TxFrames, Counter::TxQueueFull];
    assert_eq!(counts.map(|counter| ledger.get(counter)), [1, 1]);
}
