//! `linerate fidelity`.

use linerate_bench::board;
use linerate_explain::fidelity;

use super::results;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Fidelity) -> Result<(), Failure> {
    let run = results(&args.results)?;
    let published = board::published(&run.provenance.board);
    output::print(&fidelity::markdown(&run, &published))
}
