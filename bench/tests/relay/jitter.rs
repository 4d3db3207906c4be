//! Interarrival jitter (RFC 3550 section 6.4.1): the figures of each end, against the relay's departure
//! times.

use super::background::Server;
use super::count::iperf2_until_end;
use super::record::{Datagram, Record};
use super::serve::Stop;
use super::stock::output;
use super::tool_output::{has_jitter, is_same_jitter, printed, printed_jitter, streams_of};
use super::{Attempt, has, overflows, rig, undisturbed, unless_lost};
use linerate_agent::iperf2::{self, DatagramHeader};
use linerate_agent::{DatagramTap, Instant, Limits, Service, TappedService, iperf3};
use linerate_bench::endpoint::{Amount, Datagrams, NoMonitor, Options, Trial, open};
use linerate_host::relay::Direction as RelayDirection;
use linerate_host::relay::rig::RIGHT;
use linerate_host::sockets::{Driver, DriverConfig};
use linerate_results::record::Direction;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Delays are spread over 20 ms, and frames overtake each other: two transits differ by a third of
/// that on average. Losses change which differences are taken, not their size.
const FAULTS: &str = "spare=40,loss=1%,delay=15ms,jitter=10ms,overtake=yes";
/// Plausible range of the estimate: its gain of 1/16 averages about 31 differences, each of which
/// deviates by a quarter of the width.
const PLAUSIBLE_NS: std::ops::Range<f64> = 3e6..11e6;

/// iperf's datagrams, receive timestamps and reports have whole microseconds: a difference is off by
/// less than two, and a report by one more.
const MICROSECONDS_NS: f64 = 3e3;

/// The running mean of differences with a gain of 1/16.
#[derive(Clone, Copy, Debug, Default)]
struct Mean(f64);

impl Mean {
    fn add(&mut self, difference: f64) {
        self.0 += (difference.abs() - self.0) / 16.0;
    }

    /// Of the differences from one to the next, nanoseconds.
    fn of(values_ns: &[i64]) -> f64 {
        let mut mean = Self::default();
        for pair in values_ns.windows(2) {
            mean.add((pair[1] - pair[0]) as f64);
        }
        mean.0
    }
}

/// A stream's jitter by the relay's record, nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Truth {
    /// From the send and departure times of its datagrams.
    jitter: f64,
    /// From the relay's delays alone, without those added by this host.
    made: f64,
    /// Maximum error of the jitter, as the system's receive timestamp is only known to be within the
    /// handover of the frame.
    doubt: f64,
}

impl Truth {
    /// `sent_ns`: the send time carried in a datagram.
    fn of(went: &[Datagram], sent_ns: fn(&Datagram) -> i64) -> Self {
        let transits: Vec<i64> = went.iter().map(|it| middle(it) - sent_ns(it)).collect();
        let delays: Vec<i64> = went.iter().map(|it| it.delay_ns as i64).collect();
        let mut doubt = Mean::default();
        for pair in went.windows(2) {
            let half = |it: &Datagram| (it.went_ns.1 - it.went_ns.0) as f64 / 2.0;
            doubt.add(half(&pair[0]) + half(&pair[1]));
        }
        Self {
            jitter: Mean::of(&transits),
            made: Mean::of(&delays),
            doubt: doubt.0,
        }
    }
}

/// The middle of its departure interval.
fn middle(it: &Datagram) -> i64 {
    it.went_ns.0.midpoint(it.went_ns.1) as i64
}

fn seconds_and_micros(seconds: u32, micros: u32) -> i64 {
    i64::from(seconds) * 1_000_000_000 + i64::from(micros) * 1_000
}

fn iperf2_sent_ns(it: &Datagram) -> i64 {
    seconds_and_micros(it.word(4), it.word(8))
}

fn iperf3_sent_ns(it: &Datagram) -> i64 {
    seconds_and_micros(it.word(0), it.word(4))
}

/// The datagrams forwarded to port `to`.
fn went(record: &Record, to: u16) -> Vec<Datagram> {
    let streams = record.went(RelayDirection::Forward, 100).into_iter();
    let mut streams = streams.filter(|((_, port), _)| *port == to);
    let (_, datagrams) = streams.next().expect("a stream");
    assert!(streams.next().is_none());
    datagrams
}

/// Sends a second of datagrams with our target to a stock server on the right: returns the jitter that
/// it reports to us, its output, and the record.
fn to_stock(
    server: &str,
    scheme: &str,
    enough: impl Fn(&str) -> bool,
) -> Option<(u64, String, Record)> {
    undisturbed(|| attempt(server, scheme, &enough))
}

