//! Each rule on a synthetic connection. `scenarios/causes` has traffic of real hosts.

use super::*;
use crate::cause::synthetic::{MS, MSS, Script, US, analysis};
use linerate_capture::tcp::End;
use linerate_capture::traffic::Counts;
use linerate_results::record::Cause;

/// A full frame on the wire of these connections: 1,538 octets at 100 Mbit/s.
const FRAME_NS: u64 = 123_040;

/// A download, captured at its sender and opened within one round trip by a receiver that advertises `window`.
fn download(window: u16, rtt_ns: u64) -> Script {
    Script::open(End::Second, 20 * US, rtt_ns - 20 * US, window)
}

/// The causes found in a capture.
fn causes(analysis: &Analysis) -> Vec<Cause> {
    let explained = explain_traffic(analysis);
    explained
        .findings
        .into_iter()
        .map(|it| it.finding.cause)
        .collect()
}

/// The causes of a download of `rounds` rounds, opened in a millisecond.
fn rounds(rounds: u32, window: u16, round: impl Fn(u32, &mut Script)) -> Vec<Cause> {
    rounds_over(MS, rounds, window, round)
}

fn rounds_over(
    rtt_ns: u64,
    rounds: u32,
    window: u16,
    round: impl Fn(u32, &mut Script),
) -> Vec<Cause> {
    let mut download = download(window, rtt_ns);
    download.after(MS);
    for number in 0..rounds {
        round(number, &mut download);
    }
    causes(&download.analysis())
}

/// A deterministic pseudo-random number.
fn pseudo_random(number: u32) -> u32 {
    number.wrapping_mul(2_654_435_761) >> 16
}

#[test]
fn a_full_wire_is_no_cause() {
    let causes = rounds(400, 60_000, |_, download| {
        download.send(1, MSS, FRAME_NS).after(20 * US);
        let acked = download.sent() - MSS;
        download.ack(acked).after(FRAME_NS - 20 * US);
    });
    assert_eq!(causes, [Cause::AtLineRate]);
}

/// Segments follow each other after `frame_ns`, and the last acknowledgment waits.
fn full_wire(segments: u32, frame_ns: u64, last_wait_ns: u64) -> Vec<Cause> {
    let mut download = download(60_000, MS);
    download.after(MS);
    for _ in 0..segments {
        download.send(1, MSS, 0).after(20 * US);
        let acked = download.sent() - MSS;
        download.ack(acked).after(frame_ns - 20 * US);
    }
    download.after(last_wait_ns).ack_all();
    causes(&download.analysis())
}

#[test]
fn what_passes_faster_than_a_line_passes_no_such_line() {
    assert_eq!(full_wire(400, FRAME_NS, 0), [Cause::AtLineRate]);
    // No queue shows another limit.
    assert_eq!(full_wire(400, FRAME_NS * 1_000 / 1_005, 0), []);
}

#[test]
fn a_path_is_not_full_while_the_last_acknowledgment_is_awaited() {
    assert_eq!(full_wire(30, FRAME_NS, 0), [Cause::AtLineRate]);
    assert_eq!(full_wire(30, FRAME_NS, 40 * MS), []);
}

#[test]
fn shares_beside_a_slow_opening_are_those_of_the_time_after_it() {
    let mut download = Script::open(End::Second, 1_000 * MS, MS, 60_000);
    for _ in 0..400 {
        download.send(1, MSS, 0).after(20 * US);
        let acked = download.sent() - MSS;
        download.ack(acked).after(FRAME_NS - 20 * US);
    }
    let found = explain_traffic(&download.analysis()).findings;
    let full = found
        .iter()
        .find(|it| it.finding.cause == Cause::AtLineRate);
    let summary = &full.expect("a full wire").finding.summary;
    assert!(summary.contains("(Shares are of the 49"), "{summary}");
}

#[test]
fn small_requests_and_responses_have_no_cause() {
    let causes = rounds(100, 60_000, |number, download| {
        download.after(u64::from(pseudo_random(number) % 900) * MS);
        download.send(1, 100, FRAME_NS).after(MS).ack_all();
    });
    assert_eq!(causes, []);
}

#[test]
fn a_window_that_is_full_all_the_time() {
    let causes = rounds_over(10 * MS, 50, 5_840, |_, download| {
        download.send(4, MSS, FRAME_NS).after(10 * MS).ack_pairs();
    });
    assert_eq!(causes[0], Cause::ReceiveWindow);
}

