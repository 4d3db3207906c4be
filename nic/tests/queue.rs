//! The receive queue alone: behaviour of producer and consumer, with bbqueue as the oracle.
#![cfg(not(loom))]

use bbqueue::nicknames::Churrasco;
use linerate_nic::queue::{Queue, words_of};
use proptest::prelude::*;
use std::collections::VecDeque;

fn push<const WORDS: usize>(queue: &mut linerate_nic::queue::Producer<'_, WORDS>, frame: &[u8]) {
    let mut grant = queue.grant(frame.len()).expect("room");
    grant[..frame.len()].copy_from_slice(frame);
    grant.commit(frame.len());
}

#[test]
fn frames_come_out_in_order_and_unchanged() {
    let queue = Queue::<64>::new();
    let (mut producer, mut consumer) = queue.split().unwrap();
    push(&mut producer, b"one");
    push(&mut producer, b"");
    push(&mut producer, b"three");
    assert_eq!(*consumer.read().unwrap(), *b"one");
    assert_eq!(*consumer.read().unwrap(), *b"");
    assert_eq!(*consumer.read().unwrap(), *b"three");
    assert!(consumer.read().is_none());
}

#[test]
fn there_is_one_producer_and_one_consumer() {
    let queue = Queue::<16>::new();
    let ends = queue.split();
    assert!(ends.is_some());
    assert!(queue.split().is_none());
}

#[test]
fn a_cancelled_grant_leaves_no_trace() {
    let queue = Queue::<16>::new();
    let (mut producer, mut consumer) = queue.split().unwrap();
    for _ in 0..1_000 {
        let mut grant = producer.grant(24).unwrap();
        grant.fill(0xEE);
        drop(grant);
        producer.grant(24).unwrap().cancel();
    }
    assert!(consumer.read().is_none());
    assert_eq!((queue.used_bytes(), queue.high_water_bytes()), (0, 0));
    push(&mut producer, b"after");
    assert_eq!(*consumer.read().unwrap(), *b"after");
}

#[test]
fn committing_less_gives_back_the_rest() {
    let queue = Queue::<{ 2 * words_of(100) }>::new();
    let (mut producer, mut consumer) = queue.split().unwrap();
    let mut frames = 0;
    while let Some(mut grant) = producer.grant(100) {
        grant[0] = frames;
        grant.commit(1);
        frames += 1;
    }
    // Two words each, until a longest frame no longer fits.
    assert_eq!(frames, 13);
    for frame in 0..frames {
        assert_eq!(*consumer.read().unwrap(), [frame]);
    }
}

#[test]
fn committing_more_than_granted_counts_as_all() {
    let queue = Queue::<32>::new();
    let (mut producer, mut consumer) = queue.split().unwrap();
    producer.grant(5).unwrap().commit(usize::MAX);
    assert_eq!(consumer.read().unwrap().len(), 5);
}

#[test]
fn a_frame_that_is_kept_is_read_again_as_it_was_left() {
    let queue = Queue::<32>::new();
    let (mut producer, mut consumer) = queue.split().unwrap();
    push(&mut producer, b"raw.");
    let mut frame = consumer.read().unwrap();
    frame.words_mut()[0] = u32::from_ne_bytes(*b"done");
    frame.keep();
    assert_eq!(*consumer.read().unwrap(), *b"done");
    assert!(consumer.read().is_none());
}

#[test]
fn data_starts_on_a_word() {
    let queue = Queue::<64>::new();
    let (mut producer, mut consumer) = queue.split().unwrap();
    for len in [1, 2, 3, 5, 7] {
        let mut grant = producer.grant(len).unwrap();
        assert_eq!(grant.as_ptr() as usize % 4, 0);
        grant.fill(len as u8);
        grant.commit(len);
    }
    while let Some(frame) = consumer.read() {
        assert_eq!(frame.as_ptr() as usize % 4, 0);
        assert_eq!(*frame, vec![frame.len() as u8; frame.len()]);
    }
}

