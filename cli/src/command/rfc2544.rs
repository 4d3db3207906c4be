//! `linerate rfc2544`.

use std::time::Duration;

use anyhow::anyhow;
use linerate_bench::endpoint::Target;
use linerate_bench::procedure::RequestedProcedure;
use linerate_bench::procedure::rfc2544::{Rfc2544, interface_line_rate};
use linerate_bench::request::Rfc2544Request;
use linerate_results::record::{Counting, Rfc2544Test};

use super::test::{measure, open};
use crate::args::{self, CountedBy, LineRate};
use crate::failure::Failure;

pub fn run(args: &args::Rfc2544) -> Result<(), Failure> {
    let link = &args.link;
    let mut target = open("rfc2544", link)?;
    let line_bits_per_s = line_rate(args, target.as_ref())?;
    let plan = request(args).plan(line_bits_per_s, target.is_simulated());
    let asked = [RequestedProcedure {
        procedure: Box::new(Rfc2544 { plan }),
        is_required: true,
    }];
    measure("rfc2544", link, &asked, target.as_mut(), None)
}

fn line_rate(args: &args::Rfc2544, target: &dyn Target) -> Result<u64, Failure> {
    match &args.line_rate {
        Some(LineRate::Bits(bits)) => Ok(*bits),
        Some(LineRate::Interface(interface)) => {
            interface_line_rate(interface).map_err(|why| anyhow!("--line-rate: {why}").into())
        }
        None => target.line_bits_per_s().ok_or_else(|| {
            anyhow!(
                "{} does not report its line rate; give --line-rate, for example 100M or the interface \
                 that is connected to the line",
                target.name()
            )
            .into()
        }),
    }
}

fn request(args: &args::Rfc2544) -> Rfc2544Request {
    Rfc2544Request {
        full: args.full,
        trial: args.trial.map(Duration::from_secs_f64),
        sizes: args.sizes.clone(),
        tests: args.only.iter().map(|test| test_of(*test)).collect(),
        counting: args.by.map(counting_of),
        resolution_percent: args.resolution,
    }
}

const fn test_of(test: args::Rfc2544Test) -> Rfc2544Test {
    match test {
        args::Rfc2544Test::Throughput => Rfc2544Test::Throughput,
        args::Rfc2544Test::Latency => Rfc2544Test::Latency,
        args::Rfc2544Test::Loss => Rfc2544Test::FrameLoss,
        args::Rfc2544Test::Burst => Rfc2544Test::BackToBack,
    }
}

const fn counting_of(by: CountedBy) -> Counting {
    match by {
        CountedBy::Agent => Counting::Agent,
        CountedBy::Reflector => Counting::Reflector,
        CountedBy::Udp => Counting::Datagrams,
    }
}
