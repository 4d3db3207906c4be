//! Our targets on the left, stock servers on the right.

use super::background::Server;
use super::count::{
    Expected, as_iperf2_counts, iperf2_numbers, iperf2_until_end, iperf3_may_count,
    iperf3_wide_numbers,
};
use super::record::{Datagram, Record};
use super::serve_tcp::TCP_FAULTS;
use super::tool_output::{
    end_of, has_jitter, is_same_jitter, lost_and_all, number, printed, printed_jitter,
    printed_octets, sorted, streams_of,
};
use super::{Attempt, each, has, narrow, overflows, rig, undisturbed, unless_lost};
use Direction::{Both, FromDevice, ToDevice};
use linerate_bench::endpoint::{
    Amount, Datagrams, NoMonitor, Options, Outcome, Stream, Trial, open,
};
use linerate_host::relay::Direction as RelayDirection;
use linerate_results::record::{self, CountedAt, Direction, Flow};
use std::time::Duration;

const IPERF2: &str = "iperf -s -f B -p 5001";
const IPERF2_UDP: &str = "iperf -s -u -w 2M -f B -p 5001";
const IPERF3: &str = "iperf3 -s -1 -J -p 5201";

/// The outcome of one of our targets, the server's output, and the record.
struct TrialRun {
    outcome: Outcome,
    printed_text: String,
    record: Record,
}

/// Runs `trial` with `server`; `enough`: true if its output is complete.
fn run(
    settings: &str,
    server: &str,
    trial: &Trial,
    mtu: Option<u16>,
    enough: impl Fn(&str) -> bool,
) -> Option<TrialRun> {
    undisturbed(|| attempt(settings, server, trial, mtu, &enough))
}

fn attempt(
    settings: &str,
    server: &str,
    trial: &Trial,
    mtu: Option<u16>,
    enough: impl Fn(&str) -> bool,
) -> Option<Attempt<TrialRun>> {
    let (tool, _) = server.split_once(' ').expect("a tool");
    let rig = rig(settings).filter(|_| has(tool))?;
    narrow(&rig, mtu);
    let mut running = Server::start(&rig, server);
    let options = Options {
        timeout: Duration::from_secs(30),
        ..Options::default()
    };
    let scheme = if tool == "iperf3" { "iperf3" } else { "iperf2" };
    let client = || {
        let mut target = open(&format!("{scheme}://10.0.0.2"), &options).expect("a target");
        target.run(trial, &mut NoMonitor)
    };
    let outcome = rig.left().enter(client).expect("entered");
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return Some(Err(running.crash_behind(&error))),
    };
    let printed_text = match running.printed_text(enough) {
        Ok(text) => text,
        Err(why) => return Some(Err(why)),
    };
    drop(running);
    let overflows = overflows(&rig);
    let (report, record) = rig.finish().unwrap_or_else(|error| panic!("{error}"));
    for way in [&report.forward, &report.backward] {
        assert_eq!(way.discarded_frames, Some(0), "{settings} {trial:?}");
    }
    let ran = TrialRun {
        outcome,
        printed_text,
        record,
    };
    Some(unless_lost(ran, overflows))
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<serde_json::Value>(text).is_ok()
}

