//! Requests of which each waits for the answer to the one before, over one connection or over one for each.

use super::{PathFinding, causes, findings, of_client};
use crate::cause::synthetic::{MS, Script, US};
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// From the capture point to the server and back, and to the client and back: at the client, in the middle, and at the server.
const LONG_PATHS: [[u64; 2]; 3] = [[60 * MS, 20 * US], [35 * MS, 25 * MS], [20 * US, 60 * MS]];

/// A client, opened on this path, asks `requests` times, after pauses of its own; the server answers at once.
fn asked(legs_ns: [u64; 2], requests: u64, pause_ns: impl Fn(u64) -> u64) -> Script {
    let mut dialogue = Script::open(End::Second, legs_ns[0], legs_ns[1], 65_535);
    for number in 0..requests {
        dialogue.after(pause_ns(number)).write(End::First, 90);
        dialogue.after(legs_ns[0]).write(End::Second, 300);
        dialogue.after(legs_ns[1]);
    }
    dialogue
}

#[test]
fn requests_one_at_a_time_over_a_long_path_wait_for_it_wherever_they_are_captured() {
    for legs_ns in LONG_PATHS {
        let found = findings(asked(legs_ns, 100, |_| 0));
        assert_eq!(found.len(), 1, "{found:?}");
        let finding = &found[0].finding;
        assert_eq!(finding.cause, Cause::OneInFlight, "{found:?}");
        assert!(
            finding.summary.contains("one message at a time")
                && finding.evidence["requests_in_turn"] > 95.0,
            "{finding:?}"
        );
        let waits_ns = finding.evidence["round_trips_ns"];
        assert!((5.8e9..6.1e9).contains(&waits_ns), "{waits_ns}");
    }
}

#[test]
fn the_opening_of_a_session_and_waits_of_two_seconds_in_all_are_not_worth_a_finding() {
    let found = |requests, trip_ms| causes(asked([trip_ms * MS, 20 * US], requests, |_| 0));
    assert_eq!(found(19, 200), []);
    assert_eq!(found(21, 200), [Cause::OneInFlight]);
    assert_eq!(found(60, 30), [], "1.8 s");
    assert_eq!(found(80, 30), [Cause::OneInFlight]);
}

#[test]
fn answers_that_a_coarse_clock_delays_begin_no_rounds_of_a_timer() {
    // Of nine answers in a row, four come a tick of 15.6 ms later than a round trip.
    let mut dialogue = Script::open(End::Second, 62 * MS, 20 * US, 65_535);
    for number in 0..100_u64 {
        dialogue.after(100 * US).write(End::First, 90);
        let late_us = if number % 9 < 5 { 0 } else { 15_600 };
        dialogue
            .after(62 * MS + late_us * US)
            .write(End::Second, 300);
        dialogue.after(20 * US);
    }
    assert_eq!(causes(dialogue), [Cause::OneInFlight]);
}

#[test]
fn over_a_short_path_the_ends_take_as_long_as_the_path() {
    let found = |trip_us| causes(asked([trip_us * US, 20 * US], 5_000, |_| 0));
    assert_eq!(found(500), [], "a LAN");
    assert_eq!(found(19_000), []);
    assert_eq!(found(21_000), [Cause::OneInFlight]);
}

#[test]
fn a_person_who_asks_waits_for_no_round_trip() {
    // As a person types and reads.
    let pauses_ms = [310, 2_200, 90, 740, 5_100, 130, 1_300, 420];
    let found = causes(asked(LONG_PATHS[0], 100, |number| {
        pauses_ms[number as usize % pauses_ms.len()] * MS
    }));
    assert_eq!(found, []);
    // A script of 40 commands now and then: what is between them takes more time.
    let found = causes(asked(LONG_PATHS[0], 120, |number| {
        if number % 40 == 0 { 4_000 * MS } else { 0 }
    }));
    assert_eq!(found, []);
}

#[test]
fn a_few_late_turns_are_no_clock() {
    // The client is busy with something else now and then.
    let busy_ms = |number| match number {
        17 => 6,
        40 => 9,
        61 => 7,
        90 => 12,
        _ => 0,
    };
    let found = causes(asked(LONG_PATHS[0], 120, |number| busy_ms(number) * MS));
    assert_eq!(found, [Cause::OneInFlight]);
}

