//! Streams and transfers.

use super::capture::{Capture, End, MS, TCP, US};
use crate::traffic::Source;
use linerate_results::consistency::Explanation;
use linerate_results::record::Cause;

pub(super) const SENDER: End = (1, 40_000);
pub(super) const RECEIVER: End = (2, 5_001);

/// A datagram of iperf 2, sent at `sent_ns`.
fn numbered(number: u32, sent_ns: u64) -> Vec<u8> {
    let time = [sent_ns / 1_000_000_000, sent_ns / US % 1_000_000].map(|part| part as u32);
    let words = [number, time[0], time[1], 0, 0];
    let mut octets: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
    octets.resize(1_000, 0);
    octets
}

/// Dice with 100 sides.
pub(super) fn dice(number: u32) -> u64 {
    let mixed = (u64::from(number) + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9) >> 32
}

/// A stream of 5,000 datagrams, one per millisecond; those that `arrives_ns` gives a time arrive.
fn arrivals(arrives_ns: impl Fn(u32, u64) -> Option<u64>) -> Capture {
    let mut capture = Capture::default();
    for number in 1..5_000 {
        let sent_ns = 5_000 * MS + u64::from(number) * MS;
        if let Some(time_ns) = arrives_ns(number, sent_ns) {
            capture.udp(time_ns, [SENDER, RECEIVER], &numbered(number, sent_ns));
        }
    }
    capture
}

/// The findings about such a stream, with their shares of the time.
fn stream(arrives_ns: impl Fn(u32, u64) -> Option<u64>) -> Vec<(Cause, f64)> {
    let found = arrivals(arrives_ns).findings().into_iter();
    found
        .map(|it| (it.finding.cause, it.share_of_time))
        .collect()
}

#[test]
fn a_full_queue_sends_at_the_rate_of_its_link() {
    // The link takes 1.25 ms for each datagram, so every fifth is lost once the queue is full.
    let found = stream(|number, sent_ns| {
        let passed = u64::from(number - number / 5);
        (number % 5 != 0).then_some(sent_ns.min(5_000 * MS) + passed * 1_250 * US)
    });
    assert!(
        matches!(found[..], [(Cause::AbovePathRate, share)] if (0.19..0.21).contains(&share)),
        "{found:?}"
    );
}

#[test]
fn a_policer_passes_a_fixed_share() {
    let found = stream(|number, sent_ns| (number % 3 != 0).then_some(sent_ns + 3 * MS));
    assert_eq!(found[0].0, Cause::AbovePathRate);
}

#[test]
fn the_sentence_about_gaps_in_a_stream_has_evidence() {
    let in_bursts = |number: u32, sent_ns: u64| (number % 400 >= 40).then_some(sent_ns + 3 * MS);
    let report = serde_json::to_string(&arrivals(in_bursts).report()).expect("JSON");
    let explanation: Explanation = serde_json::from_str(&report).expect("an explanation");
    let contradictions = explanation.contradictions();
    assert_eq!(explanation.findings.len(), 1);
    assert!(contradictions.is_empty(), "{contradictions:?}");
}

#[test]
fn chance_and_bursts_are_not_the_rate_of_the_path() {
    let by_chance =
        stream(|number, sent_ns| (dice(number) % 100 >= 20).then_some(sent_ns + 3 * MS));
    assert_eq!(by_chance, [(Cause::RandomLoss, 0.0)]);
    let rare = stream(|number, sent_ns| (dice(number) % 100 >= 2).then_some(sent_ns + 3 * MS));
    assert_eq!(rare, [(Cause::RandomLoss, 0.0)]);
    let in_bursts = stream(|number, sent_ns| (number % 400 >= 40).then_some(sent_ns + 3 * MS));
    assert_eq!(in_bursts, [(Cause::LossInBursts, 0.0)]);
    assert_eq!(stream(|_, sent_ns| Some(sent_ns + 3 * MS)), []);
}

#[test]
fn one_gap_is_one() {
    let found = arrivals(|number, sent_ns| (!(900..940).contains(&number)).then_some(sent_ns));
    let found = found.findings();
    assert!(
        found[0].finding.summary.contains("in 1 gap of up to 40"),
        "{found:?}"
    );
}

