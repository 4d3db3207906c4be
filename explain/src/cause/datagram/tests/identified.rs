//! Streams whose datagrams only their host's identifications number.

use super::capture::{Capture, MS};
use super::streams::{RECEIVER, SENDER, dice};
use linerate_results::record::Cause;

/// A stream of equal datagrams without numbers, at the rate of `interval_ns(number)`, from a host that numbers its packets; every fourth
/// of which does not arrive. It sends `others` datagrams to another port, each of which takes a number, too.
fn unnumbered(interval_ns: impl Fn(u64) -> u64, others: u64) -> Vec<Cause> {
    let mut capture = Capture::default();
    let mut time_ns = 5_000 * MS;
    for number in 0..4_000_u64 {
        if number % 4 == 3 {
            if others > 0 && number % (4 * (1_000 / others)) == 3 {
                capture.udp(time_ns, [SENDER, (2, 6_000)], &[7; 200]);
            } else {
                capture.id = capture.id.wrapping_add(1);
            }
        } else {
            time_ns += interval_ns(number);
            capture.udp(time_ns, [SENDER, RECEIVER], &[7; 1_000]);
        }
    }
    capture.causes()
}

#[test]
fn the_identifications_of_evenly_spaced_datagrams_show_what_exceeds_the_path() {
    assert_eq!(unnumbered(|_| 5 * MS, 0), [Cause::AbovePathRate]);
    // What is missing left its time empty.
    let gaps = unnumbered(|number| if number % 4 == 0 { 10 * MS } else { 5 * MS }, 0);
    assert_eq!(gaps, [Cause::RandomLoss]);
    // Linux takes a random step for what it sends after a tick.
    let mut voice = Capture::default();
    for at in 0..600_u32 {
        voice.id = voice.id.wrapping_add(dice(at) as u16 % 4);
        voice.udp(u64::from(at) * 20 * MS, [SENDER, RECEIVER], &[7; 160]);
    }
    assert_eq!(voice.causes(), []);
    // Two datagrams together, and a step between such pairs only.
    let mut video = Capture::default();
    for at in 0..1_800_u32 {
        if at % 2 == 0 {
            video.id = video.id.wrapping_add(1 + dice(at) as u16 % 2);
        }
        let time_ns = u64::from(at / 2) * 14 * MS + u64::from(at % 2) * 2 * MS;
        video.udp(time_ns, [SENDER, RECEIVER], &[7; 1_000]);
    }
    assert_eq!(video.causes(), []);
    // Random steps of the numbers take no time.
    let skipped = unnumbered(|number| [4, 5, 7][number as usize % 3] * MS, 0);
    assert!(!skipped.contains(&Cause::RandomLoss), "{skipped:?}");
    // The numbers were those of other datagrams.
    let beside = unnumbered(|_| 5 * MS, 1_000);
    assert!(!beside.contains(&Cause::AbovePathRate), "{beside:?}");
}

#[test]
fn a_full_link_takes_a_constant_share_of_the_datagrams_that_only_their_host_numbers() {
    // Of each 64 datagrams, `dropped` do not arrive, the others at one distance.
    let stream = |dropped: fn(u64) -> u64| {
        let mut capture = Capture::default();
        let mut time_ns = 5_000 * MS;
        for number in 0..4_000_u64 {
            let (block, at) = (number / 64, number % 64);
            let dropped = dropped(block);
            if at > 0 && at * dropped / 64 > (at - 1) * dropped / 64 {
                capture.id = capture.id.wrapping_add(1).max(1);
                continue;
            }
            time_ns += 5 * MS;
            capture.udp(time_ns, [SENDER, RECEIVER], &[7; 1_000]);
        }
        capture.causes()
    };
    assert_eq!(stream(|_| 24)[0], Cause::AbovePathRate);
    // Three more or fewer in turn are a quarter of chance: a host skips numbers so.
    let skipped = stream(|block| 23 + block % 2 * 3);
    assert!(!skipped.contains(&Cause::AbovePathRate), "{skipped:?}");
}
