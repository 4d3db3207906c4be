//! Round trips over links with a known delay.

use super::{Case, Chapter, Figure, HALF_MS, PermittedError, Unit, datagram_ns};
use crate::accuracy::figures::{Measured, number};

const IDLE: &str = "latency stamp://DEVICE:8620 --count 600 --interval 5";

fn median(it: &Measured) -> Option<f64> {
    it.idle("/metrics/rtt/p50_ns")
}

/// 99th percentile of the round trips less the minimum.
fn variation(it: &Measured) -> Option<f64> {
    Some(it.idle("/metrics/rtt/p99_ns")? - it.idle("/metrics/rtt/min_ns")?)
}

/// Median round trip under the highest load.
fn loaded(it: &Measured) -> Option<f64> {
    let load = |it: &&serde_json::Value| number(it, "/params/load/offered_bytes_per_s");
    let all = it.of("latency").filter(|it| load(it).is_some());
    number(all.last()?, "/metrics/rtt/p50_ns")
}

const fn idle(link: &'static str, figures: &'static [Figure]) -> Case {
    Case::repeated(link, IDLE, figures)
}

const fn round_trip(known: f64) -> Figure {
    Figure::of(
        "median of the round trips",
        Unit::Milliseconds,
        median,
        known,
    )
    .permitting(HALF_MS)
}

/// Duration of a full queue before a probe. The queue is limited in octets, because probes have few: in a queue
/// limited in frames each probe would take the place of a long frame.
const FULL_QUEUE_NS: f64 = 76_000.0 / (1_470.0 + 42.0) * datagram_ns(10e6, 1_470.0);

pub const CHAPTER: Chapter = Chapter {
    title: "Latency",
    words: &["latency"],
    notes: "",
    cases: &[
        idle("--busy --both delay=1ms", &[round_trip(2e6)]),
        idle("--busy --both delay=5ms", &[round_trip(10e6)]),
        idle("--busy --both delay=50ms", &[round_trip(100e6)]),
        idle(
            "--busy --forward delay=5ms,jitter=1ms",
            &[Figure::of(
                "variation of the round trips (99th percentile less minimum)",
                Unit::Milliseconds,
                variation,
                // Delays are uniform over 2 ms.
                0.99 * 2e6,
            )
            .permitting(HALF_MS)],
        ),
        Case::repeated(
            "--busy --both rate=10M,queue=76kB",
            "sweep iperf2://DEVICE latency --forward --from 2M --to 20M --steps 2 --probe stamp://DEVICE:8620",
            &[Figure::of(
                "median of the round trips under 20 Mbit/s, with the queue full",
                Unit::Milliseconds,
                loaded,
                FULL_QUEUE_NS,
            )
            .permitting(PermittedError::around(
                datagram_ns(10e6, 1_470.0),
                "one frame: part of the frame on the link is already sent, and part of a frame may still fit into the queue",
            ))],
        ),
    ],
};
