//! `linerate sweep`, `linerate latency` and `linerate rfc6349`.

use std::time::Duration;

use linerate_bench::request::{
    LatencyRequest, NamedDirections, Rfc6349Request, SweepQuantity, SweepRequest, SweepValues,
};

use super::test;
use crate::args::{self, Swept};
use crate::failure::Failure;

/// Transfers of RFC 6349 last at least this long in the full procedure.
const FULL_SPAN: Duration = Duration::from_secs(30);

pub fn run(args: &args::Sweep) -> Result<(), Failure> {
    let procedures = request(args).procedures()?;
    let mut target = test::open("sweep", &args.link)?;
    test::measure("sweep", &args.link, &procedures, target.as_mut(), None)
}

fn request(args: &args::Sweep) -> SweepRequest {
    let range = args.from.zip(args.to);
    SweepRequest {
        quantity: match args.what {
            Swept::Load => SweepQuantity::Load,
            Swept::Size => SweepQuantity::Size,
            Swept::Window => SweepQuantity::Window,
            Swept::Gaps => SweepQuantity::Gaps,
            Swept::Latency => SweepQuantity::Latency,
        },
        values: range.map(|(from, to)| SweepValues {
            from,
            to,
            step: args.step,
            steps: args.steps,
            geometric: args.geometric,
        }),
        directions: NamedDirections {
            forward: args.forward,
            reverse: args.reverse,
        },
        udp: args.udp,
        bandwidth: args.bandwidth,
        payload_octets: args.length,
        span: Duration::from_secs(args.time),
        settle: Duration::from_millis(args.settle),
        counters: args.counters.clone(),
    }
}

pub fn idle_and_loaded(args: &args::Latency) -> Result<(), Failure> {
    let mut target = test::open("latency", &args.link)?;
    let request = LatencyRequest {
        count: args.count,
        interval: Duration::from_millis(args.interval),
        payload_octets: args.length,
        idle: args.idle,
    };
    let procedures = request.procedures(target.as_ref());
    test::measure("latency", &args.link, &procedures, target.as_mut(), None)
}

pub fn rfc6349(args: &args::Rfc6349) -> Result<(), Failure> {
    let request = Rfc6349Request {
        directions: NamedDirections {
            forward: args.forward,
            reverse: args.reverse,
        },
        span: if args.full {
            FULL_SPAN
        } else {
            Duration::from_secs(args.time)
        },
        streams: args.parallel,
    };
    let mut target = test::open("rfc6349", &args.link)?;
    let procedures = request.procedures(target.as_ref());
    test::measure("rfc6349", &args.link, &procedures, target.as_mut(), None)
}