/// What is found about datagrams between these ports with a number in each, one every 10 ms.
fn numbers(ports: [u16; 2], all: impl Iterator<Item = u32>) -> Vec<Cause> {
    numbers_to(2, ports, all)
}

/// The same to a host.
fn numbers_to(host: u8, ports: [u16; 2], all: impl Iterator<Item = u32>) -> Vec<Cause> {
    with_numbers(host, ports, all).causes()
}

fn with_numbers(host: u8, ports: [u16; 2], all: impl Iterator<Item = u32>) -> Capture {
    let mut capture = Capture::default();
    for (at, number) in all.enumerate() {
        let payload = [&number.to_be_bytes()[..], &[0xFF; 400]].concat();
        let ends = [(1, ports[0]), (host, ports[1])];
        capture.udp(at as u64 * 10 * MS, ends, &payload);
    }
    capture
}

#[test]
fn a_number_behind_the_kind_of_a_message_counts_no_datagrams() {
    let kinds = |at: u32| if at < 200 { 9 } else { 10 };
    let all = (0..210).map(|at| (kinds(at) << 16) + at);
    assert_eq!(numbers([4_000, 1_044], all), []);
    // What rises for a while and then is anything.
    let random = (0..300_u32).map(|at| at.wrapping_mul(2_654_435_761) >> 1);
    let capture = with_numbers(2, [4_000, 1_044], (0..60).chain(random));
    let report = capture.report();
    assert!(report.findings.is_empty());
    assert!(report.udp_streams.is_empty(), "what is lost is not known");
    // Numbers of one kind, of which a tenth is missing.
    let all = (0..400).filter(|at| at % 10 != 7);
    assert_ne!(numbers([4_000, 1_044], all), []);
}

#[test]
fn what_is_no_number_of_datagrams_is_not_missing() {
    let missing = || (0..400).filter(|at| at % 10 != 7);
    // Encrypted numbers.
    assert_eq!(numbers([4_000, 443], missing()), []);
    // Those of all datagrams of a host.
    assert_eq!(numbers([138, 138], missing()), []);
    // A field of 16 bits above the number.
    let shorter = (0..400).map(|at| if at % 97 == 3 { at + (1 << 16) } else { at });
    assert_eq!(numbers([4_000, 1_044], shorter), []);
    // Numbers that were used for something else, twice.
    let skipped = (0..400).filter(|at| !(100..104).contains(at) && *at != 300);
    assert_eq!(numbers([4_000, 1_044], skipped), []);
    // Numbers of two kinds in turn.
    let swapped = (0..400).map(|at| match at % 5 {
        3 => at + 1,
        4 => at - 1,
        _ => at,
    });
    assert_eq!(numbers([4_000, 1_044], swapped), []);
    // What begins again and again.
    let again = (0..3_u32).flat_map(|_| (0..1_500).filter(|at| at % 10 != 7));
    assert_eq!(numbers([4_000, 1_044], again), []);
}

#[test]
fn a_few_datagrams_out_of_order_are_no_news() {
    let swapped_of = |host: u8, each: u32, all: u32| {
        let place = move |at: u32| match at % each {
            7 => at + 1,
            8 => at - 1,
            _ => at,
        };
        numbers_to(host, [4_000, 1_044], (0..all).map(place))
    };
    let swapped_to = |host: u8, each: u32| swapped_of(host, each, 800);
    assert_eq!(swapped_to(2, 200), []);
    assert_eq!(
        swapped_of(2, 50, 160),
        [],
        "three, where chance accounts for two"
    );
    assert_eq!(swapped_to(2, 20), [Cause::Reordering]);
    assert_eq!(swapped_to(1, 20), [], "from a host to itself");
}

#[test]
fn datagrams_about_names_are_no_stream() {
    let mut capture = Capture::default();
    for number in 0..200_u32 {
        let sent_ns = u64::from(number) * 10 * MS;
        let ends = [(1, 5_353), (224, 5_353)];
        capture.udp(sent_ns, ends, &numbered(number * 3 / 2, sent_ns));
    }
    assert!(capture.analysis().udp_streams.is_empty());
}

#[test]
fn datagrams_before_a_late_capture_are_not_lost() {
    let late = stream(|number, sent_ns| (number >= 60).then_some(sent_ns + 3 * MS));
    assert_eq!(late, []);
}

