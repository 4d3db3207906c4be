//! Counts that can and that cannot be.

use super::*;
use linerate_results::record::{CountedAt, Datagrams};

const SECOND: u64 = 1_000_000_000;
const SENT: Sent = Sent {
    octets: 100_000,
    datagrams: 100,
    span_ns: SECOND,
};

fn datagrams(octets: u64, span_ns: u64, lost: u64) -> Flow {
    let datagrams = Datagrams {
        sent: 100,
        received: 100_u64.saturating_sub(lost),
        lost,
        out_of_order: Some(0),
        jitter_ns: Some(1_000),
        ..Datagrams::default()
    };
    Flow::datagrams(octets, span_ns, CountedAt::Device, datagrams)
}

fn report(flow: Flow) -> (Result<Flow, String>, Vec<String>) {
    let mut notes = Vec::new();
    (
        reported(flow, SENT, SECOND + SECOND / 10, &mut notes),
        notes,
    )
}

#[test]
fn a_report_of_what_was_sent_stays_as_it_is() {
    for (octets, span, lost) in [
        (100_000, SECOND, 0),
        (50_000, SECOND, 50),
        // The queue drained.
        (100_000, SECOND + SECOND / 10, 0),
        // All lost.
        (0, 0, 100),
    ] {
        let flow = datagrams(octets, span, lost);
        assert_eq!(report(flow.clone()), (Ok(flow), Vec::new()));
    }
}

#[test]
fn counts_beyond_what_was_sent_are_refused() {
    let with = |change: fn(&mut Datagrams)| {
        let mut flow = datagrams(100_000, SECOND, 0);
        change(flow.datagrams.as_mut().expect("datagrams"));
        flow
    };
    for flow in [
        datagrams(1_000_000_000_000_000, SECOND, 0),
        datagrams(0, SECOND, 0),
        datagrams(100_000, SECOND * 1_000, 0),
        datagrams(1_000, SECOND, 500),
        with(|it| it.sent = 101),
        with(|it| it.out_of_order = Some(101)),
        Flow::stream(1_000_000_000_000_000, SECOND, CountedAt::Device),
        Flow::stream(100_001, SECOND, CountedAt::Device),
        Flow::stream(0, SECOND, CountedAt::Device),
    ] {
        let (refused, _) = report(flow.clone());
        let what = refused.expect_err("impossible");
        assert!(
            what.starts_with("its report cannot be: "),
            "{what}: {flow:?}"
        );
    }
}

#[test]
fn what_arrived_was_not_faster_than_what_was_sent() {
    for span in [0, 1, SECOND / 2] {
        let (flow, notes) = report(Flow::stream(100_000, span, CountedAt::Device));
        let flow = flow.expect("possible octets");
        assert_eq!(flow.span_ns, SECOND);
        assert!((flow.goodput_bytes_per_s - 100_000.0).abs() < 1.0);
        assert_eq!(notes.len(), 1, "{notes:?}");
    }
}

#[test]
fn duplicates_are_no_goodput() {
    let (flow, notes) = report(datagrams(150_000, SECOND, 0));
    let flow = flow.expect("duplicates");
    assert_eq!((flow.octets, notes.len()), (150_000, 1));
    assert!(flow.goodput_bytes_per_s <= 100_000.0);
    assert!(report(datagrams(200_001, SECOND, 0)).0.is_err());
}

#[test]
fn a_jitter_longer_than_the_test_is_left_out() {
    let mut flow = datagrams(100_000, SECOND, 0);
    flow.datagrams.as_mut().expect("datagrams").jitter_ns = Some(SECOND * 1_000_000);
    let (flow, notes) = report(flow);
    let datagrams = flow.expect("the rest is possible").datagrams;
    assert_eq!(datagrams.expect("datagrams").jitter_ns, None);
    assert_eq!(notes.len(), 1);
}

fn receive(flow: Flow, asked: Requested) -> (Result<Flow, String>, Vec<String>) {
    let mut notes = Vec::new();
    (received(flow, asked, SECOND, &mut notes), notes)
}

const FOR_A_SECOND: Requested = Requested {
    span_ns: SECOND,
    octets: 0,
    payload_octets: 1_000,
    bits_per_s: 800_000,
};

#[test]
fn numbers_from_the_future_are_refused() {
    let with = |sent: u64| {
        let mut flow = datagrams(100_000, SECOND, 0);
        let it = flow.datagrams.as_mut().expect("datagrams");
        (it.sent, it.lost) = (sent, sent - it.received);
        flow
    };
    assert!(receive(with(100), FOR_A_SECOND).0.is_ok());
    // Half of them lost at the end.
    assert!(receive(with(200), FOR_A_SECOND).0.is_ok());
    for sent in [1_000_000, u64::MAX] {
        let what = receive(with(sent), FOR_A_SECOND).0.expect_err("impossible");
        assert!(what.contains("cannot be"), "{what}");
    }
    // As fast as possible: what no link carries.
    let unlimited = Requested {
        bits_per_s: 0,
        ..FOR_A_SECOND
    };
    assert!(receive(with(1_000_000), unlimited).0.is_ok());
    assert!(receive(with(1_000_000_000_000), unlimited).0.is_err());
}

#[test]
fn a_stream_that_ends_early_is_marked_or_refused() {
    let stream = |octets, span| Flow::stream(octets, span, CountedAt::Host);
    let asked = Requested {
        span_ns: SECOND,
        ..Requested::default()
    };
    assert!(receive(stream(0, 0), asked).0.is_err());
    assert!(receive(stream(100_000, 20_000), asked).0.is_err());
    let (flow, notes) = receive(stream(100_000, SECOND / 4), asked);
    assert!(flow.is_ok_and(|flow| flow.is_cut) && notes.len() == 1);
    let (flow, notes) = receive(stream(100_000, SECOND * 9 / 10), asked);
    assert!(flow.is_ok_and(|flow| !flow.is_cut) && notes.is_empty());
    let amount = Requested {
        octets: 1_000,
        ..Requested::default()
    };
    let (flow, notes) = receive(stream(500, SECOND / 2), amount);
    assert!(flow.is_ok_and(|flow| flow.is_cut) && notes.len() == 1);
    // Out of one buffer: the time of the connection counts.
    let (flow, _) = receive(stream(1_000, 0), amount);
    assert_eq!(flow.map(|flow| flow.span_ns), Ok(SECOND));
}

#[test]
fn without_a_report_what_was_acknowledged_counts() {
    let count = |acked| {
        let mut notes = Vec::new();
        let flow = Flow::stream(100_000, SECOND, CountedAt::Host);
        (acknowledged(flow, acked, &mut notes), notes.len())
    };
    for acked in [None, Some(100_000), Some(100_002)] {
        let (flow, notes) = count(acked);
        assert!(flow.is_ok_and(|flow| !flow.is_cut && flow.octets == 100_000));
        assert_eq!(notes, 0);
    }
    let (flow, notes) = count(Some(40_000));
    let flow = flow.expect("a part");
    assert_eq!((flow.octets, flow.is_cut, notes), (40_000, true, 1));
    assert!((flow.goodput_bytes_per_s - 40_000.0).abs() < 1.0);
    assert!(count(Some(1)).0.is_err());
}