#[test]
fn a_grant_that_can_never_fit_is_refused() {
    let queue = Queue::<8>::new();
    let (mut producer, _consumer) = queue.split().unwrap();
    // Of 8 words one stays free and one is the header.
    assert!(producer.grant(6 * 4).is_some());
    for longest in [6 * 4 + 1, 7 * 4, 8 * 4, usize::MAX - 3, usize::MAX] {
        assert!(producer.grant(longest).is_none(), "{longest}");
        assert!(!queue.fits(longest), "{longest}");
    }
}

/// Every sequence of frames of 0 to `WORDS` words and reads, from a seed, in queues where nearly each one wraps.
fn keeps_order_at_any_size<const WORDS: usize>() {
    let queue = Queue::<WORDS>::new();
    let (mut producer, mut consumer) = queue.split().unwrap();
    let mut expected = VecDeque::new();
    let mut passed = 0;
    let mut random = 1_u32;
    for step in 0..2_000_u32 {
        // A linear congruential generator (Numerical Recipes).
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let len = (random >> 16) as usize % (4 * WORDS);
        let is_read = (random >> 12).is_multiple_of(4);
        if is_read {
            let frame = consumer.read();
            assert_eq!(frame.as_deref(), expected.front().map(Vec::as_slice));
            passed += usize::from(frame.is_some());
            drop(frame);
            expected.pop_front();
        } else if let Some(mut grant) = producer.grant(len) {
            assert_eq!(grant.words_mut().len(), len / 4);
            grant.fill(step as u8);
            let used = len - len.min(step as usize % 3);
            grant.commit(used);
            expected.push_back(vec![step as u8; used]);
        }
        assert!(queue.used_bytes() < queue.capacity_bytes());
    }
    assert!(passed > 100, "{passed} frames in {WORDS} words");
}

#[test]
fn the_smallest_queues_keep_frames_in_order() {
    keeps_order_at_any_size::<2>();
    keeps_order_at_any_size::<3>();
    keeps_order_at_any_size::<4>();
    keeps_order_at_any_size::<5>();
    keeps_order_at_any_size::<9>();
}

#[test]
fn a_frame_being_read_keeps_its_room() {
    const LONGEST: usize = 28;
    let queue = Queue::<{ 2 * words_of(LONGEST) }>::new();
    let (mut producer, mut consumer) = queue.split().unwrap();
    push(&mut producer, &[1; LONGEST]);
    let frame = consumer.read().unwrap();
    assert!(producer.grant(LONGEST).is_none());
    assert_eq!(*frame, [1; LONGEST]);
    drop(frame);
    assert!(queue.fits(LONGEST));
    assert!(producer.grant(LONGEST).is_some());
}

#[test]
fn the_high_water_mark_is_the_most_ever_used() {
    let queue = Queue::<{ Queue::<0>::words_for(4, 60) }>::new();
    let (mut producer, mut consumer) = queue.split().unwrap();
    for _ in 0..3 {
        push(&mut producer, &[0; 60]);
    }
    assert_eq!(
        (queue.used_bytes(), queue.high_water_bytes()),
        (3 * 64, 3 * 64)
    );
    while let Some(frame) = consumer.read() {
        drop(frame);
    }
    push(&mut producer, &[0; 60]);
    assert_eq!((queue.used_bytes(), queue.high_water_bytes()), (64, 3 * 64));
    assert_eq!(queue.capacity_bytes(), 5 * 64);
}

#[test]
fn sizes_follow_from_frames_and_back() {
    // The receiver's: 9 raw receptions of 1532 bytes in ten times 384 words.
    assert_eq!(Queue::<0>::words_for(9, 1532), 3840);
    assert_eq!(Queue::<3840>::guaranteed_frames(1532), 9);
    assert_eq!(Queue::<3839>::guaranteed_frames(1532), 8);
    assert_eq!(Queue::<4>::guaranteed_frames(1532), 0);
}

#[derive(Debug, Clone)]
enum Operation {
    /// A grant of the longest length, filled and committed with this length.
    Push(usize),
    /// A grant filled and dropped.
    Cancel,
    /// A read, released.
    Pop,
    /// A read, modified in place and left in the queue.
    Touch,
}

