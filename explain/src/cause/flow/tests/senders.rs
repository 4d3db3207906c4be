//! Who sets the pace: the sender itself, or a program that reads.

use super::{causes, findings};
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;

/// Two segments in each round trip of 10 ms, captured at the sender, `lag_ns` after the acknowledgment of those before.
fn lagging(lag_ns: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 10 * MS, 20 * US, 60_000);
    let mut at_ns = 20 * MS;
    upload.at(at_ns).send(2, MSS, 10 * US);
    for _ in 0..200 {
        at_ns += 10 * MS;
        // One round trip behind: something is always in flight.
        upload.at(at_ns).ack_all();
        upload.at(at_ns + lag_ns).send(2, MSS, 10 * US);
        at_ns += lag_ns;
    }
    causes(upload)
}

#[test]
fn segments_that_lag_behind_each_acknowledgment_are_released_by_something_else() {
    assert_eq!(lagging(3 * MS)[..1], [Cause::HostPacing]);
    assert!(!lagging(30 * US).contains(&Cause::HostPacing));
}

/// Windows of eight segments in each round trip of 20 ms, spaced by `gap_ns`.
fn window_of(gap_ns: u64) -> std::collections::BTreeMap<String, f64> {
    let mut upload = Script::open(End::First, 20 * MS, 20 * US, 8 * MSS as u16);
    for round in 0..100 {
        let at_ns = 30 * MS + round * 20 * MS;
        for place in 0..8_u64 {
            upload.at(at_ns + place * gap_ns);
            if round > 0 {
                let acked = upload.sent() - 7 * MSS;
                upload.ack(acked);
            }
            upload.segment(upload.sent(), MSS);
        }
    }
    upload.at(2_060 * MS).ack_all();
    let found = findings(upload);
    assert_eq!(found[0].finding.cause, Cause::ReceiveWindow, "{found:#?}");
    found[0].finding.evidence.clone()
}

#[test]
fn the_pace_of_a_full_window_is_no_rate_of_the_path() {
    let (paced, at_once) = (window_of(2_400 * US), window_of(20 * US));
    assert!(!paced.contains_key("time_without_ns"), "{paced:?}");
    assert!(at_once.contains_key("time_without_ns"), "{at_once:?}");
}

/// An upload of 2 s through a window of 20 segments, whose receiver closes it for 700 ms after each of `stops` parts.
fn stops(stops: u64) -> Option<Cause> {
    let mut upload = Script::open(End::First, 4 * MS, 20 * US, 20 * MSS as u16);
    let window = 20 * MSS as u16;
    let mut at_ns = 10 * MS;
    for _ in 0..=stops {
        for _ in 0..300 / (stops + 1) {
            upload.at(at_ns).send(20, MSS, 100 * US);
            at_ns = upload.now_ns + 4 * MS;
            upload.at(at_ns).ack_all_with(window);
            at_ns += 20 * US;
        }
        upload.at(at_ns).send(20, MSS, 100 * US);
        at_ns = upload.now_ns + 4 * MS;
        upload.at(at_ns).ack_all_with(0);
        at_ns += 700 * MS;
        upload.at(at_ns).ack_all_with(window);
        at_ns += 20 * US;
    }
    upload.at(at_ns).send(20, MSS, 100 * US);
    upload.after(4 * MS).ack_all_with(window);
    findings(upload).first().map(|it| it.finding.cause)
}

#[test]
fn one_or_two_long_closings_between_many_windows_are_stalls() {
    assert_eq!(stops(0), Some(Cause::ReceiverStalls));
    assert_eq!(stops(1), Some(Cause::ReceiverStalls));
}
