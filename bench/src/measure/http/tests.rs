use linerate_capture::wire::Segment;
use linerate_ether::ledger::DropCause;
use linerate_ether::pattern;
use linerate_results::record::HttpGet;

use super::*;
use crate::measure::drive;
use crate::measure::scripted::{Script, line, segment};

const MS: u64 = 1_000_000;

/// One download of two full segments, the second lost once, that starts at `at_ns` and takes 300 ms.
fn download(at_ns: u64, bytes: u64) -> Vec<Event> {
    let syn = Segment::SYN;
    let ack = Segment::ACK;
    let gap_ns = 9_600;
    // Each connection begins at its own sequence number.
    let isn = (at_ns / MS) as u32 * 10_000;
    let first = segment(at_ns + 2 * MS, Side::Peer, isn + 1, 1460, ack);
    let mut second = segment(first.end_ns + gap_ns, Side::Peer, isn + 1461, 1460, ack);
    second.lost = Some(DropCause::Unheard);
    let pulses = [
        Pulse {
            start_ns: first.start_ns + 800,
            end_ns: first.end_ns + 280,
        },
        Pulse {
            start_ns: first.end_ns + 300,
            end_ns: first.end_ns + 300 + 1_050_000,
        },
    ];
    let mut events: Vec<Event> = pulses.into_iter().map(Event::Debug).collect();
    events.extend(
        [
            segment(at_ns, Side::Device, isn, 0, syn),
            segment(at_ns + MS, Side::Peer, isn, 0, syn | ack),
            first,
            second,
            segment(at_ns + 6 * MS, Side::Device, isn + 1, 0, ack),
            segment(at_ns + 250 * MS, Side::Peer, isn + 1461, 1460, ack),
        ]
        .map(Event::Frame),
    );
    let crc32 = pattern::crc32(bytes);
    let text = format!(
        "@ {{\"event\":\"get\",\"path\":\"/{bytes}\",\"body_bytes\":{bytes},\"crc32\":{crc32},\"duration_us\":301000}}"
    );
    events.push(line(at_ns + 300 * MS, &text));
    events
}

