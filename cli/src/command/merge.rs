//! `linerate merge`.

use linerate_bench::board::published;
use linerate_bench::run::merge;
use linerate_explain::report;

use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Merge) -> Result<(), Failure> {
    let run = merge::merge(&args.dirs, &args.out, &mut |note| message!("{note}"))
        .map_err(anyhow::Error::new)?;
    let published = published(&run.provenance.board);
    output::print(&report::markdown(&run, &published))?;
    message!("report: {}", args.out.join("report.html").display());
    let missing = run.not_measured.iter();
    let missing = missing.map(|it| format!("{}: {}", it.what, it.why));
    let all: Vec<String> = run.failures.iter().cloned().chain(missing).collect();
    if all.is_empty() {
        Ok(())
    } else {
        Err(Failure::Limit(all))
    }
}
