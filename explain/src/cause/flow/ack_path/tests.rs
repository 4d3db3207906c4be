//! Acknowledgments that wait, on synthetic uploads that were captured at the sender.

mod both_ways;
mod rare;

use super::*;
use crate::cause::flow::facts::OppositeTransfer;
use crate::cause::synthetic::Script;
use linerate_capture::reader::Address;
use linerate_capture::tcp::{Connection, End, Segment};
use linerate_capture::traffic::Flow;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const MSS: u32 = 1_460;
/// Round trip of the empty path.
const RTT_NS: u64 = 16 * MS;
/// A download that fills its way.
const OPPOSITE: OppositeTransfer = OppositeTransfer {
    bytes_per_s: 100_000.0,
    queue_ns: Some(90 * MS),
    is_full: true,
    may_fill: true,
};

/// Packets by time: segments of a number of octets at a sequence number, and acknowledgments.
#[derive(Clone, Copy, Debug)]
enum Sent {
    Data {
        seq: u32,
    },
    Ack {
        ack: u32,
        sent_ns: u64,
    },
    /// An acknowledgment of a copy of the last segment.
    Report {
        ack: u32,
    },
}

struct Upload {
    packets: Vec<(u64, Sent)>,
    is_stamped: bool,
    /// Time from the sender's packets of the handshake to the receiver's, and on to the sender's.
    legs_ns: [u64; 2],
    /// True if the handshake was not captured.
    is_late: bool,
}

/// Captured at the sender.
const AT_SENDER: [u64; 2] = [RTT_NS - 20 * US, 20 * US];

impl Upload {
    fn flow(mut self) -> Flow {
        self.packets.sort_by_key(|(time_ns, _)| *time_ns);
        let mut connection = Connection::new(1, 0);
        let mut number = 0;
        let mut record = |end: End, at_ns: u64, segment: &Segment<'_>| {
            number += 1;
            connection.record_segment(end, segment, at_ns, number);
        };
        let options = [2, 4, 5, 0xB4, 4, 2, 3, 3, 2];
        let open = |flags: u8, seq: u32, ack: u32| Segment {
            seq,
            ack,
            flags,
            window: 60_000,
            options: &options,
            ..Segment::default()
        };
        let [answer_ns, to_first_ns] = self.legs_ns;
        let legs = [answer_ns, answer_ns + to_first_ns];
        let last = Segment {
            options: &[],
            ..open(Segment::ACK, 1, 1)
        };
        let answer = open(Segment::SYN | Segment::ACK, 0, 1);
        if !self.is_late {
            record(End::First, 0, &open(Segment::SYN, 0, 0));
            record(End::Second, legs[0], &answer);
            record(End::First, legs[1], &last);
        }
        for (time_ns, sent) in &self.packets {
            let (end, seq, ack, len, stamped_ns) = match sent {
                Sent::Data { seq } => (End::First, *seq, 1, MSS, *time_ns),
                Sent::Ack { ack, sent_ns } => (End::Second, 1, *ack, 0, *sent_ns),
                Sent::Report { ack } => (End::Second, 1, *ack, 0, *time_ns),
            };
            let mut report = [1, 1, 5, 10, 0, 0, 0, 0, 0, 0, 0, 0];
            report[4..8].copy_from_slice(&(ack - MSS.min(ack)).to_be_bytes());
            report[8..12].copy_from_slice(&ack.to_be_bytes());
            let mut stamps = [1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 1];
            stamps[4..8].copy_from_slice(&((stamped_ns / MS) as u32 + 1_000).to_be_bytes());
            let segment = Segment {
                seq,
                ack,
                flags: Segment::ACK,
                window: 60_000,
                len,
                options: match sent {
                    Sent::Report { .. } => &report,
                    _ if self.is_stamped => &stamps,
                    _ => &[],
                },
                ..Segment::default()
            };
            record(end, *time_ns, &segment);
        }
        Flow {
            ends: [1, 2].map(|host| (Address([host; 16]), 80)),
            connection: Box::new(connection),
        }
    }
}

/// An upload captured at the sender: each acknowledgment of one or two segments comes `interval_ns` of that number after the
/// one before, and releases as many. Initially 60 segments are in flight.
fn clocked(interval_ns: impl Fn(u32) -> u64) -> Upload {
    clocked_with(60, interval_ns)
}

