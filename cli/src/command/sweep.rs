//! `linerate sweep`, `linerate latency` and `linerate rfc6349`.

use std::time::Duration;

use anyhow::anyhow;
use linerate_bench::endpoint::RoundTrips;
use linerate_bench::procedure::latency::Latency;
use linerate_bench::procedure::packet_gaps::PacketGaps;
use linerate_bench::procedure::rfc6349::Rfc6349;
use linerate_bench::procedure::size_sweep::SizeSweep;
use linerate_bench::procedure::udp_sweep::{OfferedLoads, UdpSweep};
use linerate_bench::procedure::window_sweep::WindowSweep;
use linerate_bench::procedure::{Procedure, RequestedProcedure, steps};
use linerate_results::record::{Direction, Transport};

use super::test;
use crate::args::{self, Swept};
use crate::failure::Failure;

/// Default datagram payload of iperf, which fits in an Ethernet frame.
const PAYLOAD_OCTETS: u16 = 1_470;
/// First load when searching the range of loads, bit/s.
const SEARCH_FROM: u64 = 500_000;
/// Default offered UDP rate, bit/s, as in iperf.
const DEFAULT_OFFERED_RATE: u64 = 1_000_000;
/// Range of TCP write sizes: from the size of headers to the largest window without scaling.
const WRITE_RANGE: [u64; 2] = [64, 65_536];
/// Range of datagram sizes: up to what fits in an Ethernet frame.
const DATAGRAM_RANGE: [u64; 2] = [64, PAYLOAD_OCTETS as u64];
/// Range of windows: from a small device's to one that saturates links of this kind.
const WINDOW_RANGE: [u64; 2] = [4_096, 1_048_576];
/// Maximum number of values.
const MAX_VALUES: u64 = 1_000;

pub fn run(args: &args::Sweep) -> Result<(), Failure> {
    let asked = match args.what {
        Swept::Load => load(args)?,
        Swept::Size => size(args)?,
        Swept::Window => window(args)?,
        Swept::Gaps => gaps(args)?,
        Swept::Latency => latency(args)?,
    };
    let mut target = test::open(&args.link)?;
    test::measure("sweep", &args.link, &asked, target.as_mut(), None)
}

pub fn idle_and_loaded(args: &args::Latency) -> Result<(), Failure> {
    let mut target = test::open(&args.link)?;
    let mut procedure = Latency::idle_and_loaded(RoundTrips {
        count: args.count,
        interval: Duration::from_millis(args.interval),
        payload_octets: args.length,
        load: None,
    });
    let is_loaded = !args.idle && procedure.supports_any_load(target.as_ref());
    if !is_loaded {
        procedure.loads.clear();
    }
    let asked = [RequestedProcedure {
        procedure: Box::new(procedure),
        is_required: true,
    }];
    test::measure("latency", &args.link, &asked, target.as_mut(), None)
}

pub fn rfc6349(args: &args::Rfc6349) -> Result<(), Failure> {
    let (directions, is_required) = directions(args.forward, args.reverse);
    let procedure = |directions| Rfc6349 {
        directions,
        span: Duration::from_secs(if args.full { 30 } else { args.time }),
        streams: args.parallel,
        settle: Duration::from_millis(500),
    };
    let mut target = test::open(&args.link)?;
    let can = |direction: &Direction| {
        is_required
            || procedure(vec![*direction])
                .check_support(target.as_ref())
                .is_ok()
    };
    let mut possible: Vec<Direction> = directions.iter().copied().filter(can).collect();
    if possible.is_empty() {
        possible = directions;
    }
    let asked = [RequestedProcedure {
        procedure: Box::new(procedure(possible)),
        is_required: true,
    }];
    test::measure("rfc6349", &args.link, &asked, target.as_mut(), None)
}

/// Requested directions, and whether the user named them. A target may skip an unsupported direction that
/// was not named.
fn directions(forward: bool, reverse: bool) -> (Vec<Direction>, bool) {
    match (forward, reverse) {
        (true, _) => (vec![Direction::ToDevice], true),
        (_, true) => (vec![Direction::FromDevice], true),
        _ => (vec![Direction::ToDevice, Direction::FromDevice], false),
    }
}

fn input_error(message: String) -> Failure {
    Failure::Input(anyhow!(message))
}

/// Values from --from to --to; `None` if neither is given.
fn values(args: &args::Sweep) -> Result<Option<Vec<u64>>, Failure> {
    let (Some(from), Some(to)) = (args.from, args.to) else {
        return Ok(None);
    };
    if from > to {
        return Err(input_error(format!(
            "--from {from} exceeds --to {to}: values must increase"
        )));
    }
    if from == 0 {
        return Err(input_error("--from must be greater than 0".to_owned()));
    }
    Ok(Some(match args.step {
        Some(0) => return Err(input_error("--step must be greater than 0".to_owned())),
        Some(step) if (to - from) / step >= MAX_VALUES => {
            return Err(input_error(format!(
                "--step {step} results in more than {MAX_VALUES} trials"
            )));
        }
        Some(step) => steps::by_step(from, to, step),
        None if args.geometric => steps::by_factor(from, to, args.steps),
        None => steps::even(from, to, args.steps),
    }))
}

