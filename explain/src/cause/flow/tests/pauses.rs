//! Programs that have nothing to send for a while, and what looks like them.

use super::{causes, upload};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::flow::service::spaces_bursts;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// An answer in parts of `segments` full segments and 850 octets, one each 33 ms, captured at its sender.
fn parts(segments: u32) -> Vec<Cause> {
    let mut upload = upload(20 * US, 4 * MS, 60_000);
    for part in 0..80 {
        upload.at((20 + part * 33) * MS);
        upload.send(segments, MSS, 0).send(1, 850, 0);
        upload.after(4 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn parts_that_end_a_write_are_those_of_a_program_and_no_pace_of_a_host() {
    assert_eq!(parts(1)[..1], [Cause::SenderIdle]);
    assert_eq!(parts(3)[..1], [Cause::SenderIdle]);
}

/// Writes of 1,180 octets, one each 54 ms, which answer a request; then the end that `closes` closes.
fn readings(closes: Option<End>) -> Vec<Cause> {
    let mut download = Script::open(End::Second, 20 * US, 2 * MS, 60_000);
    download.at(5 * MS).write(End::First, 77);
    for at in 0..60 {
        download.at((50 + at * 54) * MS).send(1, 1_180, 0);
        download.after(2 * MS).ack_all();
    }
    if let Some(end) = closes {
        let numbers = [
            download.next[end as usize],
            download.next[end.other() as usize],
        ];
        download
            .after(10 * US)
            .packet(end, Segment::ACK | Segment::FIN, numbers, 0, &[]);
    }
    causes(download)
}

#[test]
fn a_source_with_a_clock_stays_one_however_its_connection_ends() {
    for closes in [None, Some(End::First), Some(End::Second)] {
        assert_eq!(readings(closes), [], "{closes:?}");
    }
}

/// Messages of 300 to 1,200 octets each 30 to 70 ms, of which the receiver acknowledges each second one at once.
#[test]
fn messages_that_come_when_they_come_are_no_idle_sender() {
    let mut upload = upload(20 * US, MS, 60_000);
    upload.at(20 * MS);
    for at in 0..200_u32 {
        upload.send(1, 300 + at * 397 % 900, 0);
        if at % 2 == 1 {
            upload.after(MS).ack_all();
        }
        upload.after((30 + u64::from(at * 17 % 40)) * MS);
    }
    assert_eq!(causes(upload), []);
}

/// Pairs of segments, each 12 ms after the one before, captured late at their receiver, which grants 65,535 octets.
/// What changes on a screen: two segments and a part of one, from 30 to 230 ms apart.
#[test]
fn news_after_long_and_short_silences_are_no_idle_sender() {
    let mut upload = upload(12 * MS, 20 * US, 60_000);
    let mut at_ns = 30 * MS;
    for number in 0..80 {
        upload.at(at_ns).send(2, MSS, 10 * US);
        upload.send(1, 300 + number as u32, 10 * US);
        upload.after(12 * MS).ack_all();
        at_ns += [30, 60, 110, 45, 230][number % 5] * MS;
    }
    assert_eq!(causes(upload), []);
}

#[test]
fn segments_that_arrive_evenly_do_not_show_what_is_in_flight() {
    let mut download = Script::late(End::Second, 65_535);
    for pair in 0..150 {
        download
            .at(pair * 12 * MS)
            .send(1, MSS, 0)
            .after(7 * US)
            .ack_all();
        download
            .after(10 * US)
            .send(1, MSS, 0)
            .after(7 * US)
            .ack_all();
    }
    assert!(!causes(download).contains(&Cause::ReceiveWindow));
}

/// A buffer of two segments and a part, sent in each round trip of 10 ms, captured at the receiver.
#[test]
fn a_small_buffer_leaves_the_path_idle_between_its_flights() {
    let mut download = Script::open(End::Second, 10 * MS, 20 * US, 60_000);
    for round in 0..200 {
        download.at((20 + round * 10) * MS);
        for len in [MSS, 330, MSS] {
            let numbers = [download.sent(), 1];
            download.packet(End::Second, Segment::ACK, numbers, len, &[]);
            download.next[1] += len;
            download.after(7 * US).ack_all().after(300 * US);
        }
    }
    let found = causes(download);
    assert_eq!(found[..1], [Cause::SendBuffer], "{found:?}");
}

/// True if a line seems to space the segments of a sender whose four segments in flight leave in pairs: one takes 76 ms, the next
/// one `next_ns`. Captured at the sender, without the handshake.
fn is_spaced(next_ns: u64) -> bool {
    let mut upload = Script::late(End::First, 60_000);
    upload.at(MS).send(4, MSS, 14 * US);
    for pair in 0..20 {
        let first = 1 + pair * 2 * MSS;
        upload.after(76 * MS).ack(first + MSS);
        upload.after(next_ns).ack(first + 2 * MSS);
        upload.after(17 * US).send(2, MSS, 14 * US);
    }
    spaces_bursts(&FlowFacts::of(&upload.flow()).expect("payload"))
}

#[test]
fn a_line_passes_one_segment_of_a_pair_after_the_other() {
    assert!(is_spaced(76 * MS));
    assert!(!is_spaced(MS));
}

/// The window of eight segments is full in each round trip of 34 ms, in which the line passes one in 3 ms; once, nothing arrives
/// for `silence_ms`, in which the timer repeats the first segment.
fn window_and_outage(silence_ms: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 34 * MS, 15 * US, 8 * MSS as u16);
    let mut at_ns = 50 * MS;
    for round in 0..70 {
        let first = upload.sent();
        upload.at(at_ns).send(8, MSS, 12 * US);
        if round == 30 && silence_ms > 0 {
            for wait_ms in [250, 750, 1_750] {
                upload.at(at_ns + wait_ms * MS).segment(first, MSS);
            }
            at_ns += silence_ms * MS;
            upload.at(at_ns).ack_all();
            continue;
        }
        for at in 1..=8 {
            upload
                .at(at_ns + 10 * MS + u64::from(at) * 3 * MS)
                .ack(first + at * MSS);
        }
        at_ns += 34 * MS;
    }
    causes(upload)
}

#[test]
fn a_window_costs_no_more_than_the_path_would_save() {
    assert_eq!(window_and_outage(0)[..1], [Cause::ReceiveWindow]);
    let both = window_and_outage(1_784);
    assert_eq!(both[..1], [Cause::LinkInterrupted], "{both:?}");
    assert!(both.contains(&Cause::ReceiveWindow), "{both:?}");
}

/// Two windows of eight segments each, captured at the sender, 2 ms from the receiver as the handshake shows: the receiver acknowledges
/// four at a time, each `full_ms` after the ones before, or all of a window 16 ms after it was sent.
fn behind_a_line(full_ms: Option<u64>) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 2 * MS, 15 * US, 8 * MSS as u16);
    upload.at(20 * MS).send(8, MSS, 10 * US);
    let mut acked = 1;
    for _ in 0..120 {
        match full_ms {
            Some(ms) => {
                acked += 4 * MSS;
                upload
                    .after(4 * ms * MS)
                    .ack(acked)
                    .after(15 * US)
                    .send(4, MSS, 10 * US);
            }
            None => {
                upload
                    .after(16 * MS)
                    .ack_all()
                    .after(15 * US)
                    .send(8, MSS, 10 * US);
            }
        }
    }
    causes(upload)
}

