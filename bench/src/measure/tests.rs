//! The measurements of a station, on scripted machines.

use linerate_capture::wire::{Echo, Frame, Packet, Segment, Side};
use linerate_ether::ledger::DropCause;
use linerate_results::record::{Duplex, FrameCounts, Measurement, WireCounts};
use linerate_sim::peer::conformance;

use super::scripted::{Script, line};
use super::*;
use crate::machine::{Event, MachineConfig};

const MS: u64 = 1_000_000;

fn config() -> MachineConfig {
    let board = crate::board::find("esp32c6-bitbang").expect("known");
    let (name, elf) = ("test".into(), Vec::new());
    MachineConfig::new(board, crate::firmware::Image { name, elf }, 1)
}

fn frame(at_ns: u64, tag: u32, lost: Option<DropCause>) -> Event {
    Event::Frame(Frame {
        start_ns: at_ns,
        end_ns: at_ns + 57_600,
        from: Side::Peer,
        octets: 64,
        packet: Packet::Other,
        lost,
        tag,
    })
}

fn measure(plan: &dyn Plan, events: Vec<Event>) -> Measurement {
    measure_counted(plan, events, FrameCounts::default())
}

/// The same on a machine with these counts of frames.
fn measure_counted(plan: &dyn Plan, events: Vec<Event>, counts: FrameCounts) -> Measurement {
    let mut config = config();
    plan.arrange(&mut config);
    let mut observer = plan.observer(&config);
    let mut results = Vec::new();
    let script = Script::new(events).with_duplex(Duplex::Full);
    drive(
        Box::new(script.with_counts(counts)),
        observer.as_mut(),
        plan.limit_s(),
        &mut |result| results.push(result),
        &mut |_, _| true,
    )
    .expect("measured");
    let result = results.pop().expect("a result");
    // The parameters of every result have the duplex of the link.
    assert_eq!(result.setting().duplex, Duplex::Full, "{}", result.kind());
    result
}

fn case(name: &str, frames: u64) -> phy::Plan {
    phy::Plan {
        kind: phy::TestKind::Case {
            case: conformance::case(name).expect("there"),
            known_failure: None,
        },
        frames,
        warm_up_ms: 10,
    }
}

#[test]
fn measurements_have_the_same_name_in_scenarios_and_results() {
    // Results have further names: those of procedures, which scenarios do not ask for.
    for name in NAMES {
        assert!(Measurement::NAMES.contains(name), "{name}");
    }
}

