//! Several connections of one page.

use super::of_client;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;

/// A picture whose connection opens at `start_ns` over 30 ms, captured at its sender: the window doubles for five round trips.
fn picture(start_ns: u64) -> Script {
    let mut picture = Script::open_at(start_ns, End::Second, [20 * US, 30 * MS], 60_000);
    picture.write(End::First, 300).after(20 * US);
    for segments in [4, 8, 16, 24, 30] {
        picture.send(segments, MSS, 12 * US);
        picture.after(30 * MS).ack_pairs();
        picture.after(20 * US);
    }
    picture
}

/// Pictures whose connections open `apart_ns` after each other.
fn page(apart_ns: u64) -> Vec<Cause> {
    let pictures = (0..6).map(|at| picture(at * apart_ns));
    let found = of_client(pictures).into_iter();
    found.map(|it| it.finding.cause).collect()
}

#[test]
fn what_parallel_connections_wait_for_passes_once() {
    assert_eq!(page(5 * MS), []);
    assert_eq!(
        page(200 * MS),
        [Cause::CongestionWindow],
        "one after another"
    );
}
