//! Buckets of policers, from what passed and what was lost.

use super::download::{Download, MS, MSS};
use crate::model::LossBucket;

/// Segments at 10 MB/s, and at 3.57 MB/s from the `slow`-th one on, sent `together`, meet a policer of 3.33 MB/s and `depth` segments;
/// those that it drops are repeated alone after all of them. The lost ones, and the bucket that explains them.
fn policed(segments: u32, slow: u32, depth: u32, together: u32) -> (usize, Option<LossBucket>) {
    let mut download = Download::open(MS / 50, 20 * MS, 60_000);
    let (mut level, mut lost) = (0.0_f64, Vec::new());
    let mut at_ns = 30 * MS;
    for segment in 0..segments {
        if segment % together == 0 {
            download.part(at_ns, 500 + segment * MSS, together * MSS);
        }
        let gap_ns = if segment < slow { 100_000 } else { 280_000 };
        at_ns += gap_ns;
        level = (level - gap_ns as f64 * 3.33e-6).max(0.0);
        if level <= f64::from(depth - 1) {
            level += 1.0;
        } else {
            lost.push(500 + segment * MSS);
        }
    }
    at_ns += 29 * MS;
    for _ in 0..4 {
        download.ack(at_ns, lost[0]);
    }
    for seq in &lost {
        at_ns += MS / 2;
        download.data(at_ns, *seq, (1, 1));
    }
    download.ack(at_ns + 20 * MS, 500 + segments * MSS);
    (lost.len(), LossBucket::of(&download.model().view, &[]))
}

fn assert_is_of(depth: u32, (lost, found): (usize, Option<LossBucket>)) {
    let bucket = found.expect("losses");
    assert_eq!(bucket.lost, lost);
    let expected_bytes = f64::from((depth - 1) * MSS);
    assert!(
        (bucket.depth_bytes / expected_bytes - 1.0).abs() < 0.02,
        "{bucket:?}"
    );
    assert!(
        (bucket.bytes_per_s / 3.33e6 - 1.0).abs() < 0.004,
        "{bucket:?}"
    );
    assert!(bucket.separation > 0.94, "{bucket:?}");
}

#[test]
fn losses_of_a_policer_are_known_however_late_they_are_repaired() {
    assert_is_of(200, policed(1_200, 1_200, 200, 1));
}

#[test]
fn what_an_adapter_splits_is_lost_in_parts() {
    assert_is_of(200, policed(1_200, 1_200, 200, 4));
}

#[test]
fn a_bucket_of_which_all_is_replaced_may_hold_more_than_a_quarter_of_what_passes() {
    assert_is_of(700, policed(2_000, 1_100, 700, 1));
}
