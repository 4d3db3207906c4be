//! Load sweeps against stock iperf servers: what they report is compared with the relay's settings and counts.
//!
//! The relay waits for its timers, as a loop that polls would take one of two processors from the client or the server.

use super::{Case, Chapter, Figure, Known, PermittedError, REPEATED, Server, Unit, udp};
use crate::accuracy::figures::{Measured, number};

/// Frames of a sweep that are no datagrams of a stream: a few for each load. Each of the permitted 2% of the datagrams
/// lost is a fraction of them.
const FRAMES: PermittedError = PermittedError::around(
    10.0,
    "the relay also counts lost frames that are no datagrams of a stream: the ends of five tests, iperf 3's control \
     connections, ARP",
);

const OVERLOADED: &str = "--both rate=5M,queue=50";
const LOSSY: &str = "--both rate=5M,queue=50,loss=2%,spare=20";
const LOSS_ALONE: &str = "--both rate=20M,queue=200,loss=5%,spare=20";

/// The highest received rate of a load sweep.
fn most_received(it: &Measured) -> Option<f64> {
    it.combined("load sweep", "most_received_bytes_per_s")
}

/// Sum of a count of datagrams over all loads.
fn datagrams(it: &Measured, count: &str) -> Option<f64> {
    let pointer = format!("/metrics/flow/datagrams/{count}");
    it.of("udp_sweep").map(|load| number(load, &pointer)).sum()
}

/// The link's rate, less the share of the frames that the relay lost behind it.
fn after_loss(it: &Measured, direction: &str) -> Option<f64> {
    let lost = it.counted(direction, "lost_random_frames")?;
    let passed = it.counted(direction, "frames_out")?;
    Some(udp(5e6, 1_470.0) * passed / (passed + lost))
}

const SATURATION: [Figure; 1] = [Figure::of(
    "rate at saturation",
    Unit::BytesPerS,
    most_received,
    udp(5e6, 1_470.0),
)];

/// A rate that follows from the relay's count of lost frames. The loss of the load at which most arrived differs from
/// that of the sweep by chance.
const fn saturation(known: fn(&Measured) -> Option<f64>) -> Figure {
    Figure {
        name: "rate at saturation, with loss",
        unit: Unit::BytesPerS,
        reported: most_received,
        known: Known::Counted(known),
        permitted: None,
    }
}

const TO_AFTER_LOSS: [Figure; 1] = [saturation(|it| after_loss(it, "forward"))];
const FROM_AFTER_LOSS: [Figure; 1] = [saturation(|it| after_loss(it, "backward"))];

const fn lost(known: fn(&Measured) -> Option<f64>) -> Figure {
    Figure {
        name: "datagrams lost at all loads",
        unit: Unit::Count,
        reported: |it| datagrams(it, "lost"),
        known: Known::Counted(known),
        permitted: Some(FRAMES),
    }
}

/// Loads below the rate, of which 5% do not arrive.
const RECEIVED: Figure = Figure {
    name: "share of the datagrams lost at all loads",
    unit: Unit::Share,
    reported: |it| Some(datagrams(it, "lost")? / datagrams(it, "sent")?),
    known: Known::Counted(|it| lost_share(it, "forward")),
    permitted: None,
};

const RECEIVED_BACK: Figure = Figure {
    known: Known::Counted(|it| lost_share(it, "backward")),
    ..RECEIVED
};

/// Frames that the relay lost: at random, and in the queue if this machine sent a burst.
fn lost_frames(it: &Measured, direction: &str) -> Option<f64> {
    Some(
        it.counted(direction, "lost_random_frames")?
            + it.counted(direction, "lost_queue_frames")?,
    )
}

fn lost_share(it: &Measured, direction: &str) -> Option<f64> {
    let lost = lost_frames(it, direction)?;
    Some(lost / (lost + datagrams(it, "received")?))
}

const TO_LOST: [Figure; 2] = [lost(|it| lost_frames(it, "forward")), RECEIVED];
const FROM_LOST: [Figure; 2] = [lost(|it| lost_frames(it, "backward")), RECEIVED_BACK];

const fn case(
    server: Server,
    link: &'static str,
    command: &'static str,
    times: usize,
    figures: &'static [Figure],
) -> Case {
    Case {
        link,
        server,
        command,
        times,
        figures,
    }
}

const TO_2: &str = "sweep iperf2://DEVICE load --forward --from 1M --to 9M --steps 5";
const FROM_2: &str = "sweep iperf2://DEVICE load -R --from 1M --to 9M --steps 5";
const TO_3: &str = "sweep iperf3://DEVICE load --forward --from 1M --to 9M --steps 5";
const FROM_3: &str = "sweep iperf3://DEVICE load -R --from 1M --to 9M --steps 5";

pub const CHAPTER: Chapter = Chapter {
    title: "Load sweep, stock servers",
    words: &["stock"],
    cases: &[
        case(Server::Iperf2, OVERLOADED, TO_2, REPEATED, &SATURATION),
        case(Server::Iperf2, OVERLOADED, FROM_2, REPEATED, &SATURATION),
        case(Server::Iperf3, OVERLOADED, TO_3, REPEATED, &SATURATION),
        case(Server::Iperf3, OVERLOADED, FROM_3, REPEATED, &SATURATION),
        case(Server::Iperf2, LOSSY, TO_2, REPEATED, &TO_AFTER_LOSS),
        case(Server::Iperf2, LOSSY, FROM_2, REPEATED, &FROM_AFTER_LOSS),
        case(Server::Iperf3, LOSSY, TO_3, REPEATED, &TO_AFTER_LOSS),
        case(Server::Iperf3, LOSSY, FROM_3, REPEATED, &FROM_AFTER_LOSS),
        case(Server::Iperf2, LOSS_ALONE, TO_2, 1, &TO_LOST),
        case(Server::Iperf2, LOSS_ALONE, FROM_2, 1, &FROM_LOST),
        case(Server::Iperf3, LOSS_ALONE, TO_3, 1, &TO_LOST),
        case(Server::Iperf3, LOSS_ALONE, FROM_3, 1, &FROM_LOST),
    ],
};
