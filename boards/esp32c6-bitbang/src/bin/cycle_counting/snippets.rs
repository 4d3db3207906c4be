//! Code snippets from whose differences the timing table is calculated.

use crate::counter::{Event, Experiment, experiment, forget_jumps};

/// Repetitions of each instruction in its loop.
pub const TIMES: i64 = 10;

/// Ten instructions, or pieces of code, in a row in a loop; the part before the `;` is executed once.
macro_rules! ten {
    ($($before:literal),* ; $($line:literal),+) => {
        experiment!(
            "",
            [
                ".option push",
                ".option norvc",
                $($before,)*
                "1:",
                ".rept 10",
                $($line,)+
                ".endr",
                "addi a0, a0, 1",
                "bne a0, a1, 1b",
                ".option pop",
            ]
        )
    };
}

pub const EMPTY: Experiment = experiment!(
    "",
    [
        ".option push",
        ".option norvc",
        "1:",
        "addi a0, a0, 1",
        "bne a0, a1, 1b",
        ".option pop",
    ]
);
pub const NOP: Experiment = ten!(; "nop");
pub const MUL: Experiment = ten!(; "mul a4, a4, a1");
pub const MULH: Experiment = ten!(; "mulh a4, a4, a1");
/// All bits set, divided by 1: the worst case of a divider that skips leading zeros.
pub const DIV: Experiment = ten!("li a2, -1"; "divu a2, a2, a4");
pub const CSR: Experiment = ten!(; "csrr a4, 0x804");
pub const AMO: Experiment = ten!(; "amoadd.w a4, zero, (a2)");
pub const FENCE: Experiment = ten!(; "fence");
pub const BRANCH_TAKEN: Experiment = ten!(; "beq zero, zero, 5f", "5:");
/// To an instruction that straddles a word. Two more are executed; `.half 1` is `c.nop`.
pub const BRANCH_STRADDLED: Experiment = ten!(;
    "beq zero, zero, 5f", ".half 1", "5:", "nop", ".half 1");
pub const JUMP: Experiment = ten!(; "j 5f", "5:");
pub const JUMP_STRADDLED: Experiment = ten!(; "j 5f", ".half 1", "5:", "nop", ".half 1");
/// One more instruction is executed.
pub const JUMP_INDIRECT: Experiment = ten!(; "auipc a4, 0", "jr 8(a4)");
/// `GPIO_STATUS`.
pub const MMIO_LOAD: Experiment = ten!("lui a2, 0x60091"; "lw a4, 0x44(a2)");
/// `GPIO_STATUS_W1TC`, clearing nothing.
pub const MMIO_STORE: Experiment = ten!("lui a2, 0x60091"; "sw zero, 0x4c(a2)");

/// Two jumps, each to the next: few enough for any useful branch-target buffer.
pub const TWO_JUMPS: Experiment = experiment!(
    "",
    [
        ".option push",
        ".option norvc",
        "1:",
        "j 5f",
        "5:",
        "j 6f",
        "6:",
        "addi a0, a0, 1",
        "bne a0, a1, 1b",
        ".option pop",
    ]
);

/// A word that is used at once or not, at an aligned address or not.
macro_rules! load {
    ($used:literal, $offset:literal) => {
        experiment!(
            "",
            [
                ".option push", ".option norvc", "1:", "lw a4, 0(a2)", $used,
                "addi a2, a2, 4", "nop", "bne a2, a3, 1b", ".option pop",
            ],
            data: Words + $offset
        )
    };
}
pub const LOAD: Experiment = load!("nop", 0);
pub const LOAD_USED: Experiment = load!("xor a4, a4, a1", 0);
pub const LOAD_UNALIGNED: Experiment = load!("nop", 2);

/// Cycles of a round in the steady state, exact to a thousandth, in thousandths of a cycle.
pub fn round(experiment: &Experiment) -> i64 {
    const FEW: u32 = 4;
    const MANY: u32 = 1004;
    let [few, many] = [FEW, MANY].map(|n| i64::from(experiment.run(Event::Cycles, n)));
    (many - few) * 1000 / i64::from(MANY - FEW)
}

/// Cycles of the first round, with its jumps executed for the first time: includes a constant overhead.
pub fn first_round(experiment: &Experiment) -> i64 {
    i64::from(experiment.run(Event::Cycles, 1)) * 1000
}

/// Capacity of the branch-target buffer, if it is at most [`JUMPS`]: in a circle of that many jumps each
/// takes `hit` cycles, and in a circle of one more they do not.
pub fn target_buffer_entries(hit: i64) -> Option<i64> {
    let rounds = |jumps: usize| i64::from(circle(jumps, 104) - circle(jumps, 4));
    let without = rounds(0);
    // The branch at the end of the circle is one of them.
    (1..=JUMPS as i64).find(|&jumps| rounds(jumps as usize) > without + 100 * jumps * (1 + hit))
}

/// Jumps in [`circle`] at most.
const JUMPS: usize = 64;

/// Cycles of `rounds` rounds of a circle of `jumps` jumps, each followed by another instruction, and the
/// branch back.
#[esp_hal::ram]
fn circle(jumps: usize, rounds: u32) -> u32 {
    let cycles;
    forget_jumps();
    // SAFETY: changes declared registers only.
    unsafe {
        core::arch::asm!(
            ".option push",
            ".option norvc",
            "lla {to}, 5f",
            "sub {to}, {to}, {skipped}",
            "csrr {before}, 0x7e2",
            ".balign 16",
            "1:",
            "jr {to}",
            ".rept {most}",
            "j 6f",
            "6:",
            "nop",
            ".endr",
            "5:",
            "addi {rounds}, {rounds}, -1",
            "bnez {rounds}, 1b",
            "csrr {cycles}, 0x7e2",
            "sub {cycles}, {cycles}, {before}",
            ".option pop",
            most = const JUMPS,
            skipped = in(reg) jumps * 8,
            rounds = inout(reg) rounds => _,
            to = out(reg) _,
            before = out(reg) _,
            cycles = out(reg) cycles,
            options(nomem, nostack),
        );
    }
    cycles
}
