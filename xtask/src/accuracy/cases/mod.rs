//! The links, and what a procedure must find on them.

use serde_json::Value;

/// A link, a procedure on it, and a figure of its.
pub struct Case {
    /// A word to choose it by.
    pub procedure: &'static str,
    /// Arguments of `linerate relay`.
    pub link: &'static str,
    /// Arguments of `linerate`, with `DEVICE` for its address.
    pub command: &'static str,
    /// What is compared, with its unit.
    pub figure: &'static str,
    /// Takes it out of the results.
    pub reported: fn(&Value) -> Option<f64>,
    /// What it must be.
    pub known: Known,
    /// What it may be off by, where that is not the common 2%.
    pub stated: Option<Stated>,
}

/// Where the truth comes from.
#[derive(Clone, Copy)]
pub enum Known {
    /// From the settings.
    Value(f64),
    /// From the relay's count.
    Truth(fn(&Value) -> Option<f64>),
}

/// An error that is known beforehand.
#[derive(Clone, Copy)]
pub struct Stated {
    /// So much in the figure's unit.
    absolute: f64,
    /// Why.
    why: &'static str,
}

impl Stated {
    /// As a share of what is known.
    pub fn share(self, known: f64) -> f64 {
        if known == 0.0 {
            self.absolute
        } else {
            self.absolute / known.abs()
        }
    }

    /// For the table.
    pub fn words(self) -> String {
        format!("{} ({})", self.absolute, self.why)
    }
}

/// Octets that a frame takes on the wire beside its payload of UDP over IPv4: 42 of headers, 4 of FCS,
/// 8 of preamble, 12 of gap.
const UDP_OVERHEAD: f64 = 66.0;
/// Payload of a full segment with timestamps, and its octets on the wire.
const SEGMENT: f64 = 1448.0;
const SEGMENT_ON_WIRE: f64 = 1538.0;

const fn udp(bits_per_s: f64, payload: f64) -> f64 {
    bits_per_s / 8.0 * payload / (payload + UDP_OVERHEAD)
}

const fn tcp(bits_per_s: f64) -> f64 {
    bits_per_s / 8.0 * SEGMENT / SEGMENT_ON_WIRE
}

fn first(results: &Value, pointer: &str) -> Option<f64> {
    results.pointer("/results/0")?.pointer(pointer)?.as_f64()
}

fn to_device(results: &Value) -> Option<f64> {
    first(results, "/metrics/to_device/goodput_bytes_per_s")
}

fn from_device(results: &Value) -> Option<f64> {
    first(results, "/metrics/from_device/goodput_bytes_per_s")
}

fn lost(results: &Value) -> Option<f64> {
    first(results, "/metrics/to_device/datagrams/lost")
}

fn duplicates(results: &Value) -> Option<f64> {
    first(results, "/metrics/from_device/datagrams/duplicates")
}

fn lost_from(results: &Value) -> Option<f64> {
    first(results, "/metrics/from_device/datagrams/lost")
}

fn out_of_order(results: &Value) -> Option<f64> {
    first(results, "/metrics/to_device/datagrams/out_of_order")
}

/// The highest rate that a load sweep saw arrive.
fn most_received(results: &Value) -> Option<f64> {
    let points = results.pointer("/results")?.as_array()?.iter();
    let rates = points.filter_map(|point| point.pointer("/metrics/received_bytes_per_s")?.as_f64());
    rates.reduce(f64::max)
}

/// Round trips of the result without a load.
fn idle<'a>(results: &'a Value, figure: &str) -> Option<&'a Value> {
    let mut all = results.pointer("/results")?.as_array()?.iter();
    let idle = all.find(|it| {
        it["measurement"] == "latency" && it.pointer("/params/load").is_none_or(Value::is_null)
    });
    idle?.pointer(&format!("/metrics/{figure}"))
}

fn rtt_p50(results: &Value) -> Option<f64> {
    idle(results, "rtt/p50_ns")?.as_f64()
}

/// From the shortest round trip to the one that 99 of 100 are no longer than.
fn variation(results: &Value) -> Option<f64> {
    let of = |figure| idle(results, figure)?.as_f64();
    Some(of("rtt/p99_ns")? - of("rtt/min_ns")?)
}

fn lost_to_device(results: &Value) -> Option<f64> {
    let way = idle(results, "lost_to_device")?.as_f64()?;
    Some(way + idle(results, "lost_either")?.as_f64()?)
}

/// What the relay did to frames toward the device.
fn forward(truth: &Value, count: &str) -> Option<f64> {
    truth.pointer(&format!("/forward/{count}"))?.as_f64()
}

const HALF_MS: Stated = Stated {
    absolute: 500_000.0,
    why: "this machine's own time to wake and send, there and back",
};
const ONE_FRAME: Stated = Stated {
    absolute: 3.0,
    why: "frames that are no datagrams of the test count in the truth: its end, ARP",
};

/// A transfer at a known rate.
const fn rate(
    link: &'static str,
    command: &'static str,
    reported: fn(&Value) -> Option<f64>,
    known: f64,
) -> Case {
    Case {
        procedure: "throughput",
        link,
        command,
        figure: "goodput, bytes/s",
        reported,
        known: Known::Value(known),
        stated: None,
    }
}

