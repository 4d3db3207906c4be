//! The rules, on synthetic connections.

mod beacons;
mod clocks;
mod despite_losses;
mod devices;
mod events;
mod exchanges;
mod gains;
mod greetings;
mod held;
mod in_turn;
mod late;
mod lines;
mod numbers;
mod one_way;
mod overtaking;
mod pages;
mod parts;
mod paths;
mod pauses;
mod radio;
mod ranks;
mod receivers;
mod senders;
mod together;
mod unread;
mod windows;

use super::*;
use crate::cause::synthetic::{MS, MSS, Script};
use linerate_capture::model::Limit;
use linerate_capture::tcp::{End, Segment};

/// Captured `to_sender_ns` from the sender and `to_receiver_ns` from the receiver.
fn upload(to_sender_ns: u64, to_receiver_ns: u64, window: u16) -> Script {
    Script::open(End::First, to_receiver_ns, to_sender_ns, window)
}

fn findings(upload: Script) -> Vec<PathFinding> {
    explain_flows(&[upload.flow()]).0
}

/// Findings about connections of one client, each from a port of its own.
fn of_client(connections: impl IntoIterator<Item = Script>) -> Vec<PathFinding> {
    let flows = connections.into_iter().zip(40_000..);
    let flows = flows.map(|(connection, port)| {
        let mut flow = connection.flow();
        flow.ends[0].1 = port;
        flow
    });
    explain_flows(&flows.collect::<Vec<_>>()).0
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
fn octets_that_wake_a_program_are_no_transfer() {
    let mut signals = upload(MS / 50, MS / 50, 60_000);
    for burst in 0..60 {
        signals.at((100 + burst * 1_000) * MS);
        for _ in 0..10 {
            signals
                .write(End::First, 1)
                .after(20_000)
                .confirm(End::Second);
        }
    }
    assert_eq!(causes(signals), []);
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

/// Connections of one request and one answer each, which comes after `think_ns`: one after another, or all at once.
fn requests(connections: u64, think_ns: u64, is_at_once: bool) -> Vec<Cause> {
    let flows: Vec<Flow> = (0..connections)
        .map(|number| {
            let start_ns = if is_at_once {
                0
            } else {
                number * (think_ns + 20 * MS)
            };
            let mut request = Script::open_at(start_ns, End::First, [MS / 50, 5 * MS], 60_000);
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
    assert_eq!(requests(8, 300 * MS, false), [Cause::ServerThinkTime]);
    assert_eq!(requests(8, 2 * MS, false), []);
    assert_eq!(requests(1, 300 * MS, false), []);
    assert_eq!(requests(8, 300 * MS, true), [], "awaited once");
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
