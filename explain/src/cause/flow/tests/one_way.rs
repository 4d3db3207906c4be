//! Transfers in one direction, with greetings before them, and exchanges.

use super::*;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::End;

/// Blocks of 23 segments each 130 ms over a round trip of 10 ms, captured at their sender, behind `greetings` short requests with their
/// answers, and `pause_ns` behind each of them; in the middle of the transfer come `more` of them.
fn blocks(greetings: u32, pause_ns: u64, more: u32) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 10 * MS, 20 * US, 60_000);
    let talk = |upload: &mut Script, turns: u32| {
        for _ in 0..turns {
            upload.write(End::First, 40).after(10 * MS);
            upload.write(End::Second, 30).after(pause_ns);
        }
    };
    upload.at(20 * MS);
    talk(&mut upload, greetings);
    for block in 0..40 {
        if block == 20 {
            talk(&mut upload, more);
        }
        upload.send(22, MSS, 10 * US).after(10 * MS).ack_all();
        upload.after(20 * US).send(1, 1_084, 0).after(10 * MS);
        upload.ack_all().after(110 * MS);
    }
    causes(upload)
}

#[test]
fn greetings_before_a_transfer_make_it_no_exchange() {
    assert_eq!(blocks(0, 0, 0)[..1], [Cause::SenderIdle]);
    assert_eq!(blocks(6, 20 * US, 0)[..1], [Cause::SenderIdle]);
    // They take a third of the time.
    assert!(!blocks(20, 130 * MS, 0).contains(&Cause::SenderIdle));
    assert!(!blocks(6, 20 * US, 6).contains(&Cause::SenderIdle));
}

/// Blocks of one size, one each 173 ms, and the rest of the data; the first one takes four round trips of 22 ms, in each of which more passes.
#[test]
fn blocks_that_slow_start_divides_do_not_vary() {
    let mut upload = Script::open(End::First, 22 * MS, 20 * US, 60_000);
    upload.at(60 * MS);
    for flight in [3, 5, 10, 12] {
        upload.send(flight, MSS, 10 * US).after(22 * MS).ack_all();
    }
    for at in 0..23 {
        upload.at((223 + at * 173) * MS).send(30, MSS, 10 * US);
        upload.send(1, 900, 0).after(22 * MS).ack_all();
    }
    upload.after(151 * MS).send(8, MSS, 10 * US);
    upload.after(22 * MS).ack_all();
    assert_eq!(causes(upload)[..1], [Cause::SenderIdle]);
}