fn attempt(
    server: &str,
    scheme: &str,
    enough: impl Fn(&str) -> bool,
) -> Option<Attempt<(u64, String, Record)>> {
    let (tool, _) = server.split_once(' ').expect("a tool");
    let rig = rig(FAULTS).filter(|_| has(tool))?;
    let mut server = Server::start(&rig, server);
    let trial = Trial::Datagrams(Datagrams {
        direction: Direction::ToDevice,
        amount: Amount::Span(Duration::from_secs(1)),
        payload_octets: 1400,
        payload_bits_per_s: 3_000_000,
    });
    let client = || {
        let url = format!("{scheme}://10.0.0.2");
        let mut target = open(&url, &Options::default()).expect("a target");
        target.run(&trial, &mut NoMonitor)
    };
    let outcome = rig.left().enter(client).expect("entered");
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return Some(Err(server.crash_behind(&error))),
    };
    let flow = outcome.to_device.expect("a flow");
    let printed_text = match server.printed_text(enough) {
        Ok(text) => text,
        Err(why) => return Some(Err(why)),
    };
    drop(server);
    let lost = overflows(&rig);
    let (_, record) = rig.finish().unwrap_or_else(|error| panic!("{error}"));
    let reported_ns = flow.datagrams.expect("datagrams").jitter_ns?;
    Some(unless_lost((reported_ns, printed_text, record), lost))
}

/// Stock iperf 2 uses the system's receive timestamps: these are from the handover by the relay,
/// however late iperf reads the datagram.
#[test]
fn stock_iperf_2_reports_the_jitter_that_the_relay_made() {
    const SERVER: &str = "iperf -s -u -w 2M -f B -p 5001";
    let enough = |text: &str| printed(text).len() == 1;
    let Some((reported_ns, printed_text, record)) = to_stock(SERVER, "iperf2", enough) else {
        return;
    };
    let is_same = is_same_jitter(&printed_jitter(&printed_text), &[reported_ns]);
    assert!(is_same, "{reported_ns} {printed_text}");
    let truth = Truth::of(iperf2_until_end(&went(&record, 5001)), iperf2_sent_ns);
    assert!(PLAUSIBLE_NS.contains(&truth.made), "{truth:?}");
    let off_ns = (reported_ns as f64 - truth.jitter).abs();
    let what = format!("{reported_ns} ns, {truth:?}");
    assert!(off_ns <= truth.doubt + MICROSECONDS_NS, "{what}");
}

/// Stock iperf 3 uses the time when it reads a datagram, which is not visible from outside.
#[test]
fn stock_iperf_3_reports_the_jitter_that_it_prints() {
    const SERVER: &str = "iperf3 -s -1 -J -p 5201";
    let enough = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
    let Some((reported_ns, printed_text, record)) = to_stock(SERVER, "iperf3", enough) else {
        return;
    };
    let streams = streams_of(&printed_text);
    assert!(
        has_jitter(&streams[0], reported_ns),
        "{reported_ns} {printed_text}"
    );
    let truth = Truth::of(&went(&record, 5201), iperf3_sent_ns);
    assert!(PLAUSIBLE_NS.contains(&truth.made), "{truth:?}");
    assert!(
        reported_ns as f64 > PLAUSIBLE_NS.start / 3.0,
        "{reported_ns} {truth:?}"
    );
}

/// A datagram read by one of our servers: its first octets, and the time.
type Read = ([u8; 16], u64);

/// The datagrams that a service reads, of at least `least` octets.
struct Noted {
    least: usize,
    read: Vec<Read>,
}

impl DatagramTap for Noted {
    fn on_datagram(&mut self, octets: &[u8], now: Instant) {
        if let Some(head) = octets.first_chunk()
            && octets.len() >= self.least
        {
            self.read.push((*head, now.ns()));
        }
    }
}

/// The jitter reported by one of our servers, and the datagrams that it read.
struct Ours {
    reported_ns: u64,
    read: Vec<Read>,
    text: String,
    record: Record,
}

/// Runs the stock client's `line` on the left against our `service` on the right, until `tell`
/// returns a jitter.
fn from_stock<S: Service + Send>(
    line: &str,
    service: fn() -> S,
    tell: fn(&mut S) -> Option<Duration>,
) -> Option<Ours> {
    undisturbed(|| attempt_from_stock(line, service(), tell))
}