#[test]
fn a_window_that_is_closed() {
    let causes = rounds(50, 5_840, |_, download| {
        download.send(4, MSS, FRAME_NS).after(MS);
        download.window = 0;
        download.ack_all().after(20 * MS);
        download.window = 5_840;
        download.ack_all().after(100 * US);
    });
    assert_eq!(causes[0], Cause::ReceiverReadsSlowly);
}

#[test]
fn a_segment_at_a_time() {
    let causes = rounds(60, 60_000, |_, download| {
        download
            .send(1, MSS, FRAME_NS)
            .after(3 * MS)
            .ack_all()
            .after(50 * US);
    });
    assert_eq!(causes[0], Cause::OneInFlight);
}

#[test]
fn small_segments_back_to_back() {
    let causes = rounds(40, 60_000, |_, download| {
        download.send(20, 50, FRAME_NS).after(MS).ack_all();
    });
    assert_eq!(causes[0], Cause::SmallWrites);
}

#[test]
fn small_segments_that_wait_for_delayed_acknowledgments() {
    let causes = rounds(30, 60_000, |_, download| {
        download.send(2, MSS, FRAME_NS).after(MS).ack_all();
        download
            .after(20 * US)
            .send(1, 300, FRAME_NS)
            .after(40 * MS)
            .ack_all();
        download.after(20 * US);
    });
    assert_eq!(causes[0], Cause::DelayedAckWithNagle);
}

#[test]
fn a_sender_that_is_paced() {
    let causes = rounds(60, 60_000, |_, download| {
        download
            .send(1, MSS, FRAME_NS)
            .after(MS)
            .ack_all()
            .after(9 * MS);
        download
            .send(2, MSS, FRAME_NS)
            .after(MS)
            .ack_all()
            .after(9 * MS);
    });
    assert_eq!(causes[0], Cause::HostPacing);
}

#[test]
fn a_sender_with_nothing_ready() {
    let causes = rounds(60, 60_000, |number, download| {
        download.send(8, MSS, FRAME_NS).after(MS).ack_all();
        download.after(u64::from(pseudo_random(number) % 60) * MS);
    });
    assert_eq!(causes[0], Cause::SenderIdle);
}

#[test]
fn a_sender_limited_by_its_congestion_window() {
    let causes = rounds_over(20 * MS, 60, 60_000, |number, download| {
        download
            .send(4 + number / 4, MSS, FRAME_NS)
            .after(20 * MS)
            .ack_pairs();
    });
    assert_eq!(causes[0], Cause::CongestionWindow);
}

#[test]
fn a_sender_that_never_has_more_in_flight() {
    let causes = rounds_over(20 * MS, 60, 60_000, |_, download| {
        download.send(4, MSS, FRAME_NS).after(20 * MS).ack_pairs();
    });
    assert_eq!(causes[0], Cause::SendBuffer);
}

#[test]
fn loss_at_any_position_in_a_burst() {
    let causes = rounds(80, 60_000, |number, download| {
        let first = download.sent();
        let lost = first + pseudo_random(number) % 8 * MSS;
        download
            .send(12, MSS, FRAME_NS)
            .after(10 * MS)
            .duplicate_acks(4, lost, 10 * US);
        download.segment(lost, MSS).after(10 * MS).ack_all();
    });
    assert_eq!(causes[0], Cause::RandomLoss);
}

#[test]
fn losses_that_no_selective_acknowledgment_reports() {
    let mut download = Script::open_without_sack(End::Second, [20 * US, MS], 60_000);
    for number in 0..80 {
        let first = download.sent();
        let lost = first + pseudo_random(number) % 8 * MSS;
        download.send(12, MSS, FRAME_NS).after(10 * MS);
        download.duplicate_acks(4, lost, 10 * US);
        download.segment(lost, MSS).after(10 * MS).ack_all();
    }
    assert_eq!(causes(&download.analysis())[0], Cause::NoSack);
}

#[test]
fn loss_of_segments_back_to_back() {
    // The first of each burst arrives; the timer recovers the others, one at a time.
    let causes = rounds(20, 60_000, |_, download| {
        let first = download.sent();
        download.send(3, MSS, FRAME_NS).after(MS).ack(first + MSS);
        for lost in [first + MSS, first + 2 * MSS] {
            download.after(300 * MS).segment(lost, MSS);
            download.after(MS).ack(lost + MSS);
        }
    });
    assert_eq!(causes[0], Cause::LossInBursts);
}

