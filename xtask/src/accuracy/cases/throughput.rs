//! Transfers at a known rate.

use super::{Case, Chapter, Figure, OFTEN, SEGMENT_ON_WIRE, Stated, Unit, tcp, udp};
use crate::accuracy::figures::Measured;

/// An acknowledgement without data takes so many octets of the wire, with timestamps.
const ACKNOWLEDGEMENT_ON_WIRE: f64 = 90.0;

fn to_device(it: &Measured) -> Option<f64> {
    it.transfer("/metrics/to_device/goodput_bytes_per_s")
}

fn from_device(it: &Measured) -> Option<f64> {
    it.transfer("/metrics/from_device/goodput_bytes_per_s")
}

/// A transfer of which the goodput is known.
const fn case(link: &'static str, command: &'static str, figures: &'static [Figure]) -> Case {
    Case {
        link,
        command,
        times: OFTEN,
        figures,
    }
}

const fn sent(known: f64) -> Figure {
    Figure::of("goodput", Unit::BytesPerS, to_device, known)
}

const fn received(known: f64) -> Figure {
    Figure::of("goodput", Unit::BytesPerS, from_device, known)
}

/// TCP that shares each way with the acknowledgements of the other: one for two segments.
const fn shared(bits_per_s: f64) -> f64 {
    tcp(bits_per_s) * SEGMENT_ON_WIRE / (SEGMENT_ON_WIRE + ACKNOWLEDGEMENT_ON_WIRE / 2.0)
}

const ACKNOWLEDGED: Stated = Stated {
    below: 0.06 * shared(10e6),
    above: tcp(10e6) - shared(10e6),
    why: "TCP acknowledges each segment, or two, or what comes back carries it: 5.5% of the link, or 2.8%, \
          or nothing",
};

const DATAGRAMS: [Figure; 2] = [
    Figure::of(
        "goodput to the device",
        Unit::BytesPerS,
        to_device,
        udp(10e6, 1_470.0),
    ),
    Figure::of(
        "goodput from the device",
        Unit::BytesPerS,
        from_device,
        udp(10e6, 1_470.0),
    ),
];

const STREAMS: [Figure; 2] = [
    Figure::of(
        "goodput to the device",
        Unit::BytesPerS,
        to_device,
        shared(10e6),
    )
    .stated(ACKNOWLEDGED),
    Figure::of(
        "goodput from the device",
        Unit::BytesPerS,
        from_device,
        shared(10e6),
    )
    .stated(ACKNOWLEDGED),
];

pub const CHAPTER: Chapter = Chapter {
    title: "Throughput",
    words: &["throughput"],
    cases: &[
        case(
            "--both rate=1M,queue=20",
            "test iperf2://DEVICE --forward -t 8 -w 20000",
            &[sent(tcp(1e6))],
        ),
        case(
            "--both rate=10M,queue=50",
            "test iperf2://DEVICE --forward -t 3 -w 60000",
            &[sent(tcp(10e6))],
        ),
        case(
            "--both rate=10M,queue=50",
            "test iperf3://DEVICE --forward -t 3 -w 60000",
            &[sent(tcp(10e6))],
        ),
        case(
            "--both rate=10M,queue=50",
            "test iperf3://DEVICE -R -t 3",
            &[received(tcp(10e6))],
        ),
        case(
            "--both rate=10M,queue=50",
            "test http://DEVICE:8080 -R -n 4M",
            &[received(tcp(10e6))],
        ),
        case(
            "--both rate=100M,queue=200",
            "test iperf3://DEVICE --forward -t 3",
            &[sent(tcp(100e6))],
        ),
        case(
            "--both rate=10M,queue=50",
            "test iperf2://DEVICE --forward -u -b 20M -t 3",
            &[sent(udp(10e6, 1_470.0))],
        ),
        case(
            "--both rate=10M,queue=50",
            "test iperf2://DEVICE -R -u -b 20M -l 64 -t 3",
            &[received(udp(10e6, 64.0))],
        ),
        case(
            "--both rate=10M,queue=50",
            "test iperf3://DEVICE --forward -u -b 5M -t 3",
            &[sent(5e6 / 8.0)],
        ),
        case(
            "--both rate=10M,queue=50",
            "test iperf3://DEVICE --bidir -u -b 20M -t 3",
            &DATAGRAMS,
        ),
        case(
            "--both rate=10M,queue=200",
            "test iperf3://DEVICE --bidir -t 4",
            &STREAMS,
        ),
    ],
};
