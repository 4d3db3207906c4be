//! The tests of RFC 2544, with UDP datagrams.

use super::{Case, Chapter, Figure, HALF_MS, PermittedError, Unit};
use crate::accuracy::figures::{Measured, number};

/// Frames of `octets` octets that a link carries per second, with preamble and gap.
const fn frames_per_s(bits_per_s: f64, octets: f64) -> f64 {
    bits_per_s / ((octets + 20.0) * 8.0)
}

fn found(it: &Measured, metric: &str) -> Option<f64> {
    it.combined("RFC 2544", metric)
}

/// The link's rate, which is between two steps of the search.
const fn throughput(octets: f64, queue: f64) -> Figure {
    Figure::of(
        "throughput",
        Unit::FramesPerS,
        |it| found(it, "throughput_frames_per_s"),
        frames_per_s(CARRIED, octets),
    )
    .permitting(PermittedError {
        below: RESOLUTION * frames_per_s(LINE, octets),
        above: (queue + 1.0) / TRIAL_S,
        why: "the search has steps of 2% of the line rate, and in a trial of 4 s the queue hides the loss of as \
              many frames as it holds",
    })
}

const LINE: f64 = 10e6;
const CARRIED: f64 = 8.05e6;
const RESOLUTION: f64 = 0.02;
const TRIAL_S: f64 = 4.0;

/// Frames in two seconds of the loss test at line rate: sent, and carried by a link of half the rate, with the queue
/// and the frame on the link.
const OFFERED: f64 = 2.0 * frames_per_s(LINE, 1_518.0);
const TAKEN: f64 = 2.0 * frames_per_s(LINE / 2.0, 1_518.0) + 21.0;

fn lost(it: &Measured) -> impl Iterator<Item = (f64, f64)> {
    it.of("rfc2544").filter_map(|trial| {
        let of = |pointer| number(trial, pointer);
        Some((of("/metrics/lost_frames")?, of("/metrics/sent_frames")?))
    })
}

pub const CHAPTER: Chapter = Chapter {
    title: "RFC 2544",
    words: &["rfc2544"],
    notes: "",
    cases: &[
        Case::once(
            "--busy --both rate=8050k,queue=30",
            "rfc2544 iperf2://DEVICE --line-rate 10M --sizes 1518 --only throughput \
                      --resolution 2 --trial 4",
            &[throughput(1_518.0, 30.0)],
        ),
        Case::once(
            "--busy --both rate=8050k,queue=200",
            "rfc2544 iperf2://DEVICE --line-rate 10M --sizes 128 --only throughput \
                      --resolution 2 --trial 4",
            &[throughput(128.0, 200.0)],
        ),
        // Without --busy, and with long frames, of which there are few: on two cores a polling relay would leave one
        // for the load, the probes and the device, which would delay each other.
        Case::once(
            "--both delay=5ms",
            "rfc2544 iperf2://DEVICE --line-rate 10M --sizes 1518 --only latency --trial 1 \
                      --probe stamp://DEVICE:8620",
            &[Figure::of(
                "latency of probes during the load",
                Unit::Milliseconds,
                |it| found(it, "latency_ns"),
                10e6,
            )
            .permitting(HALF_MS)],
        ),
        Case::once(
            "--busy --both rate=5M,queue=20",
            "rfc2544 iperf2://DEVICE --line-rate 10M --sizes 1518 --only loss",
            &[
                Figure::of(
                    "loss at line rate",
                    Unit::Share,
                    |it| lost(it).next().map(|(lost, sent)| lost / sent),
                    1.0 - TAKEN / OFFERED,
                ),
                Figure::counted(
                    "frames lost at all rates",
                    Unit::Count,
                    |it| Some(lost(it).map(|it| it.0).sum()),
                    |it| it.counted("forward", "lost_queue_frames"),
                )
                .permitting(PermittedError {
                    below: 20.0,
                    above: 0.0,
                    why: "the full queue also drops datagrams that end a trial, which only the relay \
                          counts: one or two per trial",
                }),
            ],
        ),
        Case::once(
            "--busy --both rate=10M,queue=100",
            "rfc2544 iperf2://DEVICE --line-rate 20M --sizes 1518 --only burst --trial 0.5",
            &[Figure::of(
                "longest burst: the queue and one frame on the link",
                Unit::Count,
                |it| found(it, "burst_throughput_frames"),
                101.0,
            )],
        ),
    ],
};
