use crate::cause::flow::explain_flows;
use crate::cause::synthetic::{MS, MSS, Script};
use linerate_capture::reader::Address;
use linerate_capture::tcp::{End, Segment};
use linerate_capture::traffic::Flow;
use linerate_results::record::Cause;

const RESET: u8 = Segment::RST | Segment::ACK;

/// A transfer at an even pace, of which four segments are in flight at its end.
fn transfer(mut script: Script, sender: End) -> Script {
    for at in 0..400 {
        script.after(3 * MS).send(1, MSS, 0);
        if at >= 4 {
            let acked = script.sent() - 4 * MSS;
            script.ack(acked);
        }
    }
    assert_eq!(script.next[sender.other() as usize], 1);
    script
}

fn upload() -> Script {
    transfer(Script::open(End::First, 12 * MS, 0, 60_000), End::First)
}

fn download() -> Script {
    transfer(Script::open(End::Second, 0, 12 * MS, 60_000), End::Second)
}

fn reset(script: &mut Script, end: End) {
    let numbers = [script.next[end as usize], 1];
    script.after(MS).packet(end, RESET, numbers, 0, &[]);
}

fn refusal(flows: &[Flow]) -> Option<String> {
    let (findings, _) = explain_flows(flows);
    let first = findings.into_iter().next()?.finding;
    (first.cause == Cause::Refused).then_some(first.summary)
}

fn is_refused(script: Script) -> bool {
    refusal(&[script.flow()]).is_some()
}

#[test]
fn a_server_that_resets_a_transfer_in_its_middle_refuses_the_rest() {
    for mut script in [upload(), download()] {
        reset(&mut script, End::Second);
        let summary = refusal(&[script.flow()]).expect("refused");
        assert!(summary.contains("in the middle of a transfer"), "{summary}");
        assert!(summary.contains("after 578,160 B in 1.21 s"), "{summary}");
    }
    let mut late = transfer(Script::late(End::First, 60_000), End::First);
    reset(&mut late, End::Second);
    assert!(is_refused(late), "the lower port serves");
}

#[test]
fn near_the_server_more_arrives_behind_the_reset() {
    let mut script = upload();
    script.ack_all();
    reset(&mut script, End::Second);
    script.after(3 * MS).send(1, MSS, 0);
    script.packet(End::Second, Segment::RST, [1, 0], 0, &[]);
    assert!(is_refused(script));
}

#[test]
fn a_reset_may_overtake_an_acknowledgment_but_no_data_goes_on() {
    let goes_on = |segments: u32| {
        let mut script = upload();
        let acked = script.sent() - 4 * MSS;
        script
            .after(MS)
            .packet(End::Second, RESET, [1, acked], 0, &[]);
        script.after(MS / 10).ack(acked + segments * MSS);
        let (findings, _) = explain_flows(&[script.flow()]);
        let mut causes = findings.iter().map(|it| it.finding.cause);
        causes.any(|it| it == Cause::Refused)
    };
    assert!(goes_on(0));
    assert!(!goes_on(2), "a device in between reset it");
}

#[test]
fn near_the_client_a_reset_answers_each_acknowledgment_of_what_was_in_flight() {
    let resets = |count: u32| {
        let mut script = download();
        script.ack_all();
        for _ in 0..count {
            reset(&mut script, End::Second);
        }
        is_refused(script)
    };
    assert!(resets(3));
    assert!(!resets(1), "all arrived");
}

#[test]
fn a_reset_of_the_client_or_behind_the_end_of_a_transfer_refuses_nothing() {
    let mut aborted = download();
    reset(&mut aborted, End::First);
    assert!(!is_refused(aborted), "a client has enough");
    let mut complete = upload();
    complete.ack_all();
    reset(&mut complete, End::Second);
    assert!(!is_refused(complete), "nothing is under way");
    let mut idle = upload();
    idle.after(5_000 * MS);
    reset(&mut idle, End::Second);
    assert!(!is_refused(idle), "it waits");
    let mut closed = upload();
    let seq = closed.sent();
    closed.packet(End::First, Segment::FIN | Segment::ACK, [seq, 1], 0, &[]);
    reset(&mut closed, End::Second);
    assert!(!is_refused(closed), "the client closed first");
    let mut sent = download();
    sent.send(1, 700, 0);
    reset(&mut sent, End::Second);
    assert!(!is_refused(sent), "the last segment ends it");
    let mut few = Script::open(End::First, 12 * MS, 0, 60_000);
    few.send(10, MSS, MS);
    few.ack(1 + 4 * MSS);
    reset(&mut few, End::Second);
    assert!(!is_refused(few), "no transfer");
}

#[test]
fn a_reset_that_does_not_end_a_transfer_is_that_of_a_device_in_between() {
    let mut script = upload();
    reset(&mut script, End::Second);
    script.after(3 * MS).send(1, MSS, 0);
    script.ack_all();
    assert!(!is_refused(script));
    let mut ignored = upload();
    reset(&mut ignored, End::Second);
    ignored.after(2_000 * MS).send(1, MSS, 0);
    assert!(!is_refused(ignored));
}

#[test]
fn a_connection_beside_it_may_be_where_both_ends_agree_on_the_end() {
    let with_control = |host: u8, last_ms: u64| {
        let mut script = upload();
        reset(&mut script, End::Second);
        let mut control = Script::open(End::First, 12 * MS, 0, 60_000);
        control.write(End::First, 80).after(MS);
        control.confirm(End::Second).after(last_ms * MS);
        control.write(End::First, 80);
        let mut control = control.flow();
        control.ends[0].1 += 1;
        control.ends[1].0 = Address([host; 16]);
        let (findings, _) = explain_flows(&[script.flow(), control]);
        findings.iter().any(|it| it.finding.cause == Cause::Refused)
    };
    assert!(!with_control(2, 3_000), "between the same hosts");
    assert!(!with_control(2, 600), "it ended before");
    assert!(with_control(3, 3_000), "between others");
}

#[test]
fn a_server_of_iperf3_resets_its_streams_at_the_end_of_a_measurement() {
    let streams = |cookie: u32| {
        let mut script = Script::open(End::First, 12 * MS, 0, 60_000);
        script.send(1, cookie, 0).after(12 * MS).ack_all();
        let mut script = transfer(script, End::First);
        reset(&mut script, End::Second);
        is_refused(script)
    };
    assert!(!streams(37));
    assert!(streams(38));
}
