//! What the path does to segments, and what fills it.

use super::*;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::reader::Address;
use linerate_capture::tcp::End;

#[test]
fn full_segments_that_are_never_acknowledged_are_a_black_hole_from_the_first_on() {
    // A capture of headers may lack the options of the SYNs.
    let cut = Script::open_with(End::First, [10 * MS, MS / 50], 60_000, &[]);
    for mut upload in [upload(MS / 50, 10 * MS, 60_000), cut] {
        upload.at(20 * MS).send(10, MSS, 10_000);
        for at_ms in [250, 700, 1_550, 3_300] {
            upload.at(at_ms * MS).segment(1, MSS);
        }
        assert_eq!(causes(upload), [Cause::MtuBlackHole]);
    }
}

#[test]
fn what_an_adapter_merged_has_no_size_that_a_path_refuses() {
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    upload.at(20 * MS).send(10, 2 * MSS, 10_000);
    for at_ms in [250, 700, 1_550, 3_300] {
        upload.at(at_ms * MS).segment(1, 2 * MSS);
    }
    assert!(!causes(upload).contains(&Cause::MtuBlackHole));
}

#[test]
fn one_of_several_segments_that_an_adapter_merged_shows_the_size_that_is_refused() {
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    upload.at(20 * MS).segment(1, 147);
    upload.after(10 * MS).ack_all();
    upload.at(30 * MS).send(2, 5 * MSS, 10_000);
    for at_ms in [250, 700, 1_550, 3_300] {
        upload.at(at_ms * MS).segment(148, MSS);
    }
    assert_eq!(causes(upload), [Cause::MtuBlackHole]);
}

#[test]
fn a_black_hole_is_one_although_a_sender_that_probes_passes_it_in_the_end() {
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    upload.at(20 * MS).send(10, MSS, 10_000);
    for at_ms in [250, 700, 1_550, 3_300] {
        upload.at(at_ms * MS).segment(1, MSS);
    }
    for (at_ms, seq) in [(6_700, 1), (6_711, 1_025), (6_722, 2_049)] {
        upload.at(at_ms * MS).segment(seq, 1_024);
        upload.after(10 * MS).ack(seq + 1_024);
    }
    assert_eq!(causes(upload)[0], Cause::MtuBlackHole);
}

#[test]
fn a_request_that_is_not_full_shows_no_size_that_is_refused() {
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    for at_ms in [20, 250, 700, 1_550, 3_300] {
        upload.at(at_ms * MS).segment(1, 621);
    }
    assert!(!causes(upload).contains(&Cause::MtuBlackHole));
}

#[test]
fn a_segment_without_an_answer_shows_no_size_that_passes() {
    let mut upload = Script::late(End::First, 60_000);
    for at_ms in [0, 210, 600, 1_200, 2_400, 4_800] {
        upload.at(at_ms * MS).segment(1, 648);
    }
    assert!(!causes(upload).contains(&Cause::MtuBlackHole));
}

/// `connections` of one host, each with another one and in slow start for four round trips.
fn slow_starts(connections: u8, rtt_ms: u64) -> Vec<Cause> {
    let flows: Vec<Flow> = (0..connections)
        .map(|number| {
            let mut page = upload(MS / 50, rtt_ms * MS, 60_000);
            for round in 0..4 {
                page.at((rtt_ms + 10 + round * (rtt_ms + 1)) * MS)
                    .send(10 << round, MSS, 12_000);
                page.after(rtt_ms * MS).ack_all();
            }
            let mut flow = page.flow();
            flow.ends[0].0 = Address([10 + number; 16]);
            flow
        })
        .collect();
    let (found, _) = explain_flows(&flows);
    found.iter().map(|it| it.finding.cause).collect()
}

#[test]
fn short_transfers_of_a_page_are_not_slow_by_their_windows() {
    assert_eq!(slow_starts(1, 110)[..1], [Cause::CongestionWindow]);
    assert!(!slow_starts(5, 110).contains(&Cause::CongestionWindow));
}

#[test]
fn a_window_that_grows_for_a_moment_between_hosts_near_each_other_is_healthy() {
    assert!(!slow_starts(1, 70).contains(&Cause::CongestionWindow));
}

#[test]
fn copies_of_another_station_are_no_losses() {
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    for round in 0..100_u64 {
        let first = upload.sent();
        upload.at(20 * MS + round * 11 * MS).send(2, MSS, 100_000);
        // The copies of both come from a second path.
        upload.after(50_000).segment(first, MSS);
        upload.after(50_000).segment(first + MSS, MSS);
        upload.after(10 * MS).ack_all();
    }
    let causes = causes(upload);
    assert!(causes.contains(&Cause::DuplicateFrames), "{causes:?}");
    assert!(
        !causes.contains(&Cause::RandomLoss) && !causes.contains(&Cause::RetransmissionStalls),
        "{causes:?}"
    );
}

