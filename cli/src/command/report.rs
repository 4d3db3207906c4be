//! `linerate report`.

use linerate_bench::board::published;
use linerate_explain::report;

use super::results_and_file;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Report) -> Result<(), Failure> {
    let (run, file) = results_and_file(&args.results)?;
    if args.markdown {
        return output::print(&report::markdown(&run, &published(&run.provenance.board)));
    }
    let out = args
        .out
        .clone()
        .unwrap_or_else(|| file.with_file_name("report.html"));
    output::write(
        &out,
        report::html(&run, &published(&run.provenance.board)).as_bytes(),
    )?;
    output::print(&format!(
        "{}\nStarted {}\n{}\n",
        report::verdict(&run),
        run.provenance.started,
        out.display()
    ))
}