#[test]
fn a_case_without_a_counted_frame_has_not_passed() {
    // All are settling frames.
    let mut events: Vec<Event> = (10..70).map(|ms| frame(ms * MS, 0, None)).collect();
    events.push(line(900 * MS, r#"@ {"event":"done"}"#));
    let Measurement::PhyConformance(result) = measure(&case("swapped-polarity", 60), events) else {
        panic!("a conformance case")
    };
    assert!(!result.metrics.passed);
}

#[test]
fn a_case_counts_what_must_be_received_apart_from_what_must_be_refused() {
    // Runts and good frames in turn.
    let (runt, good) = (0, 1);
    let mut events = vec![
        frame(10 * MS, runt, Some(DropCause::Runt)),
        frame(11 * MS, good, None),
        frame(12 * MS, runt, Some(DropCause::BadFcs)),
        frame(13 * MS, good, Some(DropCause::Unheard)),
        frame(14 * MS, runt, None),
        frame(15 * MS, good, None),
    ];
    events.push(line(
        300 * MS,
        r#"@ {"event":"checked","frames":3,"octets":192,"wrong":1}"#,
    ));
    events.push(line(301 * MS, r#"@ {"event":"done"}"#));
    let Measurement::PhyConformance(result) = measure(&case("runts", 6), events) else {
        panic!("another kind")
    };
    let metrics = result.metrics;
    assert_eq!((metrics.frames_sent, metrics.frames_received), (3, 2));
    // One that should have been rejected, one with wrong content.
    assert_eq!(metrics.frames_wrong, 2);
    assert_eq!((metrics.frames_to_refuse, metrics.frames_refused), (3, 1));
    assert_eq!(metrics.frames_refused_otherwise["bad_fcs"], 1);
    assert!(!metrics.passed);
    assert_eq!(result.ledger.missing_frames(), 0);
}

#[test]
fn frames_that_settle_the_device_may_be_lost() {
    let settling = conformance::case("swapped-polarity")
        .expect("there")
        .settling_frames;
    let mut events: Vec<Event> = (0..settling + 2)
        .map(|number| {
            let lost = (number < settling).then_some(DropCause::Unheard);
            frame((10 + number) * MS, 0, lost)
        })
        .collect();
    events.push(line(900 * MS, r#"@ {"event":"done"}"#));
    let plan = case("swapped-polarity", settling + 2);
    let Measurement::PhyConformance(result) = measure(&plan, events) else {
        panic!("another kind")
    };
    assert!(result.metrics.passed);
    assert_eq!(result.metrics.frames_sent, 2);
    assert_eq!(result.ledger.sent_frames, settling + 2);
}

fn tcp(at_ns: u64, from: Side, port: u16, seq: u32, len: u32, flags: u8) -> Event {
    let (source, destination) = match from {
        Side::Peer => (port, 80),
        Side::Device => (80, port),
    };
    Event::Frame(Frame {
        start_ns: at_ns,
        end_ns: at_ns + 100_000,
        from,
        octets: 100,
        packet: Packet::Tcp(Segment {
            source,
            destination,
            seq,
            ack: 0,
            len,
            flags,
            window: 9,
            ..Segment::default()
        }),
        lost: None,
        tag: 0,
    })
}

/// A storm of a hundred frames, of which 35 are accepted, and the recovery after it.
fn storm() -> (storm::Plan, Vec<Event>) {
    let plan = storm::Plan {
        storm_ms: 100,
        octets: 64,
        destination: linerate_sim::wire::config::Destination::Broadcast,
        from_ms: 1_000,
        timeout_ms: 5_000,
    };
    let end_ns = 1_099 * MS + 57_600;
    let mut events = vec![
        tcp(600 * MS, Side::Peer, 4001, 0, 0, Segment::SYN),
        tcp(700 * MS, Side::Device, 4001, 1, 100, Segment::ACK),
    ];
    // Of a hundred frames, every other is accepted, but for 30 ms none.
    events.extend((0..100).map(|number| {
        let accepted = number % 2 == 0 && !(40..70).contains(&number);
        let lost = (!accepted).then_some(DropCause::QueueFull);
        frame((1_000 + number) * MS, 0, lost)
    }));
    events.push(tcp(end_ns + MS, Side::Peer, 4002, 0, 0, Segment::SYN));
    events.push(Event::Frame(Frame {
        start_ns: end_ns + 3 * MS,
        end_ns: end_ns + 4 * MS,
        from: Side::Device,
        octets: 100,
        packet: Packet::Echo(Echo {
            request: false,
            identifier: 1,
            sequence: 0,
            len: 56,
        }),
        lost: None,
        tag: 0,
    }));
    let fin = Segment::FIN | Segment::ACK;
    events.push(tcp(end_ns + 20 * MS, Side::Device, 4002, 1, 50, fin));
    // A retransmission from before the storm, and then the rest.
    events.push(tcp(
        end_ns + 300 * MS,
        Side::Device,
        4001,
        1,
        100,
        Segment::ACK,
    ));
    events.push(tcp(end_ns + 400 * MS, Side::Device, 4001, 101, 100, fin));
    (plan, events)
}

#[test]
fn a_storm_measures_when_each_service_recovers() {
    let (plan, events) = storm();
    let Measurement::Storm(result) = measure(&plan, events) else {
        panic!("another kind")
    };
    let metrics = result.metrics;
    assert_eq!(metrics.storm_frames, 100);
    assert_eq!(metrics.ping_after_ms, Some(4.0));
    assert_eq!(metrics.new_connection_after_ms, Some(20.1));
    assert_eq!(metrics.old_connection_after_ms, Some(300.1));
    assert!(metrics.old_connection_completed);
    assert!(
        (metrics.longest_standstill_ms - 31.9).abs() < 0.1,
        "{metrics:?}"
    );
    assert_eq!(metrics.uncounted_frames, 0);
}

#[test]
fn counters_are_exact_if_every_party_counts_the_same_frames() {
    let exact = |transmissions, delivered: u64, full| {
        let device = [
            ("RxFrames", 37),
            ("RxValid", 37),
            ("RxDelivered", delivered),
            ("RxQueueFull", full),
            ("TxFrames", 5),
        ];
        let counts = FrameCounts {
            wire: WireCounts {
                transmissions,
                device_transmissions: 5,
                ..WireCounts::default()
            },
            device: Some(device.map(|(name, count)| (name.to_owned(), count)).into()),
            ..FrameCounts::default()
        };
        let (plan, events) = storm();
        match measure_counted(&plan, events, counts) {
            Measurement::Storm(result) => result.metrics.counters_exact,
            _ => panic!("another kind"),
        }
    };
    assert!(exact(102, 37, 65));
    // A frame that the ledger does not have; one that the device did not deliver, or lost without a frame.
    assert!(!exact(103, 37, 65));
    assert!(!exact(102, 36, 65));
    assert!(!exact(102, 37, 66));
}

#[test]
fn a_negotiation_passes_when_link_duplex_and_pings_are_as_expected() {
    let plan = |expect_link| negotiation::Plan {
        expect_link,
        expect_duplex: None,
        expect_remote_faults: 0,
        for_ms: 1_000,
    };
    let events = |state: &str| {
        let link = format!(
            r#"@ {{"event":"link","state":"{state}","duplex":"half","by":"auto-negotiation","partner":"x"}}"#
        );
        vec![
            line(500 * MS, &link),
            line(1_100 * MS, r#"@ {"event":"done"}"#),
        ]
    };
    let passed = |expected, state: &str| match measure(&plan(expected), events(state)) {
        Measurement::Negotiation(result) => result.metrics.passed,
        _ => panic!("another kind"),
    };
    assert!(passed(negotiation::LinkState::Down, "down"));
    assert!(!passed(negotiation::LinkState::Down, "up"));
    // A program without a link gives up.
    let gave_up = vec![
        line(500 * MS, r#"@ {"event":"link","state":"down"}"#),
        line(900 * MS, r#"@ {"event":"error","what":"no link"}"#),
    ];
    // Without any link pulse, no change is reported.
    let no_report = vec![gave_up[1].clone()];
    for events in [gave_up, no_report] {
        let Measurement::Negotiation(result) = measure(&plan(negotiation::LinkState::Down), events)
        else {
            panic!("another kind")
        };
        assert!(result.metrics.passed, "{:?}", result.metrics);
        assert_eq!(result.metrics.link, "down");
    }
    // Nobody answered.
    assert!(!passed(negotiation::LinkState::Up, "up"));
}