/// The same with `initial` segments in flight.
fn clocked_with(initial: u32, interval_ns: impl Fn(u32) -> u64) -> Upload {
    let mut packets: Vec<(u64, Sent)> = Vec::new();
    let mut next = 1;
    let mut send = |packets: &mut Vec<(u64, Sent)>, at_ns: u64, count: u32| {
        for segment in 0..count {
            let at_ns = at_ns + u64::from(segment) * 12 * US;
            packets.push((at_ns, Sent::Data { seq: next }));
            next += MSS;
        }
    };
    let mut now_ns = RTT_NS + MS;
    send(&mut packets, now_ns, initial);
    now_ns += RTT_NS;
    let mut acked = 1;
    for at in 0..400_u32 {
        let segments = if at % 4 == 0 { 1 } else { 2 };
        now_ns += interval_ns(segments);
        acked += segments * MSS;
        packets.push((
            now_ns,
            Sent::Ack {
                ack: acked,
                sent_ns: now_ns,
            },
        ));
        send(&mut packets, now_ns + 10 * US, segments);
    }
    Upload {
        packets,
        is_stamped: false,
        legs_ns: AT_SENDER,
        is_late: false,
    }
}

/// An upload captured at the sender: bursts of eight segments, which reach the receiver at once; its acknowledgments wait
/// 80 ms.
fn stamped(is_stamped: bool) -> Upload {
    waiting(is_stamped, 0, |at| (at * 8).min(80))
}

/// The same, where segments wait `there_ms`, and acknowledgments `back_ms` of the number of the burst.
fn waiting(is_stamped: bool, there_ms: u64, back_ms: impl Fn(u64) -> u64) -> Upload {
    let mut packets: Vec<(u64, Sent)> = Vec::new();
    let mut next = 1;
    for at in 0..80_u64 {
        let burst_ns = 2 * RTT_NS + at * 60 * MS;
        for segment in 0..8 {
            let at_ns = burst_ns + segment * 400 * US;
            packets.push((at_ns, Sent::Data { seq: next }));
            next += MSS;
            if segment % 2 == 1 {
                let sent_ns = at_ns + RTT_NS / 2 + at.min(10) * there_ms * MS / 10;
                let ack = Sent::Ack { ack: next, sent_ns };
                packets.push((sent_ns + RTT_NS / 2 + back_ms(at) * MS, ack));
            }
        }
    }
    Upload {
        packets,
        is_stamped,
        legs_ns: AT_SENDER,
        is_late: false,
    }
}

/// The same upload, captured in front of the link of its receiver, 40 ms away from the sender: the bursts wait there up to 80 ms, or
/// their acknowledgments do.
fn in_front_of_link(waits_for_data: bool) -> Upload {
    let mut upload = stamped(true);
    upload.legs_ns = [RTT_NS, 40 * MS];
    for (time_ns, sent) in &mut upload.packets {
        *time_ns += 100 * MS;
        if let Sent::Ack { sent_ns, .. } = sent {
            *sent_ns = if waits_for_data {
                *time_ns - RTT_NS / 2
            } else {
                *sent_ns + 100 * MS
            };
        }
    }
    upload
}

fn found(upload: Upload, against: Option<OppositeTransfer>) -> Option<Rule> {
    let flow = upload.flow();
    let mut facts = FlowFacts::of(&flow).expect("payload");
    facts.against = against;
    ack_path_full(&facts)
}

#[test]
fn equal_intervals_of_acknowledgments_show_a_slow_way_back_without_stamps() {
    let rule = found(clocked(|_| 8 * MS), None).expect("a finding");
    assert!(rule.summary.contains("every 8 ms"), "{}", rule.summary);
    assert!(rule.evidence["queue_ns_p50"] > 2e8, "{:?}", rule.evidence);
}

#[test]
fn a_timer_of_the_receiver_delays_no_acknowledgment_by_more_than_its_interval() {
    assert!(found(clocked_with(40, |_| 60 * MS), None).is_some());
    assert!(found(clocked_with(3, |_| 60 * MS), None).is_none());
}

#[test]
fn copies_that_are_acknowledged_too_fill_the_way_of_the_data() {
    // A bridge doubles two of three segments; the receiver reports each copy (RFC 2883).
    let mut upload = clocked_with(60, |_| 8 * MS);
    upload
        .packets
        .retain(|(_, sent)| matches!(sent, Sent::Data { .. }));
    let mut now_ns = 3 * RTT_NS;
    for at in 0..400_u32 {
        now_ns += 4 * MS;
        let ack = 1 + (at + 1) * MSS;
        upload.packets.push((
            now_ns,
            Sent::Ack {
                ack,
                sent_ns: now_ns,
            },
        ));
        if at % 3 != 0 {
            now_ns += 4 * MS;
            upload.packets.push((now_ns, Sent::Report { ack }));
        }
    }
    assert!(found(upload, None).is_none());
}

/// Such a way back, while segments of the upload come again at four times.
fn spaced_with_losses(each_time: u32) -> Option<Rule> {
    let mut upload = clocked(|_| 8 * MS);
    let acks: Vec<(u64, u32)> = upload
        .packets
        .iter()
        .filter_map(|(time_ns, sent)| match sent {
            Sent::Ack { ack, .. } => Some((*time_ns, *ack)),
            Sent::Data { .. } | Sent::Report { .. } => None,
        })
        .collect();
    for (time_ns, ack) in acks.iter().skip(50).step_by(100) {
        for segment in 0..each_time {
            let seq = ack + (10 + segment) * MSS;
            upload
                .packets
                .push((time_ns + 100 * US, Sent::Data { seq }));
        }
    }
    found(upload, None)
}

