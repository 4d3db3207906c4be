//! Receivers that stand still, or keep nothing behind a gap.

use super::download::{Download, MS, MSS, share};
use crate::model::{FlowModel, Limit};

/// Windows of eight segments each 4 ms, in which the receiver acknowledges pairs; in each round that `is_late` names, it
/// does so 150 ms later.
fn rounds(is_late: impl Fn(u32) -> bool, is_repeated: bool) -> FlowModel {
    let mut download = Download::open(MS / 50, 4 * MS, 8_000);
    let mut at_ns = 30 * MS;
    for round in 0..300_u32 {
        let first = 500 + round * 8 * MSS;
        for place in 0..8 {
            download.data(at_ns, first + place * MSS, (1, 1));
        }
        at_ns += 4 * MS;
        if is_late(round) {
            at_ns += 150 * MS;
            if is_repeated {
                download.data(at_ns - 10 * MS, first, (1, 1));
                download.ack(at_ns - 6 * MS, first + MSS);
                for place in 1..8 {
                    download.data(at_ns - 6 * MS, first + place * MSS, (1, 1));
                }
            }
        }
        for pair in 1..=4 {
            download.ack(at_ns + u64::from(pair) * 1000, first + 2 * pair * MSS);
        }
        at_ns += MS / 10;
    }
    download.model()
}

#[test]
fn a_receiver_that_answers_nothing_for_a_while_and_then_everything_stands_still() {
    let model = rounds(|round| round % 60 == 30, false);
    assert_eq!(model.standstills.len(), 5, "{:?}", model.standstills);
    assert!(
        model
            .standstills
            .iter()
            .all(|it| it.ns().abs_diff(150 * MS) < MS)
    );
    let stalled = 5.0 * 0.150 / 2.0;
    assert!((share(&model, Limit::LateAck) - stalled).abs() < 0.05);
    // What happens in each third round is the habit of the receiver.
    assert_eq!(rounds(|round| round % 3 == 0, false).standstills, []);
    // What must be repeated was lost.
    assert_eq!(rounds(|round| round % 60 == 30, true).standstills, []);
}

/// Six answers of 200 segments over a path of 100 ms, with forty of them in flight, of which pairs are acknowledged 5 ms apart; the
/// next answer begins when all is acknowledged. The receiver acknowledges the third and the sixth one `late_ns` later.
fn answers(late_ns: u64) -> usize {
    let mut download = Download::open(MS / 50, 100 * MS, 60_000);
    let mut at_ns = 300 * MS;
    for answer in 0..6_u32 {
        let first = 500 + answer * 200 * MSS;
        for place in 0..40 {
            download.data(at_ns, first + place * MSS, (1, 1));
        }
        at_ns += 100 * MS + if answer % 3 == 2 { late_ns } else { 0 };
        for pair in 1..=100 {
            download.ack(at_ns, first + 2 * pair * MSS);
            for place in 2 * pair + 38..(2 * pair + 40).min(200) {
                download.data(at_ns, first + place * MSS, (1, 1));
            }
            at_ns += 5 * MS;
        }
    }
    download.model().standstills.len()
}

#[test]
fn the_round_trip_of_an_answer_is_no_standstill() {
    assert_eq!(answers(0), 0);
    assert_eq!(answers(300 * MS), 2);
}

/// Flights of six segments each 40 ms, whose third one is lost in each second round. The receiver keeps the last three,
/// or has them repeated.
fn repairs(is_kept: bool) -> FlowModel {
    let mut download = Download::open(MS / 50, 10 * MS, 60_000);
    for round in 0..12_u32 {
        let at_ns = 30 * MS + u64::from(round) * 40 * MS;
        let first = 500 + round * 6 * MSS;
        for place in 0..6 {
            download.data(at_ns, first + place * MSS, (1, 1));
        }
        if round % 2 == 0 {
            for _ in 0..4 {
                download.ack(at_ns + 10 * MS, first + 2 * MSS);
            }
            let repeated = if is_kept { 1 } else { 4 };
            for place in 0..repeated {
                download.data(at_ns + 11 * MS, first + (2 + place) * MSS, (1, 1));
            }
        }
        download.ack(at_ns + 22 * MS, first + 6 * MSS);
    }
    download.model()
}

#[test]
fn what_is_repeated_because_the_receiver_discarded_it_was_not_lost() {
    let discarding = repairs(false);
    assert_eq!(discarding.keeps_behind_gap, Some(false));
    assert_eq!(discarding.view.lost(), 6);
    let keeping = repairs(true);
    assert_eq!(keeping.keeps_behind_gap, Some(true));
    assert_eq!(keeping.view.lost(), 6);
}

/// Windows of eight segments, of which pairs are acknowledged 60 us apart; after `windows` of them, nothing for 300 ms.
fn stops(windows: u32) -> usize {
    let mut download = Download::open(MS / 50, MS, 8_000);
    let mut at_ns = 30 * MS;
    for round in 0..12 * windows {
        let first = 500 + round * 8 * MSS;
        for place in 0..8 {
            download.data(at_ns, first + place * MSS, (1, 1));
        }
        at_ns += MS;
        if round % windows == 0 {
            at_ns += 300 * MS;
        }
        for pair in 1..=4 {
            download.ack(at_ns + u64::from(pair) * 60_000, first + 2 * pair * MSS);
        }
        at_ns += MS / 2;
    }
    download.model().standstills.len()
}

#[test]
fn a_receiver_that_answers_often_in_between_stands_still() {
    assert!(stops(6) >= 10, "{}", stops(6));
    // One that looks for frames now and then takes all that waits.
    assert_eq!(stops(1), 0);
}

