//! A back-off that does not hold its caller: the frame waits in the transmitter, which is looked after in
//! every round of a main loop.
#![cfg(not(loom))]

mod support;

use linerate_ether::frame::MacAddress;
use linerate_ether::ledger::Counter;
use linerate_nic::device::{Device, LinkState, RxToken as _, TxToken as _};
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{
    AlwaysOn, Mac, Outcome, Receiver, Reception, Transmitter, Windowed, receiver_words,
};
use support::shared::{SLOT, Shared, counted, send};
use support::{DEVICE, Hearing, frame, reception, with_fcs};

const COLLIDES: Option<u32> = Some(10);
/// What is waited for in place: slots, and an attempt that collides at once after its gap.
const AT_HAND: u32 = 32 * SLOT;
const ATTEMPT: u32 = 200;

/// A transmitter with a frame that collides `collisions` times, the last of them not yet; it backs off.
/// Other stations have other back-offs.
fn backing_off(ledger: &Ledger, collisions: usize, station: u8) -> Transmitter<'_, Shared> {
    let mut transmitter = Transmitter::new(Shared::new(&vec![COLLIDES; collisions]), ledger);
    transmitter.seed(MacAddress([2, 0, 0, 0, 0, station]));
    send(&mut transmitter, 1);
    assert!(transmitter.holds_frame(), "no long back-off was drawn");
    transmitter
}

fn now(transmitter: &Transmitter<'_, Shared>) -> u32 {
    transmitter.phy().now.get()
}

/// Looks after the transmitter every `round` bit times until it holds nothing.
fn look_after(transmitter: &mut Transmitter<'_, Shared>, round: u32) {
    while !transmitter.is_ready() {
        transmitter.phy().pass(round);
    }
}

/// The content of the frames that were sent, by the seed of each.
fn seeds(transmitter: &Transmitter<'_, Shared>) -> Vec<u8> {
    let seed = |packet: &Vec<u8>| {
        (0..=u8::MAX)
            .find(|&seed| packet[8..68] == frame(60, seed))
            .expect("a frame of ours")
    };
    transmitter.phy().sent.iter().map(seed).collect()
}

#[test]
fn nobody_is_held_for_long_however_often_a_frame_collides() {
    for station in 0..20 {
        let ledger = Ledger::new();
        let mut transmitter = backing_off(&ledger, 16, station);
        // The first five back-offs in place, 1, 3, 7, 15, 31 slots at most, and others by chance.
        let first = transmitter.phy().attempts.len() as u32;
        let longest = 57 * SLOT + first.saturating_sub(6) * AT_HAND + first * ATTEMPT;
        assert!(now(&transmitter) < longest, "{first}");
        let mut waited = 0;
        loop {
            let (begun, attempts) = (now(&transmitter), transmitter.phy().attempts.len());
            let ready = transmitter.is_ready();
            let took = now(&transmitter) - begun;
            let attempts = (transmitter.phy().attempts.len() - attempts) as u32;
            // Without an attempt it is one look at the clock.
            assert!(took <= 1 + attempts * (AT_HAND + ATTEMPT), "{took}");
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
fn a_frame_keeps_to_its_slot_though_the_longest_reception_comes_between_two_looks() {
    const LONGEST: u32 = (8 + 1518 + 12) * 8;
    let mut slots = Vec::new();
    for (station, round) in (0..60).zip([1, 100, 5_000, LONGEST].into_iter().cycle()) {
        let ledger = Ledger::new();
        let mut transmitter = backing_off(&ledger, 12, station);
        look_after(&mut transmitter, round);
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
fn who_comes_too_late_sends_at_once_or_defers_to_who_has_begun() {
    for taken in [false, true] {
        let ledger = Ledger::new();
        let mut transmitter = backing_off(&ledger, 7, 5);
        let late = now(&transmitter) + 1_100 * SLOT;
        transmitter.phy().now.set(late);
        // Somebody took the slot, or the end of their frame is less than a gap ago.
        let end = late + 900;
        transmitter.phy_mut().carrier = taken.then_some((late - 200, end));
        assert!(transmitter.is_ready());
        let (begin, _) = *transmitter.phy().attempts.last().unwrap();
        let from = if taken { end + 96 } else { late };
        assert!((from..from + 8).contains(&begin), "{begin} from {from}");
        assert_eq!(ledger.get(Counter::TxFrames), 1);
    }
}

#[test]
fn a_frame_that_backs_off_goes_first_and_others_are_given_up_until_then() {
    let ledger = Ledger::new();
    let mut alone = backing_off(&ledger, 10, 7);
    look_after(&mut alone, 1);

    let ledger = Ledger::new();
    let mut transmitter = backing_off(&ledger, 10, 7);
    send(&mut transmitter, 2);
    // Longer than what waits.
    let long = frame(1_514, 3);
    transmitter
        .send(long.len(), |buffer| buffer.copy_from_slice(&long))
        .unwrap();
    assert_eq!(ledger.get(Counter::TxQueueFull), 2);
    look_after(&mut transmitter, 1);
    assert_eq!(transmitter.phy().sent[0].len(), 68, "its length, too");
    send(&mut transmitter, 4);
    assert_eq!(seeds(&transmitter), [1, 4]);
    // As many attempts as without them, and the last of them in the same slot.
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
    /// What happens while the frame backs off.
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
        look_after(&mut transmitter, 50);
        // That of the frame that came meanwhile, too.
        let frames = 1 + u32::from(expected == Counter::TxQueueFull);
        assert_eq!(ledger.get(expected), 1, "{expected:?}");
        let fates = FATES.map(|fate| ledger.get(fate));
        assert_eq!(fates.iter().sum::<u32>(), frames, "{expected:?}");
        // And nothing is left of it.
        let attempts = transmitter.phy().attempts.len();
        transmitter.phy().pass(2_000 * SLOT);
        assert!(transmitter.is_ready() && !transmitter.holds_frame());
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
        look_after(&mut transmitter, 10);
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
fn a_packet_as_it_is_waits_for_the_frame_that_backs_off_and_backs_off_in_place() {
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
    assert!(!transmitter.holds_frame());
    let counts = [Counter::TxFrames, Counter::TxMultipleCollisions];
    assert_eq!(counts.map(|counter| ledger.get(counter)), [2, 2]);
}

#[test]
fn a_device_that_backs_off_goes_on_receiving_and_gives_up_what_comes_meanwhile() {
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
    assert!(nic.holds_frame());
    // More than the queue takes: each is out before the next.
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
        assert_eq!(outcome, Outcome::Listening);
        let (token, _) = nic.receive().expect("a frame");
        assert_eq!(token.consume(|frame| frame.to_vec()), frame(1_514, seed));
    }
    assert_eq!(ledger.get(Counter::RxDelivered), 20);
    // A stack that gets no token may take its frame for sent.
    let token = nic.transmit().expect("a token");
    assert_eq!(token.consume(60, |buffer| buffer.len()), Ok(60));
    assert!(nic.tx.phy().sent.is_empty());
    // To ask for frames is enough for what is held back to go out.
    while nic.holds_frame() {
        assert!(nic.receive().is_none());
    }
    assert_eq!(nic.tx.phy().sent[0][8..68], reply);
    let counts = [Counter::TxFrames, Counter::TxQueueFull];
    assert_eq!(counts.map(|counter| ledger.get(counter)), [1, 1]);
}
