use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::load::udp::{
    ReceiveReport, Receiver, ReceiverConfig, Sender, SenderConfig, StopCondition, WaitMode,
};
use crate::load::{LoadError, Rate, SendReport, noise_floor, round_trip};

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Longer than any test takes.
const DEADLINE: Duration = Duration::from_mins(1);
const UNTIL: StopCondition = StopCondition {
    max_duration: DEADLINE,
    quiet: Duration::from_secs(1),
};

/// Attempts at sending for a time that a busy machine may give to other programs altogether.
const ATTEMPTS: usize = 50;

/// The report of the first attempt in which at least so many packets were sent.
fn sends(config: &SenderConfig, least: u64) -> SendReport {
    let mut attempts = (0..ATTEMPTS).map(|_| Sender::run(config).expect("sent"));
    let sent = attempts.find(|sent| sent.packets + sent.refused_packets >= least);
    sent.expect("time to send in one of the attempts")
}

/// Sends and receives at the same time; `sender` is called with the receiver's address. Repeated if the sender had no
/// time to send.
fn pass(
    config: &ReceiverConfig,
    sender: impl Fn(SocketAddr) -> SenderConfig,
) -> (SendReport, ReceiveReport) {
    let mut passes = (0..ATTEMPTS).map(|_| pass_once(config.clone(), &sender));
    let passed = passes.find(|(sent, _)| sent.packets > 1);
    passed.expect("time to send in one of the attempts")
}

fn pass_once(
    config: ReceiverConfig,
    sender: impl Fn(SocketAddr) -> SenderConfig,
) -> (SendReport, ReceiveReport) {
    let receiver = Receiver::bind(ANY_PORT, config).expect("a receiver");
    let config = sender(receiver.local_addr());
    thread::scope(|scope| {
        let receiving = scope.spawn(move || receiver.run(UNTIL, &|| false).expect("received"));
        let sent = Sender::run(&config).expect("sent");
        (sent, receiving.join().expect("no panic"))
    })
}

/// Asserts that every datagram sent was received or is known to be missing, and none is counted twice.
fn assert_accounted(sent: &SendReport, received: &ReceiveReport, payload: usize) {
    let context = format!("{sent:?}\n{received:?}");
    assert!(received.datagrams > 0, "{context}");
    assert_eq!(received.payload_octets, [payload, payload], "{context}");
    assert_eq!(
        received.octets,
        received.datagrams * payload as u64,
        "{context}"
    );
    assert_eq!(
        [
            received.foreign_datagrams,
            received.repeated_datagrams,
            received.stale_datagrams,
            received.out_of_order_datagrams,
        ],
        [0; 4],
        "{context}"
    );
    assert_eq!(sent.octets, sent.packets * payload as u64, "{context}");
    // Losses after the last received datagram are not visible in the numbers.
    let seen = received.datagrams + received.lost_datagrams;
    assert!(seen <= sent.packets, "{context}");
    if received.host_drops == Some(0) {
        assert_eq!(received.datagrams, sent.packets, "{context}");
    }
}

#[test]
fn segmented_datagrams_are_separated_at_every_size() {
    for payload in [24, 64, 1000, 1472] {
        let (sent, received) = pass(&ReceiverConfig::default(), |target| SenderConfig {
            duration: Duration::from_millis(20),
            ..SenderConfig::new(target, payload)
        });
        assert_accounted(&sent, &received, payload);
        // If the system does not segment, a note reports it.
        let segmented = sent.method.contains("UDP_SEGMENT");
        assert!(segmented || !sent.notes.is_empty(), "{sent:?}");
    }
}

#[test]
fn without_segmentation_and_coalescing_the_counts_are_the_same() {
    let config = ReceiverConfig {
        coalesce: false,
        ..ReceiverConfig::default()
    };
    let (sent, received) = pass(&config, |target| SenderConfig {
        duration: Duration::from_millis(20),
        segment: false,
        ..SenderConfig::new(target, 200)
    });
    assert_accounted(&sent, &received, 200);
    assert_eq!(received.messages, received.datagrams);
    assert!(sent.notes[0].contains("disabled"), "{sent:?}");
}

#[test]
fn a_constant_rate_sends_every_due_datagram_or_reports_the_missing() {
    for wait in [WaitMode::Block, WaitMode::Spin] {
        let config = ReceiverConfig {
            wait,
            gaps: Some(2_000),
            ..ReceiverConfig::default()
        };
        let (sent, received) = pass(&config, |target| SenderConfig {
            rate: Rate::PerSecond(2_000),
            duration: Duration::from_millis(250),
            ..SenderConfig::new(target, 100)
        });
        assert_accounted(&sent, &received, 100);
        assert_eq!(sent.packets + sent.missing_packets, 500, "{sent:?}");
        assert_eq!(sent.missing_packets > 0, !sent.notes.is_empty(), "{sent:?}");
        let gaps = sent.gaps.expect("gaps").gap;
        assert_eq!(gaps.count, sent.packets - 1);
        if cfg!(target_os = "linux") {
            let seen = received.gaps.expect("the kernel's times").gap;
            assert_eq!(seen.count, received.datagrams - 1);
        }
    }
}

