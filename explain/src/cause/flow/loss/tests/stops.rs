//! A receiver that stands still, and loses what arrives meanwhile.

use super::*;

/// Pairs of segments, one each 1.2 ms, whose second one `ack_of` answers `answer_ns` later.
fn pairs(
    upload: &mut Script,
    [at_ns, answer_ns]: [u64; 2],
    seqs: &[u32],
    ack_of: impl Fn(u32) -> Option<u32>,
) {
    // Time, and a segment or else an acknowledgment.
    let mut packets: Vec<(u64, bool, u32)> = Vec::new();
    for (place, seq) in seqs.iter().enumerate() {
        let place = place as u64;
        let sent_ns = at_ns + (place / 2 * 1_200 + place % 2 * 10) * US;
        packets.push((sent_ns, true, *seq));
        let ack = ack_of(*seq).filter(|_| place % 2 == 1);
        packets.extend(ack.map(|ack| (sent_ns + answer_ns, false, ack)));
    }
    packets.sort_unstable();
    for (time_ns, is_segment, number) in packets {
        upload.at(time_ns);
        if is_segment {
            upload.segment(number, MSS);
        } else {
            upload.ack(number);
        }
    }
}

/// Six pairs of segments in each round trip of 12 ms, captured at the sender or at the receiver, which stands still nine times for
/// 0.6 s: the 24 segments of that time are lost, and repeated then. Where it `answers`, it does so for those that it loses, too.
fn stops(is_near_receiver: bool, answers: bool) -> Option<Rule> {
    let [to_second_ns, to_first_ns] = if is_near_receiver {
        [20 * US, 12 * MS]
    } else {
        [12 * MS, 20 * US]
    };
    let mut upload = Script::open(End::First, to_second_ns, to_first_ns, 60_000);
    let mut at_ns = 30 * MS;
    let seqs = |first: u32, number: u32| -> Vec<u32> {
        (0..number).map(|place| first + place * MSS).collect()
    };
    for _ in 0..9 {
        for _ in 0..40 {
            let new = seqs(upload.sent(), 12);
            pairs(&mut upload, [at_ns, to_second_ns], &new, |seq| {
                Some(seq + MSS)
            });
            at_ns += 20 * MS;
        }
        let first = upload.sent();
        let lost = seqs(first, 24);
        pairs(&mut upload, [at_ns, to_second_ns], &lost, |_| {
            answers.then_some(first)
        });
        at_ns += 600 * MS;
        pairs(&mut upload, [at_ns, to_second_ns], &lost, |seq| {
            Some(seq + MSS)
        });
        at_ns += 40 * MS;
    }
    evaluate(upload)
}

#[test]
fn what_is_lost_while_nothing_passes_is_no_excess_over_a_rate() {
    let found = stops(false, false).expect("losses");
    assert_ne!(found.cause, Cause::Policed, "{}", found.summary);
}

#[test]
fn a_receiver_that_answers_none_of_the_segments_which_it_loses_stands_still() {
    let found = stops(true, false).expect("losses");
    assert_eq!(found.cause, Cause::ReceiverStalls, "{}", found.summary);
    assert!(found.summary.contains("(9 times"), "{}", found.summary);
    assert_ne!(cause(stops(true, true)), Some(Cause::ReceiverStalls));
}