const FAULTS: [&str; 4] = [
    "spare=40,loss=1%",
    "spare=40,reorder=3%/3",
    "spare=40,duplicate=3%",
    "spare=40,loss=2%,reorder=2%/2,duplicate=2%,delay=1ms,jitter=1ms",
];
/// Faults, direction, octets of a datagram, bits per second.
type Case = (&'static str, Direction, u16, u64);

/// A second of full datagrams toward the device and back with each fault, the others with all faults.
const CASES: [Case; 11] = [
    (FAULTS[0], ToDevice, 1470, 3_000_000),
    (FAULTS[1], ToDevice, 1470, 3_000_000),
    (FAULTS[2], ToDevice, 1470, 3_000_000),
    (FAULTS[3], ToDevice, 1470, 3_000_000),
    (FAULTS[0], FromDevice, 1470, 3_000_000),
    (FAULTS[1], FromDevice, 1470, 3_000_000),
    (FAULTS[2], FromDevice, 1470, 3_000_000),
    (FAULTS[3], FromDevice, 1470, 3_000_000),
    (FAULTS[3], Both, 1470, 3_000_000),
    (FAULTS[3], FromDevice, 64, 500_000),
    (FAULTS[3], Both, 64, 500_000),
];

fn datagrams((_, direction, octets, rate): &Case) -> Trial {
    Trial::Datagrams(Datagrams {
        direction: *direction,
        amount: Amount::Span(Duration::from_secs(1)),
        payload_octets: *octets,
        payload_bits_per_s: *rate,
    })
}

/// The only stream whose ports (from, to) match: the datagrams that arrived at the relay, and those
/// forwarded.
fn stream(
    record: &Record,
    way: RelayDirection,
    is_it: impl Fn(u16, u16) -> bool,
) -> (Vec<Datagram>, Vec<Datagram>) {
    let mut all = record.came(way, 16);
    all.retain(|(from, to), _| is_it(*from, *to));
    let ports: Vec<_> = all.keys().copied().collect();
    let [ports] = ports[..] else {
        panic!("one stream: {ports:?}");
    };
    let went = record.went(way, 16).remove(&ports).unwrap_or_default();
    (all.remove(&ports).expect("it"), went)
}

fn octets(datagrams: &[Datagram]) -> u64 {
    datagrams.iter().map(|it| it.octets).sum()
}

/// Our own receiver distinguishes all four.
fn is_what_went(flow: &Flow, went: &[Datagram], expected: Expected, what: &str) {
    let counts = flow.datagrams.expect("datagrams");
    let reported = Expected {
        sent: counts.sent,
        lost: counts.lost,
        out_of_order: counts.out_of_order.expect("our own count"),
        repeated: counts.duplicates.expect("our own count"),
    };
    assert_eq!(reported, expected, "{what}");
    assert_eq!(counts.received, counts.sent - counts.lost, "{what}");
    assert_eq!(flow.octets, octets(went), "{what}");
    assert_eq!(flow.counted_by, CountedAt::Host, "{what}");
}

/// The device's counts of received datagrams, if any.
fn of_iperf2(case: &Case) -> Option<record::Datagrams> {
    let (faults, direction, ..) = case;
    let what = format!("{case:?}");
    let reports = usize::from(*direction != FromDevice) + usize::from(*direction == Both);
    let enough = |text: &str| printed(text).len() == reports;
    let it = run(faults, IPERF2_UDP, &datagrams(case), None, enough)?;
    let to = it
        .outcome
        .to_device
        .as_ref()
        .and_then(|flow| flow.datagrams);
    let (mut reported, mut jitter_ns) = (Vec::new(), Vec::new());
    if *direction != FromDevice {
        let flow = it.outcome.to_device.expect("a report");
        let counts = flow.datagrams.expect("datagrams");
        let (_, went) = stream(&it.record, RelayDirection::Forward, |_, to| to == 5001);
        let expected = as_iperf2_counts(iperf2_numbers(&went));
        let ours = (
            counts.lost,
            counts.sent,
            counts.out_of_order.expect("reported"),
        );
        assert_eq!(ours, expected.counts(), "{what}");
        assert_eq!(flow.octets, octets(iperf2_until_end(&went)), "{what}");
        assert_eq!(flow.counted_by, CountedAt::Device, "{what}");
        reported.push(ours);
        jitter_ns.extend(counts.jitter_ns);
    }
    if *direction != ToDevice {
        let flow = it.outcome.from_device.expect("a flow");
        let on_ours = *direction == FromDevice;
        let (_, went) = stream(&it.record, RelayDirection::Backward, |from, _| {
            (from == 5001) == on_ours
        });
        let expected = Expected::of(iperf2_numbers(&went));
        is_what_went(&flow, iperf2_until_end(&went), expected, &what);
        if *direction == Both {
            let counts = flow.datagrams.expect("datagrams");
            let late = counts.out_of_order.expect("our own count");
            reported.push((counts.lost, counts.sent, late));
            jitter_ns.extend(counts.jitter_ns);
        }
    }
    assert_eq!(
        printed(&it.printed_text),
        sorted(reported),
        "{what}: {}",
        it.printed_text
    );
    let is_same = is_same_jitter(&printed_jitter(&it.printed_text), &jitter_ns);
    assert!(is_same, "{what}: {jitter_ns:?} {}", it.printed_text);
    to
}

/// The same.
fn of_iperf3(case: &Case) -> Option<record::Datagrams> {
    let (faults, direction, size, _) = case;
    let what = format!("{case:?}");
    let it = run(faults, IPERF3, &datagrams(case), None, is_json)?;
    let to = it
        .outcome
        .to_device
        .as_ref()
        .and_then(|flow| flow.datagrams);
    let streams = streams_of(&it.printed_text);
    let of = |sender: bool| streams.iter().find(|it| it["sender"] == sender);
    if *direction != FromDevice {
        let flow = it.outcome.to_device.expect("a report");
        let (counts, printed_text) = (flow.datagrams.expect("datagrams"), of(false).expect("it"));
        let (_, went) = stream(&it.record, RelayDirection::Forward, |_, to| to == 5201);
        let read = flow.octets / u64::from(*size);
        let late = Some(number(printed_text, "out_of_order"));
        let is_so = iperf3_may_count(&iperf3_wide_numbers(&went), read, counts.lost, late);
        assert!(is_so, "{what}: {counts:?} {read} {printed_text}");
        assert_eq!(
            (counts.lost, counts.sent),
            lost_and_all(printed_text),
            "{what}"
        );
        assert_eq!(counts.out_of_order, None, "{what}: not reported");
        let bytes = number(&end_of(&it.printed_text)["sum_received"], "bytes");
        assert_eq!(flow.octets, bytes, "{what}");
        assert!(
            has_jitter(printed_text, counts.jitter_ns.expect("a jitter")),
            "{what}: {printed_text}"
        );
    }
    if *direction != ToDevice {
        let flow = it.outcome.from_device.expect("a flow");
        let (came, went) = stream(&it.record, RelayDirection::Backward, |from, _| from == 5201);
        let sent = iperf3_wide_numbers(&came).into_iter().max().expect("some");
        let expected = Expected::of(iperf3_wide_numbers(&went)).of_sent(sent);
        is_what_went(&flow, &went, expected, &what);
        assert_eq!(number(of(true).expect("it"), "packets"), sent, "{what}");
    }
    to
}

#[test]
fn our_datagrams_and_those_of_stock_iperf_2_are_counted_alike() {
    each(&CASES, |case| {
        let _ = of_iperf2(case);
    });
}

#[test]
fn our_datagrams_and_those_of_stock_iperf_3_are_counted_alike() {
    each(&CASES, |case| {
        let _ = of_iperf3(case);
    });
}

/// Enough of them that a share of 1% is seen.
#[test]
fn a_loss_of_1_percent_reads_as_1_percent() {
    let case: Case = ("spare=40,loss=1%", ToDevice, 64, 1_500_000);
    for check in [of_iperf2, of_iperf3] {
        let Some(counts) = check(&case) else {
            return;
        };
        assert!(counts.sent > 2_000, "{counts:?}");
        // Five times the deviation of a binomial distribution.
        let (all, share) = (counts.sent as f64, 0.01);
        let deviation = (all * share * (1.0 - share)).sqrt();
        let off = (counts.lost as f64 - all * share).abs();
        assert!(off <= 5.0 * deviation, "{counts:?}");
    }
}

/// TCP: which way, octets, connections, octets of a write, the largest packet if it is not 1500.
type Transfer = (Direction, u64, u8, u32, Option<u16>);

/// The last ones split everything into segments of 49 octets (a packet without its headers of IP and TCP
/// and without timestamps): requests, parameters and results come in pieces.
const TRANSFERS: [Transfer; 9] = [
    (ToDevice, 300_000, 1, 0, None),
    (FromDevice, 300_000, 1, 0, None),
    (Both, 200_000, 1, 0, None),
    (ToDevice, 100_000, 3, 0, None),
    (ToDevice, 100_000, 1, 64, None),
    (FromDevice, 100_000, 1, 64, None),
    (FromDevice, 100_000, 1, 1470, None),
    (ToDevice, 30_000, 1, 0, Some(101)),
    (Both, 30_000, 1, 0, Some(101)),
];

fn transfer((direction, octets, streams, write_octets, _): &Transfer) -> Trial {
    Trial::Stream(Stream {
        direction: *direction,
        amount: Amount::Octets(*octets),
        streams: *streams,
        write_octets: *write_octets,
        window_octets: None,
    })
}

#[test]
fn our_octets_and_those_of_stock_iperf_2_all_arrive() {
    each(&TRANSFERS, |case| {
        let (direction, octets, streams, _, mtu) = *case;
        // Each connection of iperf 2 transfers a part of it.
        let part = |at: u64| (octets + u64::from(streams) - 1 - at) / u64::from(streams);
        let mut parts: Vec<u64> = (0..u64::from(streams)).map(part).collect();
        if direction == Both {
            parts.extend(parts.clone());
        }
        parts.sort_unstable();
        let enough = |text: &str| printed_octets(text).len() == parts.len();
        let Some(it) = run(TCP_FAULTS, IPERF2, &transfer(case), mtu, enough) else {
            return;
        };
        let reported = |flow: Option<Flow>| flow.map(|flow| flow.octets);
        let (to, from) = (
            reported(it.outcome.to_device),
            reported(it.outcome.from_device),
        );
        let is = |way| (direction == way || direction == Both).then_some(octets);
        assert_eq!((to, from), (is(ToDevice), is(FromDevice)), "{case:?}");
        let mut printed = printed_octets(&it.printed_text);
        printed.sort_unstable();
        assert_eq!(printed, parts, "{case:?}");
        // Connections that carry data: on those of the other direction the server only sends a
        // header.
        let forward = it.record.tcp(RelayDirection::Forward).into_iter();
        let forward = forward.filter(|it| it.to == 5001 && direction != FromDevice);
        let backward = it.record.tcp(RelayDirection::Backward).into_iter();
        let backward = backward.filter(|it| match direction {
            ToDevice => false,
            FromDevice => it.from == 5001,
            Both => it.from != 5001,
        });
        let mut passed: Vec<u64> = forward.chain(backward).map(|it| it.octets).collect();
        passed.sort_unstable();
        assert_eq!(passed, parts, "{case:?}");
    });
}

/// Octets of the cookie on each data connection.
const COOKIE: u64 = 37;

#[test]
fn our_octets_and_those_of_stock_iperf_3_all_arrive() {
    each(&TRANSFERS, |case| {
        let (direction, octets, streams, _, mtu) = *case;
        let mut trial = transfer(case);
        if let Trial::Stream(stream) = &mut trial
            && direction != FromDevice
        {
            // A stock server stops reading at the end of the test: it may read none of a few octets.
            stream.amount = Amount::Span(Duration::from_secs(1));
        }
        let faults = format!("{TCP_FAULTS},rate=5M,queue=50");
        let Some(it) = run(&faults, IPERF3, &trial, mtu, is_json) else {
            return;
        };
        let end = end_of(&it.printed_text);
        let [forward, backward] = [RelayDirection::Forward, RelayDirection::Backward].map(|way| {
            // The first one is for control.
            let data = it.record.tcp(way).into_iter().skip(1);
            data.map(|it| it.octets).sum::<u64>()
        });
        if direction != FromDevice {
            let reported = it.outcome.to_device.expect("a report").octets;
            assert_eq!(reported, number(&end["sum_received"], "bytes"), "{case:?}");
            let sent =
                forward - COOKIE * u64::from(streams) * if direction == Both { 2 } else { 1 };
            assert!(
                reported > 0 && reported <= sent,
                "{case:?} {reported} {sent}"
            );
        }
        if direction != ToDevice {
            let reported = it.outcome.from_device.expect("a flow").octets;
            let name = if direction == Both {
                "sum_sent_bidir_reverse"
            } else {
                "sum_sent"
            };
            assert_eq!(reported, number(&end[name], "bytes"), "{case:?}");
            assert_eq!(reported, backward, "{case:?}");
            assert!(
                reported >= octets || direction == Both,
                "{case:?} {reported}"
            );
        }
    });
}
