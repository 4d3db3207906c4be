//! Rules about requests and answers on synthetic connections between a client and a server.

use super::*;
use crate::cause::synthetic::{MS, Script, analysis};
use linerate_capture::reader::Address;
use linerate_capture::tcp::{Connection, End, Segment};
use linerate_capture::traffic::{Counts, Flow};
use linerate_results::record::Cause;

/// Round trip between the hosts.
const RTT_NS: u64 = 10 * MS;

fn dialogue() -> Script {
    Script::open(End::Second, RTT_NS, 0, 60_000)
}

/// A request that the server acknowledges at once and answers after it worked for `work_ns`.
fn exchange(dialogue: &mut Script, request: u32, work_ns: u64, answer: u32) -> &mut Script {
    dialogue.write(End::First, request).after(RTT_NS);
    if work_ns > 0 {
        dialogue.confirm(End::Second).after(work_ns);
    }
    dialogue.write(End::Second, answer).confirm(End::First)
}

fn findings(dialogue: Script) -> Vec<PathFinding> {
    explain_traffic(&dialogue.analysis()).findings
}

fn causes(dialogue: Script) -> Vec<Cause> {
    let found = findings(dialogue).into_iter();
    found.map(|it| it.finding.cause).collect()
}

/// Times in milliseconds that vary like a person's.
const IRREGULAR_MS: [u64; 8] = [310, 2_200, 90, 740, 5_100, 30, 1_300, 420];

#[test]
fn a_server_that_works_before_each_answer_thinks() {
    let mut dialogue = dialogue();
    for round in 0..10 {
        exchange(&mut dialogue, 200, (180 + round * 7) * MS, 6_000).after(MS);
    }
    let found = findings(dialogue);
    assert_eq!(found[0].finding.cause, Cause::ServerThinkTime, "{found:?}");
    assert!(found[0].finding.confidence >= 0.8);
}

#[test]
fn a_server_that_works_longer_than_a_round_trip_thinks() {
    let mut dialogue = dialogue();
    for round in 0..40 {
        exchange(&mut dialogue, 200, 14 * MS + round % 5 * MS, 6_000).after(MS);
    }
    assert_eq!(causes(dialogue), [Cause::ServerThinkTime]);
}

#[test]
fn polls_of_a_few_octets_at_intervals_are_healthy() {
    // A controller reads registers ten times in a second (Modbus/TCP).
    let mut at_client = dialogue();
    for _ in 0..80 {
        exchange(&mut at_client, 12, 2 * MS, 29).after(88 * MS);
    }
    assert_eq!(causes(at_client), []);
    // The same captured at the device: the next poll carries the acknowledgment.
    let mut at_device = Script::open(End::Second, 0, RTT_NS, 60_000);
    for _ in 0..80 {
        at_device.write(End::First, 12).after(2 * MS);
        at_device.write(End::Second, 29).after(98 * MS);
    }
    assert_eq!(causes(at_device), []);
}

#[test]
fn small_messages_after_long_silences_are_news_or_a_person() {
    let mut dialogue = dialogue();
    for ms in [3_100, 9_000, 14_000, 2_400, 7_000, 31_000, 4_000, 6_500] {
        exchange(&mut dialogue, 60, ms * MS, 90).after(2 * MS);
    }
    assert_eq!(causes(dialogue), []);
}

#[test]
fn a_server_that_sends_at_its_own_interval_does_not_answer() {
    let mut dialogue = dialogue();
    let mut due_ns = 400 * MS;
    for round in 0..40_u64 {
        // The client's own interval differs: its messages fall anywhere between those of the server.
        let wait_ns = (round * 97 % 250 + 20) * MS;
        dialogue.now_ns = due_ns - wait_ns;
        dialogue
            .write(End::First, 1_024)
            .after(RTT_NS)
            .confirm(End::Second);
        dialogue.now_ns = due_ns;
        dialogue.write(End::Second, 1_024).confirm(End::First);
        due_ns += 335 * MS;
    }
    assert_eq!(causes(dialogue), []);
}

#[test]
fn a_few_late_answers_within_half_a_second_are_normal() {
    let mut dialogue = dialogue();
    for _ in 0..5 {
        exchange(&mut dialogue, 1_200, 40 * MS, 3_800).after(5 * MS);
    }
    assert_eq!(causes(dialogue), []);
}

