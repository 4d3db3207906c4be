//! `linerate timing`.

use std::fmt::Write;

use linerate_bench::timing::{self, Verdict};

use super::read_timing;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Timing) -> Result<(), Failure> {
    let read = read_timing(&args.log)?;
    let compared = timing::compare(&read.table);
    let mut text = String::new();
    for rejected in &read.rejected {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{rejected}");
    }
    let _ = writeln!(text, "{:30} {:>9} {:>9}", "entry", "built in", "here");
    for (entry, value, verdict) in &compared {
        let _ = writeln!(
            text,
            "{:30} {:>9} {value:>9}  {}",
            entry.name,
            entry.value,
            verdict.name()
        );
    }
    let count = |wanted| {
        let of = compared.iter().filter(|(.., verdict)| *verdict == wanted);
        of.count()
    };
    let _ = writeln!(
        text,
        "{} guesses confirmed, {} refuted, {} still guesses; {} known entries contradicted",
        count(Verdict::Confirmed),
        count(Verdict::Refuted),
        count(Verdict::Unmeasured),
        count(Verdict::Contradicted),
    );
    output::print(&text)
}