#[test]
fn loss_that_only_the_timer_recovers() {
    let causes = rounds(60, 60_000, |number, download| {
        let lost = download.sent();
        download.send(1, MSS, FRAME_NS);
        if number % 6 == 0 {
            download.after(300 * MS).segment(lost, MSS);
        }
        download.after(MS).ack_all();
        // Every other segment follows closely, regardless of whether the previous one was lost.
        download
            .send(2, MSS, FRAME_NS)
            .after(MS)
            .ack_all()
            .after(5 * MS);
        if number % 3 == 0 {
            let lost = download.sent();
            download.send(2, MSS, FRAME_NS).after(MS).ack(lost + MSS);
            download.after(300 * MS).segment(lost + MSS, MSS);
            download.after(MS).ack_all();
        }
    });
    assert_eq!(causes[0], Cause::RetransmissionStalls);
}

#[test]
fn a_queue_that_is_shorter_than_the_window() {
    // The queue holds eight segments; more are lost.
    let causes = rounds(40, 60_000, |_, download| {
        let first = download.sent();
        download.send(10, MSS, FRAME_NS).after(5 * MS);
        download.ack(first + 8 * MSS);
        for lost in [8, 9].map(|at| first + at * MSS) {
            download.after(300 * MS).segment(lost, MSS);
            download.after(5 * MS).ack(lost + MSS);
        }
        download.send(7, MSS, FRAME_NS).after(5 * MS).ack_all();
    });
    assert_eq!(causes[0], Cause::QueueOverflow);
}

/// Flights of seven segments, the second of which comes behind as many others.
fn overtaken_by(places: u32) -> Vec<Cause> {
    rounds_over(20 * MS, 60, 60_000, |_, download| {
        let first = download.sent();
        download.segment(first, MSS).after(FRAME_NS);
        for at in 0..places {
            download
                .segment(first + (2 + at) * MSS, MSS)
                .after(FRAME_NS);
        }
        download.segment(first + MSS, MSS).after(FRAME_NS);
        download
            .send(5 - places, MSS, FRAME_NS)
            .after(20 * MS)
            .ack_pairs();
    })
}

#[test]
fn segments_that_overtake_each_other() {
    assert_eq!(overtaken_by(3)[0], Cause::Reordering);
    // Fewer make no sender repeat anything.
    assert!(!overtaken_by(2).contains(&Cause::Reordering));
}

#[test]
fn acknowledgments_that_are_sometimes_late() {
    let causes = rounds(60, 60_000, |number, download| {
        let late = if number % 3 == 0 { MS } else { 25 * MS };
        download
            .send(2, MSS, FRAME_NS)
            .after(late)
            .ack_all()
            .after(50 * US);
    });
    assert_eq!(causes[0], Cause::LateAcks);
}

/// 40 segments in flight, each of which takes `service_ms` on the slowest link.
fn full_queue(service_ms: u64) -> Vec<Cause> {
    let mut download = download(60_000, MS);
    download.after(MS).send(40, MSS, FRAME_NS);
    for _ in 0..200 {
        let acked = download.sent() - 40 * MSS + MSS;
        download.after(service_ms * MS).ack(acked);
        download.after(20 * US).send(1, MSS, FRAME_NS);
    }
    causes(&download.analysis())
}

#[test]
fn a_queue_of_the_path_that_fills() {
    assert_eq!(full_queue(12), [Cause::Bufferbloat, Cause::PathRate]);
    // A conversation bears 0.2 s.
    assert_eq!(full_queue(5), [Cause::PathRate]);
}

#[test]
fn a_window_closed_once_does_not_explain_a_full_queue() {
    let mut download = download(58_400, MS);
    download.after(MS).send(40, MSS, FRAME_NS);
    for number in 0..200 {
        let acked = download.sent() - 40 * MSS + MSS;
        if number == 100 {
            download.window = 0;
            download.after(MS).ack(acked);
            download.window = 58_400;
        }
        download.after(12 * MS).ack(acked);
        download.after(20 * US).send(1, MSS, FRAME_NS);
    }
    assert_eq!(
        causes(&download.analysis()),
        [Cause::Bufferbloat, Cause::PathRate]
    );
}

#[test]
fn a_capture_that_lacks_acknowledged_segments() {
    let causes = rounds(60, 60_000, |number, download| {
        download.send(2, MSS, FRAME_NS);
        if number % 5 == 0 {
            download.next[1] += MSS;
        }
        download.after(FRAME_NS).ack_all();
    });
    assert_eq!(causes[0], Cause::CaptureIncomplete);
}

