//! Waiting for names.

use super::capture::{Capture, End, MS};
use linerate_results::record::Cause;

const CLIENT: u8 = 1;
const SERVER: u8 = 2;
const DNS: End = (SERVER, 53);

/// A query or an answer for the address of a host.
fn name(id: u16, is_answer: bool) -> Vec<u8> {
    let [high, low] = id.to_be_bytes();
    let flags = if is_answer { 0x80 } else { 0 };
    let head = [high, low, flags, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    [&head[..], b"\x04host\x07example\0\0\x01\0\x01"].concat()
}

/// An answer with the address of this host.
fn address(id: u16, host: u8) -> Vec<u8> {
    let mut message = name(id, true);
    message[7] = 1;
    message.extend(b"\xC0\x0C\0\x01\0\x01\0\0\0\x3C\0\x04\xC0\0\x02");
    message.push(host);
    message
}

/// Ten lookups, each followed by a download; queries at `queries_ms`, the answer at `answer_ms`.
fn lookups(queries_ms: &[u64], answer_ms: Option<u64>) -> Capture {
    let mut capture = Capture::default();
    for at in 0..10_u16 {
        let start_ns = u64::from(at) * 40_000 * MS;
        let client = (CLIENT, 2_000 + at);
        for query_ms in queries_ms {
            capture.udp(start_ns + query_ms * MS, [client, DNS], &name(at, false));
        }
        if let Some(answer_ms) = answer_ms {
            capture.udp(start_ns + answer_ms * MS, [DNS, client], &name(at, true));
            let opened_ns = start_ns + answer_ms * MS + 2 * MS;
            capture.download(opened_ns, (CLIENT, 3_000 + at), (9, 80), 10 * MS);
        }
    }
    capture
}

#[test]
fn late_repeated_and_missing_answers_are_waiting_for_names() {
    for (queries, answer, waited_ms) in [
        (&[0][..], Some(300), 3_000.0),
        (&[0, 1_000], Some(1_005), 10_050.0),
        (&[0, 5_000, 10_000], None, 100_000.0),
    ] {
        let found = lookups(queries, answer).findings();
        let causes: Vec<Cause> = found.iter().map(|it| it.finding.cause).collect();
        // A server that never answers may be absent.
        let expected = match answer {
            Some(_) => &[Cause::NameResolution][..],
            None => &[Cause::NoAnswer, Cause::NameResolution],
        };
        assert_eq!(causes, expected);
        assert!(
            (found[0].finding.evidence["waited_ns"] / 1e6 - waited_ms).abs() < 1.0,
            "{found:?}"
        );
        assert!(found[0].share_of_time > 0.8, "{found:?}");
    }
}

#[test]
fn a_client_that_goes_on_without_a_server_of_names_waited_for_names() {
    let mut capture = lookups(&[0, 5_000, 10_000], None);
    capture.download(400_000 * MS, (CLIENT, 3_000), (9, 80), 10 * MS);
    assert_eq!(capture.causes(), [Cause::NameResolution, Cause::NoAnswer]);
}

/// A name after 3 s, by the second query, and a download so long after the answer.
fn opened_after(opened_ms: u64) -> Vec<Cause> {
    let mut capture = Capture::default();
    let client = (CLIENT, 2_000);
    for query_ms in [0, 2_990] {
        capture.udp(query_ms * MS, [client, DNS], &name(1, false));
    }
    capture.udp(3_000 * MS, [DNS, client], &name(1, true));
    let opened_ns = (3_000 + opened_ms) * MS;
    capture.download(opened_ns, (CLIENT, 3_000), (9, 80), 10 * MS);
    capture.causes()
}

#[test]
fn a_program_that_waits_for_a_name_for_long_may_take_a_part_of_it_to_begin() {
    assert_eq!(opened_after(300), [Cause::NameResolution]);
    assert_eq!(opened_after(900), []);
}

#[test]
fn quick_answers_and_lookups_that_nothing_waits_for_are_healthy() {
    assert_eq!(lookups(&[0], Some(30)).causes(), []);
    // Late, but no connection follows.
    let mut capture = Capture::default();
    capture.udp(0, [(CLIENT, 2_000), DNS], &name(1, false));
    capture.udp(800 * MS, [DNS, (CLIENT, 2_000)], &name(1, true));
    capture.download(5_000 * MS, (CLIENT, 3_000), (9, 80), 10 * MS);
    assert_eq!(capture.causes(), []);
    // A name that no host has, asked for on all hosts.
    let mut capture = Capture::default();
    for second in 0..3 {
        let group = (224, 5_355);
        capture.udp(
            second * 1_000 * MS,
            [(CLIENT, 2_000), group],
            &name(1, false),
        );
    }
    assert_eq!(capture.causes(), []);
}

#[test]
fn a_search_by_broadcast_waits_for_no_name_server() {
    let mut capture = Capture::default();
    for second in 0..4 {
        let everyone = (255, 53);
        let (mut query, ends) = (name(1, false), [(CLIENT, 2_000), everyone]);
        query[2] = 1;
        capture.broadcast = true;
        capture.udp(second * 3_000 * MS, ends, &query);
    }
    assert_eq!(capture.causes(), []);
}

#[test]
fn a_name_without_an_answer_does_not_hold_back_connections_that_go_on() {
    let share = |rtt_ms: u64| {
        let mut capture = Capture::default();
        for query_ms in [0, 5_000, 10_000] {
            let ends = [(CLIENT, 2_000), DNS];
            capture.udp(query_ms * MS, ends, &name(1, false));
        }
        capture.download(0, (CLIENT, 3_000), (9, 80), rtt_ms * MS);
        let found = capture.findings();
        let names = found
            .iter()
            .find(|it| it.finding.cause == Cause::NameResolution);
        names.map(|it| it.share_of_time)
    };
    assert!(share(10).is_some_and(|share| share > 0.9));
    assert!(share(4_000).is_some_and(|share| share < 0.01));
}

#[test]
fn waiting_for_names_for_a_moment_in_all_is_not_noticed() {
    let found = |lookups: u16, late_ms: u64| {
        let mut capture = Capture::default();
        for at in 0..lookups {
            let (client, start_ns) = ((CLIENT, 2_000 + at), u64::from(at) * 1_000 * MS);
            let answered_ns = start_ns + late_ms * MS;
            capture.udp(start_ns, [client, DNS], &name(at, false));
            capture.udp(answered_ns, [DNS, client], &name(at, true));
            let opened_ns = answered_ns + 2 * MS;
            capture.download(opened_ns, (CLIENT, 3_000 + at), (9, 80), 10 * MS);
        }
        capture.causes()
    };
    assert_eq!(found(1, 390), []);
    assert_eq!(found(1, 410), [Cause::NameResolution]);
    // Waits none of which is noticed are, once they take what a page may.
    assert_eq!(found(14, 140), []);
    assert_eq!(found(15, 140), [Cause::NameResolution]);
}

#[test]
fn names_of_a_host_that_transfers_nothing_take_their_part_of_the_capture() {
    // A sensor asks for a name each second, and gets no answer; another host transfers for 100 s.
    let share = |waits_s: u64, has_transfer: bool| {
        let mut capture = Capture::default();
        for second in 0..=waits_s {
            let ends = [(CLIENT, 2_000), DNS];
            capture.udp(second * 1_000 * MS, ends, &name(1, false));
        }
        if has_transfer {
            for second in 0..100 {
                let client = (7, 3_000 + second);
                capture.download(u64::from(second) * 1_000 * MS, client, (9, 80), 330 * MS);
            }
        }
        let report = capture.report();
        let all = report.findings.iter().chain(&report.minor_findings);
        let names = all
            .filter(|it| it.finding.cause == Cause::NameResolution)
            .map(|it| it.share_of_time);
        let minor = report.minor_findings.iter();
        let minor = minor.filter(|it| it.alternative_to.is_none());
        (names.sum::<f64>(), minor.count())
    };
    let (alone, _) = share(20, false);
    assert!(alone > 0.9, "{alone}");
    let (part, _) = share(20, true);
    assert!((0.15..0.25).contains(&part), "{part}");
    let (small, minor) = share(3, true);
    assert!((0.02..0.04).contains(&small), "{small}");
    assert_eq!(minor, 1);
}

#[test]
fn a_client_that_opens_by_datagrams_waits_for_names_too() {
    // QUIC, to another port each time.
    let mut capture = Capture::default();
    for at in 0..10_u16 {
        let (client, start_ns) = ((CLIENT, 2_000 + at), u64::from(at) * 1_000 * MS);
        capture.udp(start_ns, [client, DNS], &name(at, false));
        capture.udp(start_ns + 600 * MS, [DNS, client], &name(at, true));
        let ends = [(CLIENT, 3_000 + at), (10 + at as u8, 443)];
        capture.udp(start_ns + 602 * MS, ends, b"initial");
        capture.udp(start_ns + 612 * MS, [ends[1], ends[0]], b"initial");
    }
    assert_eq!(capture.causes(), [Cause::NameResolution]);
}

#[test]
fn servers_that_are_asked_one_after_another_are_waited_for_together() {
    let found = |pause_ms: u64| {
        let mut capture = Capture::default();
        let second: End = (SERVER + 1, 53);
        for at in 0..4_u16 {
            let (client, start_ns) = ((CLIENT, 2_000 + at), u64::from(at) * 40_000 * MS);
            // The first answers late, the second at once.
            capture.udp(start_ns, [client, DNS], &name(at, false));
            capture.udp(start_ns + 2_000 * MS, [DNS, client], &name(at, true));
            let next_ns = start_ns + (2_000 + pause_ms) * MS;
            capture.udp(next_ns, [client, second], &name(at, false));
            capture.udp(next_ns + 30 * MS, [second, client], &name(at, true));
            capture.download(next_ns + 32 * MS, (CLIENT, 3_000 + at), (9, 80), 10 * MS);
        }
        capture.causes()
    };
    assert_eq!(found(1), [Cause::NameResolution]);
    assert_eq!(found(500), [], "asked for something else");
}

#[test]
fn a_connection_that_is_kept_open_does_not_shorten_the_wait() {
    // A download of 20 ms, which closes only after a minute.
    let mut capture = Capture::default();
    let client = (CLIENT, 2_000);
    capture.udp(0, [client, DNS], &name(1, false));
    capture.udp(1_100 * MS, [DNS, client], &name(1, true));
    let (there, back) = ([(CLIENT, 3_000), (9, 80)], [(9, 80), (CLIENT, 3_000)]);
    capture.tcp(1_102 * MS, there, 2, (0, 0), 0);
    capture.tcp(1_112 * MS, back, 18, (0, 1), 0);
    capture.tcp(1_113 * MS, there, 16, (1, 1), 100);
    capture.tcp(1_123 * MS, back, 16, (1, 101), 1_000);
    capture.tcp(1_124 * MS, there, 16, (101, 1_001), 0);
    capture.tcp(61_124 * MS, there, 17, (101, 1_001), 0);
    assert_eq!(capture.causes(), [Cause::NameResolution]);
}

#[test]
fn a_connection_to_the_address_of_the_answer_needed_it_even_if_it_comes_later() {
    let found = |host: u8, later_ms: u64| {
        let mut capture = Capture::default();
        for at in 0..4_u16 {
            let (client, start_ns) = ((CLIENT, 2_000 + at), u64::from(at) * 20_000 * MS);
            capture.udp(start_ns, [client, DNS], &name(at, false));
            capture.udp(start_ns + 700 * MS, [DNS, client], &address(at, host));
            let opened_ns = start_ns + (700 + later_ms) * MS;
            capture.download(opened_ns, (CLIENT, 3_000 + at), (9, 80), 10 * MS);
        }
        capture.causes()
    };
    assert_eq!(found(9, 1_100), [Cause::NameResolution]);
    assert_eq!(found(8, 1_100), [], "another host");
    assert_eq!(found(9, 3_000), [], "asked for in advance");
}
