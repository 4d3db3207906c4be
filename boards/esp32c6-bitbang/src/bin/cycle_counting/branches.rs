//! Branches and jumps: forward and backward, taken and not, first and repeated, at different alignments.

use crate::counter::{Experiment, experiment};

/// The experiments, in the order in which they are printed.
pub const ALL: &[Experiment] = &[
    experiment!(
        "forward, usually taken",
        [
            "1:",
            "addi a0, a0, 1",
            "bne a0, a1, 2f",
            "j 3f",
            ".balign 4",
            "2: j 1b",
            ".balign 4",
            "3:"
        ]
    ),
    experiment!(
        "forward, usually taken, nop behind",
        [
            "1:",
            "addi a0, a0, 1",
            "bne a0, a1, 2f",
            "nop",
            "j 3f",
            ".balign 4",
            "2: j 1b",
            ".balign 4",
            "3:",
        ]
    ),
    experiment!(
        "forward, rarely taken",
        [
            "1:",
            "addi a0, a0, 1",
            "beq a0, a1, 2f",
            "j 1b",
            ".balign 4",
            "2:"
        ]
    ),
    experiment!(
        "forward, rarely taken, j to halfword",
        [
            "nop",
            "1:",
            "addi a0, a0, 1",
            "beq a0, a1, 2f",
            "j 1b",
            ".balign 4",
            "2:"
        ]
    ),
    experiment!(
        "backward, rarely taken",
        [
            "j 2f",
            "nop",
            "1:",
            "j 3f",
            "nop",
            "2:",
            "nop",
            "addi a0, a0, 1",
            "beq a0, a1, 1b",
            "j 2b",
            "nop",
            "3:",
        ]
    ),
    experiment!(
        "backward, rarely taken, pin",
        [
            "csrsi 0x805, 1",
            "j 4f",
            "nop",
            "1:",
            "csrci 0x805, 1",
            "j 3f",
            "nop",
            "4:",
            "csrci 0x805, 1",
            "2:",
            "csrsi 0x805, 1",
            "nop",
            "addi a0, a0, 1",
            "csrci 0x805, 1",
            "csrsi 0x805, 1",
            "beq a0, a1, 1b",
            "csrci 0x805, 1",
            "j 2b",
            "nop",
            "3:",
            "csrsi 0x805, 1",
        ]
    ),
    experiment!(
        "backward, usually taken",
        ["1:", "addi a0, a0, 1", "nop", "bne a0, a1, 1b"]
    ),
    experiment!(
        "backward, usually taken, at halfword",
        ["1:", "addi a0, a0, 1", "bne a0, a1, 1b"]
    ),
    experiment!(
        "backward, usually taken, pin",
        [
            "1:",
            "csrsi 0x805, 1",
            "addi a0, a0, 1",
            "nop",
            "csrci 0x805, 1",
            "bne a0, a1, 1b",
            "csrsi 0x805, 1",
        ]
    ),
    experiment!(
        "backward, at halfword, pin",
        [
            "1:",
            "csrsi 0x805, 1",
            "addi a0, a0, 1",
            "csrci 0x805, 1",
            "bne a0, a1, 1b",
            "csrsi 0x805, 1",
        ]
    ),
    experiment!(
        "backward, at halfword, nop behind",
        ["1:", "addi a0, a0, 1", "bne a0, a1, 1b", "nop"]
    ),
    experiment!(
        "backward, never taken forward before",
        [
            "1:",
            "addi a0, a0, 1",
            // Not `c.beqz`, which newer assemblers would choose.
            ".option push",
            ".option norvc",
            "beq zero, a4, 2f",
            ".option pop",
            "bne a0, a1, 1b",
            "2:"
        ]
    ),
    experiment!(
        "backward, j forward to word",
        [
            "1:",
            "j 2f",
            ".balign 16",
            "2:",
            "addi a0, a0, 1",
            "nop",
            "bne a0, a1, 1b"
        ]
    ),
    experiment!(
        "backward, j forward to halfword",
        [
            "1:",
            "j 2f",
            ".balign 16",
            "nop",
            "2:",
            "addi a0, a0, 1",
            "bne a0, a1, 1b"
        ]
    ),
];