fn attempt_from_stock<S: Service + Send>(
    line: &str,
    service: S,
    tell: fn(&mut S) -> Option<Duration>,
) -> Option<Attempt<Ours>> {
    let tool = line.split_whitespace().next().expect("a tool");
    let rig = rig(FAULTS).filter(|_| has(tool))?;
    let is_over = &AtomicBool::new(false);
    let (listening, is_listening) = channel();
    let server = move || {
        let settings = DriverConfig {
            address: RIGHT.into(),
            ..DriverConfig::default()
        };
        let tap = Noted {
            least: 100,
            read: Vec::new(),
        };
        let mut driver = Driver::new(TappedService { service, tap }, settings).expect("it listens");
        listening.send(()).expect("the test waits");
        let mut reported = None;
        // The client may repeat a lost request; its exit may be seen before its last message.
        let mut turns_left = 100;
        while turns_left > 0 {
            driver.turn(Duration::from_millis(50)).expect("a turn");
            reported = reported.or(tell(&mut driver.service().service));
            let is_over = is_over.load(Ordering::Relaxed);
            turns_left -= u32::from(is_over);
            if is_over && reported.is_some() {
                break;
            }
        }
        (reported, driver.into_service().tap.read)
    };
    let (text, (reported, read)) = std::thread::scope(|scope| {
        let right = rig.right();
        let server = scope.spawn(move || right.enter(server).expect("entered"));
        let stop = Stop(is_over);
        is_listening.recv().expect("a server that listens");
        let text = output(rig.left().command("timeout"), line);
        drop(stop);
        (text, server.join().expect("the server"))
    });
    let lost = overflows(&rig);
    let (_, record) = rig.finish().unwrap_or_else(|error| panic!("{error}"));
    let reported_ns = reported.expect("a jitter").as_nanos() as u64;
    let ours = Ours {
        reported_ns,
        read,
        text,
        record,
    };
    Some(unless_lost(ours, lost))
}

/// Our servers use the time when they read a datagram: the same estimator gives the same result for
/// those times, and differs from the relay's record by no more than the delays between arrival and
/// reading.
fn is_true(ours: &Ours, went: &[Datagram], sent_ns: fn(&Datagram) -> i64) {
    // Datagrams left in the socket at the end of the test are not read.
    let went = &went[..ours.read.len().min(went.len())];
    let heads: Vec<[u8; 16]> = went.iter().map(|it| it.head).collect();
    let read: Vec<[u8; 16]> = ours.read.iter().map(|(head, _)| *head).collect();
    assert_eq!(
        read[..heads.len()],
        heads,
        "in the order in which they went"
    );
    let times = || went.iter().zip(&ours.read);
    let transits: Vec<i64> = times()
        .map(|(it, (_, ns))| *ns as i64 - sent_ns(it))
        .collect();
    let reported_ns = ours.reported_ns as f64;
    let read_ns = Mean::of(&transits);
    assert!(
        (reported_ns - read_ns).abs() <= 2.0,
        "{reported_ns} {read_ns}"
    );
    // From two clocks, whose offset is the same for all.
    let waits: Vec<i64> = times()
        .map(|(it, (_, ns))| *ns as i64 - middle(it))
        .collect();
    let (truth, waits_ns) = (Truth::of(went, sent_ns), Mean::of(&waits));
    assert!(PLAUSIBLE_NS.contains(&truth.made), "{truth:?}");
    let off_ns = (reported_ns - truth.jitter).abs();
    assert!(
        off_ns <= waits_ns + 2.0,
        "{reported_ns} {truth:?} {waits_ns}"
    );
}

#[test]
fn our_server_of_iperf_2_reports_the_jitter_of_what_it_has_read() {
    let server = || iperf2::Server::<4>::new(iperf2::PORT, Limits::own_network());
    let tell = |server: &mut iperf2::Server<4>| Some(server.take_finished()?.report.jitter);
    let line = "iperf -c 10.0.0.2 -u -b 3m -t 1 -l 1400";
    let Some(mut ours) = from_stock(line, server, tell) else {
        return;
    };
    let is_same = is_same_jitter(&printed_jitter(&ours.text), &[ours.reported_ns]);
    assert!(is_same, "{} {}", ours.reported_ns, ours.text);
    let is_end = |(head, _): &Read| DatagramHeader::parse(head).is_some_and(|it| it.number < 0);
    let end = ours.read.iter().position(is_end).expect("an end");
    ours.read.truncate(end + 1);
    let went = went(&ours.record, iperf2::PORT);
    is_true(&ours, iperf2_until_end(&went), iperf2_sent_ns);
}

#[test]
fn our_server_of_iperf_3_reports_the_jitter_of_what_it_has_read() {
    let server = || iperf3::Server::<4>::new(iperf3::PORT, Limits::own_network());
    let tell = |server: &mut iperf3::Server<4>| Some(server.take_finished()?.received?.jitter);
    let line = "iperf3 -c 10.0.0.2 -u -b 3M -t 1 -l 1400 -J";
    let Some(ours) = from_stock(line, server, tell) else {
        return;
    };
    let streams = streams_of(&ours.text);
    assert!(
        has_jitter(&streams[0], ours.reported_ns),
        "{}",
        ours.reported_ns
    );
    is_true(&ours, &went(&ours.record, iperf3::PORT), iperf3_sent_ns);
}