#[test]
fn rounds_that_a_clock_begins_wait_for_the_clock() {
    // 40 requests each 4 s, which take 2.4 s.
    let rounds = |pauses_ms: [u64; 6]| {
        let [to_server, to_client] = LONG_PATHS[0];
        let mut dialogue = Script::open(End::Second, to_server, to_client, 65_535);
        for pause_ms in pauses_ms {
            for _ in 0..40 {
                dialogue.write(End::First, 90).after(to_server);
                dialogue.write(End::Second, 300).after(to_client);
            }
            // The stack delays its acknowledgment.
            dialogue.after(40 * MS).confirm(End::First);
            dialogue.after((pause_ms - 40) * MS);
        }
        causes(dialogue)
    };
    assert_eq!(rounds([1_600; 6]), []);
    // A person who starts each round.
    let found = rounds([1_200, 1_900, 1_500, 900, 1_700, 1_100]);
    assert_eq!(found, [Cause::OneInFlight]);
}

#[test]
fn a_client_that_takes_some_time_waits_for_each_round_trip_all_the_same() {
    let found = |ms| causes(asked(LONG_PATHS[0], 100, |_| ms * MS));
    assert_eq!(found(8), [Cause::OneInFlight]);
    assert_eq!(found(40), [Cause::OneInFlight]);
    assert_eq!(found(200), []);
}

#[test]
fn messages_that_cross_wait_for_none() {
    // Both ends report each 20 ms, whatever the other one sends.
    let mut dialogue = Script::open(End::Second, 60 * MS, 20 * US, 60_000);
    for _ in 0..300 {
        dialogue.after(12 * MS).write(End::First, 90);
        // The server has received the client's messages of 60 ms before.
        let [first, second] = dialogue.next;
        let numbers = [second, first.saturating_sub(3 * 90).max(1)];
        let flags = Segment::ACK | Segment::PSH;
        dialogue
            .after(8 * MS)
            .packet(End::Second, flags, numbers, 300, &[]);
        dialogue.next[1] += 300;
    }
    let found = causes(dialogue);
    assert!(!found.contains(&Cause::OneInFlight), "{found:?}");
}

#[test]
fn a_server_that_takes_as_long_as_the_path_thinks() {
    let mut dialogue = Script::open(End::Second, 60 * MS, 20 * US, 60_000);
    for _ in 0..100 {
        dialogue.write(End::First, 90).after(60 * MS);
        dialogue.confirm(End::Second).after(70 * MS);
        dialogue.write(End::Second, 300).after(20 * US);
    }
    assert_eq!(causes(dialogue), [Cause::ServerThinkTime]);
}

#[test]
fn blocks_that_are_requested_one_by_one_fill_no_send_buffer() {
    for legs_ns in LONG_PATHS {
        let mut reads = Script::open(End::Second, legs_ns[0], legs_ns[1], 65_535);
        for _ in 0..100 {
            reads.write(End::First, 63).after(legs_ns[0]);
            reads.write(End::Second, 60_000).after(legs_ns[1]);
            // The client writes each block to a disk.
            reads.confirm(End::First).after(2 * MS);
        }
        assert_eq!(causes(reads), [Cause::OneInFlight], "{legs_ns:?}");
    }
}

/// Requests one at a time over 60 ms, captured at the client, some of which come again after 400 ms.
fn some_lost(is_lost: impl Fn(u32) -> bool) -> Vec<Cause> {
    let mut dialogue = Script::open(End::Second, 60 * MS, 20 * US, 60_000);
    for number in 0..100 {
        dialogue.write(End::First, 90);
        if is_lost(number) {
            let [first, second] = dialogue.next;
            let flags = Segment::ACK | Segment::PSH;
            dialogue
                .after(400 * MS)
                .packet(End::First, flags, [first - 90, second], 90, &[]);
        }
        dialogue
            .after(60 * MS)
            .write(End::Second, 300)
            .after(20 * US);
    }
    causes(dialogue)
}

#[test]
fn lost_requests_are_the_news_beside_one_request_at_a_time() {
    let found = some_lost(|at| at % 25 == 7);
    assert_eq!(found[..1], [Cause::RetransmissionStalls], "{found:?}");
    assert!(!found.contains(&Cause::OneInFlight), "{found:?}");
    assert_eq!(some_lost(|_| false), [Cause::OneInFlight]);
}

/// Round trip of the connections for one request each.
const RTT_NS: u64 = 60 * MS;
/// Time that such a connection takes.
const REQUEST_NS: u64 = 2 * RTT_NS + MS;

/// Connections to a server `rtt_ns` away, whose SYNs leave the client at these times, for requests of 300 octets, which are answered at
/// once. Captured at the client.
fn connections(
    starts_ns: impl Iterator<Item = u64>,
    rtt_ns: u64,
    requests: impl Fn(&mut Script),
) -> Vec<PathFinding> {
    let opened =
        starts_ns.map(|start_ns| Script::open_at(start_ns, End::Second, [rtt_ns, 20 * US], 60_000));
    of_client(opened.map(|mut connection| {
        requests(&mut connection);
        connection
    }))
}