#[test]
fn a_window_that_waits_for_a_line_is_no_limit() {
    assert_eq!(behind_a_line(Some(2)), [Cause::PathRate]);
    assert_ne!(behind_a_line(None)[..1], [Cause::PathRate]);
}

/// Blocks of 20 segments, each acknowledged 4 ms later, captured at their sender; it is silent for 300 ms behind each eighth block,
/// and then repeats a segment that was acknowledged, and sends the next block at once, or when that segment is acknowledged again.
fn repeats_behind_silences(waits_for_ack: bool) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 4 * MS, 20 * US, 60_000);
    upload.at(10 * MS);
    for block in 0..64 {
        let last = upload.sent();
        upload.send(20, MSS, MS).after(4 * MS).ack_all();
        if block % 8 == 7 {
            upload
                .after(300 * MS)
                .segment(last + 19 * MSS, MSS)
                .after(20 * US);
            if waits_for_ack {
                upload.after(4 * MS).ack_all();
            }
        }
        upload.after(20 * US);
    }
    causes(upload)
}

#[test]
fn a_sender_that_stands_still_repeats_what_was_acknowledged_and_goes_on_at_once() {
    let stops = |cause: &Cause| matches!(cause, Cause::SenderIdle | Cause::SenderStalls);
    let found = repeats_behind_silences(false);
    assert!(found.first().is_some_and(stops), "{found:?}");
    let found = repeats_behind_silences(true);
    assert!(!found.iter().any(stops), "{found:?}");
}