/// The same stream, of which one in so many arrives 3 ms after the others.
fn late_each(number_of: u32) -> Vec<Cause> {
    let times = (1..5_000_u32).map(|number| {
        let sent_ns = 5_000 * MS + u64::from(number) * MS;
        let is_late = number.is_multiple_of(number_of);
        (sent_ns + 3 * MS * u64::from(is_late), number, sent_ns)
    });
    let mut arrivals: Vec<_> = times.collect();
    arrivals.sort_unstable();
    let mut capture = Capture::default();
    for (time_ns, number, sent_ns) in arrivals {
        capture.udp(time_ns, [SENDER, RECEIVER], &numbered(number, sent_ns));
    }
    capture.causes()
}

#[test]
fn a_few_datagrams_that_others_overtake_are_no_cause() {
    assert_eq!(late_each(300), []);
    assert_eq!(late_each(50), [Cause::Reordering]);
}

/// A transfer of `blocks` blocks, `window` per acknowledgment; the receiver answers after 5 ms, and the sender sends the
/// next after `pause_ns`.
fn transfer(blocks: u16, window: u16, block: usize, pause_ns: u64, is_tftp: bool) -> Capture {
    blocks_of(blocks, [block, window.into()], [5 * MS, pause_ns], is_tftp)
}

/// The same with a time to the answer.
fn blocks_of(
    blocks: u16,
    [block, window]: [usize; 2],
    [answer_ns, pause_ns]: [u64; 2],
    is_tftp: bool,
) -> Capture {
    let mut capture = Capture::default();
    let (sender, receiver) = ((1, 3_000), (2, 4_000));
    let mut now_ns = 0;
    for number in 1..=blocks {
        let [high, low] = number.to_be_bytes();
        let head = if is_tftp {
            [0, 3, high, low]
        } else {
            [9, 9, high, low]
        };
        let mut data = head.to_vec();
        data.resize(block, 0);
        capture.udp(now_ns, [sender, receiver], &data);
        now_ns += 10 * US;
        if usize::from(number).is_multiple_of(window) {
            now_ns += answer_ns;
            capture.udp(now_ns, [receiver, sender], &[0, 4, high, low]);
            now_ns += pause_ns;
        }
    }
    capture
}

#[test]
fn blocks_that_wait_for_each_other_are_one_in_flight() {
    let found = transfer(200, 1, 516, 100 * US, true).findings();
    assert_eq!(found.len(), 1, "{found:?}");
    let (figures, finding) = (&found[0].finding.evidence, &found[0].finding);
    assert_eq!(finding.cause, Cause::OneInFlight);
    assert_eq!((figures["blocks"], figures["block_bytes"]), (200.0, 516.0));
    assert!(
        (5.0e6..5.3e6).contains(&figures["round_trip_ns"]),
        "{figures:?}"
    );
    assert!(finding.advice.contains("windowsize"));
    assert!(found[0].share_of_time > 0.9);
    // Another protocol, recognized by its rhythm only.
    let found = transfer(200, 1, 1_000, 100 * US, false).causes();
    assert_eq!(found, [Cause::OneInFlight]);
}

#[test]
fn two_hosts_near_by_take_some_time_for_each_block() {
    let near = |is_tftp| blocks_of(2_000, [628, 1], [600 * US, 100 * US], is_tftp).causes();
    assert_eq!(near(false), []);
    assert_eq!(near(true), [Cause::OneInFlight], "options help");
    let far = blocks_of(2_000, [628, 1], [1_500 * US, 100 * US], false);
    assert_eq!(far.causes(), [Cause::OneInFlight]);
}

#[test]
fn windows_small_answers_and_pauses_are_healthy() {
    // TFTP with windowsize 4, and a file that takes less than a person notices.
    assert_eq!(transfer(400, 4, 516, 100 * US, true).causes(), []);
    assert_eq!(transfer(20, 20, 516, 100 * US, true).causes(), []);
    assert_eq!(transfer(9, 1, 516, 100 * US, true).causes(), []);
    // Requests with small answers, and a device that reports every 200 ms.
    assert_eq!(transfer(200, 1, 60, 100 * US, false).causes(), []);
    assert_eq!(transfer(200, 1, 600, 195 * MS, false).causes(), []);
    // Near the receiver, a round trip is before each block.
    assert_eq!(
        transfer(200, 1, 600, 12 * MS, false).causes(),
        [Cause::OneInFlight]
    );
}

