//! `linerate report`.

use linerate_bench::board::published;
use linerate_explain::report;

use super::results;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Report) -> Result<(), Failure> {
    let run = results(&args.results)?;
    if args.markdown {
        return output::print(&report::markdown(&run, &published(&run.provenance.board)));
    }
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| args.results.with_file_name("report.html"));
    output::write(
        &out,
        report::html(&run, &published(&run.provenance.board)).as_bytes(),
    )?;
    output::print(&format!("{}\n{}\n", report::verdict(&run), out.display()))
}
