//! Frames over a temporary veth pair, with a reflector at its far end: as root.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use linerate_agent::frame::{ETHERTYPE, MAX_LEN, Mac, ReflectFilter, TestHeader, reflect};
use linerate_ring::{ReceiveRing, TransmitRing};

use super::unsupported::opened;
use crate::endpoint::{
    Frames, NoMonitor, RoundTripReport, RoundTrips, Target, TargetError, Trial, TrialMonitor,
};
use linerate_host::load::counters::mac_of;
use linerate_host::testing::VethPair;

/// Number of times that a frame is sent back, by its number.
type Fate = fn(u64) -> usize;

fn written(mac: Mac) -> String {
    mac.map(|it| format!("{it:02x}")).join(":")
}

/// State shared with the reflector.
#[derive(Default)]
struct Reflector {
    over: AtomicBool,
    /// Frames sent back at least once. The reflector's ring overflows on a host that stands still for longer than the
    /// ring lasts, and then fewer come back than were sent: the answers are compared with this count.
    answered: AtomicU64,
}

impl Reflector {
    /// The number of frames sent back since the last call.
    fn take_answered(&self) -> u64 {
        self.answered.swap(0, Ordering::Relaxed)
    }
}

/// Sends back frames received on `interface`, until it is stopped.
fn serve(interface: &str, fate: Fate, mut ring: ReceiveRing, shared: &Reflector) {
    let own = mac_of(interface).expect("an address");
    let mut out = TransmitRing::open(interface, MAX_LEN, 256).expect("a ring");
    while !shared.over.load(Ordering::Relaxed) {
        let mut back: Vec<Vec<u8>> = Vec::new();
        let _ = ring.take(|frame| {
            let mut answer = frame.octets.to_vec();
            if reflect(&mut answer, own, ReflectFilter::Marked) {
                let head = TestHeader::parse(&answer).expect("a head");
                let times = fate(head.number);
                shared
                    .answered
                    .fetch_add((times > 0).into(), Ordering::Relaxed);
                back.extend(vec![answer; times]);
            }
        });
        for answer in &back {
            loop {
                if let Some(room) = out.next_slot() {
                    room[..answer.len()].copy_from_slice(answer);
                    break;
                }
                out.flush().expect("sent");
            }
            out.commit(answer.len());
        }
        while !out.flush().expect("sent") {}
        if back.is_empty() {
            ring.wait(Duration::from_millis(5)).expect("waited");
        }
    }
}

/// Stops the reflector, even after a panic.
struct End<'a>(&'a Reflector);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, Ordering::Relaxed);
    }
}

/// Runs `work` with the target at the far end of a pair, whose frames come back according to
/// `fate`.
fn with_reflector(tag: &str, fate: Fate, work: impl FnOnce(&mut dyn Target, &Reflector)) {
    let Some(pair) = VethPair::new(tag) else {
        return;
    };
    let [near, far] = &pair.names;
    let to = written(mac_of(far).expect("an address"));
    let mut target = opened(&format!("raw://{near}/{to}"));
    let shared = Reflector::default();
    thread::scope(|scope| {
        let ring = ReceiveRing::open(far, Some(ETHERTYPE), 64).expect("a ring");
        let _end = End(&shared);
        scope.spawn(|| serve(far, fate, ring, &shared));
        work(target.as_mut(), &shared);
    });
}

fn run(target: &mut dyn Target, frames: Frames) -> RoundTripReport {
    let trial = Trial::Frames(frames);
    let outcome = target.run(&trial, &mut NoMonitor).expect("it runs");
    assert!(outcome.notes.is_empty(), "{:?}", outcome.notes);
    outcome.round_trips.expect("answers")
}

const FRAMES: Frames = Frames {
    octets: 64,
    count: 1_000,
    interval_ns: 20_000.0,
    reflected: true,
};

#[test]
fn every_frame_is_answered_once() {
    with_reflector(
        "t",
        |_| 1,
        |target, reflector| {
            for frames in [
                FRAMES,
                Frames {
                    octets: 1518,
                    ..FRAMES
                },
                // Back to back, no more than any system's queue holds.
                Frames {
                    count: 200,
                    interval_ns: 0.0,
                    ..FRAMES
                },
            ] {
                let answers = run(target, frames);
                let answered = reflector.take_answered();
                let known = RoundTripReport {
                    sent: frames.count,
                    lost_unknown: frames.count - answered,
                    samples: answers.samples.clone(),
                    ..RoundTripReport::default()
                };
                assert_eq!(answers, known);
                assert_eq!(answers.samples.len() as u64, answered);
                // Each one is sent when it is due or later, and comes back after it was sent.
                let samples = answers.samples.iter().enumerate();
                for (place, it) in samples {
                    let due_ns = place as f64 * frames.interval_ns;
                    assert!(
                        it.sent_ns as f64 >= due_ns && it.round_trip_ns > 0,
                        "{it:?}"
                    );
                }
            }
        },
    );
}