const LONGEST: usize = 61;

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        5 => (0..=LONGEST).prop_map(Operation::Push),
        2 => Just(Operation::Push(LONGEST)),
        2 => Just(Operation::Cancel),
        6 => Just(Operation::Pop),
        1 => Just(Operation::Touch),
    ]
}

/// Runs `operations` on the queue and on a bbqueue large enough never to refuse.
fn agrees_with_bbqueue<const WORDS: usize>(operations: &[Operation]) -> Result<(), TestCaseError> {
    let queue = Queue::<WORDS>::new();
    let (mut producer, mut consumer) = queue.split().unwrap();
    let oracle = Churrasco::<8192>::new();
    let (oracle_producer, oracle_consumer) = (oracle.framed_producer(), oracle.framed_consumer());
    let mut held: VecDeque<usize> = VecDeque::new();
    let mut most_used = 0;
    for (round, operation) in operations.iter().enumerate() {
        match *operation {
            Operation::Push(len) => {
                let fits = queue.fits(LONGEST);
                let Some(mut grant) = producer.grant(LONGEST) else {
                    prop_assert!(!fits);
                    prop_assert!(
                        held.len() >= Queue::<WORDS>::guaranteed_frames(LONGEST),
                        "refused with only {held:?} in {WORDS} words"
                    );
                    continue;
                };
                prop_assert!(fits);
                prop_assert_eq!(grant.len(), LONGEST);
                grant.fill(round as u8);
                grant.commit(len);
                let mut grant = oracle_producer.grant(LONGEST as u16).unwrap();
                grant.fill(round as u8);
                grant.commit(len as u16);
                held.push_back(len);
            }
            Operation::Cancel => {
                if let Some(mut grant) = producer.grant(LONGEST) {
                    grant.fill(0xEE);
                }
                drop(oracle_producer.grant(LONGEST as u16));
            }
            Operation::Pop => match (consumer.read(), oracle_consumer.read()) {
                (Some(frame), Ok(expected)) => {
                    prop_assert_eq!(&*frame, &*expected);
                    expected.release();
                    held.pop_front();
                }
                (None, Err(_)) => prop_assert!(held.is_empty()),
                (got, expected) => {
                    prop_assert!(false, "{:?} {:?}", got.is_some(), expected.is_ok());
                }
            },
            Operation::Touch => {
                if let (Some(mut frame), Ok(mut expected)) =
                    (consumer.read(), oracle_consumer.read())
                {
                    frame.iter_mut().for_each(|byte| *byte ^= 0xFF);
                    expected.iter_mut().for_each(|byte| *byte ^= 0xFF);
                    frame.keep();
                    expected.keep();
                }
            }
        }
        let frames: usize = held.iter().map(|&len| words_of(len) * 4).sum();
        prop_assert!((frames..queue.capacity_bytes()).contains(&queue.used_bytes()));
        prop_assert_eq!(consumer.is_empty(), held.is_empty());
        most_used = most_used.max(queue.used_bytes());
        prop_assert!(queue.high_water_bytes() >= most_used);
    }
    Ok(())
}

proptest! {
    #[test]
    fn any_sequence_gives_what_bbqueue_gives(
        operations in prop::collection::vec(operation(), 0..400)
    ) {
        // From the smallest that can hold one longest frame anywhere to several, and odd
        // remainders.
        agrees_with_bbqueue::<{ 2 * words_of(LONGEST) }>(&operations)?;
        agrees_with_bbqueue::<{ 2 * words_of(LONGEST) + 1 }>(&operations)?;
        agrees_with_bbqueue::<{ 4 * words_of(LONGEST) - 1 }>(&operations)?;
        agrees_with_bbqueue::<{ 5 * words_of(LONGEST) }>(&operations)?;
        agrees_with_bbqueue::<{ 7 * words_of(LONGEST) + 5 }>(&operations)?;
    }
}
