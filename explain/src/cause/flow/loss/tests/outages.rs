//! Interruptions, and silences that are the worst of other losses.

use super::{RTT_NS, cause, download, evaluate, exchange};
use crate::cause::flow::explain_flows;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::{End, Segment};
use linerate_capture::traffic::Flow;
use linerate_results::record::Cause;

/// Flights of six segments in 6 ms, of which each `lossy`-th misses two, which come again a round trip later;
/// after half of them, nothing arrives for 1.5 s.
fn with_silence(lossy: u32) -> Script {
    let mut download = download();
    let mut at_ns = 10 * MS;
    for round in 0..240 {
        let first = download.sent();
        let is_lossy = round % lossy == lossy / 2;
        if round == 120 {
            at_ns += 1_500 * MS;
            // Slow start after the timeout.
            exchange(&mut download, at_ns, first);
            at_ns += RTT_NS;
            continue;
        }
        for place in 0..6 {
            if !(is_lossy && (2..4).contains(&place)) {
                download.at(at_ns + u64::from(place) * 100 * US);
                download.segment(first + place * MSS, MSS);
            }
            let acked = if is_lossy { place.min(1) } else { place };
            download.after(10 * US).ack(first + (acked + 1) * MSS);
        }
        if is_lossy {
            download
                .at(at_ns + RTT_NS + MS)
                .segment(first + 2 * MSS, MSS);
            download.after(100 * US).segment(first + 3 * MSS, MSS);
            download.after(10 * US).ack_all();
        }
        at_ns += 6 * MS;
    }
    download
}

fn silence_between(lossy: u32) -> Option<Cause> {
    cause(evaluate(with_silence(lossy)))
}

/// Another connection to the sender's host, which sends something at this interval.
fn beside(every_ms: u64) -> Flow {
    let mut other = Script::open(End::Second, RTT_NS, 0, 60_000);
    while other.now_ns < 4_000 * MS {
        other.after(every_ms * MS).write(End::Second, 50);
        other.confirm(End::First);
    }
    let mut flow = other.flow();
    flow.ends[0].1 += 1;
    flow
}

#[test]
fn a_host_that_others_hear_meanwhile_is_not_cut_off() {
    let is_named = |every_ms: u64| {
        let (findings, _) = explain_flows(&[with_silence(1_000).flow(), beside(every_ms)]);
        let mut causes = findings.iter().map(|it| it.finding.cause);
        causes.any(|it| it == Cause::LinkInterrupted)
    };
    assert!(is_named(2_000));
    assert!(!is_named(100));
    // Its own timer makes another connection go on somewhat sooner.
    assert!(is_named(650));
}

#[test]
fn a_silence_between_many_losses_is_no_interruption() {
    assert_ne!(silence_between(20), Some(Cause::LinkInterrupted));
    assert_eq!(silence_between(1_000), Some(Cause::LinkInterrupted));
}

/// Flights of ten segments, captured at the receiver. The fourth of one of them is missing, and then the first one comes
/// again after 0.5, 1 and 2 s, or what is missing does after 1 s in each of three flights.
fn repeated(is_same: bool) -> Option<Cause> {
    let mut download = download();
    let mut at_ns = 10 * MS;
    for round in 0..300 {
        let first = download.sent();
        let is_lossy = round % 100 == 50 && (round == 150 || !is_same);
        for place in (0..10).filter(|place| !is_lossy || *place != 3) {
            download.at(at_ns + u64::from(place) * 100 * US);
            download.segment(first + place * MSS, MSS);
            if is_lossy && place >= 2 {
                download.ack(first + 3 * MSS);
            }
        }
        if is_lossy && is_same {
            for after_ms in [500, 1_000, 2_000] {
                at_ns += after_ms * MS;
                download.at(at_ns).segment(first, MSS);
                download.ack(first + 3 * MSS);
            }
            at_ns += RTT_NS;
        } else if is_lossy {
            at_ns += 1_000 * MS;
        }
        if is_lossy {
            download.at(at_ns).segment(first + 3 * MSS, MSS);
            at_ns += RTT_NS;
        }
        download.at(at_ns + 2 * MS).ack_all();
        at_ns += 6 * MS;
    }
    cause(evaluate(download))
}

#[test]
fn a_segment_that_comes_again_after_longer_and_longer_silences_shows_an_interruption() {
    assert_eq!(repeated(true), Some(Cause::LinkInterrupted));
    assert_ne!(repeated(false), Some(Cause::LinkInterrupted));
}

