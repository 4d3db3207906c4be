//! Lines that are full although little is in flight, or for reasons that look like others.

use super::causes;
use crate::cause::synthetic::{MS, MSS, Script, US, stamps};
use linerate_capture::tcp::{End, Segment};
use linerate_results::record::Cause;

/// Segments that pass alone behind a shaper, captured at their sender: three of them at once, all others after 115 ms, and the last
/// one, of 100 octets, after `last_us`.
fn alone(last_us: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 900 * US, 20 * US, 60_000);
    upload.at(5 * MS);
    for at in 0..40 {
        upload.send(1, MSS, 0);
        let passes_ns = if at < 3 { 900 * US } else { 115 * MS };
        upload.after(passes_ns).ack_all().after(20 * US);
    }
    upload.send(1, 100, 0).after(last_us * US).ack_all();
    causes(upload)
}

#[test]
fn a_segment_that_passes_sooner_in_proportion_shows_a_slow_line() {
    // A frame of 154 octets, where all others have 1,514.
    assert_eq!(alone(11_700), [Cause::PathRate]);
    for late_us in [900, 40_000, 115_000] {
        let found = alone(late_us);
        assert_eq!(found[..1], [Cause::OneInFlight], "{late_us} us: {found:?}");
    }
}

/// Segments that pass alone, captured at their receiver, 10 ms from the sender; each comes `after_ms` behind the acknowledgment of the one
/// before.
fn alone_at_receiver(after_ms: u64) -> Vec<Cause> {
    let mut download = Script::open(End::Second, 10 * MS, 20 * US, 60_000);
    download.at(20 * MS);
    for at in 0..60 {
        download
            .after(after_ms * MS + at % 3 * 100 * US)
            .send(1, MSS, 0);
        download.after(20 * US).ack_all();
    }
    causes(download)
}

#[test]
fn a_segment_that_comes_much_later_than_a_round_trip_did_not_wait_for_the_acknowledgment() {
    assert_eq!(alone_at_receiver(11)[..1], [Cause::OneInFlight]);
    assert!(!alone_at_receiver(65).contains(&Cause::OneInFlight));
}

/// Three segments in flight to a receiver 0.4 ms away, which acknowledges one each 84 ms, without a pause; the timer of the sender has
/// repeated each second one meanwhile, if it `repeats`.
fn repeated_on_a_line(repeats: bool) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 400 * US, 20 * US, 3 * MSS as u16);
    upload.at(5 * MS).send(3, MSS, 10 * US);
    let mut acked = 1;
    for at in 0..80 {
        let is_repeated = repeats && at % 2 == 1;
        if is_repeated {
            // It is on its way, and arrives twice.
            upload.after(50 * MS).segment(acked, MSS).after(34 * MS);
        } else {
            upload.after(84 * MS);
        }
        acked += MSS;
        upload.ack(acked).after(20 * US).send(1, MSS, 0);
        if is_repeated {
            upload.after(84 * MS - 20 * US).ack(acked);
        }
    }
    causes(upload)
}

#[test]
fn what_a_timer_repeats_too_early_takes_its_time_on_the_line() {
    for repeats in [false, true] {
        let found = repeated_on_a_line(repeats);
        assert!(!found.contains(&Cause::LateAcks), "{found:?}");
        assert!(found.contains(&Cause::PathRate), "{found:?}");
    }
}

/// A window of 39 segments that is acknowledged at once, each 4.8 ms, as fast as a line of 100 Mbit/s carries it, on a path of
/// `base_us`.
fn nearly_full(base_us: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, base_us * US, 20 * US, 39 * MSS as u16);
    upload.at(10 * MS);
    for _ in 0..100 {
        upload.send(39, MSS, 2 * US);
        upload.after(4_800 * US).ack_all().after(15 * US);
    }
    causes(upload)
}

#[test]
fn a_window_that_fills_a_line_is_no_limit_unless_it_permits_that_rate_by_chance() {
    assert_eq!(nearly_full(300), [Cause::AtLineRate]);
    assert_eq!(nearly_full(4_700)[..1], [Cause::ReceiveWindow]);
}

/// An upload of 2 MB that fills a line of 10 Mbit/s, captured at the client; the server answers `think_ms` after it.
fn answered_upload(think_ms: u64) -> Vec<Cause> {
    let mut upload = Script::open(End::First, 2 * MS, 20 * US, 60_000);
    upload.send(20, MSS, 12 * US);
    let mut acked = 1;
    while acked < upload.sent() {
        acked += 2 * MSS;
        upload.after(2_460 * US).ack(acked).after(20 * US);
        if upload.sent() < 1_400 * MSS {
            upload.send(2, MSS, 12 * US);
        }
    }
    upload.after(think_ms * MS).write(End::Second, 250);
    upload.after(20 * US).confirm(End::First);
    causes(upload)
}

#[test]
fn a_server_that_thinks_behind_an_upload_is_late_however_full_the_path_was() {
    let found = answered_upload(2_800);
    assert!(found.contains(&Cause::ServerThinkTime), "{found:?}");
    let found = answered_upload(20);
    assert!(!found.contains(&Cause::ServerThinkTime), "{found:?}");
}

/// An upload over a path of 6 ms whose segments leave each 3.5 ms, 14 ms after they were written, by their time stamps; the first ones leave
/// at once. The sender is `to_sender_us` from the capture point, where its packets have this hop limit.
fn shaped(to_sender_us: u64, hop_limit: u8) -> Vec<Cause> {
    let legs_ns = [6 * MS, to_sender_us * US];
    let mut upload = Script::open_with(End::First, legs_ns, 60_000, &stamps(1, 1));
    upload.hop_limits = [hop_limit, 61];
    let (mut passed, mut acked_ns) = (Vec::new(), vec![10 * MS]);
    for number in 0..400_u64 {
        let before_ns = acked_ns[acked_ns.len() - 1];
        let at_ns = match passed.last() {
            Some(last_ns) if number >= 20 => last_ns + 7 * MS / 2,
            _ => before_ns + to_sender_us * US,
        };
        passed.push(at_ns);
        acked_ns.push(at_ns + 6 * MS);
    }
    let mut next_ack = 0;
    for (number, at_ns) in passed.iter().enumerate() {
        while next_ack < number && acked_ns[next_ack + 1] <= *at_ns {
            next_ack += 1;
            let ns = acked_ns[next_ack];
            upload.at(ns);
            let seq = [1, 1 + next_ack as u32 * MSS];
            upload.packet(End::Second, Segment::ACK, seq, 0, &stamps(ns, ns));
        }
        let written_ns = if number < 20 { *at_ns } else { at_ns - 14 * MS };
        let heard = acked_ns.partition_point(|ns| *ns + to_sender_us * US <= written_ns);
        let echo_ns = acked_ns[heard.max(1) - 1];
        upload.at(*at_ns);
        let seq = [1 + number as u32 * MSS, 1];
        upload.packet(
            End::First,
            Segment::ACK,
            seq,
            MSS,
            &stamps(written_ns, echo_ns),
        );
    }
    causes(upload)
}

#[test]
fn what_waits_within_its_host_is_shaped_there() {
    assert_eq!(shaped(30, 64)[0], Cause::HostPacing);
    assert_eq!(shaped(1_000, 64)[0], Cause::PathRate, "farther away");
    assert_eq!(shaped(4_000, 64)[0], Cause::PathRate, "perhaps a slow link");
    assert_eq!(shaped(30, 63)[0], Cause::PathRate, "perhaps a router");
}
