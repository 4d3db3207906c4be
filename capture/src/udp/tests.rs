use super::*;
use crate::tcp::Occurrences;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// What is no number, and no time of iperf.
const OTHER: u32 = 0x7FFF_FFFF;

/// A datagram of `tool`, numbered `number`, sent at `sent_ns`; a negative number ends an iperf 2 stream.
fn datagram(tool: Tool, number: i64, sent_ns: u64) -> Vec<u8> {
    let [seconds, micros] =
        [sent_ns / 1_000_000_000, sent_ns / US % 1_000_000].map(|part| part as u32);
    let words: &[u32] = match tool {
        Tool::Identification => &[(number as u32) << 16],
        Tool::Iperf2 => &[number as u32, seconds, micros, 0, 0],
        // The next words look like iperf 2 flags and a large negative number.
        Tool::Iperf3 => &[seconds, micros, number as u32, 0x9F00_0000, 0x9F00_0000],
        Tool::Iperf3Wide => &[seconds, micros, (number >> 32) as u32, number as u32],
        // Version 2, payload type 96, a sample clock of 8 kHz, a source.
        Tool::Rtp => &[
            0x8060_0000 | number as u32 & 0xFFFF,
            (number as u32).wrapping_mul(160),
            0x1234_ABCD,
        ],
        Tool::Counter => &[number as u32, OTHER, OTHER],
        Tool::CounterAt4 => &[OTHER, number as u32, OTHER],
        Tool::CounterAt8 => &[OTHER, OTHER, number as u32],
        Tool::LittleCounter => &[(number as u32).swap_bytes(), OTHER, OTHER],
        Tool::LittleCounterAt4 => &[OTHER, (number as u32).swap_bytes(), OTHER],
        Tool::LittleCounterAt8 => &[OTHER, OTHER, (number as u32).swap_bytes()],
    };
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// A stream with these numbers; the n-th is sent at `sent_ns(n)` and arrives 3 ms later.
fn stream(tool: Tool, numbers: &[i64], sent_ns: impl Fn(u64) -> u64) -> StreamDetector {
    let mut detector = StreamDetector::default();
    for (at, number) in numbers.iter().enumerate() {
        let sent_ns = sent_ns(number.unsigned_abs());
        let ended = detector.record(
            &datagram(tool, *number, sent_ns),
            1000,
            sent_ns + 3 * MS,
            at as u64 + 1,
        );
        assert!(ended.is_none());
    }
    detector
}

#[test]
fn each_tool_is_recognized_by_its_datagrams() {
    for tool in Tool::ALL {
        let numbers: Vec<i64> = (1..=100).collect();
        let detector = stream(tool, &numbers, |number| 5_000_000_000 + number * MS);
        let stream = detector.stream().expect("a stream");
        assert_eq!(
            (stream.tool, stream.datagrams(), stream.lost()),
            (tool, 100, 0)
        );
        assert_eq!(stream.jitter_ns(), tool.is_iperf().then_some(0));
        assert_eq!(stream.payload_bytes(), 100_000);
        assert_eq!(stream.duration().as_millis(), 99);
        assert_eq!((stream.gaps.min(), stream.gaps.max()), (Some(MS), Some(MS)));
        assert_eq!(stream.received_by_position[0], 100);
    }
}

#[test]
fn numbers_of_rtp_wrap_and_begin_anywhere() {
    // The capture begins at 65,500; 65,530 and 70,000 are lost.
    let mut numbers: Vec<i64> = (65_500..70_100).collect();
    numbers.retain(|number| !matches!(number, 65_530 | 70_000));
    let detector = stream(Tool::Rtp, &numbers, |number| number * MS);
    let stream = detector.stream().expect("a stream");
    assert_eq!(
        (stream.tool, stream.sent(), stream.lost()),
        (Tool::Rtp, 4_600, 2)
    );
}

/// A datagram of RTP of another source.
fn of_source(source: u32, number: i64) -> Vec<u8> {
    let mut octets = datagram(Tool::Rtp, number, 0);
    octets[8..12].copy_from_slice(&source.to_be_bytes());
    octets
}

#[test]
fn each_source_of_rtp_has_its_own_numbers() {
    // Sound and pictures between the same ports.
    let mut detector = StreamDetector::default();
    for number in 0..200_i64 {
        let time_ns = number as u64 * 20 * MS;
        detector.record(&of_source(1, 500 + number), 160, time_ns, 1);
        if number >= 20 {
            detector.record(&of_source(2, 40_000 + number), 900, time_ns, 1);
        }
    }
    let stream = detector.stream().expect("a stream");
    assert_eq!(
        (stream.datagrams(), stream.lost(), stream.out_of_order()),
        (200, 0, 0)
    );
}

#[test]
fn numbers_of_rtp_far_from_the_others_are_a_stray_datagram_or_a_restart() {
    let mut detector = StreamDetector::default();
    let mut ended = Vec::new();
    let stray = [20_000];
    let numbers = (500..600).chain(stray).chain(600..700);
    for (number, at) in numbers.chain(30_000..30_050).zip(0_u64..) {
        let time_ns = at * 20 * MS;
        ended.extend(detector.record(&of_source(1, number), 160, time_ns, 1));
    }
    assert_eq!(ended.len(), 1);
    assert_eq!((ended[0].datagrams(), ended[0].lost()), (200, 0));
    let second = detector.stream().expect("the second");
    assert_eq!((second.datagrams(), second.lost()), (49, 0));
    // An outage of as long as what is missing takes, and a source that replaces another one.
    let mut detector = StreamDetector::default();
    for number in (500..600).chain(4_500..4_600) {
        detector.record(&of_source(1, number), 160, number as u64 * 20 * MS, 1);
    }
    let stream = detector.stream().expect("a stream");
    assert_eq!((stream.datagrams(), stream.lost()), (200, 3_900));
    for number in 4_600..4_700 {
        let time_ns = number as u64 * 20 * MS;
        ended.extend(detector.record(&of_source(2, number + 20_000), 160, time_ns, 1));
    }
    assert_eq!((ended.len(), ended[1].lost()), (2, 3_900));
    // What is lost, or late, is near.
    let mut detector = StreamDetector::default();
    for number in (500..600).chain(700..760).chain([690]) {
        detector.record(&of_source(1, number), 160, number as u64 * MS, 1);
    }
    let stream = detector.stream().expect("a stream");
    assert_eq!((stream.lost(), stream.out_of_order()), (99, 1));
}

#[test]
fn a_few_numbers_again_and_again_are_no_iperf() {
    let numbers = [0, 0, 0, 1, 0, 0, 1, 2, 1, 0, 2, 0];
    let detector = stream(Tool::Iperf3, &numbers, |_| MS);
    assert!(detector.stream().is_none());
}

#[test]
fn a_clock_that_stands_still_is_none_of_iperf() {
    let numbers: Vec<i64> = (1..=60).collect();
    let named = |sent_ns: fn(u64) -> u64| {
        let detector = stream(Tool::Iperf2, &numbers, sent_ns);
        detector.stream().is_some_and(|it| it.tool.is_iperf())
    };
    assert!(named(|number| 5_000_000_000 + number * MS));
    // An address and a port of NetBIOS where iperf has a time.
    assert!(!named(|_| 5_000_000_000));
    // A program that leaves the time out.
    assert!(named(|_| 0));
}

#[test]
fn reports_of_rtcp_are_not_numbered() {
    let mut detector = StreamDetector::default();
    for at in 0..60_u32 {
        // A sender report, whose clock in seconds advances.
        let words = [0x80C8_0006, 0x1234_ABCD, 0xE000_0000 + at, at, at, at, at];
        let octets: Vec<u8> = words.iter().flat_map(|it| it.to_be_bytes()).collect();
        detector.record(&octets, 28, u64::from(at) * 1_000 * MS, u64::from(at) + 1);
    }
    assert!(detector.stream().is_none());
}

#[test]
fn a_counter_that_begins_before_the_capture_has_lost_nothing() {
    let numbers: Vec<i64> = (57..200).collect();
    let detector = stream(Tool::Counter, &numbers, |number| number * MS);
    let stream = detector.stream().expect("a stream");
    assert_eq!((stream.sent(), stream.lost()), (143, 0));
}

#[test]
fn a_time_is_no_counter() {
    // A clock of 1 kHz in datagrams every 20 ms, and the same number in all.
    for step in [20, 0] {
        let numbers: Vec<i64> = (0..500).map(|at| 1_000 + at * step).collect();
        let detector = stream(Tool::Counter, &numbers, |number| number * MS);
        assert!(detector.stream().is_none(), "{step}");
    }
}

#[test]
fn numbers_of_acknowledgments_are_no_losses() {
    // Each fourth block is acknowledged; the answers are short.
    let numbers: Vec<i64> = (0..200).map(|at| 1 + at * 4).collect();
    let detector = stream(Tool::Counter, &numbers, |number| number * MS);
    assert!(detector.stream().is_none());
    let mut short = StreamDetector::default();
    for number in 0..200_u32 {
        let octets = number.to_be_bytes();
        short.record(&octets, 4, u64::from(number) * MS, u64::from(number) + 1);
    }
    assert!(short.stream().is_none());
}

#[test]
fn other_datagrams_are_no_stream() {
    let mut detector = StreamDetector::default();
    let mut state = 7_u32;
    for packet in 0..10_000 {
        let mut octets = Vec::new();
        for _ in 0..5 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            octets.extend(state.to_be_bytes());
        }
        detector.record(&octets[..packet as usize % 21], 20, packet * MS, packet);
    }
    assert!(detector.stream().is_none());
}

