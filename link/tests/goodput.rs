//! A good line is used to the full, and nothing is sent without need.

#![forbid(unsafe_code)]

mod support;

use linerate_link::Config;
use linerate_uart_model::Faults;
use support::{UART, Wire};

/// Duration of a run.
const RUN_NS: u64 = 3_000_000_000;

/// Sends messages of `len` octets on channel 1 from end 0, and from end 1 if `is_duplex`; returns the share of the line
/// that their octets take, in the first direction.
fn share(len: usize, is_duplex: bool) -> f64 {
    let mut wire = Wire::new(Faults::default(), 1);
    let mut ends = [1, 2].map(|session| support::end(Config::new(session)));
    let mut buffer = [0; 1000];
    let mut received = 0;
    while wire.now_ns < RUN_NS {
        for end in ends.iter_mut().take(1 + usize::from(is_duplex)) {
            while end.send(1, &vec![0x55; len]).is_ok() {}
        }
        wire.step(&mut ends);
        while let Some(len) = ends[1].read(1, &mut buffer) {
            received += len;
        }
        while ends[0].read(1, &mut buffer).is_some() {}
    }
    for end in &ends {
        let counters = end.counters();
        assert_eq!(counters.polls, 0, "a poll on a good line: {counters:?}");
        assert_eq!(counters.retransmitted, 0, "{counters:?}");
        assert_eq!(counters.duplicates, 0, "{counters:?}");
    }
    received as f64 * UART.octet_ns() as f64 / RUN_NS as f64
}

#[test]
fn full_fragments_take_the_line_but_for_their_overhead() {
    // Both ways, acknowledgments wait for frames of the other direction; memory for three messages does not bridge that.
    for (is_duplex, least) in [(false, 0.99), (true, 0.97)] {
        let share = share(256, is_duplex);
        println!("256 octets, both ways: {is_duplex}: {share:.4} of the line");
        assert!(share > least * 256.0 / 268.0, "{share}");
    }
}

#[test]
fn urgent_messages_beside_bulk_both_ways_repeat_nothing() {
    let mut wire = Wire::new(Faults::default(), 1);
    let mut ends = [1, 2].map(|session| support::end(Config::new(session)));
    let mut buffer = [0; 1000];
    let mut steps = 0_u32;
    while wire.now_ns < RUN_NS {
        for (n, end) in ends.iter_mut().enumerate() {
            while end.send(1, &[0x55; 256]).is_ok() {}
            if steps % 125 == 60 * n as u32 {
                let _ = end.send(0, &[0x55; 16]);
            }
        }
        wire.step(&mut ends);
        for end in &mut ends {
            for channel in 0..2 {
                while end.read(channel, &mut buffer).is_some() {}
            }
        }
        steps += 1;
    }
    for end in &ends {
        let counters = end.counters();
        assert_eq!(counters.retransmitted, 0, "{counters:?}");
        assert_eq!(counters.aborted, 0, "{counters:?}");
        // Acknowledgments of urgent messages come sooner than others, and are no measure of them.
        assert!(counters.polls < 5, "{counters:?}");
    }
}

#[test]
fn a_damaged_frame_is_sent_again_and_few_others() {
    for is_duplex in [false, true] {
        repeat_what_is_damaged(is_duplex);
    }
}

fn repeat_what_is_damaged(is_duplex: bool) {
    let noise = Faults {
        bit_errors: 2e-5,
        ..Faults::default()
    };
    let mut wire = Wire::new(noise, 3);
    let mut ends = [1, 2].map(|session| support::end(Config::new(session)));
    let mut buffer = [0; 1000];
    while wire.now_ns < 10 * RUN_NS {
        for end in ends.iter_mut().take(1 + usize::from(is_duplex)) {
            while end.send(1, &[0x55; 256]).is_ok() {}
        }
        wire.step(&mut ends);
        for end in &mut ends {
            while end.read(1, &mut buffer).is_some() {}
        }
    }
    let [one, two] = ends.each_ref().map(|end| *end.counters());
    let damaged = one.damaged + two.damaged;
    let again = one.retransmitted + two.retransmitted;
    let polls = one.polls + two.polls;
    println!("{damaged} frames damaged, {again} sent again, {polls} polls");
    assert!(damaged > 400, "{one:?} {two:?}");
    // Damage delays the next acknowledgment, which is no reason to ask for it.
    assert!(polls * 20 < damaged, "{one:?} {two:?}");
    // A REJECT may be late or damaged itself. If every frame behind a damaged one came again, it would be twice as many.
    assert!(again * 5 < damaged * 8, "{one:?} {two:?}");
}

#[test]
fn small_messages_and_long_ones_need_no_poll_either() {
    // The memory takes one message of 600 octets at a time.
    for (len, least) in [(16, 0.55), (600, 0.88)] {
        let share = share(len, false);
        println!("{len} octets: {share:.4} of the line");
        assert!(share > least, "{len} octets: {share}");
    }
}
