use crate::cause::flow::explain_flows;
use crate::cause::flow::opening::HANG_NS;
use crate::cause::scored::PathFinding;
use crate::cause::synthetic::{MS, Script};
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// A client that asks every 250 ms, and after its last request waits for this time until it closes.
fn hangs(mut script: Script, waits_ms: u64) -> Vec<PathFinding> {
    for _ in 0..18 {
        script.write(End::First, 140).after(MS / 10);
        script.write(End::Second, 2_400).after(8 * MS);
        script.confirm(End::First).after(250 * MS);
    }
    script.write(End::First, 140).after(MS / 10);
    script.confirm(End::Second).after(waits_ms * MS);
    closed(script)
}

/// The findings when the client closes.
fn closed(mut script: Script) -> Vec<PathFinding> {
    let numbers = script.next;
    script.packet(End::First, Segment::FIN | Segment::ACK, numbers, 0, &[]);
    explain_flows(&[script.flow()]).0
}

/// True if an answer is missing when the client closes.
fn lacks_answer(script: Script) -> bool {
    let found = closed(script);
    found.iter().any(|it| it.finding.cause == Cause::NoAnswer)
}

fn opened() -> Script {
    Script::open(End::Second, MS / 10, 7 * MS, 60_000)
}

#[test]
fn findings_come_in_the_order_of_what_they_cost_of_the_time_with_the_wait_for_no_answer() {
    let found = hangs(opened(), 15_000);
    let causes: Vec<Cause> = found.iter().map(|it| it.finding.cause).collect();
    assert_eq!(causes, [Cause::NoAnswer, Cause::ClientThinkTime]);
    let sum: f64 = found.iter().map(|it| it.share_of_time).sum();
    assert!(sum <= 1.0 + 1e-9, "{sum}");
    assert!((0.7..0.8).contains(&found[0].share_of_time), "{found:?}");
    assert!((0.2..0.3).contains(&found[1].share_of_time), "{found:?}");
    let summary = &found[1].finding.summary;
    assert!(summary.contains("leaves out the 15 s"), "{summary}");
    let hang_ns = found[0].finding.evidence[HANG_NS];
    assert!((14.9e9..15.1e9).contains(&hang_ns), "{hang_ns}");
}

#[test]
fn a_last_request_without_an_answer_shows_in_a_capture_that_begins_late() {
    let found = hangs(Script::late(End::Second, 60_000), 15_000);
    assert_eq!(found[0].finding.cause, Cause::NoAnswer, "{found:?}");
    // Nothing before shows that its requests are answered.
    let mut script = Script::late(End::First, 60_000);
    script.write(End::First, 140).after(MS / 10);
    script.confirm(End::Second).after(15_000 * MS);
    assert!(closed(script).is_empty());
}

#[test]
fn the_end_of_data_that_is_confirmed_block_by_block_needs_no_confirmation() {
    let confirmed = |block: u32, end: u32| {
        let mut script = opened();
        for _ in 0..18 {
            script.write(End::First, block).after(MS / 10);
            script.write(End::Second, 100).after(8 * MS);
        }
        script.write(End::First, end).after(MS / 10);
        script.confirm(End::Second).after(15_000 * MS);
        lacks_answer(script)
    };
    assert!(!confirmed(1_400, 900));
    assert!(confirmed(1_400, 1_400), "a whole block");
    assert!(confirmed(90, 80), "a request");
}

#[test]
fn a_client_that_sends_again_did_not_wait_for_an_answer() {
    let unanswered = |again_ms: u64| {
        let mut script = opened();
        for _ in 0..2 {
            script.write(End::First, 60).after(MS / 10);
            script.confirm(End::Second).after(again_ms * MS);
        }
        script.after(10_000 * MS);
        lacks_answer(script)
    };
    assert!(unanswered(300), "a request in two parts");
    assert!(!unanswered(9_000), "two reports");
}

#[test]
fn a_request_that_came_again_is_still_the_same_one() {
    let mut script = opened();
    let numbers = script.next;
    script.write(End::First, 60);
    for wait_ms in [200, 400, 800, 1_600] {
        script.after(wait_ms * MS);
        script.packet(End::First, Segment::PSH | Segment::ACK, numbers, 60, &[]);
    }
    script.after(20 * MS).confirm(End::Second);
    script.after(30_000 * MS);
    assert!(lacks_answer(script));
}