#[test]
fn a_late_answer_behind_a_confirmation_is_the_servers() {
    let mut dialogue = dialogue();
    exchange(&mut dialogue, 500, 0, 2_900).after(2 * MS);
    // HTTP/2: the server confirms the settings at once, and answers later.
    exchange(&mut dialogue, 300, 0, 38).after(800 * MS);
    dialogue.write(End::Second, 12_000).confirm(End::First);
    let found = findings(dialogue);
    assert_eq!(found[0].finding.cause, Cause::ServerThinkTime, "{found:?}");
}

#[test]
fn a_slow_key_exchange_is_the_servers() {
    let mut dialogue = dialogue();
    for (request, work_ns, answer) in [
        (220, 0, 1_500),
        (330, 1_600 * MS, 60),
        (300, 0, 3_000),
        (300, 0, 3_000),
    ] {
        exchange(&mut dialogue, request, work_ns, answer).after(2 * MS);
    }
    assert_eq!(causes(dialogue), [Cause::ServerThinkTime]);
}

#[test]
fn a_message_at_each_tick_of_a_timer_is_no_certain_answer() {
    let mut dialogue = dialogue();
    for _ in 0..30 {
        exchange(&mut dialogue, 4, 480 * MS, 120).after(12 * MS);
    }
    let found = findings(dialogue);
    assert!(
        found.iter().all(|it| it.finding.confidence < 0.8),
        "{found:?}"
    );
}

#[test]
fn a_wait_for_a_retransmission_is_not_the_servers() {
    let mut dialogue = dialogue();
    for _ in 0..6 {
        let (seq, ack) = (dialogue.next[0], dialogue.next[1]);
        dialogue.write(End::First, 200).after(400 * MS);
        let pushed = Segment::ACK | Segment::PSH;
        dialogue.packet(End::First, pushed, [seq, ack], 200, &[]);
        dialogue.after(RTT_NS);
        dialogue
            .write(End::Second, 6_000)
            .confirm(End::First)
            .after(MS);
    }
    let causes = causes(dialogue);
    assert!(!causes.contains(&Cause::ServerThinkTime), "{causes:?}");
}

#[test]
fn an_even_pause_of_the_client_before_each_transfer_is_its_program() {
    let mut dialogue = dialogue();
    for round in 0..10 {
        exchange(&mut dialogue, 100, 0, 40_000).after((250 + round * 4) * MS);
    }
    assert_eq!(causes(dialogue), [Cause::ClientThinkTime]);
}

#[test]
fn a_client_that_sleeps_for_a_second_behind_each_answer_thinks() {
    let mut dialogue = dialogue();
    for round in 0..6 {
        let slept_ns = 1_002 * MS + round % 3 * MS / 2;
        exchange(&mut dialogue, 180, 0, 12_000).after(slept_ns);
    }
    assert_eq!(causes(dialogue), [Cause::ClientThinkTime]);
}

#[test]
fn nobody_looks_at_so_many_answers_for_half_a_second_each() {
    let after = |answers: usize| {
        let mut dialogue = dialogue();
        for ms in [403, 610, 420, 300, 590, 340, 640, 480, 350, 560]
            .iter()
            .take(answers)
        {
            exchange(&mut dialogue, 100, 0, 60_000).after(ms * MS);
        }
        causes(dialogue)
    };
    assert_eq!(after(10), [Cause::ClientThinkTime]);
    assert_eq!(after(6), []);
}

#[test]
fn uneven_pauses_of_the_client_are_a_persons() {
    let mut dialogue = dialogue();
    for ms in IRREGULAR_MS {
        exchange(&mut dialogue, 400, 0, 9_000).after(ms * MS);
    }
    assert_eq!(causes(dialogue), []);
}

#[test]
fn one_pause_in_a_loop_of_equal_requests_is_the_programs() {
    let pause = |sizes: [u32; 6]| {
        let mut dialogue = dialogue();
        for (at, size) in sizes.into_iter().enumerate() {
            let ns = if at == 4 { 1_500 * MS } else { MS };
            exchange(&mut dialogue, 100, 0, size).after(ns);
        }
        causes(dialogue)
    };
    assert_eq!(pause([30_000; 6]), [Cause::ClientThinkTime]);
    // A person reads a page, then asks for the next.
    assert_eq!(pause([30_000, 2_000, 700, 90_000, 15_000, 4_000]), []);
}