/// Windows of eight segments; in each tenth, nothing comes back for 300 ms, and the last two segments are lost. `meanwhile` adds what passes
/// in these times, which begin at a time behind these octets.
fn losing_stops(meanwhile: impl Fn(&mut Download, u64, u32)) -> usize {
    let mut download = Download::open(MS / 50, MS, 8_000);
    let mut at_ns = 30 * MS;
    for round in 0..120 {
        let first = 500 + round * 8 * MSS;
        for place in 0..8 {
            download.data(at_ns, first + place * MSS, (1, 1));
        }
        at_ns += MS;
        if round % 10 == 5 {
            meanwhile(&mut download, at_ns, first);
            at_ns += 300 * MS;
            download.ack(at_ns, first + 6 * MSS);
            at_ns += 20 * MS;
            for place in 6..8 {
                download.data(at_ns, first + place * MSS, (1, 1));
            }
            at_ns += MS;
        }
        download.ack(at_ns, first + 8 * MSS);
        at_ns += MS / 2;
    }
    download.model().standstills.len()
}

#[test]
fn a_receiver_that_stands_still_may_lose_segments() {
    assert_eq!(losing_stops(|_, _, _| ()), 12);
    // A link that was cut when the acknowledgments passed.
    let repeat = |it: &mut Download, at_ns: u64, first: u32| {
        it.data(at_ns + 299 * MS, first, (1, 1));
    };
    assert_eq!(losing_stops(repeat), 0);
}

/// Near the receiver, without the handshake: twenty segments, of which the third one is missing until it comes again 300 ms later,
/// and all behind it with it.
#[test]
fn what_is_missing_in_a_late_capture_was_lost_and_not_discarded() {
    let mut download = Download::late(60_000);
    for place in 0..20 {
        let at_ns = 10 * MS + u64::from(place) * MS;
        if place != 2 {
            download.data(at_ns, 500 + place * MSS, (1, 1));
            let acked = if place < 2 { place + 1 } else { 2 };
            download.ack(at_ns + 10_000, 500 + acked * MSS);
        }
    }
    for place in 2..20 {
        let at_ns = 330 * MS + u64::from(place) * 10 * MS;
        download.data(at_ns, 500 + place * MSS, (1, 1));
        download.ack(at_ns + 10_000, 500 + (place + 1) * MSS);
    }
    let model = download.model();
    assert_eq!(model.keeps_behind_gap, Some(false));
    assert_eq!(model.view.lost(), 1);
}

/// Windows of eight segments; one of them stays closed for 3 s, in which the sender probes it with one octet, which the receiver takes
/// with the last probe, or not at all.
fn probed(is_taken: bool) -> FlowModel {
    let mut download = Download::open(MS / 50, 4 * MS, 8_000);
    let (mut at_ns, mut next) = (30 * MS, 500);
    for round in 0..200 {
        for _ in 0..8 {
            download.data(at_ns, next, (1, 1));
            next += MSS;
        }
        at_ns += 4 * MS;
        if round == 100 {
            download.window = 0;
            download.ack(at_ns, next);
            for after_ms in [200, 600, 1_400] {
                download.part(at_ns + after_ms * MS, next, 1);
                download.ack(at_ns + (after_ms + 4) * MS, next);
            }
            at_ns += 3_000 * MS;
            if is_taken {
                download.part(at_ns - 8 * MS, next, 1);
                next += 1;
            }
            download.window = 8_000;
        }
        download.ack(at_ns, next);
        at_ns += MS / 10;
    }
    download.model()
}

#[test]
fn an_octet_that_probes_a_closed_window_is_no_loss() {
    for is_taken in [false, true] {
        let model = probed(is_taken);
        let closed = 3.0 / (3.0 + 0.82);
        let share = share(&model, Limit::ClosedWindow);
        assert!((share - closed).abs() < 0.05, "{is_taken}: {share}");
        assert_eq!(model.view.lost(), 0);
        let octets: u64 = model.view.sent.iter().map(|it| u64::from(it.len)).sum();
        assert_eq!(octets, 200 * 8 * u64::from(MSS) + u64::from(is_taken));
    }
}

#[test]
fn messages_at_intervals_follow_no_timeout() {
    let mut download = Download::open(10 * MS, MS / 50, 8_000);
    for number in 0..40_u32 {
        let at_ns = 30 * MS + u64::from(number / 2) * 1_000 * MS + u64::from(number % 2) * 30 * MS;
        download.part(at_ns, 500 + number * 100, 100);
        download.ack(at_ns + MS / 50, 500 + (number + 1) * 100);
    }
    assert_eq!(download.model().time_ns(Limit::Timeout), 0);
}

#[test]
fn a_probe_without_an_answer_is_repeated_by_a_timer() {
    let mut download = Download::open(MS / 50, 4 * MS, 8_000);
    for round in 0..20_u64 {
        let first = 500 + 8 * MSS * round as u32;
        for place in 0..8 {
            download.data((30 + 5 * round) * MS, first + place * MSS, (1, 1));
        }
        download.window = if round == 19 { 0 } else { 8_000 };
        download.ack((34 + 5 * round) * MS, first + 8 * MSS);
    }
    let next = 500 + 160 * MSS;
    for after_ms in [200, 600, 1_400, 3_000] {
        download.part((129 + after_ms) * MS, next, 1);
    }
    // Nobody is there any more.
    assert!(download.model().time_ns(Limit::Timeout) >= 2_000 * MS);
}
