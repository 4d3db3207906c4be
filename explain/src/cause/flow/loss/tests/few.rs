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
