//! Rules about windows, silences and gains, on synthetic uploads.

mod despite_losses;
mod devices;
mod exchanges;
mod held;
mod late;
mod lines;
mod numbers;
mod parts;
mod pauses;
mod receivers;
mod senders;

use super::*;
use crate::cause::synthetic::{MS, MSS, Script};
use linerate_capture::tcp::{End, Segment};

/// Captured `to_sender_ns` from the sender and `to_receiver_ns` from the receiver.
fn upload(to_sender_ns: u64, to_receiver_ns: u64, window: u16) -> Script {
    Script::open(End::First, to_receiver_ns, to_sender_ns, window)
}

fn findings(upload: Script) -> Vec<PathFinding> {
    explain_flows(&[upload.flow()]).0
}

fn causes(upload: Script) -> Vec<Cause> {
    let findings = findings(upload);
    findings.iter().map(|it| it.finding.cause).collect()
}

/// Three duplicate acknowledgments of the lost segment at `first`, and its retransmission.
fn repair(upload: &mut Script, first: u32) {
    upload.duplicate_acks(3, first, 10_000);
    upload.after(10_000).segment(first, MSS);
}

/// Segments of a round of 20 ms fill the window of `segments`, and pass 400 us apart.
fn window_rounds(segments: u32) -> Script {
    let mut upload = upload(19 * MS, MS / 50, 60_000);
    let window = (segments * MSS) as u16;
    upload.window = window;
    for round in 0..100_u64 {
        let at_ns = 30 * MS + round * 20 * MS;
        for pair in 0..u64::from(segments / 2) {
            let at_ns = at_ns + pair * MS * 4 / 5;
            upload.at(at_ns).send(2, MSS, MS * 2 / 5);
            upload.at(at_ns + MS * 2 / 5 + 10_000).ack_all_with(window);
        }
    }
    upload
}

#[test]
fn without_a_small_window_a_transfer_takes_as_long_as_the_slowest_link_and_the_growing_window_need()
{
    let findings = findings(window_rounds(6));
    let first = &findings[0].finding;
    assert_eq!(first.cause, Cause::ReceiveWindow);
    // Three round trips of 19 ms in which the window doubles from 6 segments carry 42; the other 558 of 600 take 400 us each.
    let without_ns = first.evidence["time_without_ns"];
    assert!((without_ns / 280e6 - 1.0).abs() < 0.05, "{without_ns}");
}

