//! The steps of RFC 6349.

use super::{Case, Chapter, Figure, HALF_MS, PermittedError, Unit, tcp};
use crate::accuracy::figures::Measured;

/// A STAMP packet of 44 octets on the wire, without the following gap.
const PROBE_BITS: f64 = (44.0 + 42.0 + 4.0 + 8.0) * 8.0;
const ROUND_TRIP_NS: f64 = 2.0 * (10e6 + PROBE_BITS * 1e9 / 10e6);

fn step(it: &Measured, step: &str, pointer: &str) -> Option<f64> {
    let mut all = it.of("rfc6349");
    let step = all.find(|it| it["params"]["step"] == step)?;
    step.pointer(pointer)?.as_f64()
}

fn transfer(it: &Measured, percent: u64, pointer: &str) -> Option<f64> {
    it.where_is("rfc6349", ("window_percent", percent), pointer)
}

const PRODUCT: f64 = tcp(10e6) * ROUND_TRIP_NS / 1e9;

const FIGURES: [Figure; 5] = [
    Figure::of(
        "path MTU",
        Unit::Octets,
        |it| step(it, "path_mtu", "/metrics/path_mtu_bytes"),
        1_500.0,
    ),
    Figure::of(
        "baseline round trip",
        Unit::Milliseconds,
        |it| step(it, "baseline_rtt", "/metrics/rtt/min_ns"),
        ROUND_TRIP_NS,
    )
    .permitting(HALF_MS),
    Figure::of(
        "bottleneck",
        Unit::BytesPerS,
        |it| step(it, "bottleneck", "/metrics/flow/goodput_bytes_per_s"),
        tcp(10e6),
    ),
    Figure::of(
        "bandwidth-delay product, the window of 100%",
        Unit::Octets,
        |it| transfer(it, 100, "/metrics/window_bytes"),
        PRODUCT,
    )
    .permitting(PermittedError::around(
        (0.02 + 0.5 / 20.0) * PRODUCT,
        "the errors of the bottleneck and of the round trip together",
    )),
    Figure::of(
        "goodput of the window of 125%",
        Unit::BytesPerS,
        |it| transfer(it, 125, "/metrics/flow/goodput_bytes_per_s"),
        tcp(10e6),
    ),
];

pub const CHAPTER: Chapter = Chapter {
    title: "RFC 6349",
    words: &["rfc6349"],
    notes: "",
    cases: &[Case::once(
        "--busy --both rate=10M,delay=10ms,queue=100",
        "rfc6349 iperf2://DEVICE -R --probe stamp://DEVICE:8620",
        &FIGURES,
    )],
};
