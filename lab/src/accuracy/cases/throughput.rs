//! Transfers over links with a known rate.

use super::{Case, Chapter, Figure, Unit, tcp, udp};
use crate::accuracy::figures::Measured;

fn to_device(it: &Measured) -> Option<f64> {
    it.transfer("/metrics/to_device/goodput_bytes_per_s")
}

fn from_device(it: &Measured) -> Option<f64> {
    it.transfer("/metrics/from_device/goodput_bytes_per_s")
}

const fn sent(known: f64) -> Figure {
    Figure::of("goodput", Unit::BytesPerS, to_device, known)
}

const fn received(known: f64) -> Figure {
    Figure::of("goodput", Unit::BytesPerS, from_device, known)
}

/// Payload that the relay forwarded: for TCP with timestamps, all but 66 octets of each frame.
fn forwarded(it: &Measured, direction: &str) -> Option<f64> {
    Some(it.counted(direction, "octets_out")? - 66.0 * it.counted(direction, "frames_out")?)
}

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

/// TCP shares the link with the acknowledgments of the other direction in unknown parts, so only octets are compared.
const STREAMS: [Figure; 2] = [
    Figure::counted(
        "octets to the device",
        Unit::Octets,
        |it| it.transfer("/metrics/to_device/octets"),
        |it| forwarded(it, "forward"),
    ),
    Figure::counted(
        "octets from the device",
        Unit::Octets,
        |it| it.transfer("/metrics/from_device/octets"),
        |it| forwarded(it, "backward"),
    ),
];

pub const CHAPTER: Chapter = Chapter {
    title: "Throughput",
    words: &["throughput"],
    notes: "",
    cases: &[
        Case::repeated(
            "--busy --both rate=1M,queue=20",
            "test iperf2://DEVICE --forward -t 8 -w 20000",
            &[sent(tcp(1e6))],
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=50",
            "test iperf2://DEVICE --forward -t 3 -w 60000",
            &[sent(tcp(10e6))],
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=50",
            "test iperf3://DEVICE --forward -t 3 -w 60000",
            &[sent(tcp(10e6))],
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=50",
            "test iperf3://DEVICE -R -t 3",
            &[received(tcp(10e6))],
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=50",
            "test http://DEVICE:8080 -R -n 4M",
            &[received(tcp(10e6))],
        ),
        Case::repeated(
            "--busy --both rate=100M,queue=200",
            "test iperf3://DEVICE --forward -t 3",
            &[sent(tcp(100e6))],
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=50",
            "test iperf2://DEVICE --forward -u -b 20M -t 3",
            &[sent(udp(10e6, 1_470.0))],
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=50",
            "test iperf2://DEVICE -R -u -b 20M -l 64 -t 3",
            &[received(udp(10e6, 64.0))],
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=50",
            "test iperf3://DEVICE --forward -u -b 5M -t 3",
            &[sent(5e6 / 8.0)],
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=50",
            "test iperf3://DEVICE --bidir -u -b 20M -t 3",
            &DATAGRAMS,
        ),
        Case::once(
            "--busy --both rate=10M,queue=200",
            "test iperf3://DEVICE --bidir -t 4",
            &STREAMS,
        ),
    ],
};
