//! How much faster a transfer would be without a cause.

use super::*;
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::time_without::{NextLimit, TimeWithout};
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::model::{FastestRate, Limit, Span, TrainRate, WindowScale};

/// Rounds of 20 ms with a window of six segments, captured at the sender: two follow each acknowledgment, 1.6 ms apart.
fn window_rounds_at_sender(mut upload: Script, rounds: u64) -> Script {
    for round in 0..=rounds {
        for pair in 0..3 {
            upload.at(50 * MS + round * 20 * MS + pair * 1_600 * US);
            if round > 0 {
                let is_last = u32::from(round == rounds);
                let acked = upload.sent() - (4 - 2 * is_last * pair as u32) * MSS;
                upload.ack(acked);
            }
            if round < rounds {
                upload.after(10 * US).send(2, MSS, 10 * US);
            }
        }
    }
    upload
}

fn opened() -> Script {
    Script::open(End::First, 20 * MS, MS / 50, 6 * MSS as u16)
}

/// The time without the window, which takes all of it.
fn without_window(upload: Script) -> TimeWithout {
    let flow = upload.flow();
    let facts = FlowFacts::of(&flow).expect("payload");
    facts
        .time_without(1.0, NextLimit::Growth)
        .expect("a rate of the path")
}

fn is_about(without: TimeWithout, ns: u64) -> bool {
    matches!(without, TimeWithout::About(it) if it.abs_diff(ns) <= ns / 50)
}

#[test]
fn a_window_that_had_grown_before_the_capture_needs_no_time_to_grow() {
    // 600 segments of 800 us; the window grows in three round trips of 20 ms, which carry 42 of them.
    let whole = without_window(window_rounds_at_sender(opened(), 100));
    assert!(is_about(whole, 506 * MS), "{whole:?}");
    let late_upload = Script::late(End::First, 6 * MSS as u16);
    let mut late_upload = window_rounds_at_sender(late_upload, 100);
    late::close_at(late_upload.after(10 * US), End::First);
    late::confirm_close(late_upload.after(20 * MS), End::Second, MS / 50);
    let late = without_window(late_upload);
    assert!(is_about(late, 480 * MS), "{late:?}");
}

#[test]
fn a_window_that_has_grown_or_is_not_known_is_no_next_limit() {
    let upload = Script::open(End::First, 20 * MS, MS / 50, 12 * MSS as u16);
    let flow = window_rounds_at_sender(upload, 100).flow();
    let mut facts = FlowFacts::of(&flow).expect("payload");
    let is_about = |facts: &FlowFacts<'_>| {
        let without = facts.time_without(1.0, NextLimit::Window);
        matches!(without, Some(TimeWithout::About(_)))
    };
    assert!(is_about(&facts), "a window of one size");
    facts.model.view.acks[0].window /= 2;
    assert!(!is_about(&facts), "a window that has grown");
    facts.model.view.acks[0].window *= 2;
    facts.model.scale = WindowScale::AtLeast(0);
    assert!(!is_about(&facts), "a window of an unknown scale");
}

#[test]
fn the_growth_of_a_window_that_takes_most_of_the_time_is_a_bound() {
    let short = without_window(window_rounds_at_sender(opened(), 8));
    assert!(matches!(short, TimeWithout::AtMost(_)), "{short:?}");
}

