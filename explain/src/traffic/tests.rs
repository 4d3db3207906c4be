//! The report of a capture as text and as JSON.

use super::Report;
use super::report::Source;
use super::table::row;
use crate::cause::synthetic::{MS, MSS, Script, US, path_finding};
use linerate_capture::reader::Address;
use linerate_capture::tcp::End;
use linerate_capture::traffic::{Analysis, Traffic};
use linerate_results::record::Cause;

fn report_of(analysis: Analysis) -> Report {
    let capture = Source {
        file: "lan.pcap".to_owned(),
        packets: 1_000,
        fault: None,
    };
    Report::of_analysis(analysis, vec![capture])
}

/// 30 s of short requests at any time, which are answered at once, and `rounds` round trips of 20 ms of an upload between other hosts,
/// whose window is full all the time.
fn report(rounds: u64) -> Report {
    let mut dialogue = Script::open(End::Second, 20 * US, 20 * US, 60_000);
    for number in 0..60_u64 {
        dialogue.after((100 + number * 7 % 9 * 100) * MS);
        dialogue.write(End::First, 100).after(20 * US);
        dialogue.write(End::Second, 100).after(20 * US);
        dialogue.confirm(End::First);
    }
    let mut upload = Script::open(End::First, 20 * MS, 20 * US, 4 * MSS as u16);
    for _ in 0..rounds {
        upload.send(4, MSS, 100 * US).after(20 * MS).ack_all();
    }
    let mut analysis = dialogue.analysis();
    let mut flow = upload.flow();
    flow.ends = [(3, 40_000), (4, 80)].map(|(host, port)| (Address([host; 16]), port));
    analysis.flows.push(flow);
    report_of(analysis)
}

#[test]
fn what_takes_little_of_the_time_is_no_reason_but_is_printed() {
    let report = report(70);
    assert_eq!(report.findings, []);
    assert_eq!(
        report.minor_findings.len(),
        1,
        "{:?}",
        report.minor_findings
    );
    let minor = &report.minor_findings[0];
    assert_eq!(minor.finding.cause, Cause::ReceiveWindow);
    assert_eq!(
        report.verdict(),
        "The capture shows no problem that takes 5% of the time."
    );
    let text = report.text();
    let line = text.lines().find(|line| line.starts_with("Beside that, "));
    let line = line.expect(&text);
    assert!(
        line.starts_with("Beside that, 4.5% of the time: ")
            && line.contains(": receive window. ")
            && line.ends_with(&minor.finding.summary),
        "{line}"
    );
    let json = serde_json::to_value(&report).expect("JSON");
    assert_eq!(json["minor_findings"][0]["cause"], "receive-window");
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(0));
}

#[test]
fn what_takes_more_of_the_time_is_the_reason() {
    let report = report(150);
    assert_eq!(report.findings[0].finding.cause, Cause::ReceiveWindow);
    assert_eq!(report.minor_findings, []);
    assert!(!report.text().contains("Beside that"));
    let json = serde_json::to_value(&report).expect("JSON");
    assert_eq!(json["minor_findings"].as_array().map(Vec::len), Some(0));
}

/// The report about segments, each 300 ms, from a source with a clock, which has no cause.
fn clocked(segments: u64) -> Report {
    let mut stream = Script::open(End::First, 2 * MS, 2 * MS, 60_000);
    for at in 0..segments {
        stream.at((10 + 300 * at) * MS).send(1, 200, 0);
        stream.after(2 * MS).ack_all();
    }
    let report = report_of(stream.analysis());
    assert!(report.findings.is_empty(), "{}", report.text());
    report
}

#[test]
fn a_wait_without_a_cause_is_stated_if_it_is_noticed() {
    let wait = "No cause is named: for 99% of the time";
    let found = clocked(40).verdict();
    assert!(found.starts_with(wait), "{found}");
    assert_eq!(clocked(2).verdict(), "The capture shows no problem.");
    // A cause that explains little of it does not name it.
    let mut report = clocked(40);
    let mut loss = path_finding(Cause::RandomLoss, Some(["192.0.2.1", "192.0.2.2"]), 0.04);
    let packet = ("connection_packet".to_owned(), 1.0);
    loss.finding.evidence.extend([packet]);
    report.minor_findings.push(loss);
    assert!(report.verdict().starts_with(wait), "{}", report.verdict());
}

#[test]
fn an_unlikely_cause_is_no_headline() {
    let text = |confidence| {
        let mut report = Report::of(Traffic::default(), Vec::new());
        let mut loss = path_finding(Cause::RandomLoss, None, 0.7);
        loss.finding.confidence = confidence;
        report.findings.push(loss);
        report.text()
    };
    assert!(text(0.8).starts_with("One cause accounts for 70% of the time: random loss."));
    let unlikely = text(0.5);
    assert!(
        unlikely.starts_with(
            "No single cause is certain; one of several possible causes: random loss."
        ) && unlikely.contains("(confidence 50%: one of several possible causes)"),
        "{unlikely}"
    );
}

/// The cells of the one connection of a report.
fn cells(capture: Script) -> [String; 10] {
    row(&report_of(capture.analysis()).connections[0])
}

#[test]
fn near_the_receiver_the_round_trip_is_that_of_the_handshake() {
    let mut download = Script::open(End::Second, 30 * MS, 20 * US, 60_000);
    for _ in 0..20 {
        download.send(4, MSS, 100 * US).after(20 * US).ack_all();
        download.after(30 * MS);
    }
    assert_eq!(cells(download)[8], "30.02 ms");
}

#[test]
fn a_rate_that_is_unknown_is_not_zero() {
    let mut capture = Script::late(End::First, 60_000);
    for _ in 0..20 {
        capture.send(1, MSS, 0).after(10 * MS);
    }
    assert_eq!(cells(capture)[5], "");
}

#[test]
fn what_passes_before_the_first_payload_need_not_be_a_handshake() {
    let mut capture = Script::late(End::First, 60_000);
    capture
        .after(2_000 * MS)
        .send(1, MSS, 0)
        .after(MS)
        .ack_all();
    let limit = &cells(capture)[9];
    assert!(limit.starts_with("before the first payload"), "{limit}");
}

#[test]
fn a_refusal_accounts_for_no_time() {
    let mut report = Report::of(Traffic::default(), Vec::new());
    let mut refused = path_finding(Cause::Refused, None, 0.98);
    refused.finding.confidence = 0.8;
    report.findings.push(refused);
    assert_eq!(report.verdict(), "Main finding: refused.");
}