/// Round trips with a known figure.
const fn round_trips(
    link: &'static str,
    command: &'static str,
    figure: &'static str,
    reported: fn(&Value) -> Option<f64>,
    known: f64,
) -> Case {
    Case {
        procedure: "latency",
        link,
        command,
        figure,
        reported,
        known: Known::Value(known),
        stated: Some(HALF_MS),
    }
}

/// A count that the relay has made, too.
const fn counted(
    link: &'static str,
    command: &'static str,
    figure: &'static str,
    reported: fn(&Value) -> Option<f64>,
    truth: fn(&Value) -> Option<f64>,
) -> Case {
    Case {
        procedure: "loss",
        link,
        command,
        figure,
        reported,
        known: Known::Truth(truth),
        stated: Some(ONE_FRAME),
    }
}

const LATENCY: &str = "latency stamp://DEVICE:8620 --count 1000 --interval 5";

/// All of them.
pub const CASES: &[Case] = &[
    rate(
        "--both rate=1M,queue=20",
        "test iperf2://DEVICE --forward -t 8 -w 20000",
        to_device,
        tcp(1e6),
    ),
    rate(
        "--both rate=10M,queue=50",
        "test iperf2://DEVICE --forward -t 4 -w 60000",
        to_device,
        tcp(10e6),
    ),
    rate(
        "--both rate=10M,queue=50",
        "test iperf3://DEVICE --forward -t 4 -w 60000",
        to_device,
        tcp(10e6),
    ),
    rate(
        "--both rate=10M,queue=50",
        "test iperf3://DEVICE -R -t 4",
        from_device,
        tcp(10e6),
    ),
    rate(
        "--both rate=10M,queue=50",
        "test http://DEVICE:8080 -R -n 4M",
        from_device,
        tcp(10e6),
    ),
    rate(
        "--both rate=100M,queue=200",
        "test iperf3://DEVICE --forward -t 4",
        to_device,
        tcp(100e6),
    ),
    rate(
        "--both rate=10M,queue=50",
        "test iperf2://DEVICE --forward -u -b 20M -t 4",
        to_device,
        udp(10e6, 1470.0),
    ),
    rate(
        "--both rate=10M,queue=50",
        "test iperf2://DEVICE -R -u -b 20M -l 64 -t 4",
        from_device,
        udp(10e6, 64.0),
    ),
    rate(
        "--both rate=10M,queue=50",
        "test iperf3://DEVICE --forward -u -b 5M -t 4",
        to_device,
        5e6 / 8.0,
    ),
    Case {
        procedure: "sweep",
        link: "--both rate=5M,queue=50",
        command: "sweep iperf2://DEVICE load --forward --from 1M --to 9M --steps 5",
        figure: "most received, bytes/s",
        reported: most_received,
        known: Known::Value(udp(5e6, 1470.0)),
        stated: None,
    },
    round_trips(
        "--both delay=1ms",
        LATENCY,
        "round trip p50, ns",
        rtt_p50,
        2e6,
    ),
    round_trips(
        "--both delay=5ms",
        LATENCY,
        "round trip p50, ns",
        rtt_p50,
        10e6,
    ),
    round_trips(
        "--both delay=50ms",
        LATENCY,
        "round trip p50, ns",
        rtt_p50,
        100e6,
    ),
    round_trips(
        "--forward delay=5ms,jitter=1ms",
        LATENCY,
        "variation of the round trip (99% less the shortest), ns",
        variation,
        // Of delays that lie evenly over 2 ms.
        0.99 * 2e6,
    ),
    counted(
        "--forward loss=1%,spare=20",
        "test iperf2://DEVICE --forward -u -b 10M -t 4",
        "datagrams lost",
        lost,
        |truth| forward(truth, "lost_random_frames"),
    ),
    counted(
        "--forward burst_loss=0.5%/20%,spare=20",
        "test iperf2://DEVICE --forward -u -b 10M -t 4",
        "datagrams lost",
        lost,
        |truth| forward(truth, "lost_burst_frames"),
    ),
    counted(
        "--backward loss=1%,spare=20",
        "test iperf2://DEVICE -R -u -b 10M -t 4",
        "datagrams lost",
        lost_from,
        |truth| truth.pointer("/backward/lost_random_frames")?.as_f64(),
    ),
    counted(
        "--backward duplicate=1%,spare=20",
        "test iperf2://DEVICE -R -u -b 10M -t 4",
        "datagrams that came again",
        duplicates,
        |truth| truth.pointer("/backward/duplicated_frames")?.as_f64(),
    ),
    counted(
        "--forward reorder=1%,spare=20",
        "test iperf2://DEVICE --forward -u -b 10M -t 4",
        "datagrams out of order",
        out_of_order,
        |truth| forward(truth, "reordered_frames"),
    ),
    counted(
        "--forward loss=2%,spare=20",
        LATENCY,
        "packets lost on the way there",
        lost_to_device,
        |truth| forward(truth, "lost_random_frames"),
    ),
];