/// Flights of ten segments, captured at the receiver. The fourth of one of them is missing, and comes again after `late_ms`; in
/// another one two are missing, which come again after a round trip, if the path `loses` others.
fn one_repaired_late(loses: bool, late_ms: u64) -> Option<Cause> {
    let mut download = download();
    let mut at_ns = 10 * MS;
    for round in 0..300 {
        let first = download.sent();
        let missing = match round {
            150 => 3..4,
            220 if loses => 3..5,
            _ => 0..0,
        };
        for place in (0..10).filter(|place| !missing.contains(place)) {
            download.at(at_ns + u64::from(place) * 100 * US);
            download.segment(first + place * MSS, MSS);
            if !missing.is_empty() && place >= 2 {
                download.ack(first + 3 * MSS);
            }
        }
        if !missing.is_empty() {
            at_ns += if round == 150 { late_ms * MS } else { RTT_NS };
            for place in missing {
                download.at(at_ns).segment(first + place * MSS, MSS);
                at_ns += 100 * US;
            }
        }
        download.at(at_ns + 2 * MS).ack_all();
        at_ns += 6 * MS;
    }
    cause(evaluate(download))
}

#[test]
fn a_silence_behind_one_of_several_losses_is_a_timer() {
    let interrupted = Some(Cause::LinkInterrupted);
    assert_eq!(one_repaired_late(false, 1_200), interrupted);
    assert_ne!(one_repaired_late(true, 1_200), interrupted);
    assert_eq!(
        one_repaired_late(true, 2_100),
        interrupted,
        "three losses of 3,000, and two in a row"
    );
    assert_eq!(one_repaired_late(true, 8_000), interrupted, "far longer");
}

/// Flights of ten segments, captured at the sender on a path of 20 ms. In three of them, the timer repairs the third segment and
/// the two behind it after 1 s: the receiver reported the others before, or nothing came back.
fn repaired_by_timer(is_reported: bool) -> Option<Cause> {
    let mut upload = Script::open(End::First, 20 * MS, 10 * US, 60_000);
    let mut at_ns = 30 * MS;
    for round in 0..120 {
        let first = upload.sent();
        upload.at(at_ns).send(10, MSS, 100 * US);
        at_ns = upload.now_ns + 20 * MS;
        if round % 40 == 20 {
            let missing = if is_reported { first + 2 * MSS } else { first };
            if is_reported {
                upload.at(at_ns).ack(missing);
                upload.duplicate_acks(5, missing, 100 * US);
            }
            upload.at(at_ns + 1_000 * MS);
            for place in 0..3 {
                upload.after(100 * US).segment(missing + place * MSS, MSS);
            }
            at_ns += 1_025 * MS;
        }
        upload.at(at_ns).ack_all();
        at_ns += 20 * US;
    }
    cause(evaluate(upload))
}

#[test]
fn a_silence_behind_what_the_receiver_reported_is_the_timer_and_no_interruption() {
    assert_ne!(repaired_by_timer(true), Some(Cause::LinkInterrupted));
    assert_eq!(repaired_by_timer(false), Some(Cause::LinkInterrupted));
}

/// What comes with the first flight behind a silence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copied {
    None,
    First,
    Behind,
}

/// Flights of six segments in 6 ms, all of them acknowledged; twice nothing arrives for 450 ms.
fn silent_path(copy: Copied) -> Option<Cause> {
    let mut download = download();
    let mut at_ns = 10 * MS;
    for round in 0..240 {
        let first = download.sent();
        let is_behind = round == 80 || round == 160;
        if is_behind {
            at_ns += 450 * MS;
        }
        download.at(at_ns);
        if is_behind && copy == Copied::First {
            download
                .segment(first - 6 * MSS, MSS)
                .after(10 * US)
                .ack_all();
            download.after(RTT_NS);
        }
        for place in 0..6 {
            download.after(100 * US).segment(first + place * MSS, MSS);
            download.after(10 * US).ack_all();
        }
        if is_behind && copy == Copied::Behind {
            download.after(100 * US).segment(first - 6 * MSS, MSS);
            download.after(10 * US).ack_all();
        }
        at_ns = download.now_ns + 5 * MS;
    }
    cause(evaluate(download))
}

#[test]
fn copies_of_what_arrived_behind_a_silence_show_a_path_that_holds_everything_back() {
    assert_eq!(silent_path(Copied::Behind), Some(Cause::LinkInterrupted));
    assert_eq!(silent_path(Copied::None), None, "a sender that stops");
    assert_ne!(
        silent_path(Copied::First),
        Some(Cause::LinkInterrupted),
        "a lost acknowledgment"
    );
}

/// A download, captured at the receiver, whose end of a flight is lost: it comes again after 1.4 s. The sender's SYN has these
/// options.
fn lost_end(options: &[u8]) -> Option<Cause> {
    let mut download = Script::open_with(End::Second, [20 * MS, 20 * US], 60_000, options);
    let mut at_ns = 50 * MS;
    for round in 0..120 {
        download.at(at_ns).send(6, MSS, 300 * US);
        download.after(10 * US).ack_all();
        at_ns += 20 * MS;
        if round == 60 {
            // Slow start after the timeout.
            at_ns += 1_400 * MS;
            let first = download.sent();
            exchange(&mut download, at_ns, first);
            at_ns += 20 * MS;
        }
    }
    cause(evaluate(download))
}

