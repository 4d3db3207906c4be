//! Segments that others overtook, and what was repeated.

use super::download::{Download, MS, MSS};

#[test]
fn what_a_gap_misses_sooner_than_a_round_trip_was_overtaken() {
    // Near the receiver, 20 ms from the sender.
    let mut download = Download::open(20 * MS, MS / 50, 60_000);
    download.data(39 * MS, 500, (1, 1));
    for pair in 0..30_u32 {
        let at_ns = 40 * MS + u64::from(pair) * 10 * MS;
        let seq = 500 + (1 + 2 * pair) * MSS;
        download.data(at_ns, seq + MSS, (1, 1));
        for _ in 0..3 {
            download.ack(at_ns + 1000, seq);
        }
        download.data(at_ns + 5 * MS, seq, (1, 1));
        download.ack(at_ns + 5 * MS + 1000, seq + 2 * MSS);
    }
    let model = download.model();
    assert_eq!((model.view.lost(), model.view.overtaken()), (0, 30));
}

/// Segments near the receiver, 20 ms from the sender, each of which comes 16 ms behind the one after it, with the stamp of that one or of
/// its own time: lost and overtaken ones. A tick of the stamps takes so many milliseconds.
fn late_by_sixteen(has_same_stamp: bool, tick_ms: u64) -> (u64, u64) {
    late_with(has_same_stamp, |ms| (ms / tick_ms) as u32)
}

/// The same with stamps that show the time in this way.
fn late_with(has_same_stamp: bool, stamp_of_ms: impl Fn(u64) -> u32) -> (u64, u64) {
    let mut download = Download::open(20 * MS, MS / 50, 60_000);
    download.stamps = true;
    let stamp = |at_ns: u64| (1_000 + stamp_of_ms(at_ns / MS), 1);
    download.data(39 * MS, 500, stamp(39 * MS));
    for pair in 0..30_u32 {
        let at_ns = 40 * MS + u64::from(pair) * 61 * MS;
        let seq = 500 + (1 + 2 * pair) * MSS;
        download.data(at_ns, seq + MSS, stamp(at_ns));
        for _ in 0..3 {
            download.ack(at_ns + 1000, seq);
        }
        let late_ns = at_ns + 16 * MS;
        let stamped_ns = if has_same_stamp { at_ns } else { late_ns };
        download.data(late_ns, seq, stamp(stamped_ns));
        download.ack(late_ns + 1000, seq + 2 * MSS);
    }
    let view = download.model().view;
    (view.lost(), view.overtaken())
}

#[test]
fn what_is_stamped_with_what_is_behind_its_gap_was_overtaken() {
    assert_eq!(late_by_sixteen(true, 1), (0, 30));
    assert_eq!(late_by_sixteen(false, 1), (30, 0));
    // A clock of 60 ms shows the same time for a repetition.
    assert_eq!(late_by_sixteen(true, 60), (30, 0));
    // So do milliseconds that it shows in steps of 60.
    assert_eq!(late_with(true, |ms| ms as u32 / 60 * 60), (30, 0));
}

#[test]
fn what_is_stamped_after_later_segments_replaces_a_lost_one() {
    let mut download = Download::open(MS, MS / 50, 60_000);
    download.stamps = true;
    let stamp = |at_ns: u64| ((at_ns / MS) as u32, 1);
    for pair in 0..30_u32 {
        let at_ns = 40 * MS + u64::from(pair) * 10 * MS;
        let seq = 500 + 2 * pair * MSS;
        download.data(at_ns, seq + MSS, stamp(at_ns));
        download.ack(at_ns + 1000, seq);
        // Soon enough to be an overtaken one, by time.
        download.data(at_ns + 2 * MS, seq, stamp(at_ns + 2 * MS));
        download.ack(at_ns + 2 * MS + 1000, seq + 2 * MSS);
    }
    let view = download.model().view;
    assert_eq!((view.lost(), view.overtaken()), (30, 0));
}

#[test]
fn what_a_timeout_repeats_needlessly_was_not_overtaken() {
    let mut download = Download::open(MS, MS / 50, 60_000);
    for number in 0..30_u32 {
        let at_ns = 40 * MS + u64::from(number) * 300 * MS;
        let seq = 500 + number * MSS;
        for at_ns in [at_ns, at_ns + 210 * MS] {
            download.data(at_ns, seq, (1, 1));
            download.ack(at_ns + 1000, seq + MSS);
        }
    }
    assert_eq!(download.model().view.overtaken(), 0);
}
