//! Our targets against our own servers, over loopback.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use linerate_results::record::{CountedAt, Direction};

use super::super::*;
use linerate_host::serve::{Limits, Protocol, ServeConfig, ServeEvent, serve};
use linerate_host::testing::free_port;

/// Serves `protocol` while `client` runs with the target that `scheme` opens there.
fn with(protocol: Protocol, scheme: &str, client: impl FnOnce(&mut dyn Target)) {
    let port = free_port();
    let order = ServeConfig {
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        protocols: vec![(protocol, port)],
        clients: 8,
        limits: Limits::own_network(),
    };
    let stop = AtomicBool::new(false);
    let (listens, listening) = channel();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            serve(&order, &|| stop.load(Ordering::Relaxed), |event| {
                if matches!(event, ServeEvent::Listening(..)) {
                    let _ = listens.send(());
                }
            });
        });
        listening.recv().expect("it listens");
        let url = format!("{scheme}://127.0.0.1:{port}");
        let mut target = open(&url, &Options::default()).expect("a target");
        let done =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| client(target.as_mut())));
        stop.store(true, Ordering::Relaxed);
        if let Err(panic) = done {
            std::panic::resume_unwind(panic);
        }
    });
}

fn octets(direction: Direction, octets: u64) -> Trial {
    Trial::Stream(Stream {
        direction,
        amount: Amount::Octets(octets),
        streams: 1,
        write_octets: 0,
        window_octets: Some(100_000),
    })
}

#[test]
fn the_requested_amount_is_transferred() {
    for (protocol, scheme) in [
        (Protocol::Http, "http"),
        (Protocol::Iperf2, "iperf2"),
        (Protocol::Iperf3, "iperf3"),
    ] {
        with(protocol, scheme, |target| {
            for way in [Direction::ToDevice, Direction::FromDevice] {
                let outcome = target.run(&octets(way, 3_000_000), &mut NoMonitor);
                let outcome = outcome.expect("it runs");
                let flow = match way {
                    Direction::ToDevice => outcome.to_device,
                    _ => outcome.from_device,
                };
                let flow = flow.expect("a flow");
                // A server of iperf 3 sends until it receives the end of the test.
                if scheme == "iperf3" && way == Direction::FromDevice {
                    assert!(flow.octets >= 3_000_000);
                } else {
                    assert_eq!(flow.octets, 3_000_000, "{scheme} {way:?}");
                }
                assert!(flow.span_ns > 0);
            }
        });
    }
}

#[test]
fn the_far_end_s_count_is_taken_where_there_is_one() {
    with(Protocol::Iperf3, "iperf3", |target| {
        let outcome = target.run(&octets(Direction::ToDevice, 1_000_000), &mut NoMonitor);
        let flow = outcome.expect("it runs").to_device.expect("a flow");
        assert_eq!(flow.counted_by, CountedAt::Device);
    });
}

#[test]
fn every_request_has_its_answer() {
    with(Protocol::Stamp, "stamp", |target| {
        let trial = Trial::RoundTrips(RoundTrips {
            count: 200,
            interval: Duration::from_micros(500),
            payload_octets: 100,
            load: None,
        });
        let outcome = target.run(&trial, &mut NoMonitor).expect("it runs");
        let answers = outcome.round_trips.expect("answers");
        assert_eq!((answers.sent, answers.samples.len()), (200, 200));
        assert!(answers.samples.iter().all(|it| it.round_trip_ns > 0));
        let frames = Trial::Frames(Frames {
            octets: 64,
            count: 1,
            interval_ns: 0.0,
            reflected: true,
        });
        let error = target.run(&frames, &mut NoMonitor).expect_err("no frames");
        assert!(error.is_input() && error.to_string().contains("can't do reflected Ethernet"));
    });
}

#[test]
fn a_missing_server_is_an_error_and_not_zero() {
    let port = free_port();
    for scheme in ["iperf2", "iperf3", "http"] {
        let url = format!("{scheme}://127.0.0.1:{port}");
        let mut target = open(&url, &Options::default()).expect("a target");
        let outcome = target.run(&octets(Direction::ToDevice, 1_000), &mut NoMonitor);
        let error = outcome.expect_err("nobody").to_string();
        assert!(error.contains("nobody listens there"), "{error}");
    }
}

/// The progress of a test with several transfers is continuous.
#[test]
fn time_and_octets_continue_from_one_transfer_to_the_next() {
    #[derive(Default)]
    struct Updates(Vec<(Duration, u64)>);
    impl TrialMonitor for Updates {
        fn update(&mut self, since_begin: Duration, octets: u64) {
            self.0.push((since_begin, octets));
        }
    }
    with(Protocol::Http, "http", |target| {
        let trial = Trial::Stream(Stream::of(
            Direction::FromDevice,
            Amount::Span(Duration::from_millis(400)),
        ));
        let mut updates = Updates::default();
        let outcome = target.run(&trial, &mut updates).expect("it runs");
        assert!(outcome.from_device.expect("a flow").octets > 16_000);
        assert!(updates.0.len() > 1);
        assert!(updates.0.is_sorted(), "{:?}", updates.0);
        assert!(updates.0.is_sorted_by_key(|it| it.1), "{:?}", updates.0);
    });
}

/// The series of the sockets is in the outcome; `TCP_INFO` is Linux's.
#[cfg(target_os = "linux")]
#[test]
fn the_sockets_of_a_transfer_are_observed() {
    for (protocol, scheme) in [
        (Protocol::Http, "http"),
        (Protocol::Iperf2, "iperf2"),
        (Protocol::Iperf3, "iperf3"),
    ] {
        with(protocol, scheme, |target| {
            for way in [Direction::ToDevice, Direction::FromDevice] {
                let outcome = target.run(&octets(way, 3_000_000), &mut NoMonitor);
                let connections = outcome.expect("it runs").observation.connections;
                let first = connections.first().expect("a connection");
                assert_eq!(first.direction, way, "{scheme}");
                assert!(first.connect_ns.is_some() && first.send_mss_bytes > 0);
                let last = first.samples.last().expect("a sample");
                let carried = match way {
                    Direction::ToDevice => last.acked_bytes,
                    _ => last.received_bytes,
                };
                // What is sent last may not be acknowledged yet.
                assert!(carried >= 2_000_000, "{scheme} {way:?}: {carried}");
                assert!(last.min_rtt_ns > 0 && last.rtt_ns > 0);
            }
        });
    }
}

#[test]
fn a_port_that_nobody_listens_on_is_refused() {
    for scheme in ["http", "iperf2", "iperf3"] {
        let url = format!("{scheme}://127.0.0.1:{}", free_port());
        let mut target = open(&url, &Options::default()).expect("a target");
        let trial = octets(Direction::ToDevice, 1_000);
        let error = target.run(&trial, &mut NoMonitor).expect_err("refused");
        let finding = error.finding().expect("a finding");
        assert_eq!(
            finding.cause,
            linerate_results::record::Cause::Refused,
            "{error}"
        );
        assert!(error.to_string().contains("refused: "), "{error}");
    }
}