#[test]
fn segments_of_one_window_that_arrive_one_by_one_leave_no_time_without_data() {
    // Near the receiver: six segments, 2 ms apart, in each round trip of 40 ms; each is acknowledged at once.
    let mut download = Script::open(End::First, MS / 50, 40 * MS, 6 * MSS as u16);
    for round in 0..100_u64 {
        for segment in 0..6 {
            download.at(80 * MS + round * 50 * MS + segment * 2 * MS);
            download.send(1, MSS, 0).after(10 * US).ack_all();
        }
    }
    let flow = download.flow();
    let mut facts = FlowFacts::of(&flow).expect("payload");
    let start_ns = facts.model.spans.last().map_or(0, |span| span.start_ns);
    let idle = |ns| Span {
        start_ns,
        end_ns: start_ns + ns,
        limit: Limit::SenderIdle,
        number: 0,
    };
    let without = |facts: &FlowFacts<'_>| facts.time_without(1.0, NextLimit::Growth);
    facts.model.spans.retain(|it| it.limit != Limit::SenderIdle);
    let none = without(&facts);
    facts.model.spans.extend([idle(10 * MS); 20]);
    assert_eq!(without(&facts), none, "within a round trip");
    facts.model.spans.extend([idle(50 * MS); 20]);
    assert_ne!(without(&facts), none, "longer than a round trip");
}

#[test]
fn the_fastest_rate_is_that_of_a_full_link_if_segments_stand_at_its_distance() {
    let flow = window_rounds_at_sender(opened(), 100).flow();
    let mut facts = FlowFacts::of(&flow).expect("payload");
    facts.model.is_queued = true;
    for span in &mut facts.model.spans {
        span.limit = Limit::PathRate;
    }
    let fastest = 1_500_000.0;
    facts.model.fastest = Some(FastestRate {
        bytes_per_s: fastest,
        window_bytes: 11_680,
        windows: 100,
    });
    let mut without = |train: Option<f64>| {
        facts.model.train = train.map(|bytes_per_s| TrainRate {
            bytes_per_s,
            pairs: 100,
            share: 1.0,
        });
        facts.time_without(1.0, NextLimit::Path).expect("a time")
    };
    let about = |it| matches!(it, TimeWithout::About(_));
    assert!(about(without(Some(fastest))));
    assert!(!about(without(Some(2.0 * fastest))), "a faster link");
    assert!(!about(without(None)), "no distance");
}

#[test]
fn the_pace_of_a_program_that_reads_is_no_path() {
    let flow = window_rounds_at_sender(opened(), 100).flow();
    let mut facts = FlowFacts::of(&flow).expect("payload");
    facts.model.is_queued = false;
    facts.model.train = Some(TrainRate {
        bytes_per_s: 2.0 * facts.goodput(),
        pairs: 100,
        share: 1.0,
    });
    let about = |next| {
        let without = facts.time_without(1.0, next);
        matches!(without, Some(TimeWithout::About(_)))
    };
    assert!(about(NextLimit::Path));
    assert!(!about(NextLimit::Reader));
}

#[test]
fn messages_without_waits_for_a_timer_take_the_rest_of_the_time_whatever_the_path() {
    let flow = window_rounds_at_sender(opened(), 100).flow();
    let mut facts = FlowFacts::of(&flow).expect("payload");
    facts.model.is_queued = false;
    facts.model.train = None;
    facts.model.fastest = Some(FastestRate {
        bytes_per_s: 2.0 * facts.goodput(),
        window_bytes: 11_680,
        windows: 100,
    });
    let without = |next| facts.time_without(0.9, next).expect("a time");
    let (rest, path) = (without(NextLimit::Rest), without(NextLimit::Path));
    assert!(matches!(rest, TimeWithout::About(_)), "{rest:?}");
    assert!(matches!(path, TimeWithout::AtMost(_)), "{path:?}");
}

/// Rounds of 20 ms in which the sender fills this window, captured there without the handshake.
fn full_windows(window: u16) -> Vec<Cause> {
    let mut upload = Script::late(End::First, window);
    let segments = u32::from(window) / MSS;
    for round in 0..100 {
        upload.at(round * 20 * MS).send(segments, MSS, 10 * US);
        upload.at(round * 20 * MS + 19 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn a_window_field_at_its_largest_value_without_a_scale_has_no_scaling() {
    assert_eq!(
        full_windows(65_535),
        [Cause::NoWindowScaling, Cause::ReceiveWindow]
    );
    assert_eq!(full_windows(58_400), [Cause::ReceiveWindow]);
}
