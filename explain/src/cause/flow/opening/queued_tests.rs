use crate::cause::flow::explain_flows;
use crate::cause::scored::PathFinding;
use crate::cause::synthetic::{MS, Script};
use linerate_capture::tcp::{End, Segment};
use linerate_capture::traffic::Flow;
use linerate_results::record::Cause;

/// A client whose request is ignored until its copy number `repeats` is answered.
fn waits(port: u16, repeats: u32) -> Flow {
    let mut script = Script::open(End::Second, 5 * MS, 0, 60_000);
    let numbers = script.next;
    for at in 0..=repeats {
        script.packet(End::First, Segment::PSH | Segment::ACK, numbers, 40, &[]);
        script.after((200 * MS) << at);
    }
    script.next[0] = script.next[0].wrapping_add(40);
    script.confirm(End::Second).write(End::Second, 600);
    script.after(MS).confirm(End::First);
    let mut flow = script.flow();
    flow.ends[0].1 = port;
    flow
}

/// A client that is answered once at once, and once after so long.
fn served(port: u16, after_ms: u64) -> Flow {
    let mut script = Script::open(End::Second, 5 * MS, 0, 60_000);
    for pause_ms in [0, after_ms] {
        script.after(pause_ms * MS).write(End::First, 40);
        script.after(5 * MS).write(End::Second, 600);
        script.after(MS).confirm(End::First);
    }
    let mut flow = script.flow();
    flow.ends[0].1 = port;
    flow
}

fn slow(flows: &[Flow]) -> Option<PathFinding> {
    let (findings, _) = explain_flows(flows);
    let mut findings = findings.into_iter();
    findings.find(|it| it.finding.cause == Cause::SlowHandshake)
}

#[test]
fn connections_that_wait_for_a_full_accept_queue_open_slowly() {
    let found = slow(&[served(40_001, 400), waits(40_002, 4), waits(40_003, 3)]);
    let found = found.expect("a finding").finding;
    assert!(found.summary.contains("2 connections"), "{}", found.summary);
    assert!(found.summary.contains("accept queue"), "{}", found.summary);
}

#[test]
fn silence_for_all_connections_or_a_few_losses_show_no_accept_queue() {
    assert!(slow(&[served(40_001, 0), waits(40_002, 4)]).is_none());
    assert!(slow(&[served(40_001, 400), waits(40_002, 2)]).is_none());
}

#[test]
fn different_data_behind_each_other_is_not_ignored() {
    let mut script = Script::open(End::Second, 600 * MS, 0, 60_000);
    for _ in 0..5 {
        script.write(End::First, 40).after(MS);
    }
    script.after(600 * MS).confirm(End::Second);
    script.write(End::Second, 600).confirm(End::First);
    let mut flow = script.flow();
    flow.ends[0].1 = 40_002;
    assert!(slow(&[served(40_001, 700), flow]).is_none());
}