/// Rounds of 10 ms, in each of which `bytes` leave as one block, captured before an adapter splits it.
fn blocks(bytes: u32) -> Vec<Cause> {
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    for round in 0..200 {
        upload.at(20 * MS + round * 11 * MS).send(1, bytes, 0);
        upload.after(10 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn a_block_that_an_adapter_splits_is_more_than_one_segment_in_flight() {
    assert_eq!(blocks(MSS), [Cause::OneInFlight]);
    assert!(!blocks(4 * MSS).contains(&Cause::OneInFlight));
}

#[test]
fn a_round_trip_that_is_shorter_than_a_slow_handshake_names_it() {
    let rounds = |handshake_ns: u64| {
        let mut upload = upload(MS / 50, handshake_ns, 4 * MSS as u16);
        for round in 0..100 {
            let at_ns = 500 * MS + round * 20 * MS;
            upload.at(at_ns).send(4, MSS, 10_000);
            upload.at(at_ns + 19 * MS).ack_all();
        }
        let found = findings(upload);
        found[0].finding.clone()
    };
    let slow = rounds(400 * MS);
    assert_eq!(slow.cause, Cause::ReceiveWindow);
    assert!(
        slow.evidence.contains_key("rtt_ns") && slow.summary.contains("handshake took"),
        "{}",
        slow.summary
    );
    assert!(!rounds(19 * MS).summary.contains("handshake took"));
}

#[test]
fn one_refusal_beside_a_transfer_is_not_why_it_is_slow() {
    let refused = || {
        let mut refused = Script::late(End::First, 60_000);
        refused
            .packet(End::First, Segment::SYN, [0, 0], 0, &[])
            .after(MS);
        refused.packet(End::Second, Segment::RST | Segment::ACK, [0, 1], 0, &[]);
        let mut flow = refused.flow();
        flow.ends[1].1 = 7_000;
        flow
    };
    let found = |flows: &[Flow]| {
        let (found, _) = explain_flows(flows);
        found.iter().any(|it| it.finding.cause == Cause::Refused)
    };
    assert!(found(&[refused()]));
    assert!(!found(&[refused(), window_rounds(6).flow()]));
}

#[test]
fn a_sender_that_stops_after_a_repair_is_idle() {
    let mut upload = upload(MS / 50, 5 * MS, 60_000);
    let mut at_ns = 10 * MS;
    for round in 0..60_u64 {
        let first = upload.sent();
        upload.at(at_ns).send(20, MSS, 100_000);
        at_ns += 6 * MS;
        if round % 6 == 5 {
            // The first segment of the round is lost and repaired; then the program stops.
            repair(upload.at(at_ns), first);
            at_ns += 6 * MS;
            upload.at(at_ns).ack_all();
            at_ns += 100 * MS;
        } else {
            upload.at(at_ns).ack_all();
        }
    }
    assert_eq!(causes(upload)[0], Cause::SenderStalls);
}

/// Connections of one request and one answer each, which comes after `think_ns`.
fn requests(connections: u64, think_ns: u64) -> Vec<Cause> {
    let flows: Vec<Flow> = (0..connections)
        .map(|_| {
            let mut request = upload(MS / 50, 5 * MS, 60_000);
            request
                .after(MS)
                .write(End::First, 300)
                .after(5 * MS)
                .confirm(End::Second);
            request
                .after(think_ns)
                .write(End::Second, MSS)
                .after(MS)
                .write(End::Second, 540)
                .after(MS / 10)
                .confirm(End::First);
            request.flow()
        })
        .collect();
    let (found, _) = explain_flows(&flows);
    found.iter().map(|it| it.finding.cause).collect()
}

#[test]
fn a_server_that_is_late_in_each_of_several_connections_thinks() {
    assert_eq!(requests(8, 300 * MS), [Cause::ServerThinkTime]);
    assert_eq!(requests(8, 2 * MS), []);
    assert_eq!(requests(1, 300 * MS), []);
}

/// A window of 16 segments that fills, is closed for `closed_ms`, and opens again; `windows` of them pass in between.
fn closings(windows: u64, closed_ms: u64) -> Vec<Cause> {
    let full = 16 * MSS as u16;
    let mut upload = upload(MS / 50, 4 * MS, full);
    let mut at_ns = 10 * MS;
    for _ in 0..30 {
        for window in 0..windows {
            upload.at(at_ns).send(16, MSS, 10_000);
            at_ns += 6 * MS;
            let is_last = window + 1 == windows;
            upload
                .at(at_ns)
                .ack_all_with(if is_last { 0 } else { full });
        }
        at_ns += closed_ms * MS;
        upload.at(at_ns).ack_all_with(full);
    }
    causes(upload)
}

#[test]
fn a_program_that_takes_a_buffer_at_a_time_is_slow_and_one_that_stops_now_and_then_stalls() {
    assert_eq!(closings(1, 45)[0], Cause::ReceiverReadsSlowly);
    assert_eq!(closings(8, 60)[0], Cause::ReceiverStalls);
}

#[test]
fn a_program_that_reads_slowly_between_its_stalls_is_slow() {
    let full = 16 * MSS as u16;
    let mut upload = upload(MS / 50, 4 * MS, full);
    let mut at_ns = 10 * MS;
    for _ in 0..12 {
        for window in 0..10 {
            upload.at(at_ns).send(16, MSS, 5 * MS / 2);
            at_ns += 100 * MS;
            let window = if window == 9 { 0 } else { full };
            upload.at(at_ns).ack_all_with(window);
        }
        at_ns += 300 * MS;
        upload.at(at_ns).ack_all_with(full);
    }
    assert_eq!(causes(upload)[0], Cause::ReceiverReadsSlowly);
}

#[test]
fn a_window_far_below_what_was_granted_before_is_that_of_a_slow_reader() {
    let mut upload = upload(MS / 50, 6 * MS, 60_000);
    upload.at(10 * MS).send(20, MSS, 10_000);
    upload.at(18 * MS).ack_all_with(60_000);
    upload.at(19 * MS).send(20, MSS, 10_000);
    upload.at(28 * MS).ack_all_with(3 * MSS as u16);
    for round in 0..100_u64 {
        let at_ns = 30 * MS + round * 12 * MS;
        upload.at(at_ns).send(3, MSS, 10_000);
        upload.at(at_ns + 11 * MS).ack_all_with(3 * MSS as u16);
    }
    assert_eq!(causes(upload)[0], Cause::ReceiverReadsSlowly);
}

#[test]
fn a_sender_that_loses_segments_is_not_accused_of_having_nothing_to_send() {
    let sender = |lost_each: Option<u32>| {
        let mut upload = upload(MS / 50, 4 * MS, 60_000);
        for round in 0..120_u32 {
            let at_ns = 10 * MS + u64::from(round) * 43 * MS;
            let first = upload.sent();
            upload.at(at_ns).send(4, MSS, 10_000);
            if lost_each.is_some_and(|each| round % each == 0) {
                upload.at(at_ns + 4 * MS).ack(first);
                for duplicate in 0..3 {
                    let ack_ns = at_ns + 4 * MS + duplicate * 10_000;
                    upload.at(ack_ns).ack(first);
                }
                upload.at(at_ns + 5 * MS).segment(first, MSS);
            }
            upload.at(at_ns + 10 * MS).ack_all_with(60_000);
        }
        causes(upload)
    };
    assert!(sender(None).contains(&Cause::SenderIdle));
    assert!(!sender(Some(8)).contains(&Cause::SenderIdle));
}

#[test]
fn full_segments_that_are_never_acknowledged_are_a_black_hole_from_the_first_on() {
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    upload.at(20 * MS).send(10, MSS, 10_000);
    for at_ms in [250, 700, 1_550, 3_300] {
        upload.at(at_ms * MS).segment(1, MSS);
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

/// Bursts of four requests with pauses of 500 ms, captured near the client; the server's host acknowledges the first
/// request of a burst after `wake_up_ns`, and its program answers at once.
fn radio(wake_up_ns: u64) -> Vec<Cause> {
    let mut bursts = Script::open(End::Second, 4 * MS, MS / 50, 60_000);
    for _ in 0..8 {
        bursts.after(500 * MS);
        for request in 0..4 {
            bursts.after(MS / 10).write(End::First, 83);
            bursts.after(if request == 0 { wake_up_ns } else { 4 * MS });
            bursts
                .confirm(End::Second)
                .after(MS / 4)
                .write(End::Second, 345);
        }
        bursts.after(40 * MS).confirm(End::First);
    }
    causes(bursts)
}

#[test]
fn a_host_that_sleeps_is_late_although_an_acknowledgment_precedes_its_answer() {
    assert_eq!(radio(160 * MS), [Cause::WakeUpLatency]);
    assert_eq!(radio(4 * MS), []);
}

#[test]
fn a_receiver_that_acknowledges_each_eighth_segment_does_not_stand_still_when_fewer_wait() {
    // Ten segments fit into the window: eight are acknowledged at once, and now and then two wait for the timer.
    let mut upload = upload(MS / 50, 10 * MS, 10 * MSS as u16);
    let mut at_ns = 20 * MS;
    for round in 0..120 {
        let first = upload.sent();
        upload.at(at_ns).send(8, MSS, 10_000);
        at_ns += 11 * MS;
        upload.at(at_ns).ack(first + 8 * MSS);
        if round % 30 == 15 {
            upload.after(MS / 10).send(2, MSS, 10_000);
            at_ns += 130 * MS;
            upload.at(at_ns).ack_all();
        }
    }
    assert!(!causes(upload).contains(&Cause::ReceiverStalls));
}

#[test]
fn a_receiver_that_acknowledged_all_that_arrived_does_not_stand_still() {
    // What follows the last pair is lost before the capture point, and repeated alone after a timeout.
    let window = 2 * MSS as u16;
    let mut upload = upload(5 * MS, MS / 50, window);
    for round in 0..12_u64 {
        let at_ns = 10 * MS + round * 400 * MS;
        upload.at(at_ns).send(1, MSS, 0);
        upload.after(20_000).ack_all_with(window);
        for pair in 0..20 {
            upload
                .at(at_ns + (10 + pair * 6) * MS)
                .send(2, MSS, 300_000);
            upload.after(20_000).ack_all_with(window);
        }
    }
    let flow = upload.flow();
    let timeouts = FlowFacts::of(&flow).map(|it| it.share(Limit::Timeout));
    assert!(timeouts.is_some_and(|share| share > 0.5), "{timeouts:?}");
    let found = explain_flows(&[flow]).0;
    let causes: Vec<Cause> = found.iter().map(|it| it.finding.cause).collect();
    assert!(!causes.contains(&Cause::ReceiverStalls), "{causes:?}");
}

/// Segments of `len` octets, one at a time and evenly, captured at the receiver.
fn one_at_a_time(window: u16, len: u32) -> Vec<PathFinding> {
    let mut upload = upload(10 * MS, MS / 50, window);
    for round in 0..200_u64 {
        upload.at(20 * MS + round * 10 * MS).send(1, len, 0);
        upload.after(10_000).ack_all();
    }
    findings(upload)
}

#[test]
fn a_sender_that_waits_for_each_acknowledgment_leaves_no_room_for_a_full_link() {
    let found = one_at_a_time(60_000, MSS);
    let causes: Vec<Cause> = found.iter().map(|it| it.finding.cause).collect();
    assert_eq!(causes, [Cause::OneInFlight]);
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

#[test]
fn segments_of_half_a_window_do_not_show_the_mss() {
    let small = |window: u16| {
        let mut upload = Script::late(End::First, window);
        for round in 0..100_u64 {
            upload.at(20 * MS + round * 7 * MS);
            for _ in 0..2 {
                // No write ends with a segment.
                let numbers = [upload.sent(), 1];
                upload.packet(End::First, Segment::ACK, numbers, 450, &[]);
                upload.next[0] += 450;
                upload.after(20_000);
            }
            upload.after(6 * MS).ack_all();
        }
        causes(upload).contains(&Cause::SmallMss)
    };
    assert!(small(9_000));
    assert!(!small(900));
}

/// Each round trip of 20 ms, near the sender, `segments` segments pass at once; one acknowledgment answers
/// all of them.
fn bursts(segments: impl Fn(u32) -> u32, round_ns: u64) -> Vec<Cause> {
    let mut upload = upload(MS / 50, 20 * MS, 60_000);
    for round in 0..100 {
        let at_ns = 30 * MS + u64::from(round) * round_ns;
        upload.at(at_ns).send(segments(round), MSS, 12_000);
        upload.at(at_ns + 20 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn the_same_amount_in_each_round_trip_is_that_of_a_send_buffer_even_if_it_is_sent_at_once() {
    let buffer = bursts(|_| 22, 20 * MS + MS / 10);
    assert_eq!(buffer, [Cause::SendBuffer]);
    let block = bursts(|round| 15 + round % 2 * 15, 20 * MS + MS / 10);
    assert_eq!(block, [Cause::SendBuffer]);
    let growing = bursts(|round| 4 + round / 4, 20 * MS + MS / 10);
    assert!(!growing.contains(&Cause::SendBuffer), "{growing:?}");
}

#[test]
fn pictures_at_a_constant_interval_accuse_no_acknowledgments() {
    let pictures = bursts(|picture| 5 + picture * 7 % 13, 40 * MS);
    assert_eq!(pictures, []);
}

#[test]
fn a_window_is_unscaled_only_if_no_scale_was_offered() {
    let window = 44 * MSS as u16;
    let filled = |options: &[u8]| {
        let mut upload = Script::open_with(End::First, [20 * MS, MS / 50], window, options);
        for round in 0..100 {
            let at_ns = 30 * MS + round * 20 * MS;
            upload.at(at_ns).send(44, MSS, 12_000);
            upload.at(at_ns + 19 * MS).ack_all();
        }
        causes(upload)
    };
    let offered = [2, 4, 5, 0xB4, 4, 2, 3, 3, 0];
    assert_eq!(filled(&offered), [Cause::ReceiveWindow]);
    assert_eq!(filled(&offered[..6]), [Cause::NoWindowScaling]);
}

#[test]
fn a_receiver_whose_buffer_is_full_of_unread_data_acknowledges_late_because_it_reads_late() {
    let mut upload = upload(MS / 50, 10 * MS, 60_000);
    upload.at(15 * MS).send(20, MSS, 10_000);
    upload.at(26 * MS).ack_all();
    for round in 0..100_u64 {
        let at_ns = 30 * MS + round * 40 * MS;
        upload.at(at_ns).send(9, MSS, 10_000);
        let window = if round < 5 { 60_000 } else { 9 * MSS as u16 };
        upload.at(at_ns + 39 * MS).ack_all_with(window);
    }
    assert_eq!(causes(upload)[0], Cause::ReceiverReadsSlowly);
}

#[test]
fn a_small_window_that_the_segments_behind_a_lost_one_close_is_not_read_slowly() {
    let window = 5 * MSS as u16;
    let mut upload = upload(MS / 50, 20 * MS, window);
    let mut at_ns = 30 * MS;
    for round in 0..100_u64 {
        let first = upload.sent();
        upload.at(at_ns).send(5, MSS, 12_000);
        at_ns += 20 * MS;
        if round % 8 == 0 {
            upload.at(at_ns).duplicate_acks(4, first, 0);
            upload.after(12_000).segment(first, MSS);
            at_ns += 20 * MS;
            upload.at(at_ns).ack_all_with(0);
        }
        upload.at(at_ns + 1_000).ack_all_with(window);
    }
    let causes = causes(upload);
    assert!(!causes.contains(&Cause::ReceiverReadsSlowly), "{causes:?}");
}

#[test]
fn delayed_acknowledgments_of_single_segments_do_not_fill_the_path() {
    let mut upload = upload(5 * MS, MS / 50, 60_000);
    for round in 0..60_u64 {
        upload.at(30 * MS + round * 255 * MS).send(1, MSS, 0);
        upload.after(250 * MS).ack_all();
    }
    let causes = causes(upload);
    assert!(!causes.contains(&Cause::PathRate), "{causes:?}");
}

#[test]
fn an_mss_that_a_router_clamps_behind_the_receiver_is_small() {
    let mut upload = upload(20 * MS, MS / 50, 60_000);
    for segment in 0..400_u32 {
        upload.at(30 * MS + u64::from(segment) * MS);
        // No write ends with a segment.
        upload.packet(End::First, Segment::ACK, [1 + segment * 256, 1], 256, &[]);
        upload.next[0] = 1 + (segment + 1) * 256;
        upload.after(20_000).ack_all();
    }
    let found = findings(upload);
    let small = found
        .iter()
        .map(|it| &it.finding)
        .find(|it| it.cause == Cause::SmallMss);
    let small = small.expect("found");
    // The sentence states no figure that the evidence does not have.
    assert!(
        small.summary.contains("offers to take"),
        "{}",
        small.summary
    );
    assert!(small.evidence["announced_mss_bytes"] > 256.0);
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

/// Slow start into a queue: each acknowledgment of two segments, 8 ms apart, releases three.
#[test]
fn a_window_that_only_fills_a_long_queue_is_no_limit() {
    let mut upload = upload(MS / 50, 8 * MS, 60_000);
    upload.at(10 * MS).send(10, MSS, 10_000);
    for ack in 0..300_u64 {
        upload.at(18 * MS + ack * 8 * MS);
        upload.ack(1 + (ack as u32 + 1) * 2 * MSS).after(10_000);
        if upload.sent() < 280 * MSS {
            upload.send(3, MSS, 10_000);
        } else if upload.sent() < 600 * MSS {
            upload.send(2, MSS, 10_000);
        }
    }
    let causes = causes(upload);
    assert!(causes.contains(&Cause::Bufferbloat), "{causes:?}");
    assert!(!causes.contains(&Cause::CongestionWindow), "{causes:?}");
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
