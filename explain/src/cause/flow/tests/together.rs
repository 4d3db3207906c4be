//! Transfers that fill a path together, seen at their receiver.

use super::of_client;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;

/// Milliseconds of the path, each of which takes a segment.
const SLOTS: u64 = 6_000;
/// The shares of the path change with this period.
const PERIOD: u64 = 500;

/// True if the slot belongs to the first transfer: three of four in one half of the period, one of four in the other.
fn is_of_first(slot: u64) -> bool {
    let few = slot.is_multiple_of(4);
    if slot % PERIOD < PERIOD / 2 {
        !few
    } else {
        few
    }
}

/// One segment in 60, as by chance.
fn is_lost(number: usize) -> bool {
    (number.wrapping_mul(0x9E37_79B1) >> 9).is_multiple_of(60)
}

/// The download of the segments in these slots; some are lost before the capture point, and come again 90 ms later.
fn download(slots: impl Iterator<Item = u64>) -> Script {
    let mut script = Script::open(End::Second, 40 * MS, 20 * US, 60_000);
    script.write(End::First, 80);
    let start_ns = 90 * MS;
    let (mut next, mut acked) = (1, 1);
    let mut missing: Vec<(u64, u32)> = Vec::new();
    for (number, slot) in slots.enumerate() {
        script.at(start_ns + slot * MS);
        if let Some(at) = missing.iter().position(|(due, _)| *due <= slot) {
            let (_, seq) = missing.remove(at);
            script.segment(seq, MSS);
        } else if is_lost(number) {
            missing.push((slot + 90, next));
            next += MSS;
            continue;
        } else {
            script.segment(next, MSS);
            next += MSS;
        }
        acked = missing.first().map_or(next, |(_, seq)| *seq).max(acked);
        script.after(20 * US).ack(acked);
    }
    script
}

/// Causes of these transfers between the same hosts.
fn causes<const N: usize>(transfers: [Script; N]) -> Vec<Cause> {
    let found = of_client(transfers).into_iter();
    found.map(|it| it.finding.cause).collect()
}

#[test]
fn transfers_that_use_what_the_other_leaves_are_not_slow_by_their_losses() {
    let first = || download((0..SLOTS).filter(|slot| is_of_first(*slot)));
    let second = || download((0..SLOTS).filter(|slot| !is_of_first(*slot)));
    let is_loss = |it: &Cause| matches!(it, Cause::RandomLoss | Cause::LossInBursts);
    let alone = causes([first()]);
    assert!(alone.iter().any(is_loss), "{alone:?}");
    let together = causes([first(), second()]);
    assert!(!together.iter().any(is_loss), "{together:?}");
    // Two that vary at the same time do not replace each other.
    let alike = causes([first(), first()]);
    assert!(alike.iter().any(is_loss), "{alike:?}");
}