#[test]
fn a_path_that_loses_data_again_and_again_is_full_of_data() {
    assert!(spaced_with_losses(1).is_some(), "a few");
    assert!(spaced_with_losses(4).is_none());
}

/// A download captured 20 us from its receiver, 20 ms from its sender: `count` segments at a time, `interval_ns` of their number
/// before the next ones.
fn arriving(count: impl Fn(u32) -> u32, interval_ns: impl Fn(u32) -> u64) -> Option<Rule> {
    arriving_behind(1, MSS, count, interval_ns)
}

/// The same, of `len` octets, behind so many at once.
fn arriving_behind(
    first: u32,
    len: u32,
    count: impl Fn(u32) -> u32,
    interval_ns: impl Fn(u32) -> u64,
) -> Option<Rule> {
    let mut download = Script::open(End::Second, 20 * MS, 20 * US, 60_000);
    download.at(40 * MS).send(first, len, 15 * US);
    download.after(20 * US).ack_all();
    let mut at_ns = 60 * MS;
    for at in 0..300 {
        download.at(at_ns).send(count(at), len, 15 * US);
        download.after(20 * US).ack_all();
        at_ns += interval_ns(count(at));
    }
    ack_path_full(&FlowFacts::of(&download.flow()).expect("payload"))
}

#[test]
fn segments_at_one_interval_whatever_their_number_were_released_by_acknowledgments_that_wait() {
    let one_or_two = |at: u32| 1 + u32::from(at.is_multiple_of(4));
    let rule = arriving(one_or_two, |_| 9 * MS).expect("a finding");
    assert!(rule.summary.contains("every 9 ms"), "{}", rule.summary);
    assert!(
        arriving(one_or_two, |count| u64::from(count) * 9 * MS).is_none(),
        "a pace in octets"
    );
    assert!(
        arriving(one_or_two, |_| 21 * MS).is_none(),
        "a window of one or two segments"
    );
    assert!(
        arriving_behind(12, MSS, one_or_two, |_| 21 * MS).is_some(),
        "a window that was larger"
    );
    assert!(
        arriving_behind(1, 100, one_or_two, |_| 9 * MS).is_none(),
        "a program that writes less than any full segment"
    );
}

#[test]
fn intervals_by_the_octets_they_acknowledge_are_those_of_a_full_path() {
    let full = clocked(|segments| u64::from(segments) * 4 * MS);
    assert!(found(full, None).is_none());
}

#[test]
fn acknowledgments_wait_behind_a_transfer_in_the_other_direction() {
    let rule = found(stamped(true), Some(OPPOSITE)).expect("a finding");
    assert!(
        rule.summary.contains("the way back is full"),
        "{}",
        rule.summary
    );
    assert!(rule.advice.contains("fq_codel"), "{}", rule.advice);
    assert!(
        rule.summary.contains("fills it with 800 kbit/s (100 kB/s)"),
        "{}",
        rule.summary
    );
    assert!((rule.evidence["opposite_bytes_per_s"] - 1e5).abs() < 1.0);
    assert!(
        rule.evidence["ack_queue_ns_p50"] > 6e7,
        "{:?}",
        rule.evidence
    );
}

#[test]
fn what_waits_behind_the_capture_point_is_the_data_if_acknowledgments_pass_at_once() {
    let named = |waits_for_data| found(in_front_of_link(waits_for_data), None).map(|it| it.summary);
    assert_eq!(named(true), None);
    assert!(named(false).is_some());
}

#[test]
fn a_queue_that_always_stood_before_a_late_capture_shows_how_much_it_varies() {
    // The way back never takes less than 200 ms.
    let found = |there_ms: u64| {
        let upload = Upload {
            is_late: true,
            ..waiting(true, there_ms, |at| 200 + (at * 8).min(80))
        };
        let flow = upload.flow();
        let mut facts = FlowFacts::of(&flow).expect("payload");
        facts.least_rtt_ns = Some(RTT_NS + 200 * MS);
        ack_path_full(&facts).map(|it| it.summary)
    };
    let back = found(0).expect("a finding");
    assert!(back.starts_with("Acknowledgments wait 80"), "{back}");
    assert_eq!(found(30), None, "data waits, too");
}

#[test]
fn without_stamps_a_transfer_in_the_other_direction_shows_the_queue() {
    let rule = found(stamped(false), Some(OPPOSITE)).expect("a finding");
    assert!(rule.confidence < 0.8, "{}", rule.confidence);
    // Transfers of the same rate may fill a line that carries as much in both directions.
    let equal = OppositeTransfer {
        bytes_per_s: 190_000.0,
        ..OPPOSITE
    };
    assert!(found(stamped(false), Some(equal)).is_none());
    assert!(found(stamped(false), None).is_none());
}
