//! Who sets the pace: the sender itself, or a program that reads.

use super::{causes, findings, upload};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::flight::arrives_evenly;
use crate::cause::flow::nagle::delayed_ack_with_nagle;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::{End, Segment};
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
    assert_eq!(pictures(100 * MS), [], "each third of 30 in a second");
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
fn stops(stops: u64) -> Vec<Cause> {
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
    findings(upload).iter().map(|it| it.finding.cause).collect()
}

#[test]
fn one_or_two_long_closings_between_many_windows_are_those_of_a_program_that_stops() {
    let stopped = [Cause::ReceiverReadsSlowly, Cause::ReceiverStalls];
    assert_eq!(stops(0)[..2], stopped);
    assert_eq!(stops(1)[..2], stopped);
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

/// Segments of `len` octets every 44.7 ms by a sender that sets no PSH, captured 6 ms from the receiver, which acknowledges
/// each one 2 ms after the next one.
fn stream_without_push(len: u32) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 6 * MS, 20 * US, 60_000);
    for number in 0..150 {
        let seq = upload.sent();
        upload.at(20 * MS + number * 44_700 * US);
        upload.packet(End::First, Segment::ACK, [seq, 1], len, &[]);
        upload.next[0] += len;
        upload.after(2 * MS).ack(seq);
    }
    causes(upload)
}

/// Segments of 792 octets every 19.1 ms, of which each second one is acknowledged, on a path of 15.6 ms.
fn stream_on_a_longer_path() -> Vec<Cause> {
    let mut upload = Script::open(End::First, 15_600 * US, 20 * US, 60_000);
    for number in 0..200 {
        let seq = upload.sent();
        upload.at(20 * MS + number * 19_100 * US);
        upload.packet(End::First, Segment::ACK, [seq, 1], 792, &[]);
        upload.next[0] += 792;
        if number % 2 == 1 {
            upload.after(15_600 * US).ack_all();
        }
    }
    causes(upload)
}

#[test]
fn a_program_that_writes_by_a_clock_is_one_although_its_stack_sets_no_push() {
    assert_eq!(stream_without_push(902), []);
    assert_eq!(stream_on_a_longer_path(), []);
    assert_eq!(stream_without_push(MSS)[..1], [Cause::HostPacing]);
}

/// Blocks of 20,100 octets, each 27 ms after the one before, captured at their sender on a path of 6 ms that passes a
/// segment in 0.8 ms; the last segment of a block ends a write with `last` octets.
fn short_silences(last: u32) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 6 * MS, 20 * US, 60_000);
    for block in 0..120 {
        upload.at(20 * MS + block * 27 * MS).send(13, MSS, 10 * US);
        upload.send(1, last, 0);
        let first = upload.sent() - 13 * MSS - last;
        for pair in 1..=6 {
            upload.at(20 * MS + block * 27 * MS + 6 * MS + u64::from(pair) * 1_600 * US);
            upload.ack(first + 2 * pair * MSS);
        }
        upload.after(1_600 * US).ack_all();
    }
    causes(upload)
}

#[test]
fn short_silences_behind_the_ends_of_writes_are_the_programs() {
    assert_eq!(short_silences(1_120)[..1], [Cause::SenderIdle]);
    assert_ne!(short_silences(MSS)[..1], [Cause::SenderIdle]);
}

/// Segments captured at the receiver, 20 ms from their sender, in each round trip five of them, `gap_ns` apart; at first
/// fewer.
fn arriving(gap_ns: u64) -> Script {
    let mut upload = Script::open(End::First, 20 * US, 20 * MS, 60_000);
    for number in 0..60 {
        upload.at((40 + number * 12) * MS).send(1, MSS, 0);
        upload.after(10 * US).ack_all();
    }
    for number in 0..600 {
        let at_ns = 760 * MS + number / 5 * 20 * MS + number % 5 * gap_ns;
        upload.at(at_ns).send(1, MSS, 0).after(10 * US).ack_all();
    }
    upload
}

#[test]
fn what_arrives_evenly_shows_no_send_buffer() {
    let is_even = |gap_ns| {
        let flow = arriving(gap_ns).flow();
        arrives_evenly(&FlowFacts::of(&flow).expect("payload"))
    };
    assert_eq!([400 * US, 4 * MS].map(is_even), [false, true]);
    assert_eq!(causes(arriving(400 * US))[..1], [Cause::SendBuffer]);
    assert!(!causes(arriving(4 * MS)).contains(&Cause::SendBuffer));
}

/// True if small segments every `interval_ns`, captured at the receiver, 6.4 ms from their sender, seem to wait for their
/// acknowledgments, each of which comes after 40 ms.
fn are_held_back(interval_ns: u64) -> bool {
    let mut upload = Script::open(End::First, 20 * US, 6_400 * US, 60_000);
    for number in 0..150 {
        upload.at(20 * MS + number * interval_ns).send(1, 902, 0);
        upload.after(40 * MS).ack_all();
    }
    let flow = upload.flow();
    let facts = FlowFacts::of(&flow).expect("payload");
    delayed_ack_with_nagle(&facts).is_some()
}

