//! Packets that wait on the way of the data, too, and transfers in both directions.

use super::*;

#[test]
fn where_data_waits_too_both_share_a_medium_that_is_full() {
    let back_ms = |at: u64| (at * 8).min(80);
    assert!(found(waiting(true, 8, back_ms), None).is_some());
    assert!(found(waiting(true, 40, back_ms), None).is_none());
}

/// An upload that always takes 16 ms, where another connection between the hosts had a round trip of `least_ns`.
fn beside_faster(upload: Script, least_ns: u64, against: OppositeTransfer) -> Option<Rule> {
    let flow = upload.flow();
    let mut facts = FlowFacts::of(&flow).expect("payload");
    facts.against = Some(against);
    facts.least_rtt_ns = Some(least_ns);
    ack_path_full(&facts)
}

/// 190 kB/s in bursts.
fn in_bursts() -> Script {
    let mut upload = Script::open(End::First, RTT_NS, 20 * US, 60_000);
    for at in 0..80 {
        upload.at(2 * RTT_NS + at * 60 * MS).send(8, MSS, 400 * US);
        upload.after(RTT_NS).ack_pairs();
    }
    upload
}

/// 190 kB/s, of which eleven segments wait before a link.
fn full() -> Script {
    let mut upload = Script::open(End::First, RTT_NS, 20 * US, 60_000);
    upload.at(2 * RTT_NS).send(12, MSS, 10 * US);
    upload.at(3 * RTT_NS);
    for at in 0..640 {
        upload.after(7_690 * US).ack(1 + (at + 1) * MSS);
        upload.send(1, MSS, 0);
    }
    upload
}

/// A transfer of this rate, steady or in a queue.
fn against(bytes_per_s: f64) -> OppositeTransfer {
    OppositeTransfer {
        bytes_per_s,
        queue_ns: None,
        is_full: false,
        may_fill: true,
    }
}

#[test]
fn a_round_trip_that_was_always_longer_than_that_of_another_connection_waits_behind_a_transfer() {
    // Captured behind 16 ms of which none were necessary.
    let rule = beside_faster(in_bursts(), 200 * US, against(90_000.0)).expect("a finding");
    assert!(
        rule.evidence["queue_ns_least"] > 15e6,
        "{:?}",
        rule.evidence
    );
    assert!(beside_faster(in_bursts(), RTT_NS, against(90_000.0)).is_none());
    // Both ways of a line that carries as much in both may be full.
    assert!(beside_faster(in_bursts(), 200 * US, against(190_000.0)).is_none());
}

#[test]
fn a_line_that_carries_as_much_both_ways_is_full_where_its_rate_passes() {
    let fills = |upload: Script, bytes_per_s: f64| {
        let flow = upload.flow();
        let facts = FlowFacts::of(&flow).expect("payload");
        opposite::fills_both_ways(&facts, against(bytes_per_s))
    };
    assert!(fills(full(), 190_000.0));
    assert!(!fills(full(), 90_000.0), "more in one direction");
    assert!(!fills(in_bursts(), 190_000.0), "idle between bursts");
}

#[test]
fn a_transfer_whose_queue_does_not_show_may_delay_a_handshake() {
    let unseen = OppositeTransfer {
        may_fill: false,
        ..against(90_000.0)
    };
    let rule = beside_faster(in_bursts(), 200 * US, unseen).expect("a finding");
    assert!(rule.summary.contains("passes there at"), "{}", rule.summary);
    // Without such a handshake, it has to fill its way.
    assert!(found(stamped(false), Some(unseen)).is_none());
}

#[test]
fn unlike_parts_of_a_line_that_both_directions_share_are_no_narrow_way_back() {
    let found = |times_as_fast: f64, utilization: f64| {
        let flow = stamped(false).flow();
        let mut facts = FlowFacts::of(&flow).expect("payload");
        facts.model.utilization = utilization;
        facts.against = Some(OppositeTransfer {
            bytes_per_s: facts.goodput() / times_as_fast,
            ..OPPOSITE
        });
        ack_path_full(&facts).is_some()
    };
    assert!(!found(1.6, 0.6));
    assert!(found(2.0, 0.6), "more in one direction");
    assert!(found(1.6, 0.1), "much less than its own way carries");
}
