//! Stock clients on the left, our servers on the right.

use super::record::{Datagram, Expected, Record, as_iperf2_counts, iperf3_may_count};
use super::stock::output;
use super::{has, rig};
use linerate_agent::Limits;
use linerate_bench::relay::Way;
use linerate_bench::relay::rig::RIGHT;
use linerate_bench::serve::{Direction, Event, Order, Protocol, Served, serve};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

/// Ends the server, also when the client fails.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a stock client printed, what was served to it, and what passed between them.
struct Outcome {
    text: String,
    served: Vec<Served>,
    record: Record,
}

impl Outcome {
    /// What was served one way, in the order of the clients' ports.
    fn served(&self, direction: Direction) -> Vec<Served> {
        let those = self.served.iter().filter(|it| it.direction == direction);
        let mut those: Vec<Served> = those.cloned().collect();
        those.sort_by_key(|it| it.peer.port());
        those
    }
}

/// Runs `line` on the left against our server on the right; `tests`: how many the server is to tell of.
fn run(settings: &str, protocol: Protocol, tests: usize, line: &str) -> Option<Outcome> {
    let tool = line.split_whitespace().next().expect("a tool");
    let rig = rig(settings).filter(|_| has(tool))?;
    let order = Order {
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
                Event::Listening(..) => listening.send(()).expect("the test waits"),
                Event::Served(one) => {
                    served.push(one);
                    if served.len() == tests {
                        is_over.store(true, Ordering::Relaxed);
                    }
                }
                Event::Failed(protocol, error) => panic!("{protocol}: {error}"),
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
    let (report, record) = rig.finish().unwrap_or_else(|error| panic!("{error}"));
    for way in [&report.forward, &report.backward] {
        assert_eq!(way.discarded_frames, Some(0), "{settings} {line}");
    }
    Some(Outcome {
        text,
        served,
        record,
    })
}

/// Numbers of an iperf 2 stream until its end, whose number is negative.
pub fn iperf2_numbers(datagrams: &[Datagram]) -> Vec<u64> {
    let numbers = datagrams.iter().map(|it| it.word(0) as i32);
    let end = numbers.clone().position(|number| number < 0);
    let until_end = numbers.take(end.map_or(usize::MAX, |end| end + 1));
    until_end
        .map(|number| u64::from(number.unsigned_abs()))
        .collect()
}

pub fn iperf3_numbers(datagrams: &[Datagram]) -> Vec<u64> {
    datagrams.iter().map(|it| u64::from(it.word(8))).collect()
}

/// Lost, all, out of order.
type Counts = (u64, u64, u64);

/// What a receiver should count of each stream, in the order of the left end's ports.
fn expected(
    streams: BTreeMap<(u16, u16), Vec<Datagram>>,
    numbers: fn(&[Datagram]) -> Vec<u64>,
    count: fn(Vec<u64>) -> Expected,
) -> Vec<Counts> {
    let one = |datagrams: Vec<Datagram>| {
        let it = count(numbers(&datagrams));
        (it.lost, it.sent, it.out_of_order)
    };
    streams.into_values().map(one).collect()
}

fn told(served: &[Served]) -> Vec<Counts> {
    let of = |it: &Served| {
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

/// What stock iperf 2 prints of datagrams, by itself and in the server's report.
pub fn printed(text: &str) -> Vec<Counts> {
    let mut printed: Vec<(String, Counts)> = Vec::new();
    for line in text.lines() {
        let Some((id, rest)) = line.split_once(']') else {
            continue;
        };
        let words: Vec<&str> = rest.split_whitespace().collect();
        if let Some(ms) = words.iter().rposition(|word| *word == "ms")
            && let Some((lost, all)) = words[ms + 1..].concat().split_once('/')
            && let Some(all) = all.split('(').next()
            && let (Ok(lost), Ok(all)) = (lost.parse(), all.parse())
        {
            printed.push((id.to_owned(), (lost, all, 0)));
        } else if line.ends_with("datagrams received out-of-order")
            && let Some((_, counts)) = printed.iter_mut().rfind(|(it, _)| it == id)
        {
            counts.2 = words[2].parse().expect("a number");
        }
    }
    let mut printed: Vec<Counts> = printed.into_iter().map(|(_, counts)| counts).collect();
    printed.sort_unstable();
    printed
}

fn sorted(mut counts: Vec<Counts>) -> Vec<Counts> {
    counts.sort_unstable();
    counts
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
fn iperf_2_is_told_what_the_relay_did_to_its_datagrams() {
    for (faults, (flags, tests)) in
        trials(&[("-l 1470", 1), ("-l 64 -b 500k", 1), ("-P 3 -b 1m", 3)])
    {
        let line = format!("iperf -c 10.0.0.2 -u -b 3m -t 1 {flags}");
        let Some(it) = run(faults, Protocol::Iperf2, tests, &line) else {
            return;
        };
        let counts = told(&it.served(Direction::Received));
        let streams = it.record.went(Way::Forward, 1);
        let expected = expected(streams, iperf2_numbers, Expected::of);
        assert_eq!(counts, expected, "{faults} {flags}");
        assert_eq!(
            printed(&it.text),
            sorted(counts),
            "{faults} {flags}: {}",
            it.text
        );
    }
}

#[test]
fn iperf_2_and_we_count_alike_what_we_send_it() {
    for (faults, (flags, tests)) in trials(&[("-d", 2), ("-r", 2), ("-R", 1)]) {
        let line = format!("iperf -c 10.0.0.2 -u -b 3m -t 1 {flags}");
        let Some(it) = run(faults, Protocol::Iperf2, tests, &line) else {
            return;
        };
        let backward = it.record.went(Way::Backward, 100);
        // Stock iperf is the receiver, and counts as it does.
        let count = |numbers: Vec<u64>| as_iperf2_counts(numbers);
        let expected = expected(backward, iperf2_numbers, count);
        let (sent, received) = (it.served(Direction::Sent), it.served(Direction::Received));
        if flags == "-R" {
            // It does not say what it received.
            assert_eq!(printed(&it.text), expected, "{faults} {flags}: {}", it.text);
            continue;
        }
        assert_eq!(told(&sent), expected, "{faults} {flags}: {}", it.text);
        let both = sorted([told(&sent), told(&received)].concat());
        assert_eq!(printed(&it.text), both, "{faults} {flags}: {}", it.text);
    }
}

/// What stock iperf 3 says at the end of each stream that it sent or received, as JSON.
fn streams_of(text: &str) -> Vec<serde_json::Value> {
    let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
    assert_eq!(json.get("error"), None, "{text}");
    let streams = json["end"]["streams"].as_array().expect("streams");
    streams.iter().map(|stream| stream["udp"].clone()).collect()
}

/// Lost and all datagrams of a stream.
fn lost_and_all(stream: &serde_json::Value) -> (u64, u64) {
    let number = |name: &str| stream[name].as_u64().expect("a number");
    (number("lost_packets"), number("packets"))
}

#[test]
fn iperf_3_is_told_what_the_relay_did_to_its_datagrams() {
    for (faults, flags) in trials(&["-l 1400", "-l 64 -b 500K", "-P 3 -b 1M -l 1400"]) {
        let faults = faults.replace("spare=10", "spare=40");
        let line = format!("iperf3 -c 10.0.0.2 -u -b 3M -t 1 -J {flags}");
        let Some(it) = run(&faults, Protocol::Iperf3, 1, &line) else {
            return;
        };
        let streams = it.record.went(Way::Forward, 16);
        let counts = expected(streams, iperf3_numbers, Expected::of);
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
        let expected = (sum(|it| it.0), sum(|it| it.1), sum(|it| it.2));
        assert_eq!(told(&it.served), [expected], "{faults} {flags}");
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
    }
}

#[test]
fn iperf_3_and_we_count_alike_what_we_send_it() {
    for faults in FAULTS {
        let faults = faults.replace("spare=10", "spare=40");
        let line = "iperf3 -c 10.0.0.2 -u -b 3M -t 1 -J -l 1400 -R";
        let Some(it) = run(&faults, Protocol::Iperf3, 1, line) else {
            return;
        };
        let [stream] = &streams_of(&it.text)[..] else {
            panic!("one stream: {}", it.text);
        };
        let backward = it.record.went(Way::Backward, 16);
        let numbers = backward.into_values().map(|stream| iperf3_numbers(&stream));
        let numbers: Vec<u64> = numbers.flatten().collect();
        let read = it.served[0].octets / 1400;
        let [(told_lost, ..)] = told(&it.served)[..] else {
            panic!("one: {:?}", it.served);
        };
        // What it prints it may have counted a little later than what it told us.
        let out_of_order = stream["out_of_order"].as_u64();
        for (lost, out_of_order) in [(lost_and_all(stream).0, out_of_order), (told_lost, None)] {
            let is_so = iperf3_may_count(&numbers, read, lost, out_of_order);
            assert!(is_so, "{faults}: {lost} of {read} of {numbers:?}: {stream}");
        }
    }
}

#[test]
fn tcp_arrives_whole_through_all_of_it() {
    let faults = "loss=1%,reorder=1%/3,duplicate=1%,corrupt=1e-6,delay=500us,jitter=200us";
    let length = |served: &[Served]| served.iter().map(|it| it.octets).sum::<u64>();
    for (flags, tests, received, sent) in [
        ("-n 300000", 1, 300_000, 0),
        ("-n 300000 -l 64", 1, 300_000, 0),
        ("-n 100000 -P 3", 3, 300_000, 0),
        ("-n 300000 -R", 1, 0, 300_000),
        ("-n 200000 -r", 2, 200_000, 200_000),
        ("-n 200000 -d", 2, 200_000, 200_000),
    ] {
        let line = format!("iperf -c 10.0.0.2 {flags}");
        let Some(it) = run(faults, Protocol::Iperf2, tests, &line) else {
            return;
        };
        let both = [Direction::Received, Direction::Sent].map(|way| length(&it.served(way)));
        assert_eq!(both, [received, sent], "{flags}: {}", it.text);
    }
    for (flags, tests) in [
        ("-n 300000", 1),
        ("-n 300000 -P 3", 1),
        ("-n 300000 -R", 1),
        ("-n 200000 --bidir", 2),
    ] {
        let line = format!("iperf3 -c 10.0.0.2 -J {flags}");
        let Some(it) = run(faults, Protocol::Iperf3, tests, &line) else {
            return;
        };
        let json: serde_json::Value = serde_json::from_str(&it.text).expect("JSON");
        let (end, back) = (&json["end"], flags.contains("-R"));
        let (first, second) = if back {
            (Direction::Sent, Direction::Received)
        } else {
            (Direction::Received, Direction::Sent)
        };
        assert_eq!(
            end["sum_received"]["bytes"],
            length(&it.served(first)),
            "{flags}"
        );
        let reverse = end["sum_received_bidir_reverse"]["bytes"].as_u64();
        assert_eq!(reverse.unwrap_or(0), length(&it.served(second)), "{flags}");
    }
}
