//! Who sets the pace: the sender itself, or a program that reads.

use super::{causes, findings};
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;
use std::collections::BTreeMap;

/// Pictures of two segments, captured at the sender.
fn pictures(interval_ns: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 10 * MS, 20 * US, 60_000);
    for number in 0..150 {
        upload.at(20 * MS + number * interval_ns);
        upload.send(2, MSS, 10 * US).after(10 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn pictures_of_full_segments_at_a_standard_rate_are_no_pace_of_the_host() {
    assert_eq!(pictures(40 * MS), []);
    assert_eq!(pictures(43 * MS)[..1], [Cause::HostPacing]);
}

/// Windows of eight segments in each round trip of 20 ms, captured at the receiver, where they arrive `gap_ns` apart.
fn window_of(gap_ns: u64) -> BTreeMap<String, f64> {
    let window = 8 * MSS as u16;
    let mut upload = Script::open(End::First, 20 * US, 19 * MS, window);
    for round in 0..100 {
        let at_ns = 30 * MS + round * 20 * MS;
        for pair in 0..4 {
            upload.at(at_ns + pair * 2 * gap_ns).send(2, MSS, gap_ns);
            upload.after(10 * US).ack_all_with(window);
        }
    }
    let found = findings(upload);
    assert_eq!(found[0].finding.cause, Cause::ReceiveWindow, "{found:#?}");
    found[0].finding.evidence.clone()
}

#[test]
fn the_pace_of_a_full_window_is_no_rate_of_the_path() {
    let (paced, at_once) = (window_of(1_200 * US), window_of(300 * US));
    assert!(!paced.contains_key("time_without_ns"), "{paced:?}");
    assert!(at_once.contains_key("time_without_ns"), "{at_once:?}");
}

/// An upload of 2 s through a window of 20 segments, whose receiver closes it for 700 ms after each of `stops` parts.
fn stops(stops: u64) -> Option<Cause> {
    let mut upload = Script::open(End::First, 4 * MS, 20 * US, 20 * MSS as u16);
    let window = 20 * MSS as u16;
    let mut at_ns = 10 * MS;
    for _ in 0..=stops {
        for _ in 0..300 / (stops + 1) {
            upload.at(at_ns).send(20, MSS, 100 * US);
            at_ns = upload.now_ns + 4 * MS;
            upload.at(at_ns).ack_all_with(window);
            at_ns += 20 * US;
        }
        upload.at(at_ns).send(20, MSS, 100 * US);
        at_ns = upload.now_ns + 4 * MS;
        upload.at(at_ns).ack_all_with(0);
        at_ns += 700 * MS;
        upload.at(at_ns).ack_all_with(window);
        at_ns += 20 * US;
    }
    upload.at(at_ns).send(20, MSS, 100 * US);
    upload.after(4 * MS).ack_all_with(window);
    findings(upload).first().map(|it| it.finding.cause)
}

#[test]
fn one_or_two_long_closings_between_many_windows_are_stalls() {
    assert_eq!(stops(0), Some(Cause::ReceiverStalls));
    assert_eq!(stops(1), Some(Cause::ReceiverStalls));
}

/// Segments of one size, each acknowledged after 12 ms, and sent `wait_ns` after that.
fn one_by_one(wait_ns: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 12 * MS, 20 * US, 60_000);
    for number in 0..150 {
        upload.at(20 * MS + number * (12 * MS + wait_ns));
        upload.send(1, 1_000, 0).after(12 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn a_program_that_sends_at_its_own_pace_waits_for_no_acknowledgment() {
    assert_eq!(one_by_one(50 * US)[..1], [Cause::OneInFlight]);
    assert!(!one_by_one(31 * MS).contains(&Cause::OneInFlight));
}

/// Writes of `len` octets every 41 ms, captured at their sender; each is acknowledged after 12 ms.
fn writes(len: u32) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 12 * MS, 20 * US, 60_000);
    for number in 0..150 {
        upload.at(20 * MS + number * 41 * MS + number % 3 * 200 * US);
        upload.send(1, len, 0).after(12 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn a_program_that_writes_by_a_clock_what_does_not_fill_a_segment_is_not_slow() {
    assert_eq!(writes(680), []);
    assert_ne!(writes(MSS), []);
}

/// Flights of ten segments, captured at their sender, each acknowledged after 4 ms and the next one 12 ms later; each
/// eighth loses one; the program stops for 0.5 to 0.9 s now and then.
fn stops_between_losses(stops: &[(u64, u64)]) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 4 * MS, 20 * US, 60_000);
    let mut at_ns = 10 * MS;
    for round in 0..200 {
        let first = upload.sent();
        upload.at(at_ns).send(10, MSS, 100 * US);
        at_ns = upload.now_ns + 4 * MS;
        if round % 8 == 4 {
            upload.at(at_ns).ack(first + 2 * MSS);
            upload.duplicate_acks(5, first + 2 * MSS, 10 * US);
            upload.after(10 * US).segment(first + 2 * MSS, MSS);
            at_ns += 4 * MS;
        }
        upload.at(at_ns).ack_all();
        let stop = stops.iter().find(|(at, _)| *at == round);
        at_ns += stop.map_or(12, |(_, ms)| *ms) * MS;
    }
    causes(upload)
}

#[test]
fn long_stops_of_a_program_show_between_losses_and_shorter_pauses() {
    let stops = [(20, 700), (90, 500), (130, 900), (185, 600)];
    let found = stops_between_losses(&stops);
    assert!(found.contains(&Cause::SenderIdle), "{found:?}");
    assert!(!stops_between_losses(&[]).contains(&Cause::SenderIdle));
}
