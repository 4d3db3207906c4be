//! Datagrams of this process through the relay.

use super::{Record, rig};
use linerate_host::relay::rig::{INTERFACE, LEFT, RIGHT};
use linerate_host::relay::{Direction, Rig};
use linerate_results::record::RelayMetrics;
use std::net::UdpSocket;
use std::time::Duration;

const PORT: u16 = 9000;
/// Timeout for another datagram: longer than frames are held back.
const SILENCE: Duration = Duration::from_millis(500);

/// Sends `count` datagrams of `octets`, each with its number in front, from left to right, 20 at a time
/// so that no socket overflows; returns the datagrams received in order, and the relay's report and
/// record.
fn send(rig: Rig<Record>, count: u32, octets: usize) -> (Vec<Vec<u8>>, RelayMetrics, Record) {
    let receiver = rig.right().enter(|| UdpSocket::bind((RIGHT, PORT)));
    let receiver = receiver.expect("entered").expect("a socket");
    let sender = rig.left().enter(|| UdpSocket::bind((LEFT, 0)));
    let sender = sender.expect("entered").expect("a socket");
    let mut buffer = [0; 2000];
    let mut arrived = Vec::new();
    let mut receive = |timeout| {
        receiver.set_read_timeout(Some(timeout)).expect("a timeout");
        while let Ok(len) = receiver.recv(&mut buffer) {
            arrived.push(buffer[..len].to_vec());
        }
    };
    for number in 1..=count {
        let sent = sender.send_to(&payload(number, octets), (RIGHT, PORT));
        sent.expect("it is sent");
        if number % 20 == 0 {
            receive(Duration::from_millis(1));
        }
    }
    receive(SILENCE);
    let (report, record) = rig.finish().unwrap_or_else(|error| panic!("{error}"));
    (arrived, report, record)
}

fn payload(number: u32, octets: usize) -> Vec<u8> {
    let mut payload = vec![number as u8; octets];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    payload
}

fn numbers(payloads: &[Vec<u8>]) -> Vec<u32> {
    let number = |it: &Vec<u8>| u32::from_be_bytes(it[..4].try_into().expect("a number"));
    payloads.iter().map(number).collect()
}

/// The numbers of the datagrams that the relay forwarded.
fn went(record: &Record) -> Vec<u32> {
    let streams = record.went(Direction::Forward, 4);
    let datagrams = streams.into_values().flatten();
    datagrams.map(|it| it.word(0)).collect()
}

#[test]
fn received_datagrams_match_the_relay_s_record_in_order() {
    for settings in [
        "",
        "loss=5%,duplicate=3%,reorder=3%/3",
        "burst_loss=2%/30%,delay=2ms,jitter=2ms,overtake=yes",
        "bit_errors=1e-5,delay=1ms,jitter=1ms,rate=20M",
    ] {
        let Some(rig) = rig(settings) else { return };
        let (arrived, report, record) = send(rig, 1000, 500);
        let counts = report.forward.counts;
        assert_eq!(counts.frames_in, 1000, "the network is quiet: {settings}");
        assert_eq!(numbers(&arrived), went(&record), "{settings}");
        assert_eq!(arrived.len() as u64, counts.frames_out, "{settings}");
        let in_all = counts.frames_out + counts.lost_frames();
        assert_eq!(1000 + counts.duplicated_frames, in_all, "{settings}");
        assert_eq!(report.backward.counts.frames_in, 0, "{settings}");
        assert_eq!(report.forward.discarded_frames, Some(0), "{settings}");
        let does_something = in_all > 1000 || counts.lost_frames() > 0;
        assert_eq!(does_something, !settings.is_empty(), "{settings}");
    }
}

#[test]
fn no_datagram_with_bit_errors_reaches_a_program() {
    let Some(rig) = rig("corrupt=1e-4") else {
        return;
    };
    let (arrived, report, record) = send(rig, 1000, 500);
    let counts = report.forward.counts;
    assert!(counts.corrupted_frames > 200, "{counts:?}");
    assert_eq!(counts.frames_out, 1000);
    for (payload, number) in arrived.iter().zip(numbers(&arrived)) {
        assert_eq!(*payload, self::payload(number, 500));
    }
    // Errors in the sender's hardware address have no effect.
    let missing = 1000 - arrived.len() as u64;
    assert_eq!(missing, record.corrupted_went, "{counts:?}");
    let received = counts.corrupted_frames - missing;
    assert!((1..20).contains(&received), "{received} {counts:?}");
}

#[test]
fn what_a_full_queue_loses_is_counted_and_nothing_else_is_lost() {
    let Some(rig) = rig("rate=1M,queue=10") else {
        return;
    };
    let (arrived, report, record) = send(rig, 200, 1000);
    let counts = report.forward.counts;
    assert!(counts.lost_queue_frames > 0, "{counts:?}");
    assert_eq!(counts.lost_frames(), counts.lost_queue_frames);
    assert_eq!(arrived.len() as u64, 200 - counts.lost_queue_frames);
    assert_eq!(numbers(&arrived), went(&record));
}

#[test]
fn what_an_interface_that_is_down_does_not_take_is_counted() {
    let Some(rig) = rig("") else { return };
    let down = rig.right().ip(&["link", "set", INTERFACE, "down"]);
    down.unwrap_or_else(|error| panic!("{error}"));
    let sender = rig.left().enter(|| UdpSocket::bind((LEFT, 0)));
    let sender = sender.expect("entered").expect("a socket");
    for number in 1..=50 {
        let sent = sender.send_to(&payload(number, 100), (RIGHT, PORT));
        sent.expect("it is sent");
    }
    let (report, record) = rig.finish().unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(report.forward.counts.frames_out, 50);
    assert_eq!(report.forward.refused_frames, 50);
    assert_eq!(went(&record), [0; 0]);
}

#[test]
fn an_interface_that_goes_away_ends_the_relay_with_its_name() {
    let Some(rig) = rig("") else { return };
    let gone = rig.right().ip(&["link", "delete", INTERFACE]);
    gone.unwrap_or_else(|error| panic!("{error}"));
    let error = rig.finish().expect_err("an interface is gone").to_string();
    assert!(
        error.starts_with("interface eth0 failed or was removed: "),
        "{error}"
    );
}

#[test]
fn namespaces_go_with_their_rig_also_by_a_panic() {
    let Some(rig) = rig("") else { return };
    let names = [rig.left(), rig.right()].map(|it| it.name().expect("a name").to_owned());
    let there = |name: &String| std::path::Path::new("/run/netns").join(name).exists();
    assert!(names.iter().all(there));
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
        let _rig = rig;
        panic!("on purpose");
    }));
    assert!(panic.is_err());
    assert!(!names.iter().any(there));
}
