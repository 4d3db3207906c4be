//! Round trips over a known delay.

use super::{Case, Chapter, Figure, HALF_MS, OFTEN, Stated, Unit, datagram_ns};
use crate::accuracy::figures::{Measured, number};

const IDLE: &str = "latency stamp://DEVICE:8620 --count 600 --interval 5";

fn median(it: &Measured) -> Option<f64> {
    it.idle("/metrics/rtt/p50_ns")
}

/// From the shortest round trip to the one that 99 of 100 are no longer than.
fn variation(it: &Measured) -> Option<f64> {
    Some(it.idle("/metrics/rtt/p99_ns")? - it.idle("/metrics/rtt/min_ns")?)
}

/// Under the highest load.
fn loaded(it: &Measured) -> Option<f64> {
    let load = |it: &&serde_json::Value| number(it, "/params/load/offered_bytes_per_s");
    let all = it.of("latency").filter(|it| load(it).is_some());
    number(all.last()?, "/metrics/rtt/p50_ns")
}

const fn idle(link: &'static str, figures: &'static [Figure]) -> Case {
    Case {
        link,
        command: IDLE,
        times: OFTEN,
        figures,
    }
}

const fn round_trip(known: f64) -> Figure {
    Figure::of(
        "median of the round trips",
        Unit::Milliseconds,
        median,
        known,
    )
    .stated(HALF_MS)
}

/// What waits in a full queue before a probe. It is measured in octets, of which probes take few: of a
/// queue of frames each takes a place that is soon served.
const FULL_QUEUE_NS: f64 = 76_000.0 / (1_470.0 + 42.0) * datagram_ns(10e6, 1_470.0);

pub const CHAPTER: Chapter = Chapter {
    title: "Latency",
    words: &["latency"],
    cases: &[
        idle("--busy --both delay=1ms", &[round_trip(2e6)]),
        idle("--busy --both delay=5ms", &[round_trip(10e6)]),
        idle("--busy --both delay=50ms", &[round_trip(100e6)]),
        idle(
            "--busy --forward delay=5ms,jitter=1ms",
            &[Figure::of(
                "variation of the round trips (99% less the shortest)",
                Unit::Milliseconds,
                variation,
                // Of delays that lie evenly over 2 ms.
                0.99 * 2e6,
            )
            .stated(HALF_MS)],
        ),
        Case {
            link: "--busy --both rate=10M,queue=76kB",
            command: "sweep iperf2://DEVICE latency --forward --from 2M --to 20M --steps 2 \
                      --probe stamp://DEVICE:8620",
            times: OFTEN,
            figures: &[Figure::of(
                "median of the round trips under 20 Mbit/s, with the queue full",
                Unit::Milliseconds,
                loaded,
                FULL_QUEUE_NS,
            )
            .stated(Stated::around(
                datagram_ns(10e6, 1_470.0),
                "one frame: the one on the link has gone by some part, and the queue has room for some part of one",
            ))],
        },
    ],
};
