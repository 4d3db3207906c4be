//! What precedes a transfer, or is known from elsewhere: opening, the server's time, a capture.

use super::script::{FULL_PATH, MS, Script, WINDOW};
use crate::cause::explain_transfer;
use linerate_results::record::{CaptureFinding, Cause, Direction, Finding, TransferCapture};

#[test]
fn a_server_that_thinks_is_named_before_all_else() {
    let mut result = Script {
        direction: Direction::FromDevice,
        span_ms: 200,
        ..Script::default()
    }
    .result();
    for connection in &mut result.observation.connections {
        connection.first_read_ns = Some(160 * MS);
    }
    let one = result.observation.connections[0].clone();
    result.observation.connections.extend([one.clone(), one]);
    let answer = explain_transfer(&result).remove(0);
    let finding = &answer.findings[0];
    assert_eq!(finding.cause, Cause::ServerThinkTime);
    assert!(
        finding.summary.contains("takes 150 ms from a request")
            && finding.summary.contains("of 3 requests"),
        "{}",
        finding.summary
    );
}

#[test]
fn a_first_packet_that_takes_longer_is_wake_up_latency() {
    let mut result = WINDOW.result();
    result.observation.connections[0].connect_ns = Some(150 * MS);
    let causes: Vec<Cause> = explain_transfer(&result)[0]
        .findings
        .iter()
        .map(|it| it.cause)
        .collect();
    assert_eq!(causes, [Cause::ReceiveWindow, Cause::WakeUpLatency]);
    // The retransmission of a SYN.
    result.observation.connections[0].connect_ns = Some(1_020 * MS);
    let causes: Vec<Cause> = explain_transfer(&result)[0]
        .findings
        .iter()
        .map(|it| it.cause)
        .collect();
    assert_eq!(causes, [Cause::ReceiveWindow, Cause::SlowHandshake]);
}

fn captured(cause: Cause, direction: Direction) -> TransferCapture {
    let finding = Finding {
        cause,
        confidence: 0.9,
        summary: "shown.".to_owned(),
        evidence: std::collections::BTreeMap::new(),
        advice: String::new(),
    };
    TransferCapture {
        findings: vec![CaptureFinding {
            direction: Some(direction),
            finding,
        }],
        ..TransferCapture::default()
    }
}

#[test]
fn a_capture_confirms_or_decides_and_does_not_contradict() {
    let causes = |script: Script, cause, direction| {
        let mut result = script.result();
        result.observation.capture = Some(captured(cause, direction));
        let answer = explain_transfer(&result).remove(0);
        let causes: Vec<Cause> = answer.findings.iter().map(|it| it.cause).collect();
        (causes, answer)
    };
    let to = Direction::ToDevice;
    let (same, answer) = causes(WINDOW, Cause::ReceiveWindow, to);
    assert_eq!(same, [Cause::ReceiveWindow]);
    assert!(
        answer.findings[0]
            .summary
            .ends_with("The capture shows the same.")
    );
    let (decided, answer) = causes(Script::default(), Cause::StretchAcks, to);
    assert_eq!(decided, [Cause::StretchAcks]);
    assert!(answer.unknown.is_empty());
    // Losses of a full queue are no cause of their own.
    let (kept, _) = causes(FULL_PATH, Cause::RandomLoss, to);
    assert_eq!(kept, [Cause::PathRate]);
    // Nor is a window that fills it.
    let (kept, _) = causes(FULL_PATH, Cause::ReceiveWindow, to);
    assert_eq!(kept, [Cause::PathRate]);
    // Acknowledgments of the other direction are not this one's.
    let (own, _) = causes(WINDOW, Cause::StretchAcks, Direction::FromDevice);
    assert_eq!(own, [Cause::ReceiveWindow]);
}
