//! Loads and stores: used at once or later, bytes and words, aligned and not.

use crate::counter::{Experiment, experiment};

/// A load whose value steps the pointer, so that the next instruction waits for it.
macro_rules! load_use {
    ($what:literal, $load:literal, $fill:ident + $offset:literal) => {
        experiment!(
            $what,
            [
                ".option push", ".option norvc", "1:", $load, ".option pop",
                "add a2, a2, a4", "nop", "bne a2, a3, 1b",
            ],
            data: $fill + $offset
        )
    };
}

/// A store, with enough around it that stores do not follow each other.
macro_rules! store {
    ($what:literal, $store:literal, $step:literal, $fill:ident + $offset:literal) => {
        experiment!(
            $what,
            [
                ".option push", ".option norvc",
                "1:", "xor a4, a4, zero", $store,
                ".option pop",
                "nop", "nop", $step, "nop", "bne a2, a3, 1b",
            ],
            data: $fill + $offset
        )
    };
}

/// The experiments, in the order in which they are printed.
pub const ALL: &[Experiment] = &[
    load_use!("lbu, used next, offset 0", "lbu a4, 0(a2)", Bytes + 0),
    load_use!("lbu, used next, offset 1", "lbu a4, 0(a2)", Bytes + 1),
    load_use!("lbu, used next, offset 2", "lbu a4, 0(a2)", Bytes + 2),
    load_use!("lbu, used next, offset 4", "lbu a4, 0(a2)", Bytes + 4),
    load_use!("lw, used next, offset 0", "lw a4, 0(a2)", Words + 0),
    load_use!("lw, used next, offset 1", "lw a4, 0(a2)", Words + 1),
    load_use!("lw, used next, offset 2", "lw a4, 0(a2)", Words + 2),
    load_use!("lw, used next, offset 4", "lw a4, 0(a2)", Words + 4),
    experiment!(
        "lbu, used next, pin",
        [
            "1:", "csrsi 0x805, 1", "lbu a4, 0(a2)", "add a2, a2, a4", "nop",
            "csrci 0x805, 1", "bne a2, a3, 1b", "csrsi 0x805, 1",
        ],
        data: Bytes + 1
    ),
    experiment!(
        "lw, never used",
        [
            ".option push", ".option norvc", "1:", "lw a4, 0(a2)", ".option pop",
            "addi a2, a2, 4", "nop", "bne a2, a3, 1b",
        ],
        data: Words + 0
    ),
    experiment!(
        "lw x 4, never used",
        [
            "1:", "lw a4, 0(a2)", "lw a4, 0(a2)", "lw a4, 0(a2)", "lw a4, 0(a2)",
            "addi a2, a2, 4", "nop", "bne a2, a3, 1b",
        ],
        data: Words + 0
    ),
    store!("sb, offset 0", "sb a4, 0(a2)", "addi a2, a2, 1", Bytes + 0),
    store!("sb, offset 1", "sb a4, 0(a2)", "addi a2, a2, 1", Bytes + 1),
    store!("sb, offset 2", "sb a4, 0(a2)", "addi a2, a2, 1", Bytes + 2),
    store!("sb, offset 4", "sb a4, 0(a2)", "addi a2, a2, 1", Bytes + 4),
    store!(
        "sw, offset 0",
        "sw zero, 0(a2)",
        "addi a2, a2, 4",
        Words + 0
    ),
    store!(
        "sw, offset 1",
        "sw zero, 0(a2)",
        "addi a2, a2, 4",
        Words + 1
    ),
    store!(
        "sw, offset 2",
        "sw zero, 0(a2)",
        "addi a2, a2, 4",
        Words + 2
    ),
    store!(
        "sw, offset 4",
        "sw zero, 0(a2)",
        "addi a2, a2, 4",
        Words + 4
    ),
    experiment!(
        "sb, offset 1, pin",
        [
            ".option push", ".option norvc",
            "1:", "csrsi 0x805, 1", "xor a4, a4, zero", "sb a4, 0(a2)", "csrci 0x805, 1",
            ".option pop",
            "nop", "nop", "addi a2, a2, 1", "nop", "bne a2, a3, 1b", "csrsi 0x805, 1",
        ],
        data: Bytes + 1
    ),
    experiment!(
        "sw x 4, one after the other",
        [
            "1:", "sw zero, 0(a2)", "sw zero, 0(a2)", "sw zero, 0(a2)", "sw zero, 0(a2)",
            "addi a2, a2, 4", "nop", "bne a2, a3, 1b",
        ],
        data: Words + 0
    ),
    experiment!(
        "lw, sw of it (a plain memcpy)",
        [
            ".option push", ".option norvc",
            "1:", "lw a4, 0(a2)", "sw a4, 0(a2)", "addi a0, a0, 4", "addi a2, a2, 4",
            "bne a2, a3, 1b",
            ".option pop",
        ],
        data: Words + 0
    ),
];
