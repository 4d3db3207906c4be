//! Windows that few losses reduced.

use super::*;
use crate::cause::flow::evaluate::evaluate as evaluate_flow;

/// What limits an upload with one flight in each round trip of 30 ms, of `sizes`, captured at its sender; the second segment of the
/// flights in `lossy` is lost.
fn limits(sizes: impl IntoIterator<Item = u32>, lossy: &[usize]) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 30 * MS, 20 * US, 60_000);
    let mut at_ns = 50 * MS;
    for (round, size) in sizes.into_iter().enumerate() {
        let lost = upload.sent() + MSS;
        upload.at(at_ns).send(size, MSS, 10 * US);
        at_ns += 30 * MS;
        upload.at(at_ns);
        if lossy.contains(&round) {
            upload.duplicate_acks(3, lost, US).segment(lost, MSS);
            at_ns += 30 * MS;
            upload.at(at_ns);
        }
        upload.ack_pairs();
        at_ns += 20 * US;
    }
    let flow = upload.flow();
    let found = evaluate_flow(&FlowFacts::of(&flow).expect("payload"));
    found.into_iter().map(|it| it.cause).collect()
}

#[test]
fn a_window_that_few_losses_reduced_is_that_of_a_queue() {
    // Halved, and grown by a segment in each round trip again.
    let halved = || [30].into_iter().chain(15..=30).chain(15..=30);
    assert_eq!(limits(halved(), &[0, 16])[..1], [Cause::ShallowQueue]);
    // Slow start, at the end of which one segment is lost.
    let doubled = || (0..8).map(|round| 2 + 4 * round);
    assert_eq!(limits(doubled(), &[6, 7])[..1], [Cause::CongestionWindow]);
}

/// The reason of a window that limits a sender, for flights of ten segments that were captured at the receiver, of which some have
/// a segment that later ones overtake, and some lose one.
fn reason(overtaken: u64, lost: u64, limit: Limit) -> Cause {
    let mut download = download();
    for round in 0..200_u64 {
        let first = download.sent();
        let start_ns = 10 * MS + round * 2 * RTT_NS;
        let late_ns = match round % 10 {
            3 if round / 10 < overtaken => 400 * US,
            6 if round / 10 < lost => RTT_NS,
            _ => 0,
        };
        let arrival_ns = |place: u64| place * 100 * US + if place == 3 { late_ns } else { 0 };
        let mut places: Vec<u64> = (0..10).collect();
        places.sort_by_key(|place| arrival_ns(*place));
        for (number, place) in places.into_iter().enumerate() {
            let seq = first + place as u32 * MSS;
            download.at(start_ns + arrival_ns(place)).segment(seq, MSS);
            let acked = if number < 9 && late_ns > 0 {
                (number + 1).min(3)
            } else {
                number + 1
            };
            download.after(10 * US).ack(first + acked as u32 * MSS);
        }
    }
    let flow = download.flow();
    let mut facts = FlowFacts::of(&flow).expect("payload");
    facts.model.spans = vec![Span {
        start_ns: 0,
        end_ns: facts.model.span_ns,
        limit,
        number: 0,
    }];
    let rule = Rule {
        share: 0.9,
        cause: Cause::CongestionWindow,
        confidence: 0.7,
        summary: String::new(),
        evidence: BTreeMap::new(),
        advice: String::new(),
        limits: &[],
        has_gain: true,
    };
    reason_of_window(&facts, rule).cause
}

#[test]
fn a_window_that_overtaken_segments_reduced_is_that_of_reordering() {
    assert_eq!(reason(5, 0, Limit::InFlight), Cause::Reordering);
    assert_eq!(reason(2, 0, Limit::InFlight), Cause::CongestionWindow);
    assert_eq!(reason(5, 4, Limit::InFlight), Cause::ShallowQueue, "losses");
    assert_eq!(reason(5, 0, Limit::SlowStart), Cause::CongestionWindow);
}
