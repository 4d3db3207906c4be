//! Raw frames over a veth pair; requires root.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use linerate_agent::frame::ETHERTYPE;

use crate::load::counters::{Counters, mac_of};
use crate::load::{LoadError, Rate, raw};
use crate::testing::VethPair;

/// Longer than any test takes.
const DEADLINE: Duration = Duration::from_mins(1);

#[test]
fn every_raw_frame_is_counted_once_at_the_other_end() {
    let Some(pair) = VethPair::new("r") else {
        return;
    };
    let [from, to] = &pair.names;
    let own = mac_of(to).expect("an address");
    for (rate, frame_octets) in [
        (Rate::Max, 60),
        (Rate::Max, 1514),
        (Rate::PerSecond(2_000), 300),
    ] {
        let over = AtomicBool::new(false);
        let stop = || over.load(Ordering::Relaxed);
        let before = Counters::read(to).expect("counters");
        let (ready_tx, ready_rx) = channel();
        let ready = move || ready_tx.send(()).expect("a receiver");
        let (sent, counted) = thread::scope(|scope| {
            let count = || raw::count(to, own, 3, DEADLINE, ready, &stop).expect("counted");
            let counting = scope.spawn(count);
            ready_rx.recv().expect("ready");
            let sent = raw::blast(&raw::BlastConfig {
                to: own,
                rate,
                frame_octets,
                stream: 3,
                duration: Duration::from_millis(100),
                ..raw::BlastConfig::new(from)
            });
            over.store(true, Ordering::Relaxed);
            (sent.expect("sent"), counting.join().expect("no panic"))
        });
        let context = format!("{sent:?}\n{counted:?}");
        assert!(counted.frames > 0, "{context}");
        assert_eq!(
            counted.octets,
            counted.frames * frame_octets as u64,
            "{context}"
        );
        assert_eq!(
            [
                counted.altered_frames,
                counted.repeated_frames,
                counted.stale_frames,
                counted.out_of_order_frames
            ],
            [0; 4],
            "{context}"
        );
        let arrived = Counters::read(to).expect("counters").since(&before);
        assert!(
            arrived.rx_packets >= counted.frames,
            "{arrived:?}\n{context}"
        );
        assert!(
            counted.frames + counted.lost_frames <= sent.packets,
            "{context}"
        );
        if counted.host_drops == 0 && arrived.rx_dropped == 0 {
            assert_eq!(counted.frames, sent.packets, "{context}");
        }
    }
}

#[test]
fn a_capture_counts_matching_frames_and_their_gaps() {
    let Some(pair) = VethPair::new("c") else {
        return;
    };
    let [from, to] = &pair.names;
    let is_ours = |frame: &[u8]| frame[12..14] == ETHERTYPE.to_be_bytes();
    let over = AtomicBool::new(false);
    let stop = || over.load(Ordering::Relaxed);
    let (ready_tx, ready_rx) = channel();
    let ready = move || ready_tx.send(()).expect("a receiver");
    let captured = thread::scope(|scope| {
        let capture = || raw::capture(to, Some(1_000), DEADLINE, is_ours, ready, &stop);
        let capturing = scope.spawn(capture);
        ready_rx.recv().expect("ready");
        let sent = raw::blast(&raw::BlastConfig {
            rate: Rate::PerSecond(1_000),
            duration: Duration::from_millis(100),
            ..raw::BlastConfig::new(from)
        });
        over.store(true, Ordering::Relaxed);
        sent.expect("sent");
        capturing.join().expect("no panic").expect("captured")
    });
    assert!((1..=100).contains(&captured.frames), "{captured:?}");
    let summary = captured.gaps.summary().expect("gaps");
    assert_eq!(summary.gap.count, captured.frames - 1);
    assert_eq!(summary.ideal_ns, Some(1e6));
}

#[test]
fn an_interface_that_is_down_or_missing_is_named() {
    let error = raw::blast(&raw::BlastConfig::new("lr-none0")).expect_err("no interface");
    assert!(error.to_string().contains("lr-none0"), "{error}");
    let frame = raw::BlastConfig {
        frame_octets: 59,
        ..raw::BlastConfig::new("lo")
    };
    let error = raw::blast(&frame).expect_err("no frame");
    assert!(
        matches!(error, LoadError::Frame { octets: 59, .. }),
        "{error}"
    );
    let Some(pair) = VethPair::new("d") else {
        return;
    };
    let name = &pair.names[0];
    let down = Command::new("ip")
        .args(["link", "set", name, "down"])
        .status();
    assert!(down.expect("ip runs").success());
    let error = raw::blast(&raw::BlastConfig::new(name)).expect_err("it is down");
    let message = error.to_string();
    assert!(
        message.contains("is down") && message.contains(name.as_str()),
        "{message}"
    );
}
