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

/// Payload of a datagram that fits an Ethernet frame, as iperf has it.
const PAYLOAD_OCTETS: u16 = 1_470;
/// Where a search for the range of loads begins, bits a second.
const SEARCH_FROM: u64 = 500_000;
/// What datagrams offer without a word, bits a second: iperf's.
const OFFER: u64 = 1_000_000;
/// Writes of TCP: from what a header has to the largest that a window without scaling holds.
const WRITES: [u64; 2] = [64, 65_536];
/// Datagrams: up to what fits an Ethernet frame.
const DATAGRAMS: [u64; 2] = [64, PAYLOAD_OCTETS as u64];
/// Windows: from a small device's to where links of this kind are full.
const WINDOWS: [u64; 2] = [4_096, 1_048_576];
/// The longest list.
const MOST: u64 = 1_000;

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
    let (ways, is_required) = ways(args.forward, args.reverse);
    let procedure = |directions| Rfc6349 {
        directions,
        span: Duration::from_secs(if args.full { 30 } else { args.time }),
        streams: args.parallel,
        settle: Duration::from_millis(500),
    };
    let mut target = test::open(&args.link)?;
    let can = |way: &Direction| {
        is_required || procedure(vec![*way]).check_support(target.as_ref()).is_ok()
    };
    let mut possible: Vec<Direction> = ways.iter().copied().filter(can).collect();
    if possible.is_empty() {
        possible = ways;
    }
    let asked = [RequestedProcedure {
        procedure: Box::new(procedure(possible)),
        is_required: true,
    }];
    test::measure("rfc6349", &args.link, &asked, target.as_mut(), None)
}

/// The ways that were asked for, and whether by name. One that was not may be left out by a target that
/// can't do it.
fn ways(forward: bool, reverse: bool) -> (Vec<Direction>, bool) {
    match (forward, reverse) {
        (true, _) => (vec![Direction::ToDevice], true),
        (_, true) => (vec![Direction::FromDevice], true),
        _ => (vec![Direction::ToDevice, Direction::FromDevice], false),
    }
}

fn wrong(what: String) -> Failure {
    Failure::Input(anyhow!(what))
}

/// The values from --from to --to; `None` when there is neither.
fn values(args: &args::Sweep) -> Result<Option<Vec<u64>>, Failure> {
    let (Some(from), Some(to)) = (args.from, args.to) else {
        return Ok(None);
    };
    if from > to {
        return Err(wrong(format!(
            "--from {from} is above --to {to}: a sweep goes up"
        )));
    }
    if from == 0 {
        return Err(wrong(
            "--from 0 is nothing to measure: begin above".to_owned(),
        ));
    }
    Ok(Some(match args.step {
        Some(0) => return Err(wrong("a --step of 0 leads nowhere".to_owned())),
        Some(step) if (to - from) / step >= MOST => {
            return Err(wrong(format!(
                "--step {step} makes more than {MOST} trials"
            )));
        }
        Some(step) => steps::by_step(from, to, step),
        None if args.geometric => steps::by_factor(from, to, args.steps),
        None => steps::even(from, to, args.steps),
    }))
}

/// The values of --from and --to, else powers of two from `low` to `high`; none above `most`.
fn sizes(args: &args::Sweep, [low, high]: [u64; 2], most: u64) -> Result<Vec<u64>, Failure> {
    let doubled = || {
        let mut sizes: Vec<u64> = std::iter::successors(Some(low), |size| Some(size * 2))
            .take_while(|size| *size < high)
            .collect();
        sizes.push(high);
        sizes
    };
    let sizes = values(args)?.unwrap_or_else(doubled);
    match sizes.iter().find(|size| **size > most) {
        Some(size) => Err(wrong(format!(
            "{size} octets are more than {most}, which is the most"
        ))),
        None => Ok(sizes),
    }
}

/// One procedure for each way, so that one that can't be done leaves the other.
fn each_way<P: Procedure + 'static>(
    args: &args::Sweep,
    procedure: impl Fn(Direction) -> P,
) -> Vec<RequestedProcedure> {
    let (ways, is_required) = ways(args.forward, args.reverse);
    let asked = |way| RequestedProcedure {
        procedure: Box::new(procedure(way)),
        is_required,
    };
    ways.into_iter().map(asked).collect()
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
    Ok(each_way(args, |way| UdpSweep {
        directions: vec![way],
        offers: offers.clone(),
        span: span(args),
        payload_octets: args.length.unwrap_or(PAYLOAD_OCTETS),
        settle: settle(args),
    }))
}

fn size(args: &args::Sweep) -> Result<Vec<RequestedProcedure>, Failure> {
    let (transport, range, most) = if args.udp {
        (Transport::Udp, DATAGRAMS, 65_507)
    } else {
        (Transport::Tcp, WRITES, 1 << 30)
    };
    let sizes: Vec<u32> = sizes(args, range, most)?
        .iter()
        .map(|it| *it as u32)
        .collect();
    Ok(each_way(args, |direction| SizeSweep {
        transport,
        direction,
        sizes: sizes.clone(),
        span: span(args),
        payload_bits_per_s: args.bandwidth.unwrap_or(OFFER),
        settle: settle(args),
    }))
}

fn window(args: &args::Sweep) -> Result<Vec<RequestedProcedure>, Failure> {
    let sizes = sizes(args, WINDOWS, 1_000_000_000)?;
    let windows: Vec<u32> = sizes.iter().map(|it| *it as u32).collect();
    Ok(each_way(args, |direction| WindowSweep {
        direction,
        windows: windows.clone(),
        span: span(args),
        settle: settle(args),
    }))
}

/// What the device sends, unless the other way is named: there, it would have to tell.
fn gaps(args: &args::Sweep) -> Result<Vec<RequestedProcedure>, Failure> {
    let sizes = sizes(args, DATAGRAMS, 65_507)?;
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
            payload_bits_per_s: args.bandwidth.unwrap_or(OFFER),
            settle: settle(args),
        }),
        is_required: true,
    }])
}

fn latency(args: &args::Sweep) -> Result<Vec<RequestedProcedure>, Failure> {
    let Some(offers) = values(args)? else {
        return Err(wrong(
            "latency is swept over loads: --from 1M --to 10M; `linerate test` has idle and loaded alone"
                .to_owned(),
        ));
    };
    let (ways, _) = ways(args.forward, args.reverse);
    Ok(vec![RequestedProcedure {
        procedure: Box::new(Latency::over_loads(
            test::round_trips(span(args)),
            &ways,
            &offers,
        )),
        is_required: true,
    }])
}
