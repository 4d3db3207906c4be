//! Trials on a peer at the other end of a pseudo-terminal.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use linerate_host::serial::{Address, LinkEnd, peer, port};
use linerate_results::record::Direction;

use crate::endpoint::{
    Amount, Datagrams, NoMonitor, Options, Outcome, RoundTrips, Stream, Target, TargetError, Trial,
    open,
};

/// Runs `trials` on a peer, and returns their outcomes.
fn run(trials: &[Trial]) -> Vec<Outcome> {
    let (port, path) = port::open(&Address::Pty { path: None }).expect("a pseudo-terminal");
    let path = path.expect("its other end");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let served = scope.spawn(|| {
            let mut end = LinkEnd::new(port, LinkEnd::new_session());
            let is_over = || stop.load(Ordering::Relaxed);
            peer::serve(&mut end, "test peer", &is_over, &mut |_| {})
        });
        let mut target = target(&path);
        let run = |trial| target.run(trial, &mut NoMonitor).expect("an outcome");
        let outcomes = trials.iter().map(run).collect();
        stop.store(true, Ordering::Relaxed);
        served.join().expect("no panic").expect("served");
        outcomes
    })
}

fn target(path: &Path) -> Box<dyn Target> {
    let options = Options {
        timeout: Duration::from_secs(5),
        ..Options::default()
    };
    open(&format!("pty://{}", path.display()), &options).expect("a target")
}

fn stream(direction: Direction) -> Trial {
    Trial::Stream(Stream::of(direction, Amount::Octets(100_000)))
}

#[test]
fn streams_arrive_whole_in_each_direction_and_in_both() {
    let directions = [Direction::ToDevice, Direction::FromDevice, Direction::Both];
    let outcomes = run(&directions.map(stream));
    let octets = |outcome: &Outcome| {
        let flows = [&outcome.to_device, &outcome.from_device];
        flows.map(|flow| flow.as_ref().map(|flow| flow.octets))
    };
    // Whole messages of 256 octets.
    let all = Some(391 * 256);
    assert_eq!(octets(&outcomes[0]), [all, None]);
    assert_eq!(octets(&outcomes[1]), [None, all]);
    assert_eq!(octets(&outcomes[2]), [all, all]);
    assert!(
        outcomes[0]
            .notes
            .contains(&"the device calls itself test peer".to_owned())
    );
    assert!(outcomes[1].notes.is_empty(), "{:?}", outcomes[1].notes);
    let flow = outcomes[1].from_device.as_ref().expect("a flow");
    assert_eq!(flow.gaps.as_ref().map(|it| it.count), Some(390));
}

#[test]
fn datagrams_and_echoes_are_counted() {
    let datagrams = |direction| {
        Trial::Datagrams(Datagrams {
            direction,
            amount: Amount::Octets(20_000),
            payload_octets: 100,
            payload_bits_per_s: 4_000_000,
        })
    };
    let trips = |load: Option<Trial>| {
        Trial::RoundTrips(RoundTrips {
            count: 20,
            interval: Duration::from_millis(2),
            payload_octets: 44,
            load: load.map(Box::new),
        })
    };
    let outcomes = run(&[
        datagrams(Direction::ToDevice),
        datagrams(Direction::FromDevice),
        trips(None),
        trips(Some(stream(Direction::FromDevice))),
    ]);
    let counts = |flow: &Option<linerate_results::record::Flow>| {
        let counts = flow
            .as_ref()
            .and_then(|it| it.datagrams)
            .expect("datagrams");
        (counts.sent, counts.received, counts.lost)
    };
    assert_eq!(counts(&outcomes[0].to_device), (200, 200, 0));
    assert_eq!(counts(&outcomes[1].from_device), (200, 200, 0));
    for outcome in &outcomes[2..] {
        let report = outcome.round_trips.as_ref().expect("round trips");
        assert_eq!(
            (report.sent, report.samples.len(), report.lost_unknown),
            (20, 20, 0)
        );
    }
    assert!(outcomes[3].from_device.is_some());
}

#[test]
fn what_a_link_cannot_do_is_said_before_anything_is_sent() {
    let target = target(Path::new("/dev/pts/ptmx"));
    let parallel = Trial::Stream(Stream {
        streams: 4,
        ..Stream::of(Direction::ToDevice, Amount::Octets(1))
    });
    assert_eq!(
        target.supports(&parallel),
        Err("a link has one stream: omit -P")
    );
    let open = |url: &str| match open(url, &Options::default()) {
        Err(TargetError::Url { what, .. }) => what,
        Err(other) => other.to_string(),
        Ok(_) => panic!("{url} is a target"),
    };
    assert!(open("pty://").contains("linerate serve pty://"));
    assert!(open("serial://ttyUSB0").contains("serial:///dev/ttyUSB0"));
    assert!(open("serial:///dev/ttyUSB0?boud=9600").contains("no option `boud`"));
}

#[test]
fn a_silent_port_and_a_missing_one_are_explained() {
    let (_port, path) = port::open(&Address::Pty { path: None }).expect("a pseudo-terminal");
    let options = Options {
        timeout: Duration::from_millis(300),
        ..Options::default()
    };
    let missing = [
        "pty:///dev/pts/linerate".to_owned(),
        format!("pty://{}", path.expect("a path").display()),
    ];
    let [missing, silent] = missing.map(|url| {
        let mut target = open(&url, &options).expect("a target");
        let outcome = target.run(&stream(Direction::ToDevice), &mut NoMonitor);
        outcome.expect_err("no device").to_string()
    });
    assert!(
        missing.contains("/dev/pts/linerate does not exist"),
        "{missing}"
    );
    assert!(
        silent.contains("nothing comes from the other end"),
        "{silent}"
    );
}
