use linerate_ether::ledger::DropCause;

use super::*;
use crate::measure::drive;
use crate::measure::scripted::{Script, line};

fn echo_frame(start_ns: u64, from: Side, sequence: u16) -> Frame {
    let request = from == Side::Device;
    Frame {
        start_ns,
        end_ns: start_ns + line::frame_ns(60),
        from,
        octets: 78,
        packet: Packet::Echo(Echo {
            request,
            identifier: 1,
            sequence,
            len: 32,
        }),
        lost: None,
        tag: 0,
    }
}

fn script(lines: usize) -> Script {
    let mut events = Vec::new();
    for ping in 0..lines as u64 {
        let at_ns = 10_000_000 * (ping + 1);
        events.push(Event::Frame(echo_frame(at_ns, Side::Device, ping as u16)));
        events.push(Event::Frame(echo_frame(
            at_ns + 200_000 + ping * 1_000,
            Side::Peer,
            ping as u16,
        )));
        events.push(line(
            at_ns + 900_000,
            &format!(
                "@ {{\"event\":\"ping\",\"seq\":{ping},\"rtt_us\":{}}}",
                800 + ping
            ),
        ));
    }
    events.push(line(500_000_000, r#"@ {"event":"counters","RxFrames":4}"#));
    events.push(line(500_000_001, r#"@ {"event":"done"}"#));
    Script::new(events)
}

fn measure(script: Script, count: u64) -> Result<Ping, MeasureError> {
    let plan = Plan { count, limit_s: 10 };
    let mut results = Vec::new();
    drive(
        Box::new(script),
        &mut observer(&plan),
        plan.limit_s,
        &mut |result| results.push(result),
        &mut |_, _| true,
    )?;
    match results.pop() {
        Some(Measurement::Ping(ping)) if results.is_empty() => Ok(ping),
        other => panic!("one ping expected, {other:?}"),
    }
}

#[test]
fn round_trips_by_the_device_and_on_the_wire() {
    let ping = measure(script(4), 4).expect("measured");
    assert_eq!((ping.metrics.sent, ping.metrics.received), (4, 4));
    let rtt = ping.metrics.rtt_ns.expect("answers");
    assert_eq!((rtt.min, rtt.max), (800_000, 803_000));
    assert_eq!(rtt.p50, 801_000);
    let frame_ns = line::frame_ns(60);
    assert_eq!(ping.samples.wire_rtt_ns[0], 200_000 + frame_ns);
    assert_eq!(ping.samples.wire_rtt_ns.len(), 4);
    assert_eq!(ping.params.payload_bytes, 32);
    assert_eq!(ping.limits.line_rtt_ns, line::ping_ns(32));
    assert_eq!(
        (
            ping.ledger.sent_frames,
            ping.ledger.delivered_frames,
            ping.ledger.missing_frames()
        ),
        (4, 4, 0)
    );
    assert_eq!(ping.ledger.counters["RxFrames"], 4);
    assert!(!ping.findings.is_empty());
}

#[test]
fn a_lost_ping_counts_as_sent() {
    let unheard = Frame {
        lost: Some(DropCause::Unheard),
        ..echo_frame(200_000, Side::Peer, 0)
    };
    let events = [
        Event::Frame(echo_frame(10, Side::Device, 0)),
        Event::Frame(unheard),
        line(1_000_000_000, r#"@ {"event":"ping_lost","seq":0}"#),
        line(1_000_000_001, r#"@ {"event":"done"}"#),
    ];
    let ping = measure(Script::new(events), 1).expect("measured");
    assert_eq!(
        (
            ping.metrics.sent,
            ping.metrics.received,
            ping.metrics.rtt_ns
        ),
        (1, 0, None)
    );
    assert_eq!(ping.ledger.lost_for(DropCause::Unheard), 1);
}

#[test]
fn another_number_than_was_asked_for_is_an_error() {
    let error = measure(script(3), 4).expect_err("one short").to_string();
    assert_eq!(error, "the firmware sent 3 pings, the scenario asks for 4");
}
