//! Segments that later ones overtake.

use super::causes;
use crate::cause::synthetic::{MS, MSS, Script, US, stamps};
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// A download near its receiver, 30 ms from its sender: of each flight of six segments, the second comes 12 ms behind the others, and then a
/// copy of it, whose time stamp is `later_ms` behind that of the flight.
fn comes_again(later_ms: u64) -> Vec<Cause> {
    let legs_ns = [30 * MS, MS / 50];
    let mut download = Script::open_with(End::Second, legs_ns, 60_000, &stamps(1, 1));
    for round in 0..60_u64 {
        let sent_ns = (50 + round * 60) * MS;
        download.at(sent_ns + 15 * MS);
        let [acked, first] = download.next;
        let segment = |download: &mut Script, place: u32, at_ns: u64| {
            let numbers = [first + place * MSS, acked];
            let options = stamps(at_ns, at_ns - 15 * MS);
            download.packet(End::Second, Segment::ACK, numbers, MSS, &options);
        };
        let ack = |download: &mut Script, places: u32| {
            let numbers = [acked, first + places * MSS];
            let options = stamps(download.now_ns, sent_ns);
            download.packet(End::First, Segment::ACK, numbers, 0, &options);
        };
        for place in [0, 2, 3, 4, 5] {
            segment(&mut download, place, sent_ns);
            download.after(20 * US);
            ack(&mut download, 1);
            download.after(100 * US);
        }
        download.after(12 * MS);
        segment(&mut download, 1, sent_ns);
        download.after(20 * US);
        ack(&mut download, 6);
        download.after(5 * MS);
        segment(&mut download, 1, sent_ns + later_ms * MS);
        download.after(20 * US);
        ack(&mut download, 6);
        download.next[1] = first + 6 * MSS;
    }
    causes(download)
}

#[test]
fn what_is_stamped_later_is_no_copy() {
    let repeated = comes_again(17);
    assert_eq!(repeated[0], Cause::Reordering, "{repeated:?}");
    let copied = comes_again(0);
    assert_eq!(copied[0], Cause::DuplicateFrames, "{copied:?}");
}

#[test]
fn what_is_repeated_needlessly_shows_that_it_was_overtaken_whatever_it_costs() {
    let repeats = |answered_ms: u64| {
        let mut upload = Script::open(End::First, 20 * MS, 10 * US, 60_000);
        for round in 0..40_u64 {
            upload.at((50 + round * 200) * MS);
            let first = upload.sent();
            upload.send(5, MSS, 100 * US).after(20 * MS);
            upload.duplicate_acks(4, first + MSS, 100 * US);
            upload.after(10 * US).segment(first + MSS, MSS);
            upload.after(answered_ms * MS).ack_all();
        }
        causes(upload)
    };
    let overtaken = repeats(1);
    assert!(overtaken.contains(&Cause::Reordering), "{overtaken:?}");
    let lost = repeats(20);
    assert!(!lost.contains(&Cause::Reordering), "{lost:?}");
}

/// Blocks of five segments 1.2 ms apart near the receiver, one in `each` of which begins with its last four; a pause of so many milliseconds
/// precedes that.
fn behind_a_slow_link(pause_ms: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, MS / 50, 20 * MS, 60_000);
    let mut at_ns = 50 * MS;
    for block in 0..600_u64 {
        let first = upload.sent();
        let is_late = block % 15 == 7;
        let places = if is_late {
            [1, 2, 3, 4, 0]
        } else {
            [0, 1, 2, 3, 4]
        };
        at_ns += if is_late { pause_ms * MS } else { 0 };
        for place in places {
            at_ns += 1_200 * US;
            upload.at(at_ns).segment(first + place * MSS, MSS);
            if is_late && place != 0 {
                upload.after(10 * US).ack(first);
            }
        }
        upload.after(10 * US).ack_all();
    }
    causes(upload)
}

#[test]
fn segments_that_overtake_each_other_on_a_full_path_cost_nothing() {
    let full = behind_a_slow_link(14);
    assert!(!full.contains(&Cause::Reordering), "{full:?}");
    let idle = behind_a_slow_link(60);
    assert!(idle.contains(&Cause::Reordering), "{idle:?}");
}