#[test]
fn a_flow_beside_many_others_is_not_what_is_slow() {
    // A program exchanges blocks with many hosts at once.
    let mut capture = Capture::default();
    for number in 0..200_u16 {
        for peer in 2..10 {
            let time_ns = u64::from(number) * 10 * MS + u64::from(peer) * MS / 2;
            let ends = [(1, 3_000), (peer, 4_000)];
            let mut block = number.to_be_bytes().to_vec();
            block.resize(1_000, peer);
            capture.udp(time_ns, ends, &block);
            let answer = [9, 9, peer];
            capture.udp(time_ns + 9 * MS, [ends[1], ends[0]], &answer);
        }
    }
    assert_eq!(capture.causes(), []);
}

#[test]
fn packets_captured_on_both_sides_of_a_router_count_once() {
    let mut capture = transfer(200, 1, 1_000, 100 * US, false);
    capture.is_routed = true;
    for client in 40..50 {
        let start_ns = u64::from(client) * 100 * MS;
        capture.download(start_ns, (1, client), (2, 80), 10 * MS);
    }
    let report = capture.report();
    assert_eq!(report.packets.captured_again, 60);
    for connection in &report.connections {
        assert_eq!(
            (connection.payload.packets, connection.back.packets),
            (3, 3)
        );
        assert_eq!(connection.payload.retransmitted_segments, 0);
    }
    assert!(report.overview().contains("60 copies, which do not count"));
}

#[test]
fn a_capture_without_a_result_states_the_reason() {
    let verdict = |capture: Capture| {
        let mut report = capture.report();
        report.captures.push(Source {
            file: "a capture".to_owned(),
            packets: report.packets.packets,
            fault: None,
        });
        (report.verdict(), report.overview())
    };
    assert_eq!(verdict(Capture::default()).0, "The capture has no packets.");
    // Only the acknowledgments of a transfer.
    let mut capture = Capture::default();
    for number in 0..40_u32 {
        let time_ns = u64::from(number) * MS;
        capture.tcp(time_ns, [(1, 50), (2, 80)], 16, (1, 1 + 1_000 * number), 0);
    }
    let (sentence, overview) = verdict(capture);
    assert!(sentence.contains("capture is incomplete"), "{sentence}");
    assert!(overview.contains("1 connection was captured in one direction only"));
    // Only its data.
    let mut capture = Capture::default();
    for number in 0..40_u32 {
        let time_ns = u64::from(number) * MS;
        capture.tcp(
            time_ns,
            [(1, 50), (2, 80)],
            16,
            (1 + 1_000 * number, 1),
            1_000,
        );
    }
    let sentence = verdict(capture).0;
    assert!(sentence.contains("capture is incomplete"), "{sentence}");
    // The other end is gone.
    let mut capture = Capture::default();
    for number in 0..12_u32 {
        let time_ns = (200 << number) * MS;
        capture.tcp(time_ns, [(1, 50), (2, 80)], 16, (1, 1), 100);
    }
    let sentence = verdict(capture).0;
    assert!(!sentence.contains("incomplete"), "{sentence}");
    // Headers that were cut.
    let mut capture = Capture::default();
    capture.ip(0, [1, 2], TCP, &[0; 12]);
    assert!(verdict(capture).0.contains("are cut"));
}

#[test]
fn copies_of_packets_are_counted() {
    let send = |copies_every: u16| {
        let mut capture = Capture::default();
        for number in 0..500_u16 {
            let time_ns = u64::from(number) * 20 * MS;
            let voice = [&number.to_be_bytes()[..], &[7; 158]].concat();
            capture.udp(time_ns, [SENDER, RECEIVER], &voice);
            if number % copies_every == 0 {
                capture.id -= 1;
                capture.udp(time_ns + MS, [SENDER, RECEIVER], &voice);
            }
        }
        capture.causes()
    };
    assert_eq!(send(20), [Cause::DuplicateFrames]);
    assert_eq!(send(200), []);
    // The capture sees each packet twice.
    assert_eq!(send(1), []);
}
