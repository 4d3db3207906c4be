//! Programs that write blocks, and buffers of the same size, captured at their sender.

use super::download::{Download, MS, MSS, share};
use crate::model::Limit;

/// Share of the time in which what is in flight is the limit, and of that in which the sender has no data: blocks of `octets` over a
/// round trip of 10 ms, each of which begins `gap_us` after the one before is acknowledged.
fn blocks(octets: u32, gap_us: u64) -> (f64, f64) {
    let mut upload = Download::open(MS / 50, 10 * MS, 60_000);
    let (mut at_ns, mut seq) = (20 * MS, 500);
    for _ in 0..100 {
        for segment in 0..octets / MSS {
            let sent_ns = at_ns + u64::from(segment) * 10_000;
            upload.data(sent_ns, seq + segment * MSS, (1, 1));
        }
        let rest = octets % MSS;
        if rest > 0 {
            upload.part(at_ns + 100_000, seq + octets - rest, rest);
        }
        seq += octets;
        at_ns += 10 * MS;
        upload.ack(at_ns, seq);
        at_ns += gap_us * 1_000;
    }
    let model = upload.model();
    let in_flight = share(&model, Limit::InFlight) + share(&model, Limit::SlowStart);
    (in_flight, share(&model, Limit::SenderIdle))
}

#[test]
fn a_program_that_follows_no_acknowledgment_waits_for_none() {
    // One block each 13 ms.
    let (in_flight, idle) = blocks(8_192, 3_000);
    assert!(in_flight < 0.05 && idle > 0.9, "{in_flight} {idle}");
}

#[test]
fn a_program_that_a_small_buffer_blocks_follows_each_acknowledgment() {
    let (in_flight, idle) = blocks(8_192, 50);
    assert!(in_flight > 0.9 && idle < 0.05, "{in_flight} {idle}");
}

#[test]
fn a_sender_that_stops_behind_full_segments_waited_for_the_acknowledgment_first() {
    // Nothing shows that it had no more.
    let (in_flight, idle) = blocks(8 * MSS, 3_000);
    assert!(in_flight > 0.7 && idle > 0.2, "{in_flight} {idle}");
}
