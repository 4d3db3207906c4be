//! The receive queue under loom, which explores every interleaving of interrupt and main thread
//! that the memory model allows:
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test --profile loom -p linerate-nic --test queue_loom
//! ```
#![cfg(loom)]

use linerate_ether::ledger::Counter;
use linerate_nic::ledger::Ledger;
use linerate_nic::mac::{
    ReceiveSwitch, Receiver, ReceiverState, Reception, Stage, ZeroCopy, receiver_words,
};
use linerate_nic::queue::{Consumer, Producer, Queue, words_of};
use loom::sync::atomic::{AtomicBool, Ordering};
use loom::thread;

const LONGEST: usize = 8;

/// Pushes frames of the given lengths, each filled with its number, cancelling before each.
fn produce<const WORDS: usize>(
    mut producer: Producer<'static, WORDS>,
    lengths: &[usize],
) -> Vec<usize> {
    let mut pushed = Vec::new();
    for &len in lengths {
        if let Some(mut grant) = producer.grant(LONGEST) {
            grant.fill(0xEE);
        }
        if let Some(mut grant) = producer.grant(LONGEST) {
            grant.fill(pushed.len() as u8);
            grant.commit(len);
            pushed.push(len);
        }
    }
    pushed
}

/// Reads available frames, at most `attempts` times, checks contents, and records the lengths.
fn consume<const WORDS: usize>(
    consumer: &mut Consumer<'static, WORDS>,
    attempts: usize,
    read: &mut Vec<usize>,
) {
    for _ in 0..attempts {
        if let Some(mut frame) = consumer.read() {
            assert!(frame.iter().all(|&byte| byte == read.len() as u8));
            // Alignment in place writes to the words.
            frame.words_mut().fill(0xDDDD_DDDD);
            read.push(frame.len());
        }
    }
}

/// One thread pushes, the other reads `attempts` times concurrently and the rest afterwards.
fn check<const WORDS: usize>(lengths: &'static [usize], attempts: usize) {
    loom::model(move || {
        let queue: &'static Queue<WORDS> = Box::leak(Box::new(Queue::new()));
        let (producer, mut consumer) = queue.split().unwrap();
        let interrupt = thread::spawn(move || produce(producer, lengths));
        let mut read = Vec::new();
        consume(&mut consumer, attempts, &mut read);
        let pushed = interrupt.join().unwrap();
        consume(&mut consumer, lengths.len() + 1, &mut read);
        assert_eq!(
            read, pushed,
            "every frame that was pushed, once and in order"
        );
        assert!(read.len() >= Queue::<WORDS>::guaranteed_frames(LONGEST).min(lengths.len()));
    });
}

#[test]
fn frames_pass_in_order() {
    check::<{ 4 * words_of(LONGEST) }>(&[8, 0, 5], 3);
}

#[test]
fn frames_pass_when_they_wrap_around() {
    check::<{ 2 * words_of(LONGEST) + 1 }>(&[1, 8, 3, 8], 3);
}

#[test]
fn frames_pass_when_they_end_on_the_last_word() {
    check::<{ 3 * words_of(LONGEST) }>(&[8, 8, 8, 8], 3);
}

#[test]
fn frames_pass_in_the_smallest_queue() {
    check::<{ 2 * words_of(LONGEST) }>(&[8, 4, 8], 4);
}

#[derive(Clone, Copy)]
struct Switch(&'static AtomicBool);

impl ReceiveSwitch for Switch {
    fn suspend(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
    fn resume(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A receiver disabled by a full queue is always enabled again: it is never left disabled with an
/// empty queue.
#[test]
fn reception_resumes_however_the_queue_was_emptied() {
    const WORDS: usize = receiver_words(1);
    loom::model(|| {
        let receiver: &'static Receiver<WORDS> = Box::leak(Box::new(Receiver::new()));
        let ledger: &'static Ledger = Box::leak(Box::new(Ledger::new()));
        let on: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(true)));
        let (mut interrupt, mut main) = receiver.split::<ZeroCopy, _>(ledger, Switch(on)).unwrap();
        // Not a good frame: the main thread counts and releases it.
        assert_eq!(
            interrupt.receive(|_| Reception::Packet(1532)),
            ReceiverState::Listening
        );
        let isr = thread::spawn(move || {
            let _ = interrupt.receive(|_| Reception::Packet(1532));
        });
        assert!(main.receive().is_none());
        isr.join().unwrap();
        assert!(main.receive().is_none());
        assert!(on.load(Ordering::Relaxed), "disabled with an empty queue");
        let received = ledger.get(Counter::RxFrames);
        assert_eq!(received + ledger.get(Counter::RxQueueFull), 2);
        assert_eq!(
            received,
            ledger.get(Counter::RxBadSfd),
            "{}",
            <ZeroCopy as Stage>::NAME
        );
    });
}