#[test]
fn a_segment_that_is_missing_in_one_place_does_not_make_a_capture_incomplete() {
    let lacking = |octets: u32| {
        let causes = rounds(30, 60_000, |number, download| {
            download.send(2, 200, FRAME_NS);
            if number == 20 {
                download.next[1] += octets;
            }
            download.after(FRAME_NS).ack_all();
        });
        causes.contains(&Cause::CaptureIncomplete)
    };
    assert!(!lacking(1_460));
    assert!(lacking(3_000));
}

#[test]
fn a_capture_that_lacks_little_of_a_healthy_dialogue_needs_no_word() {
    // A segment of one in `each` rounds of 25.
    let causes = |each: u32| {
        rounds(100, 60_000, |number, download| {
            download.send(2, 200, FRAME_NS);
            if number.is_multiple_of(each) {
                download.next[1] += 200;
            }
            download.after(FRAME_NS).ack_all();
        })
    };
    assert_eq!(causes(12), []);
    assert_eq!(causes(6), [Cause::CaptureIncomplete]);
}

#[test]
fn a_capture_that_lacks_little_still_shows_the_cause() {
    // Each 16th window lacks a segment of two.
    let lacking = |each: u32| {
        let mut found = rounds(96, 2 * MSS as u16, |number, download| {
            download.send(2, MSS, FRAME_NS);
            if number.is_multiple_of(each) {
                download.next[1] += MSS;
            }
            download.after(10 * MS).ack_all();
        });
        found.retain(|cause| matches!(cause, Cause::CaptureIncomplete | Cause::ReceiveWindow));
        found
    };
    assert_eq!(
        lacking(16),
        [Cause::ReceiveWindow, Cause::CaptureIncomplete]
    );
    assert_eq!(lacking(4)[0], Cause::CaptureIncomplete);
    assert!(!lacking(48).contains(&Cause::CaptureIncomplete));
}

#[test]
fn a_storm_precedes_the_limit_of_a_healthy_transfer() {
    let mut download = download(60_000, MS);
    for _ in 0..400 {
        download.send(1, MSS, 0).after(20 * US);
        let acked = download.sent() - MSS;
        download.ack(acked).after(FRAME_NS - 20 * US);
    }
    let mut analysis = download.analysis();
    analysis.counts = Counts {
        packets: 10_000,
        broadcasts: 5_000,
        ..Counts::default()
    };
    assert_eq!(
        causes(&analysis),
        [Cause::BroadcastStorm, Cause::AtLineRate]
    );
}

#[test]
fn storms_and_pauses_concern_the_link() {
    let found = |counts: Counts| -> Vec<Cause> { causes(&analysis(counts, 10_000 * MS)) };
    let counts = |broadcasts, paused_ms| Counts {
        packets: 10_000,
        broadcasts,
        pauses: 3,
        paused_ns: paused_ms * MS,
        ..Counts::default()
    };
    assert_eq!(found(counts(5_000, 0)), [Cause::BroadcastStorm]);
    assert_eq!(found(counts(0, 3_000)), [Cause::Paused]);
    assert_eq!(found(counts(500, 300)), []);
}

#[test]
fn what_pauses_explain_has_no_other_explanation() {
    let mut download = download(60_000, MS);
    for number in 0..60 {
        download.send(8, MSS, FRAME_NS).after(MS).ack_all();
        download.after(u64::from(pseudo_random(number) % 60) * MS);
    }
    let mut capture = download.analysis();
    assert_eq!(causes(&capture), [Cause::SenderIdle, Cause::HostPacing]);
    capture.counts.paused_ns = capture.duration_ns / 5 * 4;
    assert_eq!(causes(&capture), [Cause::Paused]);
}

#[test]
fn losses_of_a_link_that_stays_full_are_no_cause() {
    // A segment each 2 ms, and 20 of them in the queue; one in 160 is lost and replaced while the others pass.
    let mut download = download(60_000, MS);
    download.after(MS).send(20, MSS, 1_000);
    let mut acked = 1;
    for number in 1..1_000_u32 {
        download.after(2 * MS - 20 * US);
        let lost = number % 160 == 0;
        if lost {
            download.duplicate_acks(3, acked, US);
            download.after(US).segment(acked, MSS);
            for _ in 0..19 {
                download.after(2 * MS).ack(acked);
            }
            acked = download.sent();
            download.after(2 * MS).ack(acked).send(20, MSS, 1_000);
        } else {
            acked += MSS;
            download.ack(acked).after(20 * US).send(1, MSS, 0);
        }
    }
    let causes = causes(&download.analysis());
    assert_eq!(causes, [Cause::PathRate], "{causes:?}");
}
