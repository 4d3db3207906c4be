//! Limits that show although segments are lost.

use super::{causes, repair, upload};
use crate::cause::flow::evenness::{is_even_despite_many_losses, is_full_despite_losses};
use crate::cause::flow::facts::FlowFacts;
use crate::cause::synthetic::{MS, MSS, Script, US};
use linerate_capture::tcp::End;
use linerate_results::record::Cause;

/// Flights of `size` segments in rounds of 20 ms, captured at their sender; the third segment of the twelfth is lost.
fn flights_with_a_loss(rounds: u64, size: impl Fn(u64) -> u32) -> Vec<Cause> {
    let mut upload = upload(MS / 50, 20 * MS, 60_000);
    let mut at_ns = 30 * MS;
    for round in 0..rounds {
        let lost = upload.sent() + 2 * MSS;
        upload.at(at_ns).send(size(round), MSS, 10 * US);
        at_ns += 20 * MS;
        upload.at(at_ns);
        if round == 12 {
            upload.ack(lost);
            repair(&mut upload, lost);
            at_ns += 21 * MS;
            upload.at(at_ns);
        }
        upload.ack_all();
        at_ns += 100 * US;
    }
    causes(upload)
}

#[test]
fn a_send_buffer_shows_between_losses() {
    assert_eq!(flights_with_a_loss(100, |_| 10)[..1], [Cause::SendBuffer]);
    let halved = |round: u64| {
        if round <= 12 {
            10
        } else {
            5 + (round / 8) as u32
        }
    };
    assert!(!flights_with_a_loss(100, halved).contains(&Cause::SendBuffer));
    // CUBIC (RFC 9438): fast at first, then for a long time hardly at all.
    let flattened = |round: u64| match round {
        13..=14 => 7,
        15..=17 => 8,
        18..=23 => 9,
        _ => 10,
    };
    assert!(!flights_with_a_loss(48, flattened).contains(&Cause::SendBuffer));
}

/// A download captured at its receiver, 10 ms from its sender: pairs of segments, each of which comes `gap_us` after the one
/// before; every `lossy`-th pair loses its first segment, which comes again 12 ms later.
fn pairs(number: u64, lossy: u64, gap_us: impl Fn(u64) -> u64) -> Script {
    let mut download = Script::open(End::Second, 10 * MS, 20 * US, 60_000);
    let mut at_ns = 40 * MS;
    let mut missing: Option<(u32, u64)> = None;
    for pair in 0..number {
        let first = download.sent();
        download.at(at_ns);
        if pair % lossy == lossy / 2 && missing.is_none() {
            missing = Some((first, at_ns + 12 * MS));
        } else {
            download.segment(first, MSS);
        }
        download.after(15 * US).segment(first + MSS, MSS);
        match missing {
            Some((seq, due_ns)) if at_ns >= due_ns => {
                download.after(15 * US).segment(seq, MSS);
                download.after(20 * US).ack_all();
                missing = None;
            }
            Some((seq, _)) => {
                download.after(20 * US).ack(seq);
            }
            None => {
                download.after(20 * US).ack_all();
            }
        }
        at_ns += gap_us(pair) * US;
    }
    download
}

#[test]
fn a_rate_that_losses_do_not_change_is_that_of_a_full_path() {
    let is_full_with = |lossy: u64, gap_us: &dyn Fn(u64) -> u64| {
        let flow = pairs(1_000, lossy, gap_us).flow();
        is_full_despite_losses(&FlowFacts::of(&flow).expect("payload"))
    };
    let is_full = |gap_us: &dyn Fn(u64) -> u64| is_full_with(150, gap_us);
    let halved = |pair: u64| {
        let since = (pair + 150 - 75) % 150;
        4_000 - 12 * since
    };
    assert!(is_full(&|_| 2_000));
    assert!(!is_full(&halved), "a window that losses halve");
    // A radio that grants slots: a pair belongs to this part of the time or to the next one.
    assert!(is_full_with(30, &|pair| if pair % 3 == 0 {
        8_000
    } else {
        1_000
    }));
    let found = causes(pairs(1_000, 150, |_| 2_000));
    let is_fault = |cause: &Cause| matches!(cause, Cause::RandomLoss | Cause::CongestionWindow);
    assert!(!found.iter().any(is_fault), "{found:?}");
}

#[test]
fn many_losses_at_an_even_rate_are_those_of_a_policer() {
    let is_even = |lossy: u64, gap_us: &dyn Fn(u64) -> u64| {
        let flow = pairs(1_000, lossy, gap_us).flow();
        is_even_despite_many_losses(&FlowFacts::of(&flow).expect("payload"))
    };
    assert!(is_even(8, &|_| 2_000));
    assert!(!is_even(100, &|_| 2_000), "few losses");
    assert!(!is_even(8, &|pair| 1_000 + pair % 200 * 10), "not even");
}

/// A download through a window of eight segments, of which 400 pass at once in the beginning; then the receiver closes it for
/// 100 ms after each `windows` of them.
fn closings(windows: u32) -> Vec<Cause> {
    let window = 8 * MSS as u16;
    let mut upload = Script::open(End::First, 4 * MS, 20 * US, window);
    let mut at_ns = 10 * MS;
    let mut pass = |upload: &mut Script, windows: u32, last: u16| {
        for at in 0..windows {
            upload.at(at_ns).send(8, MSS, 100 * US);
            at_ns = upload.now_ns + 4 * MS;
            let is_last = at + 1 == windows;
            upload
                .at(at_ns)
                .ack_all_with(if is_last { last } else { window });
            at_ns += 20 * US;
        }
        if last == 0 {
            at_ns += 100 * MS;
            upload.at(at_ns).ack_all_with(window);
            at_ns += 20 * US;
        }
    };
    pass(&mut upload, 50, window);
    for _ in 0..12 {
        pass(&mut upload, windows, 0);
    }
    causes(upload)
}

#[test]
fn a_program_that_takes_its_buffer_in_steps_reads_slowly() {
    let slow = closings(2);
    assert_eq!(slow[0], Cause::ReceiverReadsSlowly);
    assert!(!slow.contains(&Cause::ReceiverStalls), "{slow:?}");
    let stops = [Cause::ReceiverReadsSlowly, Cause::ReceiverStalls];
    assert_eq!(closings(8)[..2], stops);
}
