//! Sweeps of loads, datagram sizes and TCP windows, and the gaps between datagrams.

use super::{
    Case, Chapter, Figure, HALF_MS, Known, PermittedError, SATURATION, SEGMENT, Unit, datagram_ns,
    tcp, udp,
};
use crate::accuracy::figures::Measured;

const GOODPUT: &str = "/metrics/flow/goodput_bytes_per_s";

pub const LOADS: Chapter = Chapter {
    title: "Load sweep",
    words: &["load sweep", "udp_sweep"],
    notes: "",
    cases: &[Case::once(
        "--busy --both rate=5M,queue=50",
        "sweep iperf2://DEVICE load --forward --from 1M --to 9M --steps 5",
        &SATURATION,
    )],
};

const SIZED: &str =
    "sweep iperf2://DEVICE size --forward -u -b 20M --from 64 --to 1470 --steps 3 -t 2";
const SIZES: [Figure; 3] = [
    Figure::of(
        "goodput of 64 octets a datagram",
        Unit::BytesPerS,
        |it| it.where_is("size_sweep", ("payload_bytes", 64), GOODPUT),
        udp(10e6, 64.0),
    ),
    Figure::of(
        "goodput of 767 octets a datagram",
        Unit::BytesPerS,
        |it| it.where_is("size_sweep", ("payload_bytes", 767), GOODPUT),
        udp(10e6, 767.0),
    ),
    Figure::of(
        "goodput of 1470 octets a datagram",
        Unit::BytesPerS,
        |it| it.where_is("size_sweep", ("payload_bytes", 1_470), GOODPUT),
        udp(10e6, 1_470.0),
    ),
];

/// Twice the delay.
const ROUND_TRIP_S: f64 = 0.020;

fn window(it: &Measured, octets: u64) -> Option<f64> {
    it.where_is("window_sweep", ("window_bytes", octets), GOODPUT)
}

/// Goodput limit of a window: its whole segments once per round trip.
fn window_goodput_limit(it: &Measured, stream: usize) -> Option<f64> {
    let segments = (it.windows.get(stream)? / SEGMENT).floor();
    Some(segments * SEGMENT / ROUND_TRIP_S)
}

/// The goodput of a window of `octets`.
const fn of_window(
    name: &'static str,
    reported: fn(&Measured) -> Option<f64>,
    known: fn(&Measured) -> Option<f64>,
    octets: f64,
) -> Figure {
    let filled = octets / ROUND_TRIP_S;
    Figure {
        name,
        unit: Unit::BytesPerS,
        reported,
        known: Known::Announced(known),
        permitted: Some(PermittedError {
            below: 0.04 * filled,
            above: 0.02 * filled,
            why: "the first four round trips (of 250) at most do not fill the window, and each round trip \
                  includes this machine's time to wake up and send, up to 0.5 ms of 20 ms",
        }),
    }
}

const WINDOWS: [Figure; 3] = [
    Figure::of(
        "shortest round trip",
        Unit::Milliseconds,
        |it| it.where_is("window_sweep", ("window_bytes", 16_000), "/metrics/rtt_ns"),
        ROUND_TRIP_S * 1e9,
    )
    .permitting(HALF_MS),
    of_window(
        "goodput of the window that Linux sets for 16 kB",
        |it| window(it, 16_000),
        |it| window_goodput_limit(it, 0),
        16_000.0,
    ),
    of_window(
        "goodput of the window that Linux sets for 64 kB",
        |it| window(it, 64_000),
        |it| window_goodput_limit(it, 1),
        64_000.0,
    ),
];

const OPEN: [Figure; 1] = [Figure::of(
    "goodput of a window of 256 kB",
    Unit::BytesPerS,
    |it| window(it, 256_000),
    tcp(10e6),
)];

const GAP: &str = "/metrics/flow/gaps/p50_ns";

const EVEN: [Figure; 2] = [
    Figure::of(
        "mean gap at 2 Mbit/s of 1470 octets",
        Unit::Microseconds,
        |it| {
            let of = |pointer| it.where_is("packet_gaps", ("payload_bytes", 1_470), pointer);
            Some(of("/metrics/flow/span_ns")? / (of("/metrics/flow/datagrams/received")? - 1.0))
        },
        1_470.0 * 8e9 / 2e6,
    ),
    Figure::of(
        "median of the gaps at 2 Mbit/s of 1470 octets",
        Unit::Microseconds,
        |it| it.where_is("packet_gaps", ("payload_bytes", 1_470), GAP),
        1_470.0 * 8e9 / 2e6,
    ),
];

const FULL: [Figure; 1] = [Figure::of(
    "median of the gaps at 1470 octets, link saturated",
    Unit::Microseconds,
    |it| it.where_is("packet_gaps", ("payload_bytes", 1_470), GAP),
    datagram_ns(10e6, 1_470.0),
)];

pub const SIZES_WINDOWS_GAPS: Chapter = Chapter {
    title: "Sizes, windows and gaps",
    words: &["size_sweep", "window_sweep", "packet_gaps"],
    notes: "",
    cases: &[
        Case::repeated("--busy --both rate=10M,queue=50", SIZED, &SIZES),
        Case::repeated(
            "--busy --both delay=10ms",
            "sweep iperf2://DEVICE window -R --from 16000 --to 64000 --steps 2 -t 5 \
                      --probe stamp://DEVICE:8620",
            &WINDOWS,
        ),
        Case::once(
            "--busy --both rate=10M,delay=5ms,queue=300",
            "sweep iperf2://DEVICE window --forward --from 64000 --to 256000 --steps 2 -t 3 \
                      --probe stamp://DEVICE:8620",
            &OPEN,
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=50",
            "sweep iperf2://DEVICE gaps -b 2M --from 64 --to 1470 --steps 2 -t 2",
            &EVEN,
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=50",
            "sweep iperf2://DEVICE gaps -b 20M --from 64 --to 1470 --steps 2 -t 2",
            &FULL,
        ),
    ],
};