/// Values of --from and --to, else powers of two from `low` to `high`; an error above `max`.
fn sizes(args: &args::Sweep, [low, high]: [u64; 2], max: u64) -> Result<Vec<u64>, Failure> {
    let doubled = || {
        let mut sizes: Vec<u64> = std::iter::successors(Some(low), |size| Some(size * 2))
            .take_while(|size| *size < high)
            .collect();
        sizes.push(high);
        sizes
    };
    let sizes = values(args)?.unwrap_or_else(doubled);
    match sizes.iter().find(|size| **size > max) {
        Some(size) => Err(input_error(format!(
            "{size} octets exceed the maximum of {max}"
        ))),
        None => Ok(sizes),
    }
}

/// One procedure for each direction, so that an unsupported one does not affect the other.
fn each_way<P: Procedure + 'static>(
    args: &args::Sweep,
    procedure: impl Fn(Direction) -> P,
) -> Vec<RequestedProcedure> {
    let (directions, is_required) = directions(args.forward, args.reverse);
    let asked = |direction| RequestedProcedure {
        procedure: Box::new(procedure(direction)),
        is_required,
    };
    directions.into_iter().map(asked).collect()
}

fn span(args: &args::Sweep) -> Duration {
    Duration::from_secs(args.time)
}

fn settle(args: &args::Sweep) -> Duration {
    Duration::from_millis(args.settle)
}

fn load(args: &args::Sweep) -> Result<Vec<RequestedProcedure>, Failure> {
    let searched = || OfferedLoads::Searched { from: SEARCH_FROM };
    let offers = values(args)?.map_or_else(searched, OfferedLoads::Listed);
    Ok(each_way(args, |direction| UdpSweep {
        directions: vec![direction],
        offers: offers.clone(),
        span: span(args),
        payload_octets: args.length.unwrap_or(PAYLOAD_OCTETS),
        settle: settle(args),
    }))
}

fn size(args: &args::Sweep) -> Result<Vec<RequestedProcedure>, Failure> {
    let (transport, range, max) = if args.udp {
        (Transport::Udp, DATAGRAM_RANGE, 65_507)
    } else {
        (Transport::Tcp, WRITE_RANGE, 1 << 30)
    };
    let sizes: Vec<u32> = sizes(args, range, max)?
        .iter()
        .map(|it| *it as u32)
        .collect();
    Ok(each_way(args, |direction| SizeSweep {
        transport,
        direction,
        sizes: sizes.clone(),
        span: span(args),
        payload_bits_per_s: args.bandwidth.unwrap_or(DEFAULT_OFFERED_RATE),
        settle: settle(args),
    }))
}

fn window(args: &args::Sweep) -> Result<Vec<RequestedProcedure>, Failure> {
    let sizes = sizes(args, WINDOW_RANGE, 1_000_000_000)?;
    let windows: Vec<u32> = sizes.iter().map(|it| *it as u32).collect();
    Ok(each_way(args, |direction| WindowSweep {
        direction,
        windows: windows.clone(),
        span: span(args),
        settle: settle(args),
    }))
}

/// Gaps of datagrams sent by the device, unless the other direction is named, where the device must report
/// them.
fn gaps(args: &args::Sweep) -> Result<Vec<RequestedProcedure>, Failure> {
    let sizes = sizes(args, DATAGRAM_RANGE, 65_507)?;
    let direction = if args.forward {
        Direction::ToDevice
    } else {
        Direction::FromDevice
    };
    Ok(vec![RequestedProcedure {
        procedure: Box::new(PacketGaps {
            direction,
            sizes: sizes.iter().map(|it| *it as u16).collect(),
            span: span(args),
            payload_bits_per_s: args.bandwidth.unwrap_or(DEFAULT_OFFERED_RATE),
            settle: settle(args),
        }),
        is_required: true,
    }])
}

fn latency(args: &args::Sweep) -> Result<Vec<RequestedProcedure>, Failure> {
    let Some(offers) = values(args)? else {
        return Err(input_error(
            "latency requires a range of loads such as --from 1M --to 10M; `linerate latency` measures idle and \
             loaded only"
                .to_owned(),
        ));
    };
    let (directions, _) = directions(args.forward, args.reverse);
    Ok(vec![RequestedProcedure {
        procedure: Box::new(Latency::over_loads(
            test::round_trips(span(args)),
            &directions,
            &offers,
        )),
        is_required: true,
    }])
}