#[test]
fn what_follows_an_acknowledgment_sooner_than_a_round_trip_did_not_wait_for_it() {
    assert!(!are_held_back(44_700 * US));
    assert!(are_held_back(46_500 * US));
}

/// Segments of 200 octets that end no write, one in each round trip of 8 ms, captured at their sender, which would be
/// granted `window` octets.
fn one_by_one_without_push(len: u32, window: u16) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 8 * MS, 20 * US, window);
    for number in 0..200 {
        let seq = upload.sent();
        upload.at(20 * MS + number * (8 * MS + 30 * US));
        upload.packet(End::First, Segment::ACK, [seq, 1], len, &[]);
        upload.next[0] += len;
        upload.after(8 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn segments_far_below_the_mss_that_end_no_write_are_those_of_a_window_that_only_the_sender_sees() {
    assert_eq!(one_by_one_without_push(200, 60_000), [Cause::SillyWindow]);
    let full = one_by_one_without_push(MSS, 60_000);
    assert!(!full.contains(&Cause::SillyWindow), "{full:?}");
}

/// Parts of 600 segments, captured at their sender, which has 30 of them in flight on a link that passes one in 1.2 ms; it
/// stops for 500 ms between them.
fn stops_on_a_full_path(parts: u32) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 10 * MS, 20 * US, 60_000);
    let mut at_ns = 20 * MS;
    for _ in 0..parts {
        let first = upload.sent();
        upload.at(at_ns).send(30, MSS, 10 * US);
        for number in 1..=600_u32 {
            upload.at(at_ns + 10 * MS + u64::from(number) * 1_200 * US);
            upload.ack(first + number * MSS);
            if number <= 570 {
                upload.after(20 * US).send(1, MSS, 0);
            }
        }
        at_ns = upload.now_ns + 500 * MS;
    }
    causes(upload)
}

#[test]
fn long_stops_of_a_program_show_although_the_path_is_full_between_them() {
    let found = stops_on_a_full_path(3);
    assert_eq!(found.first(), Some(&Cause::SenderIdle), "{found:?}");
    assert!(found.contains(&Cause::PathRate), "{found:?}");
    assert!(!stops_on_a_full_path(1).contains(&Cause::SenderIdle));
}

/// Seven segments in each round trip of 20 ms, captured late at their sender; the receiver's window field is always 20.
fn unscaled() -> Vec<Cause> {
    let mut upload = Script::late(End::First, 20);
    for round in 0..120 {
        upload.at(10 * MS + round * 20 * MS).send(7, MSS, 100 * US);
        upload.after(19 * MS).ack_pairs();
    }
    causes(upload)
}

#[test]
fn a_flight_that_fills_the_least_window_that_holds_it_may_be_that_window() {
    assert_eq!(unscaled(), [Cause::ReceiveWindow, Cause::SendBuffer]);
}

/// Groups of three messages of 40 octets, close together, one group each `pause_ms`, over a path of 60 ms.
fn small_groups(pause_ms: u64) -> bool {
    let mut upload = upload(20 * US, 60 * MS, 60_000);
    for group in 0..600 {
        upload.at((100 + group * pause_ms) * MS);
        upload.send(3, 40, MS);
        if group % 20 == 19 {
            upload.ack_all();
        }
    }
    causes(upload).contains(&Cause::SmallWrites)
}

#[test]
fn small_messages_now_and_then_cost_nobody_their_headers() {
    assert!(small_groups(3));
    assert!(!small_groups(250));
}

/// A download in three parts, 120 ms apart, and 30 s later `octets` more with the server's FIN.
fn closed_with(octets: u32) -> Vec<Cause> {
    let mut page = Script::open(End::Second, 30 * MS, 20 * US, 60_000);
    page.write(End::First, 400);
    for _ in 0..3 {
        page.after(120 * MS).send(20, MSS, 100 * US);
        page.after(20 * US).ack_all();
    }
    page.after(30_000 * MS).write(End::Second, octets);
    let numbers = [End::Second, End::First].map(|end| page.next[end as usize]);
    page.packet(End::Second, Segment::FIN | Segment::ACK, numbers, 0, &[]);
    page.next[End::Second as usize] += 1;
    page.after(20 * US).confirm(End::First);
    causes(page)
}

#[test]
fn a_connection_that_is_closed_with_a_farewell_was_idle() {
    assert_eq!(closed_with(24), []);
    assert_eq!(
        closed_with(9_000)[..1],
        [Cause::SenderIdle],
        "more of the page"
    );
}
