use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::load::udp::{Options, Plan, Received, Receiver, Sender, Until, Wait};
use crate::load::{LoadError, Rate, Sent, noise_floor, round_trip};

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
/// Longer than anything here takes.
const DEADLINE: Duration = Duration::from_mins(1);
const UNTIL: Until = Until {
    at_most: DEADLINE,
    quiet: Duration::from_secs(1),
};

/// Sends and receives at the same time; `plan` gets the receiver's address.
fn pass(options: Options, plan: impl FnOnce(SocketAddr) -> Plan) -> (Sent, Received) {
    let receiver = Receiver::bind(ANY_PORT, options).expect("a receiver");
    let plan = plan(receiver.local_addr());
    thread::scope(|scope| {
        let receiving = scope.spawn(move || receiver.run(UNTIL, &|| false).expect("received"));
        let sent = Sender::run(&plan).expect("sent");
        (sent, receiving.join().expect("no panic"))
    })
}

/// All that was sent has come, or is known to be missing: none is counted twice, and none as another.
fn adds_up(sent: &Sent, received: &Received, payload: usize) {
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
    // What is lost after the last that came has no number that tells of it.
    let seen = received.datagrams + received.lost_datagrams;
    assert!(seen <= sent.packets, "{context}");
    if received.host_drops == Some(0) {
        assert_eq!(received.datagrams, sent.packets, "{context}");
    }
}

#[test]
fn segmented_datagrams_are_told_apart_at_every_size() {
    for payload in [24, 64, 1000, 1472] {
        let (sent, received) = pass(Options::default(), |target| Plan {
            duration: Duration::from_millis(20),
            ..Plan::new(target, payload)
        });
        adds_up(&sent, &received, payload);
        // Where the system segments nothing, that is said.
        let segmented = sent.method.contains("UDP_SEGMENT");
        assert!(segmented || !sent.notes.is_empty(), "{sent:?}");
    }
}

#[test]
fn without_segmentation_and_coalescing_the_counts_are_the_same() {
    let options = Options {
        coalesce: false,
        ..Options::default()
    };
    let (sent, received) = pass(options, |target| Plan {
        duration: Duration::from_millis(20),
        segment: false,
        ..Plan::new(target, 200)
    });
    adds_up(&sent, &received, 200);
    assert_eq!(received.messages, received.datagrams);
    assert!(sent.notes[0].contains("not wanted"), "{sent:?}");
}

#[test]
fn a_constant_rate_sends_what_was_due_or_says_what_it_did_not() {
    for wait in [Wait::Block, Wait::Spin] {
        let options = Options {
            wait,
            gaps: Some(2_000),
            ..Options::default()
        };
        let (sent, received) = pass(options, |target| Plan {
            rate: Rate::PerSecond(2_000),
            duration: Duration::from_millis(250),
            ..Plan::new(target, 100)
        });
        adds_up(&sent, &received, 100);
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
fn what_others_send_is_foreign() {
    let receiver = Receiver::bind(ANY_PORT, Options::default()).expect("a receiver");
    let other = UdpSocket::bind(ANY_PORT).expect("a socket");
    let target = receiver.local_addr();
    other
        .send_to(b"GET / HTTP/1.0\r\n\r\n and so on", target)
        .expect("sent");
    let one = |stream| Plan {
        rate: Rate::PerSecond(100),
        duration: Duration::from_millis(50),
        stream,
        ..Plan::new(target, 24)
    };
    let mine = Sender::run(&one(7)).expect("sent");
    let second = Sender::run(&one(8)).expect("sent");
    let until = Until {
        quiet: Duration::from_millis(200),
        ..UNTIL
    };
    let received = receiver.run(until, &|| false).expect("received");
    assert_eq!(received.datagrams, mine.packets);
    assert_eq!(received.foreign_datagrams, second.packets + 1);
}

#[test]
fn a_target_that_nobody_listens_at_is_said_to_be_one() {
    let free = UdpSocket::bind(ANY_PORT)
        .expect("a socket")
        .local_addr()
        .expect("bound");
    let sent = Sender::run(&Plan {
        rate: Rate::PerSecond(1_000),
        duration: Duration::from_millis(50),
        ..Plan::new(free, 64)
    })
    .expect("sent");
    // Not every system says so.
    if cfg!(target_os = "linux") {
        assert!(sent.refused_packets > 0, "{sent:?}");
        assert!(
            sent.notes
                .iter()
                .any(|note| note.contains("nobody listens")),
            "{sent:?}"
        );
    }
}

#[test]
fn plans_that_make_no_sense_are_refused_in_words() {
    let plan = |payload, rate| Plan {
        rate,
        ..Plan::new(ANY_PORT, payload)
    };
    for payload in [0, 23, 65_508] {
        let error = Sender::run(&plan(payload, Rate::Max)).expect_err("no datagram");
        assert!(matches!(error, LoadError::Payload { .. }), "{error}");
    }
    let error = Sender::run(&plan(64, Rate::PerSecond(0))).expect_err("no rate");
    assert!(matches!(error, LoadError::NoRate), "{error}");
}

#[test]
fn every_round_trip_is_one_of_what_was_sent() {
    for wait in [Wait::Block, Wait::Spin] {
        let over = AtomicBool::new(false);
        let (tell, told) = std::sync::mpsc::channel();
        thread::scope(|scope| {
            let over = &over;
            let reflector = scope.spawn(move || {
                let bound = |at| tell.send(at).expect("somebody waits");
                let stop = || over.load(Ordering::Relaxed);
                round_trip::reflect(ANY_PORT, wait, None, bound, &stop).expect("reflected")
            });
            let target = told.recv().expect("listening");
            let trips = round_trip::ping(&round_trip::Plan {
                target,
                payload_octets: 64,
                count: 50,
                at_most: DEADLINE,
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
fn who_sends_nothing_back_is_named_after_ten() {
    let silent = UdpSocket::bind(ANY_PORT).expect("a socket");
    let target = silent.local_addr().expect("bound");
    let trips = round_trip::ping(&round_trip::Plan {
        target,
        payload_octets: 64,
        count: 1_000_000,
        at_most: DEADLINE,
        wait: Wait::Block,
        core: None,
    })
    .expect("an outcome");
    assert_eq!((trips.sent, trips.lost), (10, 10));
    assert!(trips.notes[0].contains(&target.to_string()), "{trips:?}");
}

#[test]
fn the_noise_floor_has_figures_and_says_them() {
    let noise = noise_floor(Duration::from_millis(20), [None, None]).expect("noise");
    assert!(noise.looks.count > 0 && noise.looks.max_ns > 0, "{noise:?}");
    assert!(noise.loopback.is_some_and(|it| it.times.is_some()));
    // A core that is not there can't be kept to, and everything else still works.
    let noise = noise_floor(Duration::from_millis(5), [Some(9_999), None]).expect("noise");
    assert!(
        noise.notes.iter().any(|note| note.contains("core 9999")),
        "{noise:?}"
    );
}