/// Requests after silences; `late` has the reactions of the server's stack and of its program.
fn after_silences(late: impl Fn(bool) -> (u64, u64)) -> Vec<Cause> {
    let mut dialogue = dialogue();
    for round in 0..24 {
        let is_silent = round % 4 == 0;
        dialogue.after(if is_silent { 120 * MS } else { MS });
        let (stack_ns, program_ns) = late(is_silent);
        dialogue.write(End::First, 3_000).after(RTT_NS + stack_ns);
        dialogue.confirm(End::Second).after(program_ns);
        dialogue.write(End::Second, 3_000).confirm(End::First);
    }
    causes(dialogue)
}

#[test]
fn only_a_late_stack_wakes_up_late() {
    let sleeps = after_silences(|is_silent| (if is_silent { 180 * MS } else { 0 }, MS));
    assert_eq!(sleeps.first(), Some(&Cause::WakeUpLatency), "{sleeps:?}");
    let works = after_silences(|is_silent| (0, if is_silent { 180 * MS } else { MS }));
    assert!(!works.contains(&Cause::WakeUpLatency), "{works:?}");
}

/// A client that tries to connect at these times, and is accepted or refused.
fn attempts(outcomes: &[(u64, bool)]) -> Vec<(Cause, String)> {
    let mut analysis = analysis(Counts::default(), 10_000 * MS);
    for (at, (start_ms, is_accepted)) in outcomes.iter().enumerate() {
        let mut connection = Connection::new(2 * at as u64 + 1, start_ms * MS);
        let mut packet = |end, flags, seq, ack, number: u64, ns: u64| {
            let segment = Segment {
                seq,
                ack,
                flags,
                window: 60_000,
                ..Segment::default()
            };
            connection.record_segment(end, &segment, start_ms * MS + ns, number);
        };
        packet(End::First, Segment::SYN, 0, 0, 1, 0);
        if *is_accepted {
            packet(End::Second, Segment::SYN | Segment::ACK, 0, 1, 2, MS);
            packet(End::First, Segment::ACK, 1, 1, 3, MS);
        } else {
            packet(End::Second, Segment::RST | Segment::ACK, 0, 1, 2, MS);
        }
        let ends = [(1, 40_000 + at as u16), (2, 9_001)];
        analysis.flows.push(Flow {
            ends: ends.map(|(host, port)| (Address([host; 16]), port)),
            connection: Box::new(connection),
        });
    }
    let found = explain_traffic(&analysis).findings.into_iter();
    found
        .map(|it| (it.finding.cause, it.finding.summary))
        .collect()
}

#[test]
fn a_refusal_beside_accepted_connections_is_described_with_them() {
    let found = attempts(&[(0, false), (500, false), (900, false)]);
    assert!(found[0].1.contains("tried 3 times"), "{found:?}");
    assert!(
        found[0].1.ends_with("a reset answered each SYN."),
        "{found:?}"
    );
    let found = attempts(&[(0, true), (5_000, false)]);
    assert!(
        found[0].1.contains("tried once")
            && found[0]
                .1
                .ends_with("although 1 connection before was accepted."),
        "{found:?}"
    );
    // The server was not ready yet.
    let found = attempts(&[(0, false), (1_000, false), (3_000, true)]);
    assert!(
        found[0]
            .1
            .ends_with("although another was accepted 3 s later."),
        "{found:?}"
    );
    assert_eq!(
        attempts(&[(0, false), (200, true)]),
        [],
        "accepted at the second attempt"
    );
}

#[test]
fn a_syn_that_is_answered_far_later_than_data_is_a_slow_handshake() {
    let opened_after = |ns: u64| {
        let mut dialogue = Script::open(End::Second, ns, 0, 60_000);
        exchange(&mut dialogue, 200, 0, 12_000);
        causes(dialogue)
    };
    assert_eq!(opened_after(80 * MS), [Cause::SlowHandshake]);
    assert_eq!(opened_after(30 * MS), []);
}