fn script() -> Vec<Event> {
    let mut events = vec![Event::Frame(segment(5, Side::Peer, 9, 0, Segment::RST))];
    events.extend(download(100 * MS, 2920));
    events.extend(download(500 * MS, 2920));
    events.push(line(
        850 * MS,
        r#"@ {"event":"counters","RxFrames":7,"TxFrames":4}"#,
    ));
    // A frame after the last byte still belongs to this size.
    events.push(Event::Frame(segment(
        860 * MS,
        Side::Peer,
        5_002_921,
        0,
        Segment::FIN | Segment::ACK,
    )));
    events.extend(download(900 * MS, 5840));
    events.extend(download(1300 * MS, 5840));
    events.push(line(
        1650 * MS,
        r#"@ {"event":"counters","RxFrames":13,"TxFrames":8,"RxBadFcs":1}"#,
    ));
    events.push(line(1651 * MS, r#"@ {"event":"done"}"#));
    events
}

fn measure(events: Vec<Event>) -> Result<Vec<HttpGet>, MeasureError> {
    let sizes = Sizes {
        bytes: vec![2920, 5840],
        requests: 2,
        limit_s: 10,
    };
    let mut results = Vec::new();
    let mut observer = observer(&get::KIND, &sizes);
    drive(
        Box::new(Script::new(events)),
        &mut observer,
        sizes.limit_s,
        &mut |result| results.push(result),
        &mut |_, _| true,
    )?;
    let get = |result| match result {
        Measurement::HttpGet(get) => get,
        _ => panic!("only downloads were asked for"),
    };
    Ok(results.into_iter().map(get).collect())
}

#[test]
fn one_result_a_size_with_every_frame_in_one_of_them() {
    let gets = measure(script()).expect("measured");
    assert_eq!(gets.len(), 2);
    assert_eq!(
        gets.iter().map(|get| get.params.bytes).collect::<Vec<_>>(),
        [2920, 5840]
    );
    // Four from the peer a download, one before the first and one after the second.
    assert_eq!(gets[0].ledger.sent_frames, 4 + 4 + 1 + 1);
    assert_eq!(gets[1].ledger.sent_frames, 4 + 4);
    for get in &gets {
        assert_eq!(get.ledger.missing_frames(), 0);
        assert_eq!(get.ledger.lost_for(DropCause::Unheard), 2);
        assert_eq!(get.metrics.crc32, get.metrics.crc32_expected);
        assert_eq!(get.metrics.retransmitted_segments, 2);
        assert_eq!(get.metrics.isr_post_processing_ns_p50, 1_050_000);
        assert_eq!(get.metrics.inter_packet_gap_ns_min, 9_600);
        assert!(get.samples.scope.is_some());
        assert!((get.metrics.time_share.total() - 1.0).abs() < 1e-9);
    }
    assert_eq!(
        gets[0].ledger.counters,
        BTreeMap::from([("RxFrames".into(), 7), ("TxFrames".into(), 4)])
    );
    assert_eq!(
        gets[1].ledger.counters,
        BTreeMap::from([
            ("RxFrames".into(), 6),
            ("TxFrames".into(), 4),
            ("RxBadFcs".into(), 1)
        ])
    );
}

#[test]
fn goodput_is_from_the_first_syn_to_the_last_byte() {
    let gets = measure(script()).expect("measured");
    let goodput: Vec<u64> = gets[0]
        .metrics
        .goodput_bytes_per_s
        .iter()
        .map(|rate| rate.round() as u64)
        .collect();
    assert_eq!(goodput, [9_733, 9_733]);
    assert_eq!(
        gets[0].metrics.device_goodput_bytes_per_s[0].round() as u64,
        9_701
    );
    let request = &gets[0].samples.requests[1];
    assert_eq!((request.start_ns, request.end_ns), (500 * MS, 800 * MS));
    assert_eq!(
        (
            request.sent_frames,
            request.received_frames,
            request.retransmitted_segments
        ),
        (4, 3, 1)
    );
}

#[test]
fn a_syn_sent_again_does_not_start_the_clock_again() {
    let mut events = script();
    events.push(Event::Frame(segment(
        90 * MS,
        Side::Device,
        0,
        0,
        Segment::SYN,
    )));
    let gets = measure(events).expect("measured");
    assert_eq!(gets[0].samples.requests[0].start_ns, 90 * MS);
}

#[test]
fn firmware_that_ignores_its_settings_is_named() {
    let events = download(100 * MS, 777);
    let error = measure(events).expect_err("another size").to_string();
    assert_eq!(
        error,
        "the firmware requested /777, the scenario /2920: it does not follow its settings sizes=2920x2,5840x2"
    );
}

#[test]
fn downloads_that_are_missing_are_named() {
    let mut events = download(100 * MS, 2920);
    events.push(line(450 * MS, r#"@ {"event":"done"}"#));
    let error = measure(events).expect_err("three missing").to_string();
    assert_eq!(
        error,
        "the firmware finished 1 downloads, the scenario asks for 4"
    );
}

#[test]
fn counters_wrap() {
    let before = BTreeMap::from([("RxOctets".to_owned(), u64::from(u32::MAX))]);
    let now = BTreeMap::from([("RxOctets".to_owned(), 9), ("RxFrames".to_owned(), 0)]);
    assert_eq!(
        difference(&now, &before),
        BTreeMap::from([("RxOctets".to_owned(), 10)])
    );
}

#[test]
fn the_sizes_of_a_scenario_are_the_settings_of_its_firmware() {
    let plan = Get(Sizes {
        bytes: vec![2920, 5840],
        requests: 2,
        limit_s: 10,
    });
    let [plan] = &plan.plans().expect("valid")[..] else {
        panic!("one plan");
    };
    let board = crate::board::find("esp32c6-bitbang").expect("known");
    let (name, elf) = ("test".into(), Vec::new());
    let mut config = MachineConfig::new(board, crate::firmware::Image { name, elf }, 1);
    plan.arrange(&mut config);
    assert_eq!(config.boot, "sizes=2920x2,5840x2");
}
