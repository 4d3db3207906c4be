//! Frames that the relay lost, duplicated or reordered, by its own count.

use super::{Case, Chapter, Figure, PermittedError, Unit};
use crate::accuracy::figures::Measured;

const FRAMES: PermittedError = PermittedError::around(
    3.0,
    "the relay also counts frames that are no datagrams of the stream: the end of the test, ARP",
);

const FORWARD: &str = "test iperf2://DEVICE --forward -u -b 10M -t 4";
const BACK: &str = "test iperf2://DEVICE -R -u -b 10M -t 4";

/// A count that the relay reports, too.
const fn counted(
    name: &'static str,
    reported: fn(&Measured) -> Option<f64>,
    truth: fn(&Measured) -> Option<f64>,
) -> Figure {
    Figure::counted(name, Unit::Count, reported, truth).permitting(FRAMES)
}

pub const CHAPTER: Chapter = Chapter {
    title: "Loss, duplicates, order",
    words: &["loss"],
    notes: "",
    cases: &[
        Case::once(
            "--busy --forward loss=1%,spare=20",
            FORWARD,
            &[counted(
                "datagrams lost",
                |it| it.transfer("/metrics/to_device/datagrams/lost"),
                |it| it.counted("forward", "lost_random_frames"),
            )],
        ),
        Case::once(
            "--busy --forward burst_loss=0.5%/20%,spare=20",
            FORWARD,
            &[counted(
                "datagrams lost",
                |it| it.transfer("/metrics/to_device/datagrams/lost"),
                |it| it.counted("forward", "lost_burst_frames"),
            )],
        ),
        Case::once(
            "--busy --backward loss=1%,spare=20",
            BACK,
            &[counted(
                "datagrams lost",
                |it| it.transfer("/metrics/from_device/datagrams/lost"),
                |it| it.counted("backward", "lost_random_frames"),
            )],
        ),
        Case::once(
            "--busy --backward duplicate=1%,spare=20",
            BACK,
            &[counted(
                "duplicate datagrams",
                |it| it.transfer("/metrics/from_device/datagrams/duplicates"),
                |it| it.counted("backward", "duplicated_frames"),
            )],
        ),
        Case::once(
            "--busy --forward reorder=1%,spare=20",
            FORWARD,
            &[counted(
                "datagrams out of order",
                |it| it.transfer("/metrics/to_device/datagrams/out_of_order"),
                |it| it.counted("forward", "reordered_frames"),
            )],
        ),
        Case::once(
            "--busy --forward loss=2%,spare=20",
            "latency stamp://DEVICE:8620 --count 1000 --interval 5",
            &[counted(
                "packets lost on the way to the device",
                |it| {
                    let way = it.idle("/metrics/lost_to_device")?;
                    Some(way + it.idle("/metrics/lost_either")?)
                },
                |it| it.counted("forward", "lost_random_frames"),
            )],
        ),
    ],
};
