//! `linerate fidelity`.

use linerate_explain::fidelity;

use super::results;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Fidelity) -> Result<(), Failure> {
    output::print(&fidelity::markdown(&results(&args.results)?))
}
