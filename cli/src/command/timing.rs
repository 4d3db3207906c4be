//! `linerate timing`.

use std::fmt::Write;

use linerate_bench::timing::{self, Origin, Verdict};

use super::read_timing;
use crate::args;
use crate::failure::Failure;
use crate::output;

pub fn run(args: &args::Timing) -> Result<(), Failure> {
    let read = read_timing(&args.log)?;
    let compared = timing::compare(&read.table);
    let simulated = read.origin == Origin::Simulator;
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
            if simulated {
                "simulated"
            } else {
                verdict.name()
            }
        );
    }
    if simulated {
        let _ = writeln!(
            text,
            "this log is the simulator's: it repeats the table that it ran with, and confirms or refutes nothing"
        );
        return output::print(&text);
    }
    if read.origin == Origin::Unknown {
        let _ = writeln!(text, "it does not name the chip that it was measured on");
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
