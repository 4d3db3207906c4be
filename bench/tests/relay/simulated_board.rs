//! Stock clients on the left, the firmware's `bench_agent` on a simulated board on the right.
//!
//! `cargo xtask firmware` builds it; `LINERATE_FIRMWARE` names the folder of the ELFs. It keeps up with the
//! clock only where nothing else runs: `cargo xtask test tap` does these tests alone.

use super::count::{
    Counts, Expected, as_iperf2_counts, iperf2_numbers, iperf3_may_count, iperf3_numbers,
};
use super::record::{Record, Streams};
use super::serve::{Stop, both_ways, expected, port_and_read};
use super::serve_tcp::TCP_FAULTS;
use super::stock::output;
use super::tool_output::{end_of, lost_and_all, number, printed, printed_octets, sorted};
use super::{Attempt, has, overflows, rig, undisturbed, unless_lost};
use linerate_bench::machine::{MachineConfig, RunArtifacts, open_on_tap};
use linerate_bench::scenario;
use linerate_bench::{board, firmware, tap};
use linerate_ether::ledger::Counter;
use linerate_host::relay::{Direction, Rig};
use rustix::process::setpriority_process;
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Longer than a trial takes on any machine.
const TIMEOUT: Duration = Duration::from_mins(2);
/// Stock iperf 2 waits for the end of a stream 3 s longer than that should last.
const MAX_SLIP: Duration = Duration::from_secs(2);
/// The board's end of its cable, in the right namespace.
const CABLE: &str = "linerate0";

fn config() -> Option<MachineConfig> {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        eprintln!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return None;
    };
    let folder = Path::new(&folder).parent().expect("a folder of boards");
    let board = board::find("esp32c6-bitbang").expect("the board");
    let image = firmware::find(folder, &board.name, "bench_agent", "line-rate");
    let image = image.unwrap_or_else(|error| panic!("{error}"));
    Some(MachineConfig {
        record: scenario::Record::default(),
        ..MachineConfig::new(board, image, 1)
    })
}

/// A stock client's output, the tests reported on the board's console, and the record.
struct Outcome {
    text: String,
    served: Vec<Value>,
    record: Record,
}

/// Runs `line` on the left against the board on the right; `tests`: the number of tests that it
/// should report.
fn run(settings: &str, tests: usize, line: &str) -> Option<Outcome> {
    undisturbed(|| attempt(settings, tests, line))
}

fn attempt(settings: &str, tests: usize, line: &str) -> Option<Attempt<Outcome>> {
    let tool = line.split_whitespace().next().expect("a tool");
    let config = config()?;
    let rig = rig(settings).filter(|_| has(tool))?;
    plug(&rig);
    let is_over = &AtomicBool::new(false);
    let (console, printed_text) = channel();
    let board = || {
        // For this thread only, as for the relay's.
        let _ = setpriority_process(None, -20);
        let machine = open_on_tap(&config, CABLE).unwrap_or_else(|error| panic!("{error}"));
        let stop = || is_over.load(Ordering::Relaxed);
        // A failure means that the test is about to end.
        let mut tell = |line: &str| drop(console.send(line.to_owned()));
        let ran = tap::serve(machine, Some(TIMEOUT), &stop, &mut tell);
        let ran = ran.unwrap_or_else(|error| panic!("{error}"));
        (ran.slipped, overruns(&ran.artifacts))
    };
    let (text, served, (slipped, overruns)) = thread::scope(|scope| {
        let right = rig.right();
        let board = scope.spawn(move || right.enter(board).expect("entered"));
        let stop = Stop(is_over);
        let next = |event: &str| event_of(&printed_text, event);
        next("listening");
        let text = output(rig.left().command("timeout"), line);
        let served = (0..tests).map(|_| next("served")).collect();
        drop(stop);
        (text, served, board.join().expect("the board"))
    });
    let is_late = tool == "iperf" && slipped > MAX_SLIP;
    // TCP sends them again.
    let lost = if line.contains(" -u ") { overruns } else { 0 };
    let spoiled = overflows(&rig) + lost + u64::from(is_late);
    let (report, record) = rig.finish().unwrap_or_else(|error| panic!("{error}"));
    for way in [&report.forward, &report.backward] {
        assert_eq!(way.discarded_frames, Some(0), "{settings} {line}");
    }
    let outcome = Outcome {
        text,
        served,
        record,
    };
    Some(unless_lost(outcome, spoiled))
}

/// Frames that the board had no room for: what reaches it late comes in bursts.
fn overruns(artifacts: &RunArtifacts) -> u64 {
    let frames = artifacts.frames.as_ref().expect("counts");
    let counters = frames.device.as_ref().expect("counters");
    let rooms = [Counter::RxQueueFull, Counter::RxRingFull];
    rooms.iter().filter_map(|it| counters.get(it.name())).sum()
}

/// Reads the console until the `wanted` event.
fn event_of(console: &Receiver<String>, wanted: &str) -> Value {
    loop {
        let line = console.recv().expect("the event");
        let event = line
            .split_once("@ ")
            .map(|(_, json)| serde_json::from_str(json));
        if let Some(Ok(event)) = event
            && Value::get(&event, "event").is_some_and(|it| it == wanted)
        {
            return event;
        }
    }
}

/// The console's counts of one direction: lost, all.
fn reported(it: &Outcome, direction: &str) -> (u64, u64) {
    let mut those = it.served.iter().filter(|one| one["direction"] == direction);
    let [Some(one), None] = [those.next(), those.next()] else {
        panic!("one that was {direction}: {:?}", it.served);
    };
    assert_eq!(one["transport"], "udp", "{one}");
    (number(one, "lost"), number(one, "datagrams"))
}

