//! Interruptions, and silences that are the worst of other losses.

use super::{RTT_NS, cause, download, evaluate, exchange, late_repairs};
use crate::cause::synthetic::{MS, MSS, US};
use linerate_results::record::Cause;

/// Flights of six segments in 6 ms, of which each `lossy`-th misses its third one, which comes again a round trip later;
/// after half of them, nothing arrives for 1.5 s.
fn silence_between(lossy: u32) -> Option<Cause> {
    let mut download = download();
    let mut at_ns = 10 * MS;
    for round in 0..240 {
        let first = download.sent();
        let is_lossy = round % lossy == lossy / 2;
        if round == 120 {
            at_ns += 1_500 * MS;
            // Slow start after the timeout.
            exchange(&mut download, at_ns, first);
            at_ns += RTT_NS;
            continue;
        }
        for place in 0..6 {
            if !(is_lossy && place == 2) {
                download.at(at_ns + u64::from(place) * 100 * US);
                download.segment(first + place * MSS, MSS);
            }
            let acked = if is_lossy { place.min(1) } else { place };
            download.after(10 * US).ack(first + (acked + 1) * MSS);
        }
        if is_lossy {
            download
                .at(at_ns + RTT_NS + MS)
                .segment(first + 2 * MSS, MSS);
            download.after(10 * US).ack_all();
        }
        at_ns += 6 * MS;
    }
    cause(evaluate(download))
}

#[test]
fn a_silence_between_many_losses_is_no_interruption() {
    assert_ne!(silence_between(20), Some(Cause::LinkInterrupted));
    assert_eq!(silence_between(1_000), Some(Cause::LinkInterrupted));
}

#[test]
fn a_silence_behind_a_missing_segment_that_lasts_several_timeouts_is_an_interruption() {
    assert_ne!(
        cause(late_repairs(true, 1_000 * MS)),
        Some(Cause::LinkInterrupted)
    );
    assert_eq!(
        cause(late_repairs(true, 1_600 * MS)),
        Some(Cause::LinkInterrupted)
    );
}
