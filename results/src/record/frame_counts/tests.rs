use super::*;

/// A run with ten frames to the device, of which one collided, two are lost and one is in the queue, and five frames of
/// the device, of which one collided and one is damaged.
fn counted() -> (FrameCounts, Ledger) {
    let mut ledger = Ledger {
        sent_frames: 10,
        delivered_frames: 6,
        ..Ledger::default()
    };
    for cause in [
        DropCause::Collision,
        DropCause::BadFcs,
        DropCause::Unheard,
        DropCause::LeftInQueue,
    ] {
        ledger.lose(cause, 1);
    }
    let device = [
        (Counter::TxFrames, 4),
        (Counter::RxFrames, 8),
        (Counter::RxBadFcs, 1),
        (Counter::RxValid, 6),
        (Counter::RxDelivered, 6),
    ];
    let device = device.map(|(counter, count)| (counter.name().to_owned(), count));
    let counts = FrameCounts {
        wire: WireCounts {
            transmissions: 10,
            peer_frames: 9,
            device_transmissions: 5,
            device_collisions: 1,
            device_discarded: 2,
            ..WireCounts::default()
        },
        peer: Some(PeerCounts {
            sent: 12,
            withheld: 2,
            waiting: 1,
            received: 3,
        }),
        capture: Some(CaptureCounts {
            to_device: 9,
            from_device: 4,
        }),
        device: Some(device.into()),
        unheard: UnheardCounts {
            busy: 1,
            ..UnheardCounts::default()
        },
    };
    (counts, ledger)
}

#[test]
fn counts_that_agree_have_no_discrepancy() {
    let (counts, ledger) = counted();
    assert_eq!(counts.discrepancies(&ledger), [""; 0]);
    // The end of the last frame, and a frame in the hands of the stack.
    let mut ending = counts;
    ending.wire.device_was_sending = true;
    let device = ending.device.as_mut().expect("counted");
    device.insert(Counter::TxFrames.name().to_owned(), 5);
    device.insert(Counter::RxValid.name().to_owned(), 7);
    assert_eq!(ending.discrepancies(&ledger), [""; 0]);
}

/// Each party, in turn, counts one frame more or less.
#[test]
fn one_frame_more_or_less_is_noticed_whoever_counts_it() {
    type Change = fn(&mut FrameCounts, &mut Ledger);
    fn add(counts: &mut FrameCounts, counter: Counter, more: i64) {
        let device = counts.device.as_mut().expect("counted");
        let count = device.entry(counter.name().to_owned()).or_default();
        *count = count.checked_add_signed(more).expect("not negative");
    }
    let changes: [(Change, &str); 15] = [
        (|it, _| it.wire.transmissions += 1, "11 transmissions"),
        (|it, _| it.unheard.idle += 1, "2 frames were seen"),
        (
            |_, ledger| ledger.lose(DropCause::Unheard, 1),
            "the ledger has 2",
        ),
        (|it, _| it.wire.peer_frames += 1, "10 began"),
        (
            |it, _| it.peer.as_mut().expect("one").sent -= 1,
            "handed 11",
        ),
        (
            |it, _| it.peer.as_mut().expect("one").received += 1,
            "received 4",
        ),
        (
            |it, _| it.capture.as_mut().expect("one").to_device -= 1,
            "8 packets",
        ),
        (
            |it, _| it.capture.as_mut().expect("one").from_device += 1,
            "5 packets",
        ),
        (
            |it, _| it.wire.device_transmissions += 1,
            "and 5 were on the wire",
        ),
        (|it, _| add(it, Counter::TxFrames, 1), "5 frames sent"),
        (|it, _| add(it, Counter::TxFrames, -1), "3 frames sent"),
        (
            |it, _| add(it, Counter::RxDelivered, -1),
            "5 frames delivered",
        ),
        (|it, _| add(it, Counter::RxValid, 2), "8 valid frames"),
        (|it, _| add(it, Counter::RxFrames, -1), "7 frames received"),
        (|it, _| add(it, Counter::RxBadFcs, -1), "lost for bad_fcs"),
    ];
    for (change, words) in changes {
        let (mut counts, mut ledger) = counted();
        change(&mut counts, &mut ledger);
        let found = counts.discrepancies(&ledger).join("; ");
        assert!(found.contains(words), "{words}: {found}");
    }
}

#[test]
fn a_full_queue_and_an_unplugged_cable_explain_differences() {
    let (mut counts, mut ledger) = counted();
    ledger.lose(DropCause::QueueFull, 3);
    counts.wire.transmissions += 3;
    ledger.sent_frames += 3;
    counts.capture = None;
    let found = counts.discrepancies(&ledger).join("; ");
    assert!(found.contains("queue_full"), "{found}");
    let device = counts.device.as_mut().expect("counted");
    device.insert(Counter::RxQueueFull.name().to_owned(), 1);
    device.insert(Counter::TxFrames.name().to_owned(), 9);
    counts.wire.was_unplugged = true;
    assert_eq!(counts.discrepancies(&ledger), [""; 0]);
}