/// Octets of all tests of one direction.
fn octets(it: &Outcome, direction: &str) -> u64 {
    let those = it.served.iter().filter(|one| one["direction"] == direction);
    those.map(|one| number(one, "octets")).sum()
}

/// Faults, and seconds of a stream through them.
const TRIALS: [(&str, u32); 4] = [
    (ONE_PER_CENT, 4),
    ("spare=40,reorder=3%/3", 1),
    ("spare=40,duplicate=3%", 1),
    (
        "spare=40,loss=2%,reorder=2%/2,duplicate=2%,delay=1ms,jitter=1ms",
        2,
    ),
];
const ONE_PER_CENT: &str = "spare=40,loss=1%";

/// True if the loss matches a probability of 1%, within four standard deviations of the binomial
/// distribution.
fn is_one_per_cent((lost, all): (u64, u64)) -> bool {
    const P: f64 = 0.01;
    let all = all as f64;
    (lost as f64 - all * P).abs() <= 4.0 * (all * P * (1.0 - P)).sqrt()
}

/// The expected counts of the receiver of the iperf 2 stream in this direction.
fn counted(record: &Record, way: Direction, count: fn(Vec<u64>) -> Expected) -> Counts {
    let numbers = |streams: Streams| {
        // The other stream is the receiver's report.
        let mut those = streams.into_iter().filter(|((_, to), _)| *to == 5001);
        iperf2_numbers(&those.next().expect("a stream").1)
    };
    let sent = numbers(record.came(way, 100)).into_iter().max();
    let went = count(numbers(record.went(way, 100)));
    went.of_sent(sent.expect("a datagram")).counts()
}

#[test]
fn iperf_2_the_board_and_the_relay_count_alike() {
    for (faults, seconds) in TRIALS {
        let line = format!("iperf -c 169.254.10.2 -u -b 2m -l 1470 -r -t {seconds}");
        let Some(it) = run(faults, 2, &line) else {
            return;
        };
        let forward = counted(&it.record, Direction::Forward, Expected::of);
        let backward = counted(&it.record, Direction::Backward, |numbers| {
            as_iperf2_counts(numbers)
        });
        let both = sorted(vec![forward, backward]);
        assert_eq!(printed(&it.text), both, "{faults}: {}", it.text);
        for ((lost, all, _), direction) in [(forward, "received"), (backward, "sent")] {
            let reported = reported(&it, direction);
            assert_eq!(reported, (lost, all), "{faults} {direction}");
            let is_so = faults != ONE_PER_CENT || is_one_per_cent(reported);
            assert!(is_so, "{faults} {direction}: {reported:?}");
        }
    }
}

#[test]
fn iperf_3_the_board_and_the_relay_count_alike() {
    for (faults, seconds) in TRIALS {
        let line = format!("iperf3 -c 169.254.10.2 -u -b 2M -l 1470 --bidir -J -t {seconds}");
        let Some(it) = run(faults, 2, &line) else {
            return;
        };
        let [forward, backward] = both_ways(&it.text);
        let ([forward], [backward]) = (&forward[..], &backward[..]) else {
            panic!("a stream each way: {}", it.text);
        };
        let expected = expected(
            &it.record,
            (Direction::Forward, 16),
            iperf3_numbers,
            Expected::of,
        );
        let sent = lost_and_all(forward);
        assert_eq!([sent], [(expected[0].0, expected[0].1)], "{faults}");
        assert_eq!(sent, reported(&it, "received"), "{faults}: {:?}", it.served);
        // The board's datagrams, as counted by the client.
        let (port, read) = port_and_read(&it.text, backward);
        let numbers = iperf3_numbers(&it.record.went(Direction::Backward, 16)[&(5201, port)]);
        let (received, out_of_order) = (lost_and_all(backward), number(backward, "out_of_order"));
        let is_so = iperf3_may_count(&numbers, read / 1470, received.0, Some(out_of_order));
        assert!(is_so, "{faults}: {read} of {numbers:?}: {backward}");
        let is_so = [sent, received].into_iter().all(is_one_per_cent);
        assert!(faults != ONE_PER_CENT || is_so, "{sent:?} {received:?}");
    }
}

#[test]
fn tcp_of_the_board_arrives_whole_through_all_of_it() {
    const OCTETS: u64 = 200_000;
    let line = format!("iperf -c 169.254.10.2 -f B -n {OCTETS} -d");
    let Some(it) = run(TCP_FAULTS, 2, &line) else {
        return;
    };
    let both = [octets(&it, "received"), octets(&it, "sent")];
    assert_eq!(both, [OCTETS; 2], "{}", it.text);
    assert_eq!(printed_octets(&it.text), both, "{}", it.text);

    let line = format!("iperf3 -c 169.254.10.2 -J -n {OCTETS} --bidir");
    let Some(it) = run(TCP_FAULTS, 2, &line) else {
        return;
    };
    let end = end_of(&it.text);
    let received = number(&end["sum_received"], "bytes");
    assert_eq!(octets(&it, "received"), received, "{}", it.text);
    // Data in transit when the client ends the test are not read.
    let read = number(&end["sum_received_bidir_reverse"], "bytes");
    let sent = octets(&it, "sent");
    assert!(0 < read && read <= sent, "{read} of {sent}: {}", it.text);
}

/// Puts the board's end of its cable behind the relay.
fn plug(rig: &Rig<Record>) {
    let (left, right) = (rig.left(), rig.right());
    for (end, line) in [
        (right, "link add br0 type bridge"),
        (right, "tuntap add dev linerate0 mode tap"),
        (right, "link set linerate0 up txqueuelen 10000 master br0"),
        (right, "link set eth0 master br0"),
        (right, "link set br0 up"),
        (left, "address add 169.254.10.1/16 dev eth0"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        end.ip(&words).unwrap_or_else(|error| panic!("{error}"));
    }
}