#[test]
fn lost_reordered_and_duplicate_datagrams() {
    let mut numbers: Vec<i64> = (1..=60).collect();
    // 20 and 21 are lost, 30 arrives after 31, 40 arrives twice; two before the end are lost, which arrives twice.
    numbers.swap(29, 30);
    numbers.insert(40, 40);
    numbers.retain(|number| !matches!(number, 20 | 21));
    numbers.extend([-63, -64]);
    let detector = stream(Tool::Iperf2, &numbers, |number| number * MS);
    let stream = detector.stream().expect("a stream");
    assert_eq!((stream.sent(), stream.lost()), (63, 4));
    assert_eq!((stream.out_of_order(), stream.duplicates()), (1, 1));
    assert_eq!((stream.gap_count, stream.longest_gap), (2, 2));
    // 31 arrived while 30 was missing.
    let packets =
        |occurrences: Occurrences| [occurrences.first, occurrences.last, occurrences.worst];
    assert_eq!(packets(stream.loss_gaps_at), [20, 28, 20]);
    assert_eq!(packets(stream.out_of_order_at), [29; 3]);
}

#[test]
fn losses_from_a_position_of_the_burst_on() {
    // Eight at once every 10 ms, of which the receiver accepts five.
    let sent_ns = |number: u64| (number - 1) / 8 * 10 * MS + (number - 1) % 8 * 20 * US;
    let taken = |number: &i64| (number - 1) % 8 < 5;
    let numbers: Vec<i64> = (1..=800).filter(taken).collect();
    let detector = stream(Tool::Iperf3, &numbers, sent_ns);
    let stream = detector.stream().expect("a stream");
    assert!(stream.loses_in_bursts());
    // In the first burst the mean interval is still unknown.
    assert_eq!(stream.gaps_by_position[4], 98);
    assert_eq!((stream.lost(), stream.longest_gap), (99 * 3, 3));
}