/// A segment each millisecond, whatever is lost, meets a policer of 80% of this rate with a bucket of 20 segments, or a
/// queue of the same size before a link of the same rate.
fn overload(is_queue: bool) -> Vec<PathFinding> {
    let mut upload = upload(MS / 50, 20 * MS, 60_000);
    let mut events: Vec<(u64, u8, u32)> = Vec::new();
    let (mut level, mut acked, mut lost) = (0.0_f64, 0, Vec::<u32>::new());
    let mut repeat: Vec<(u64, u32)> = Vec::new();
    let mut next = 0;
    for slot in 0..3_000_u64 {
        let at_ns = 30 * MS + slot * MS;
        level = (level - 0.8).max(0.0);
        let due = repeat.first().is_some_and(|(due_ns, _)| *due_ns <= at_ns);
        let segment = if due {
            repeat.remove(0).1
        } else {
            next += 1;
            next - 1
        };
        events.push((at_ns, 0, segment));
        if level > 19.0 {
            repeat.push((at_ns + 25 * MS, segment));
            lost.retain(|it| *it != segment);
            lost.push(segment);
            continue;
        }
        lost.retain(|it| *it != segment);
        let wait_ns = if is_queue {
            (level / 0.8 * 1e6) as u64
        } else {
            0
        };
        level += 1.0;
        acked = lost.iter().min().copied().unwrap_or(next).max(acked);
        events.push((at_ns + 20 * MS + wait_ns, 1, acked));
    }
    events.sort_unstable();
    for (at_ns, event, segment) in events {
        let seq = 1 + segment * MSS;
        upload.at(at_ns);
        if event == 0 {
            upload.segment(seq, MSS);
        } else {
            upload.ack(seq);
        }
    }
    findings(upload)
}

#[test]
fn a_policer_is_named_although_its_sender_keeps_to_its_rate() {
    let policed = overload(false);
    assert_eq!(policed[0].finding.cause, Cause::Policed);
    let queued = overload(true);
    assert!(queued.iter().all(|it| it.finding.cause != Cause::Policed));
}

#[test]
fn a_connection_that_only_controls_a_transfer_takes_no_part_of_the_time() {
    let control = || {
        let mut control = upload(MS / 50, 19 * MS, 60_000);
        for round in 1..5_u64 {
            control.at(round * 450 * MS).write(End::First, 40);
            control.after(20 * MS).write(End::Second, 40);
            control.after(MS).confirm(End::First);
        }
        control.flow()
    };
    let alone = explain_flows(&[window_rounds(6).flow()]).0;
    let both = explain_flows(&[control(), window_rounds(6).flow()]).0;
    assert_eq!(both.len(), alone.len());
    assert!((both[0].share_of_time - alone[0].share_of_time).abs() < 1e-9);
    assert!(alone[0].share_of_time > 0.5, "{alone:?}");
}

/// Segments 1.2 ms apart near the receiver; of each 120, two arrive in the other order.
#[test]
fn segments_that_arrive_in_another_order_at_no_cost_are_no_cause() {
    let mut upload = upload(10 * MS, MS / 50, 60_000);
    for pair in 0..1_600_u64 {
        upload.at(30 * MS + pair * 2_400_000);
        let first = upload.sent();
        let order = if pair % 60 == 3 { [1, 0] } else { [0, 1] };
        for segment in order {
            upload.segment(first + segment * MSS, MSS).after(100_000);
        }
        upload.ack_all();
    }
    assert!(!causes(upload).contains(&Cause::Reordering));
}

/// Uploads captured at their sender, with `window` segments in flight: at each turn of 2 ms, the acknowledgment of two
/// segments of one of them arrives, and releases two others.
fn side_by_side(turn: impl Fn(u64) -> Option<usize>) -> Vec<Flow> {
    const WINDOW: u32 = 20;
    let mut uploads = [(); 2].map(|()| upload(MS / 50, 10 * MS, 60_000));
    let mut acked = [1; 2];
    for upload in &mut uploads {
        upload.at(12 * MS).send(WINDOW, MSS, 10_000);
    }
    for at in 0..3_000 {
        let Some(of) = turn(at) else {
            continue;
        };
        acked[of] += 2 * MSS;
        let upload = &mut uploads[of];
        upload.at(24 * MS + at * 2 * MS).ack(acked[of]);
        upload.after(10_000).send(2, MSS, 10_000);
    }
    uploads.into_iter().map(Script::flow).collect()
}

#[test]
fn transfers_with_a_steady_sum_fill_the_path_together() {
    let fill = |turn: &dyn Fn(u64) -> Option<usize>| {
        let flows = side_by_side(turn);
        let mut facts: Vec<_> = flows.iter().filter_map(FlowFacts::of).collect();
        shared::share_paths(&mut facts);
        facts.iter().map(|it| it.fills_together).collect::<Vec<_>>()
    };
    // One of them passes five times as much as the other one, by turns.
    let favours = |at: u64| (at / 300 % 2) as usize;
    let shared = |at: u64| {
        if at.is_multiple_of(6) {
            1 - favours(at)
        } else {
            favours(at)
        }
    };
    assert_eq!(fill(&|at| Some(shared(at))), [true, true]);
    // The same with pauses in which neither passes much.
    let idles = |at: u64| (at / 500).is_multiple_of(2) && !at.is_multiple_of(4);
    assert_eq!(fill(&|at| (!idles(at)).then(|| shared(at))), [false, false]);
}

#[test]
fn a_transfer_that_fills_the_path_with_others_is_not_slow_by_its_own_window() {
    let flow = window_rounds(6).flow();
    let mut facts = FlowFacts::of(&flow).expect("payload");
    let names_window = |facts: &FlowFacts<'_>| {
        let found = evaluate(facts);
        found.iter().any(|it| it.cause == Cause::ReceiveWindow)
    };
    assert!(names_window(&facts));
    facts.fills_together = true;
    assert!(!names_window(&facts));
}

#[test]
fn one_flight_shows_no_rate_of_a_path() {
    let download = |rounds: u32| {
        let mut script = Script::open(End::Second, 20 * MS, 20 * US, 60_000);
        script.write(End::First, 200).after(20 * MS);
        for _ in 0..rounds {
            for _ in 0..12 {
                script.send(2, MSS, 120 * US).after(20 * US).ack_all();
                script.after(100 * US);
            }
        }
        causes(script)
    };
    assert_eq!(download(1), []);
    assert_eq!(download(12), [Cause::PathRate]);
}