#[test]
fn missing_answers_are_lost_and_repeated_ones_are_duplicates() {
    with_reflector(
        "l",
        |number| usize::from(number % 10 != 9),
        |target, reflector| {
            let answers = run(target, FRAMES);
            let answered = reflector.take_answered();
            assert!((1..=900).contains(&answered), "{answered}");
            assert_eq!(
                (answers.sent, answers.lost_unknown),
                (1_000, 1_000 - answered)
            );
            assert_eq!(
                (answers.samples.len() as u64, answers.duplicates),
                (answered, 0)
            );
        },
    );
    with_reflector(
        "w",
        |_| 2,
        |target, reflector| {
            let answers = run(target, FRAMES);
            let answered = reflector.take_answered();
            assert_eq!(answers.samples.len() as u64, answered);
            assert_eq!(answers.duplicates, answered);
            assert_eq!(
                (answers.lost_unknown, answers.out_of_order),
                (1_000 - answered, 0)
            );
        },
    );
}

const ROUND_TRIPS: RoundTrips = RoundTrips {
    count: 20,
    interval: Duration::from_micros(500),
    payload_octets: 44,
    load: None,
};

#[test]
fn round_trips_of_any_payload_fit_a_frame() {
    with_reflector(
        "p",
        |_| 1,
        |target, _| {
            for payload_octets in [0, 44, 1_500, u16::MAX] {
                let asked = Trial::RoundTrips(RoundTrips {
                    payload_octets,
                    ..ROUND_TRIPS
                });
                let outcome = target.run(&asked, &mut NoMonitor).expect("it runs");
                let answers = outcome.round_trips.expect("answers");
                assert_eq!((answers.sent, answers.samples.len()), (20, 20));
            }
        },
    );
}

#[test]
fn a_station_that_never_answers_fails() {
    with_reflector(
        "n",
        |_| 0,
        |target, _| {
            let frames = Frames { count: 5, ..FRAMES };
            for (trial, part) in [
                (Trial::Frames(frames), "none of 8 frames"),
                (Trial::RoundTrips(ROUND_TRIPS), "none of 20 frames"),
            ] {
                let error = target.run(&trial, &mut NoMonitor).expect_err(part);
                assert!(matches!(error, TargetError::Failed { .. }), "{error:?}");
                assert!(error.to_string().contains(part), "{error}");
            }
        },
    );
}

#[test]
fn a_user_can_cancel_it() {
    struct Enough(u64);
    impl TrialMonitor for Enough {
        fn update(&mut self, _: Duration, octets: u64) {
            self.0 = octets;
        }
        fn is_cancelled(&self) -> bool {
            self.0 > 0
        }
    }
    with_reflector(
        "e",
        |_| 1,
        |target, _| {
            let frames = Trial::Frames(Frames {
                interval_ns: 1e9,
                ..FRAMES
            });
            let outcome = target.run(&frames, &mut Enough(0)).expect("it ran");
            let answers = outcome.round_trips.expect("answers");
            assert!((1..10).contains(&answers.sent), "{answers:?}");
        },
    );
}

#[test]
fn an_interface_that_is_missing_and_its_own_address_are_refused() {
    let trial = Trial::RoundTrips(ROUND_TRIPS);
    let mut missing = opened("raw://lr-none0/02:00:00:00:00:01");
    assert_eq!(missing.line_bits_per_s(), None);
    let error = missing.run(&trial, &mut NoMonitor).expect_err("none");
    assert!(error.is_input(), "{error:?}");
    assert!(
        error.to_string().contains("there is no interface lr-none0"),
        "{error}"
    );
    let Some(pair) = VethPair::new("o") else {
        return;
    };
    let name = &pair.names[0];
    let own = written(mac_of(name).expect("an address"));
    let mut target = opened(&format!("raw://{name}/{own}"));
    let error = target.run(&trial, &mut NoMonitor).expect_err("itself");
    assert!(error.to_string().contains("itself"), "{error}");
    // veth reports 10 Gbit/s.
    assert_eq!(target.line_bits_per_s(), Some(10_000_000_000));
}