/// Flights of twelve segments, captured at their sender, 20 ms from the receiver. One of them is not answered, nor is its first segment
/// when the timer repeats it, until it is repeated again: then what precedes the `arrived` segment is acknowledged.
fn silence(arrived: u32) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 20 * MS, 20 * US, 60_000);
    upload.at(30 * MS);
    for round in 0..40 {
        let first = upload.sent();
        upload.send(12, MSS, 500 * US);
        if round == 15 {
            upload.after(1_300 * MS).segment(first, MSS);
            upload.after(2_600 * MS).segment(first, MSS);
            upload.after(20 * MS).ack(first + arrived * MSS);
            for missing in arrived..12 {
                upload.after(20 * US).segment(first + missing * MSS, MSS);
            }
        }
        upload.after(20 * MS).ack_all().after(20 * US);
    }
    causes(upload)
}

#[test]
fn a_silence_in_which_acknowledgments_and_segments_are_lost_cuts_both_directions() {
    // All twelve had arrived: then their acknowledgments were lost, and the first repetition or its own.
    for arrived in [6, 12] {
        assert_eq!(silence(arrived)[..1], [Cause::LinkInterrupted]);
    }
    let found = silence(1);
    assert!(!found.contains(&Cause::LinkInterrupted), "{found:?}");
}

/// Blocks of 5 to 8 segments and 892 octets over a round trip of 10 ms; the block of that number begins after its time in `begins_us`.
/// The receiver acknowledges the first segment at once, the others 2 ms later; one segment is lost on the way and repeated.
fn written_blocks(begins_us: impl Fn(u64) -> u64) -> Vec<Cause> {
    let mut download = Script::open(End::Second, 10 * MS, 20 * US, 60_000);
    for block in 0..200 {
        let first = download.sent();
        download.at(20 * MS + begins_us(block) * US);
        download.send(1, MSS, 0).ack_all().after(100 * US);
        download.send(4 + (block % 4) as u32, MSS, 100 * US);
        download.after(100 * US).send(1, 892, 0);
        if block == 100 {
            download.duplicate_acks(3, first + MSS, 10 * US);
            download.after(10 * MS).segment(first + MSS, MSS);
        }
        download.after(2 * MS).ack_all();
    }
    causes(download)
}

#[test]
fn blocks_at_an_interval_of_their_own_wait_for_no_congestion_window() {
    let limits = |found: &[Cause]| found.contains(&Cause::CongestionWindow);
    let found = written_blocks(|block| block * 13_000);
    assert!(!limits(&found), "{found:?}");
    // One in each round trip: acknowledgments may release them.
    let found = written_blocks(|block| block * 10_400);
    assert!(limits(&found), "{found:?}");
    // Nor does a clock set their times.
    let found = written_blocks(|block| block * 12_500 + block % 3 * 400);
    assert!(limits(&found), "{found:?}");
}