/// A request whose answer of 4,000 octets comes after the round trip.
fn one_request(connection: &mut Script) {
    connection.write(End::First, 300).after(RTT_NS);
    connection.write(End::Second, 4_000).after(20 * US);
    connection.confirm(End::First);
}

#[test]
fn a_connection_for_each_request_in_turn_costs_two_round_trips_each() {
    let at_client = connections((0..50).map(|at| at * REQUEST_NS), RTT_NS, one_request);
    let at_server = of_client((0..50).map(|at| {
        let seen_ns = at * REQUEST_NS + RTT_NS / 2;
        let mut connection = Script::open_at(seen_ns, End::Second, [20 * US, RTT_NS], 60_000);
        connection.write(End::First, 300).after(20 * US);
        connection.write(End::Second, 4_000).after(RTT_NS);
        connection.confirm(End::First);
        connection
    }));
    for found in [at_client, at_server] {
        assert_eq!(found.len(), 1, "{found:?}");
        let finding = &found[0].finding;
        assert_eq!(finding.cause, Cause::OneInFlight, "{found:?}");
        assert!(
            finding
                .summary
                .contains("a connection for each of 50 requests"),
            "{}",
            finding.summary
        );
    }
}

#[test]
fn connections_that_wait_for_no_answer_before_are_parallel() {
    // A browser opens the next one before the answer has come.
    let overlapping = (0..100).map(|at| at * REQUEST_NS / 2);
    let found = connections(overlapping, RTT_NS, one_request);
    assert!(found.is_empty(), "{found:?}");
    // Six at once for each page, one page after another.
    let pages = (0..120).map(|at| at / 6 * REQUEST_NS + at % 6 * MS);
    let found = connections(pages, RTT_NS, one_request);
    assert!(found.is_empty(), "{found:?}");
    // Most of them are, although some follow each other.
    let some = (0..25).map(|at| at * REQUEST_NS);
    let most = (0..40).map(|at| 25 * REQUEST_NS + at * 10 * MS);
    let found = connections(some.chain(most), RTT_NS, one_request);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn connections_now_and_then_wait_for_something_else() {
    // A timer, each 0.22 s.
    let found = connections((0..50).map(|at| at * 220 * MS), RTT_NS, one_request);
    assert!(found.is_empty(), "{found:?}");
    // Three files in turn for each page, and a reader between the pages.
    let pages = (0..90).map(|at| at / 3 * 5_000 * MS + at % 3 * REQUEST_NS);
    let found = connections(pages, RTT_NS, one_request);
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn few_connections_and_short_paths_cost_little() {
    let found = connections((0..19).map(|at| at * REQUEST_NS), RTT_NS, one_request);
    assert!(found.is_empty(), "19 requests: {found:?}");
    for (rtt_ms, requests) in [(4, 400), (30, 30)] {
        let starts_ns = (0..requests).map(|at| at * (2 * rtt_ms + 1) * MS);
        let found = connections(starts_ns, rtt_ms * MS, |connection| {
            connection.write(End::First, 300).after(rtt_ms * MS);
            connection.write(End::Second, 4_000).after(20 * US);
        });
        assert!(found.is_empty(), "{rtt_ms} ms: {found:?}");
    }
}

#[test]
fn connections_that_are_used_again_or_carry_much_take_no_two_round_trips() {
    let starts_ns = || (0..50).map(|at| at * (3 * RTT_NS + MS));
    let found = connections(starts_ns(), RTT_NS, |connection| {
        one_request(connection);
        one_request(connection);
    });
    assert!(found.is_empty(), "{found:?}");
    // The second part of the answer waits for the acknowledgment of the first one.
    let found = connections(starts_ns(), RTT_NS, |connection| {
        one_request(connection);
        connection.after(RTT_NS).write(End::Second, 20_000);
        connection.after(20 * US).confirm(End::First);
    });
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_handshake_that_takes_far_longer_than_the_path_is_no_round_trip() {
    // The server accepts each connection 90 ms late.
    let starts_ns = (0..50).map(|at| at * (REQUEST_NS + 90 * MS));
    let found = connections(starts_ns, RTT_NS + 90 * MS, one_request);
    let is_in_turn = |it: &PathFinding| it.finding.cause == Cause::OneInFlight;
    assert!(!found.iter().any(is_in_turn), "{found:?}");
}
