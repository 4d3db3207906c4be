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