#[test]
fn random_losses() {
    let numbers: Vec<i64> = (1..=800).filter(|number| number % 37 != 0).collect();
    for burst in [1, 8] {
        let detector = stream(Tool::Iperf3, &numbers, |number| number / burst * burst * MS);
        assert!(
            !detector.stream().expect("a stream").loses_in_bursts(),
            "{burst}"
        );
    }
}

#[test]
fn another_stream_between_the_same_ports() {
    let mut detector = StreamDetector::default();
    let mut ended = Vec::new();
    for number in (1..=2000).chain(1..=20) {
        let sent_ns = number as u64 * MS;
        ended.extend(detector.record(&datagram(Tool::Iperf3, number, sent_ns), 1000, sent_ns, 1));
    }
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].datagrams(), 2000);
    assert_eq!(detector.stream().expect("the second").datagrams(), 20);
}

#[test]
fn no_number_and_no_time_is_too_large() {
    let ends = [0, 1, u64::MAX - 1, u64::MAX];
    for tool in Tool::ALL {
        let mut detector = stream(tool, &(1..=20).collect::<Vec<_>>(), |number| number * MS);
        for (number, time_ns) in ends
            .iter()
            .flat_map(|number| ends.map(|time_ns| (*number, time_ns)))
        {
            let mut octets = datagram(tool, number as i64, time_ns);
            detector.record(&octets, u32::MAX, time_ns, 1);
            octets.fill(0xFF);
            octets[4..12].fill(0);
            for time_ns in [time_ns, 0] {
                detector.record(&octets, 0, time_ns, 2);
                StreamDetector::default().record(&octets, 0, time_ns, 2);
            }
        }
        assert!(
            detector
                .stream()
                .is_none_or(|stream| stream.lost() <= stream.sent())
        );
    }
    let mut detector = StreamDetector::default();
    for time_ns in (0..20).rev() {
        let octets = [0, 0, u32::MAX, u32::MAX].map(u32::to_be_bytes).concat();
        detector.record(&octets, 16, time_ns, 1);
    }
    // The same datagram repeated matches either tool.
    assert!(detector.stream().is_none());
}
