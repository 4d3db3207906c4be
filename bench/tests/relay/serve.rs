//! Stock clients on the left, our servers on the right.

use super::count::{
    Counts, Expected, as_iperf2_counts, iperf2_numbers, iperf3_may_count, iperf3_numbers,
};
use super::record::{Datagram, Record};
use super::stock::output;
use super::tool_output::{
    has_jitter, is_same_jitter, lost_and_all, number, printed, printed_jitter, sorted, streams_of,
};
use super::{Attempt, each, has, narrow, overflows, rig, undisturbed, unless_lost};
use linerate_agent::Limits;
use linerate_host::relay::Direction;
use linerate_host::relay::rig::RIGHT;
use linerate_host::serve::{
    Protocol, ServeConfig, ServeEvent, ServedTransfer, TransferDirection, serve,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Stops the server, even if the client fails.
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A stock client's output, the tests served to it, and the record.
pub struct Outcome {
    pub text: String,
    served: Vec<ServedTransfer>,
    pub record: Record,
}

impl Outcome {
    /// The tests served in one direction, in the order of the clients' ports.
    pub fn served(&self, direction: TransferDirection) -> Vec<ServedTransfer> {
        let those = self.served.iter().filter(|it| it.direction == direction);
        let mut those: Vec<ServedTransfer> = those.cloned().collect();
        those.sort_by_key(|it| it.peer.port());
        those
    }
}

/// Runs `line` on the left against our server on the right; `tests`: the number of tests that it should
/// report.
fn run(settings: &str, protocol: Protocol, tests: usize, line: &str) -> Option<Outcome> {
    run_at(None, settings, protocol, tests, line)
}

/// The same with interfaces of this MTU.
pub fn run_at(
    mtu: Option<u16>,
    settings: &str,
    protocol: Protocol,
    tests: usize,
    line: &str,
) -> Option<Outcome> {
    undisturbed(|| attempt(mtu, settings, protocol, tests, line))
}

fn attempt(
    mtu: Option<u16>,
    settings: &str,
    protocol: Protocol,
    tests: usize,
    line: &str,
) -> Option<Attempt<Outcome>> {
    let tool = line.split_whitespace().next().expect("a tool");
    let rig = rig(settings).filter(|_| has(tool))?;
    narrow(&rig, mtu);
    let order = ServeConfig {
        address: RIGHT.into(),
        protocols: vec![(protocol, protocol.ports().0)],
        clients: 16,
        limits: Limits::own_network(),
    };
    let is_over = &AtomicBool::new(false);
    let until = Instant::now() + Duration::from_mins(1);
    let (listening, is_listening) = channel();
    let (text, served) = thread::scope(|scope| {
        let server = || {
            let mut served = Vec::new();
            let stop = || is_over.load(Ordering::Relaxed) || Instant::now() >= until;
            serve(&order, &stop, |event| match event {
                ServeEvent::Listening(..) => listening.send(()).expect("the test waits"),
                ServeEvent::Served(one) => {
                    served.push(one);
                    if served.len() == tests {
                        is_over.store(true, Ordering::Relaxed);
                    }
                }
                ServeEvent::Failed(protocol, error) => panic!("{protocol}: {error}"),
            });
            served
        };
        let right = rig.right();
        let server = scope.spawn(move || right.enter(server).expect("entered"));
        let _stop = Stop(is_over);
        is_listening.recv().expect("a server that listens");
        let text = output(rig.left().command("timeout"), line);
        (text, server.join().expect("the server"))
    });
    assert_eq!(served.len(), tests, "{line}: {text}\n{served:?}");
    let overflows = overflows(&rig);
    let (report, record) = rig.finish().unwrap_or_else(|error| panic!("{error}"));
    for way in [&report.forward, &report.backward] {
        assert_eq!(way.discarded_frames, Some(0), "{settings} {line}");
    }
    let outcome = Outcome {
        text,
        served,
        record,
    };
    Some(unless_lost(outcome, overflows))
}

/// The expected counts of each stream with payloads of at least `octets`, in the order of the left
/// end's ports.
pub fn expected(
    record: &Record,
    (way, octets): (Direction, u64),
    numbers: fn(&[Datagram]) -> Vec<u64>,
    count: fn(Vec<u64>) -> Expected,
) -> Vec<Counts> {
    let (came, mut went) = (record.came(way, octets), record.went(way, octets));
    let one = |(ports, came): (_, &Vec<Datagram>)| {
        let went = went.remove(ports).unwrap_or_default();
        let sent = numbers(came).into_iter().max().unwrap_or(0);
        count(numbers(&went)).of_sent(sent).counts()
    };
    came.iter().map(one).collect()
}

fn jitter_ns(served: &[ServedTransfer]) -> Vec<u64> {
    let of = |it: &ServedTransfer| it.datagrams?.received.map(|received| received.jitter_ns);
    served.iter().filter_map(of).collect()
}

fn reported(served: &[ServedTransfer]) -> Vec<Counts> {
    let of = |it: &ServedTransfer| {
        let datagrams = it.datagrams.expect("datagrams");
        let received = datagrams.received.expect("a receiver's counts");
        let out_of_order = received.out_of_order_datagrams;
        (
            received.lost_datagrams,
            datagrams.sent_datagrams,
            out_of_order,
        )
    };
    served.iter().map(of).collect()
}

const FAULTS: [&str; 4] = [
    "spare=10,loss=1%",
    "spare=10,reorder=3%/3",
    "spare=10,duplicate=3%",
    "spare=10,loss=2%,reorder=2%/2,duplicate=2%,delay=1ms,jitter=1ms",
];

/// The first flags with all faults, the others with the last.
fn trials<T: Copy>(flags: &[T]) -> Vec<(&'static str, T)> {
    let first = FAULTS.map(|faults| (faults, flags[0]));
    let others = flags[1..].iter().map(|flags| (FAULTS[3], *flags));
    first.into_iter().chain(others).collect()
}

#[test]
fn iperf_2_receives_counts_that_match_the_relay() {
    let trials = trials(&[("-l 1470", 1), ("-l 64 -b 500k", 1), ("-P 3 -b 1m", 3)]);
    each(&trials, |&(faults, (flags, tests))| {
        let line = format!("iperf -c 10.0.0.2 -u -b 3m -t 1 {flags}");
        let Some(it) = run(faults, Protocol::Iperf2, tests, &line) else {
            return;
        };
        let counts = reported(&it.served(TransferDirection::Received));
        let expected = expected(
            &it.record,
            (Direction::Forward, 1),
            iperf2_numbers,
            Expected::of,
        );
        assert_eq!(counts, expected, "{faults} {flags}");
        assert_eq!(
            printed(&it.text),
            sorted(counts),
            "{faults} {flags}: {}",
            it.text
        );
        let jitter_ns = jitter_ns(&it.served);
        let is_same = is_same_jitter(&printed_jitter(&it.text), &jitter_ns);
        assert!(is_same, "{faults} {flags}: {jitter_ns:?} {}", it.text);
    });
}

#[test]
fn iperf_2_and_we_count_alike_what_we_send_it() {
    let trials = trials(&[("-d", 2), ("-r", 2), ("-R", 1)]);
    each(&trials, |&(faults, (flags, tests))| {
        let line = format!("iperf -c 10.0.0.2 -u -b 3m -t 1 {flags}");
        let Some(it) = run(faults, Protocol::Iperf2, tests, &line) else {
            return;
        };
        // Stock iperf is the receiver, and counts as it does.
        let count = |numbers: Vec<u64>| as_iperf2_counts(numbers);
        let expected = expected(
            &it.record,
            (Direction::Backward, 100),
            iperf2_numbers,
            count,
        );
        let (sent, received) = (
            it.served(TransferDirection::Sent),
            it.served(TransferDirection::Received),
        );
        if flags == "-R" {
            // It does not report what it received.
            assert_eq!(printed(&it.text), expected, "{faults} {flags}: {}", it.text);
            return;
        }
        assert_eq!(reported(&sent), expected, "{faults} {flags}: {}", it.text);
        let both = sorted([reported(&sent), reported(&received)].concat());
        assert_eq!(printed(&it.text), both, "{faults} {flags}: {}", it.text);
        let jitter_ns = jitter_ns(&it.served);
        let is_same = is_same_jitter(&printed_jitter(&it.text), &jitter_ns);
        assert!(is_same, "{faults} {flags}: {jitter_ns:?} {}", it.text);
    });
}

#[test]
fn iperf_3_receives_counts_that_match_the_relay() {
    let trials = trials(&["-l 1400", "-l 64 -b 500K", "-P 3 -b 1M -l 1400"]);
    each(&trials, |&(faults, flags)| {
        let faults = faults.replace("spare=10", "spare=40");
        let line = format!("iperf3 -c 10.0.0.2 -u -b 3M -t 1 -J {flags}");
        let Some(it) = run(&faults, Protocol::Iperf3, 1, &line) else {
            return;
        };
        let counts = expected(
            &it.record,
            (Direction::Forward, 16),
            iperf3_numbers,
            Expected::of,
        );
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
        let expected = (sum(|it| it.0), sum(|it| it.1), sum(|it| it.2));
        assert_eq!(reported(&it.served), [expected], "{faults} {flags}");
        let printed = streams_of(&it.text);
        let mut printed: Vec<(u64, u64)> = printed.iter().map(lost_and_all).collect();
        printed.sort_unstable();
        let counts = sorted(counts).into_iter().map(|(lost, all, _)| (lost, all));
        assert_eq!(
            printed,
            counts.collect::<Vec<_>>(),
            "{faults} {flags}: {}",
            it.text
        );
    });
}

#[test]
fn iperf_3_and_we_count_alike_what_we_send_it() {
    each(&FAULTS, |faults| {
        let faults = faults.replace("spare=10", "spare=40");
        let line = "iperf3 -c 10.0.0.2 -u -b 3M -t 1 -J -l 1400 -R";
        let Some(it) = run(&faults, Protocol::Iperf3, 1, line) else {
            return;
        };
        let [stream] = &streams_of(&it.text)[..] else {
            panic!("one stream: {}", it.text);
        };
        let backward = it.record.went(Direction::Backward, 16);
        let numbers = backward.into_values().map(|stream| iperf3_numbers(&stream));
        let numbers: Vec<u64> = numbers.flatten().collect();
        let read = it.served[0].octets / 1400;
        let [(reported_lost, ..)] = reported(&it.served)[..] else {
            panic!("one: {:?}", it.served);
        };
        // It may have counted the printed figures a little later than those reported to us.
        let out_of_order = stream["out_of_order"].as_u64();
        for (lost, out_of_order) in [
            (lost_and_all(stream).0, out_of_order),
            (reported_lost, None),
        ] {
            let is_so = iperf3_may_count(&numbers, read, lost, out_of_order);
            assert!(is_so, "{faults}: {lost} of {read} of {numbers:?}: {stream}");
        }
    });
}

/// The streams of a test both ways: those that the client sent, and those that it received.
pub fn both_ways(text: &str) -> [Vec<serde_json::Value>; 2] {
    let sent = |stream: &serde_json::Value| stream["sender"] == true;
    let (forward, backward) = streams_of(text).into_iter().partition(sent);
    [forward, backward]
}

/// The client's port of a stream, and the octets that it has read from it.
pub fn port_and_read(text: &str, stream: &serde_json::Value) -> (u16, u64) {
    let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
    let is_its = |it: &&serde_json::Value| it["socket"] == stream["socket"];
    let mut all = json["start"]["connected"].as_array().expect("all").iter();
    let port = number(all.find(is_its).expect("its socket"), "local_port");
    // The final report has those that were sent.
    let intervals = json["intervals"].as_array().expect("intervals").iter();
    let streams = intervals
        .filter_map(|it| it["streams"].as_array())
        .flatten();
    let read = streams.filter(is_its).map(|it| number(it, "bytes"));
    (port as u16, read.sum())
}

#[test]
fn iperf_3_and_we_count_alike_both_ways_at_once() {
    let trials = trials(&[(1400, "-b 3M"), (64, "-b 500K"), (1400, "-P 2 -b 1M")]);
    each(&trials, |(faults, (octets, flags))| {
        let faults = faults.replace("spare=10", "spare=40");
        let line = format!("iperf3 -c 10.0.0.2 -u -t 1 -J --bidir -l {octets} {flags}");
        let Some(it) = run(&faults, Protocol::Iperf3, 2, &line) else {
            return;
        };
        let [forward, backward] = both_ways(&it.text);
        // The client's datagrams, as we counted and reported them.
        let counts = expected(
            &it.record,
            (Direction::Forward, 16),
            iperf3_numbers,
            Expected::of,
        );
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
        let expected = (sum(|it| it.0), sum(|it| it.1), sum(|it| it.2));
        let received = it.served(TransferDirection::Received);
        assert_eq!(reported(&received), [expected], "{faults} {flags}");
        let mut printed: Vec<(u64, u64)> = forward.iter().map(lost_and_all).collect();
        printed.sort_unstable();
        let counts = sorted(counts).into_iter().map(|(lost, all, _)| (lost, all));
        assert_eq!(printed, counts.collect::<Vec<_>>(), "{faults}: {}", it.text);
        // Our datagrams, as counted by the client.
        let went = it.record.went(Direction::Backward, 16);
        assert_eq!(went.len(), backward.len(), "{faults} {flags}");
        let sent = it.served(TransferDirection::Sent);
        for stream in &backward {
            let (port, read) = port_and_read(&it.text, stream);
            let (numbers, read) = (iperf3_numbers(&went[&(5201, port)]), read / octets);
            let (lost, out_of_order) = (lost_and_all(stream).0, number(stream, "out_of_order"));
            let is_so = iperf3_may_count(&numbers, read, lost, Some(out_of_order));
            assert!(is_so, "{faults}: {read} of {numbers:?}: {stream}");
            if let [alone] = &reported(&sent)[..]
                && backward.len() == 1
            {
                let is_so = iperf3_may_count(&numbers, sent[0].octets / octets, alone.0, None);
                assert!(is_so, "{faults}: {alone:?} of {numbers:?}");
            }
        }
        if let ([one], [ours]) = (&forward[..], &jitter_ns(&received)[..]) {
            assert!(has_jitter(one, *ours), "{faults}: {ours} {one}");
        }
    });
}
