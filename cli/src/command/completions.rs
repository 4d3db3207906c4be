//! `linerate completions`.

use clap::CommandFactory;

use crate::args::Args;
use crate::failure::Failure;
use crate::output;

pub fn run(shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "linerate", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
