//! `linerate conformance`.

use anyhow::anyhow;
use linerate_bench::conformance::CASES;
use linerate_bench::procedure::RequestedProcedure;
use linerate_bench::procedure::conformance::Conformance;

use super::test;
use crate::args;
use crate::failure::Failure;

pub fn run(args: &args::Conformance) -> Result<(), Failure> {
    let procedure = Conformance {
        words: args.cases.clone(),
        frames: args.frames,
    };
    if procedure.cases().next().is_none() {
        let known: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        return Err(anyhow!("no matching case; cases are {}", known.join(", ")).into());
    }
    let mut target = test::open("conformance", &args.link)?;
    let asked = [RequestedProcedure {
        procedure: Box::new(procedure),
        is_required: true,
    }];
    test::measure("conformance", &args.link, &asked, target.as_mut(), None)
}