#[test]
fn datagrams_of_other_senders_are_foreign() {
    let receiver = Receiver::bind(ANY_PORT, ReceiverConfig::default()).expect("a receiver");
    let other = UdpSocket::bind(ANY_PORT).expect("a socket");
    let target = receiver.local_addr();
    other
        .send_to(b"GET / HTTP/1.0\r\n\r\n and so on", target)
        .expect("sent");
    let one = |stream| SenderConfig {
        rate: Rate::PerSecond(100),
        duration: Duration::from_millis(50),
        stream,
        ..SenderConfig::new(target, 24)
    };
    let mine = sends(&one(7), 1);
    let second = sends(&one(8), 1);
    let until = StopCondition {
        quiet: Duration::from_millis(200),
        ..UNTIL
    };
    let received = receiver.run(until, &|| false).expect("received");
    assert_eq!(received.datagrams, mine.packets);
    assert_eq!(received.foreign_datagrams, second.packets + 1);
}

#[test]
fn a_target_without_a_listener_is_reported() {
    let free = UdpSocket::bind(ANY_PORT)
        .expect("a socket")
        .local_addr()
        .expect("bound");
    let config = SenderConfig {
        rate: Rate::PerSecond(1_000),
        duration: Duration::from_millis(50),
        ..SenderConfig::new(free, 64)
    };
    // The answer to the first one is reported with the second one.
    let sent = sends(&config, 2);
    // Not every system reports it.
    if cfg!(target_os = "linux") {
        assert!(sent.refused_packets > 0, "{sent:?}");
        assert!(
            sent.notes
                .iter()
                .any(|note| note.contains("port unreachable")),
            "{sent:?}"
        );
    }
}

#[test]
fn invalid_configurations_are_rejected_with_an_error() {
    let config = |payload, rate| SenderConfig {
        rate,
        ..SenderConfig::new(ANY_PORT, payload)
    };
    for payload in [0, 23, 65_508] {
        let error = Sender::run(&config(payload, Rate::Max)).expect_err("no datagram");
        assert!(matches!(error, LoadError::Payload { .. }), "{error}");
    }
    let error = Sender::run(&config(64, Rate::PerSecond(0))).expect_err("no rate");
    assert!(matches!(error, LoadError::ZeroRate), "{error}");
}

#[test]
fn every_round_trip_belongs_to_a_sent_datagram() {
    for wait in [WaitMode::Block, WaitMode::Spin] {
        let over = AtomicBool::new(false);
        let (address_tx, address_rx) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            let over = &over;
            let reflector = scope.spawn(move || {
                let bound = |at| address_tx.send(at).expect("a receiver");
                let stop = || over.load(Ordering::Relaxed);
                round_trip::reflect(ANY_PORT, wait, None, bound, &stop).expect("reflected")
            });
            let target = address_rx.recv().expect("listening");
            let trips = round_trip::ping(&round_trip::PingConfig {
                target,
                payload_octets: 64,
                count: 50,
                max_duration: DEADLINE,
                wait,
                core: None,
            });
            over.store(true, Ordering::Relaxed);
            let (trips, reflected) = (
                trips.expect("round trips"),
                reflector.join().expect("no panic"),
            );
            assert_eq!(trips.sent, 50);
            assert_eq!(trips.all.len() + trips.lost, 50, "{trips:?}");
            assert!(
                reflected >= trips.all.len() && reflected <= 50,
                "{reflected}"
            );
        });
    }
}

#[test]
fn a_silent_target_is_reported_after_ten_losses() {
    let silent = UdpSocket::bind(ANY_PORT).expect("a socket");
    let target = silent.local_addr().expect("bound");
    let trips = round_trip::ping(&round_trip::PingConfig {
        target,
        payload_octets: 64,
        count: 1_000_000,
        max_duration: DEADLINE,
        wait: WaitMode::Block,
        core: None,
    })
    .expect("an outcome");
    assert_eq!((trips.sent, trips.lost), (10, 10));
    assert!(trips.notes[0].contains(&target.to_string()), "{trips:?}");
}

#[test]
fn the_noise_floor_has_figures() {
    let noise = noise_floor(Duration::from_millis(20), [None, None]).expect("noise");
    assert!(
        noise.read_intervals.count > 0 && noise.read_intervals.max_ns > 0,
        "{noise:?}"
    );
    assert!(noise.loopback.is_some_and(|it| it.times.is_some()));
    // Pinning to a missing core fails; everything else still works.
    let noise = noise_floor(Duration::from_millis(5), [Some(9_999), None]).expect("noise");
    assert!(
        noise.notes.iter().any(|note| note.contains("core 9999")),
        "{noise:?}"
    );
}