#[test]
fn one_timer_of_a_stack_without_options_takes_longer_than_two_of_others() {
    assert_eq!(
        lost_end(&[2, 4, 5, 0xB4, 4, 2]),
        Some(Cause::LinkInterrupted)
    );
    assert_ne!(lost_end(&[2, 4, 5, 0xB4]), Some(Cause::LinkInterrupted));
}

/// The same sender; in three silences of 1.2 s, what arrived just before comes again, as its acknowledgment did not pass either.
#[test]
fn a_cut_in_both_directions_shows_in_what_comes_again() {
    let mut download = Script::open_with(End::Second, [20 * MS, 20 * US], 60_000, &[2, 4, 5, 0xB4]);
    let mut at_ns = 50 * MS;
    for round in 0..400 {
        let first = download.sent();
        download.at(at_ns).send(6, MSS, 300 * US);
        download.after(10 * US).ack_all();
        at_ns += 20 * MS;
        if round % 100 == 60 {
            at_ns += 1_200 * MS;
            download
                .at(at_ns)
                .segment(first + 4 * MSS, MSS)
                .after(10 * US)
                .ack_all();
            at_ns += 20 * MS;
        }
    }
    assert_eq!(cause(evaluate(download)), Some(Cause::LinkInterrupted));
}

/// Flights of twelve segments, captured at the sender. The timer repeats the first one of one flight after 1.3 s, in vain, and again 3 s
/// later: then all is acknowledged, `late_ns` after that. Before, the receiver reported that it misses the first, or nothing came back.
fn lost_flight(late_ns: u64, is_reported: bool) -> Option<Cause> {
    let mut upload = Script::open(End::First, 4 * MS, 10 * US, 60_000);
    let mut at_ns = 30 * MS;
    for round in 0..200 {
        let first = upload.sent();
        upload.at(at_ns).send(12, MSS, 100 * US);
        if round == 100 {
            if is_reported {
                upload.after(4 * MS).duplicate_acks(5, first, 100 * US);
            }
            upload.at(at_ns + 1_300 * MS).segment(first, MSS);
            at_ns += 4_300 * MS;
            upload.at(at_ns).segment(first, MSS).after(late_ns);
        } else {
            upload.after(4 * MS);
        }
        upload.ack_all();
        at_ns = upload.now_ns + 50 * US;
    }
    cause(evaluate(upload))
}

#[test]
fn a_flight_that_arrived_and_a_repetition_that_did_not_show_an_interruption() {
    assert_eq!(lost_flight(4 * MS, false), Some(Cause::LinkInterrupted));
    // One segment may have been lost three times.
    assert_ne!(lost_flight(4 * MS, true), Some(Cause::LinkInterrupted));
    // The receiver may have stood still.
    assert_ne!(lost_flight(300 * MS, false), Some(Cause::LinkInterrupted));
}

/// Flights of twelve segments, captured at the sender, with timestamps in milliseconds. Behind half of them, nothing passes for 2 s; the
/// first segment behind that was written `waited_ms` before it passes, and the clock is behind by `behind_ms` from then on.
fn stamped_silence(waited_ms: u64, behind_ms: u64) -> Option<Cause> {
    let mut upload = Script::open(End::First, 20 * MS, 20 * US, 60_000);
    let (mut at_ns, mut behind_ns) = (50 * MS, 0);
    let stamped = |upload: &mut Script, seq: u32, waited_ns: u64| {
        let mut options = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 1];
        let written_ms = (upload.now_ns - waited_ns) / MS;
        options[4..8].copy_from_slice(&(written_ms as u32 + 1_000).to_be_bytes());
        upload.packet(End::First, Segment::ACK, [seq, 1], MSS, &options);
        upload.next[0] = upload.next[0].max(seq + MSS);
    };
    for round in 0..200 {
        let first = upload.sent();
        upload.at(at_ns);
        for _ in 0..12 {
            let next = upload.after(100 * US).sent();
            stamped(&mut upload, next, behind_ns);
        }
        if round == 100 {
            at_ns += 2_000 * MS;
            behind_ns = behind_ms * MS;
            let next = upload.at(at_ns).sent();
            stamped(&mut upload, next, waited_ms * MS);
            stamped(&mut upload, first, behind_ns);
        }
        at_ns += 22 * MS;
        upload.at(at_ns).ack_all();
    }
    cause(evaluate(upload))
}

#[test]
fn timestamps_show_what_a_path_held_back() {
    assert_eq!(stamped_silence(1_600, 0), Some(Cause::LinkInterrupted));
    // It repeats a segment as it was.
    assert_ne!(stamped_silence(2_000, 0), Some(Cause::LinkInterrupted));
    // The sender wrote nothing meanwhile, or it was suspended, and its clock with it.
    assert_ne!(stamped_silence(0, 0), Some(Cause::LinkInterrupted));
    assert_ne!(stamped_silence(1_990, 1_990), Some(Cause::LinkInterrupted));
}
