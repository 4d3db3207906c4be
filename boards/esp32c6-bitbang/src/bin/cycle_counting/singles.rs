//! Single instructions, ten in a row in a loop: subtract the empty loop and divide.

use crate::counter::{Experiment, experiment};

macro_rules! ten {
    ($what:literal, $line:literal) => {
        experiment!(
            $what,
            [
                ".option push",
                ".option norvc",
                "1:",
                $line,
                $line,
                $line,
                $line,
                $line,
                $line,
                $line,
                $line,
                $line,
                $line,
                "addi a0, a0, 1",
                "bne a0, a1, 1b",
                ".option pop",
            ]
        )
    };
}

/// The experiments, in the order in which they are printed.
pub const ALL: &[Experiment] = &[
    experiment!(
        "empty loop",
        [
            ".option push",
            ".option norvc",
            "1:",
            "addi a0, a0, 1",
            "bne a0, a1, 1b",
            ".option pop",
        ]
    ),
    ten!("10 x nop", "nop"),
    ten!("10 x add", "add a4, a4, a1"),
    ten!("10 x slli", "slli a4, a4, 1"),
    ten!("10 x mul", "mul a4, a4, a1"),
    ten!("10 x divu", "divu a4, a1, a1"),
    ten!("10 x csrr dedicated input", "csrr a4, 0x804"),
    ten!("10 x csrsi dedicated output", "csrsi 0x805, 2"),
    ten!("10 x csrw dedicated output", "csrw 0x805, zero"),
    ten!("10 x csrr counter", "csrr a4, 0x7e2"),
    ten!("10 x j to the next", "j 5f\n5:"),
    ten!("10 x forward branch not taken", "bne zero, zero, 5f\n5:"),
    ten!("10 x forward branch taken", "beq zero, zero, 5f\n5:"),
];
