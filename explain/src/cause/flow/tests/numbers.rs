//! Senders that number their IPv4 packets: what is the same packet, and what was sent first.

use super::{causes, upload};
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;

/// Flights of ten segments, captured at their sender, 5 ms from the receiver; the third of each passes twice, as the same packet or as
/// another one.
fn passes_twice(is_same: bool) -> Vec<Cause> {
    let mut upload = upload(20 * US, 5 * MS, 60_000);
    upload.numbers = Some([100, 7]);
    for round in 0..40 {
        upload.at((20 + round * 20) * MS);
        let third = upload.sent() + 2 * MSS;
        upload.send(3, MSS, 100 * US).after(30 * US);
        if is_same && let Some([first, _]) = &mut upload.numbers {
            *first -= 1;
        }
        upload.segment(third, MSS).after(70 * US);
        upload.send(7, MSS, 100 * US).after(5 * MS).ack_all();
    }
    causes(upload)
}

#[test]
fn a_copy_has_the_number_of_its_packet() {
    assert!(passes_twice(true).contains(&Cause::DuplicateFrames));
    assert!(!passes_twice(false).contains(&Cause::DuplicateFrames));
}

/// Flights of ten segments, captured at their receiver, 8 ms from the sender as its handshake shows; the third of each comes behind the
/// sixth, 3 ms after it was due: it was sent in its place, or behind the others.
fn comes_late(is_overtaken: bool) -> Vec<Cause> {
    let mut download = Script::open(End::Second, 8 * MS, 20 * US, 60_000);
    download.numbers = Some([7, 100]);
    for round in 0..80 {
        download.at((20 + round * 20) * MS);
        let third = download.sent() + 2 * MSS;
        download.send(2, MSS, 100 * US).after(20 * US).ack_all();
        // Of the packet before the third.
        let number = download.numbers.map_or(0, |it| it[1]);
        let set = |download: &mut Script, to: u16| {
            if is_overtaken {
                download.numbers = download.numbers.map(|it| [it[0], to]);
            }
        };
        set(&mut download, number + 1);
        download.next[1] += MSS;
        download.after(100 * US).send(3, MSS, 100 * US);
        download.duplicate_acks(3, third, 10 * US).after(3 * MS);
        set(&mut download, number);
        download.segment(third, MSS);
        set(&mut download, number + 4);
        download.after(20 * US).ack_all();
        download.send(4, MSS, 100 * US).after(20 * US).ack_all();
    }
    causes(download)
}

#[test]
fn what_others_overtook_has_an_earlier_number() {
    let found = comes_late(true);
    assert!(found.contains(&Cause::Reordering), "{found:?}");
    let found = comes_late(false);
    assert!(!found.contains(&Cause::Reordering), "{found:?}");
}

/// Blocks of 120 pairs of segments, a millisecond or so apart, captured late at their receiver, with silences of some 400 ms between them; behind
/// each, a packet is missing if its first copy was `lost`.
fn silences(lost: bool) -> Vec<Cause> {
    let mut download = Script::late(End::Second, 60_000);
    download.numbers = Some([7, 100]);
    for block in 0..5 {
        for at in 0..120 {
            download
                .after(MS + at * 37 % 11 * 100 * US)
                .send(2, MSS, 10 * US);
            download.after(20 * US).ack_all();
        }
        if let Some(numbers) = download.numbers.as_mut().filter(|_| lost) {
            numbers[1] += 1;
        }
        download.after((380 + block * 17) * MS);
    }
    causes(download)
}

#[test]
fn a_silence_in_which_no_packet_is_missing_is_a_sender_that_stops() {
    let found = silences(false);
    assert!(found.contains(&Cause::SenderIdle), "{found:?}");
    let found = silences(true);
    assert!(!found.contains(&Cause::SenderIdle), "{found:?}");
}

/// A line of a segment each 6 ms, which is longer than the round trip, captured at the receiver; the sender stops each half second for 460 ms.
#[test]
fn a_silence_behind_which_no_number_is_missing_is_no_timeout() {
    let mut download = Script::open(End::Second, 4 * MS, 20 * US, 60_000);
    download.numbers = Some([7, 100]);
    for _ in 0..10 {
        for _ in 0..40 {
            download.after(6 * MS).send(2, MSS, 6 * MS).after(20 * US);
            download.ack_all();
        }
        download.after(460 * MS);
    }
    let found = causes(download);
    let is_stop = |cause: &Cause| matches!(cause, Cause::SenderStalls | Cause::SenderIdle);
    assert!(found.first().is_some_and(is_stop), "{found:?}");
}
