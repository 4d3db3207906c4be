//! The loops of Niccle's `cycle_counting` example and the cycles that an ESP32-C6 took for them.
//!
//! Source of the figures: <https://github.com/timonvo/niccle>, `esp/examples/cycle_counting.rs`,
//! Apache-2.0: for each loop the sum of the predicted cycles, which its author found equal to the
//! chip's count. The loops are rewritten from their description; compressed and 32-bit instructions
//! and alignment are the same, since the cycles depend on them.
//!
//! The branch that is never taken (row 12) has 32 bits in the original. A newer LLVM emits a
//! `c.beqz`, which shifts the following code: it then takes a cycle less in this hart.

use super::asm::Asm;
use super::bench::{Bench, PINS, RAM, RAM_SIZE, esp32c6};
use linerate_sim::rv32::{Stop, csr_number};

/// Rounds that each loop was measured with.
pub const ROUNDS: [u32; 5] = [1, 2, 3, 4, 1000];
/// Data address of the loops with loads and stores.
const DATA: u32 = RAM + RAM_SIZE / 2;

/// The counter, the number of rounds, the data pointer and its end, and a temporary register.
const I: u32 = 10;
const N: u32 = 11;
const P: u32 = 12;
const END: u32 = 13;
const T: u32 = 14;
const START_COUNT: u32 = 8;
const END_COUNT: u32 = 9;

pub type Row = (&'static str, fn(&mut Asm), [u32; 5]);

fn set(a: &mut Asm) {
    a.csrsi(PINS, 1);
}

fn clear(a: &mut Asm) {
    a.csrci(PINS, 1);
}

pub const ROWS: &[Row] = &[
    (
        "forward branch usually taken",
        |a| {
            let (top, back, out) = (a.here(), a.label(), a.label());
            a.c_addi(I, 1);
            a.bne(I, N, back);
            a.c_j(out);
            a.align(4);
            a.bind(back);
            a.c_j(top);
            a.align(4);
            a.bind(out);
        },
        [4, 9, 14, 19, 4999],
    ),
    (
        "forward branch usually taken, an instruction behind it",
        |a| {
            let (top, back, out) = (a.here(), a.label(), a.label());
            a.c_addi(I, 1);
            a.bne(I, N, back);
            a.c_nop();
            a.c_j(out);
            a.align(4);
            a.bind(back);
            a.c_j(top);
            a.align(4);
            a.bind(out);
        },
        [5, 11, 16, 21, 5001],
    ),
    (
        "forward branch rarely taken",
        |a| {
            let (top, out) = (a.here(), a.label());
            a.c_addi(I, 1);
            a.beq(I, N, out);
            a.c_j(top);
            a.align(4);
            a.bind(out);
        },
        [4, 8, 11, 14, 3002],
    ),
    (
        "forward branch rarely taken, jump back to half a word",
        |a| {
            a.c_nop();
            let (top, out) = (a.here(), a.label());
            a.c_addi(I, 1);
            a.beq(I, N, out);
            a.c_j(top);
            a.align(4);
            a.bind(out);
        },
        [5, 9, 12, 15, 3003],
    ),
    (
        "backward branch rarely taken",
        |a| {
            let (exit, top, out) = (a.label(), a.label(), a.label());
            a.c_j(top);
            a.c_nop();
            a.bind(exit);
            a.c_j(out);
            a.c_nop();
            a.bind(top);
            a.c_nop();
            a.c_addi(I, 1);
            a.beq(I, N, exit);
            a.c_j(top);
            a.c_nop();
            a.bind(out);
        },
        [8, 14, 20, 26, 6002],
    ),
    (
        "backward branch rarely taken, pins",
        |a| {
            let (exit, enter, top, out) = (a.label(), a.label(), a.label(), a.label());
            set(a);
            a.c_j(enter);
            a.c_nop();
            a.bind(exit);
            clear(a);
            a.c_j(out);
            a.c_nop();
            a.bind(enter);
            clear(a);
            a.bind(top);
            set(a);
            a.c_nop();
            a.c_addi(I, 1);
            clear(a);
            set(a);
            a.beq(I, N, exit);
            clear(a);
            a.c_j(top);
            a.c_nop();
            a.bind(out);
            set(a);
        },
        [15, 25, 35, 45, 10005],
    ),
    (
        "backward branch, aligned",
        |a| {
            let top = a.here();
            a.c_addi(I, 1);
            a.c_nop();
            a.bne(I, N, top);
        },
        [5, 9, 12, 15, 3003],
    ),
    (
        "backward branch, unaligned",
        |a| {
            let top = a.here();
            a.c_addi(I, 1);
            a.bne(I, N, top);
        },
        [5, 8, 10, 12, 2004],
    ),
    (
        "backward branch, pins, aligned",
        |a| {
            let top = a.here();
            set(a);
            a.c_addi(I, 1);
            a.c_nop();
            clear(a);
            a.bne(I, N, top);
            set(a);
        },
        [8, 14, 19, 24, 5004],
    ),
    (
        "backward branch, pins, unaligned",
        |a| {
            let top = a.here();
            set(a);
            a.c_addi(I, 1);
            clear(a);
            a.bne(I, N, top);
            set(a);
        },
        [8, 13, 17, 21, 4005],
    ),
    (
        "backward branch, a nop behind it",
        |a| {
            let top = a.here();
            a.c_addi(I, 1);
            a.bne(I, N, top);
            a.c_nop();
        },
        [5, 8, 10, 12, 2004],
    ),
    (
        "backward branch behind one that is never taken",
        |a| {
            let (top, out) = (a.here(), a.label());
            a.c_addi(I, 1);
            a.beq(0, T, out);
            a.bne(I, N, top);
            a.bind(out);
        },
        [6, 10, 13, 16, 3004],
    ),
    (
        "backward branch, jump to a whole word",
        |a| {
            let (top, go) = (a.here(), a.label());
            a.c_j(go);
            a.align(16);
            a.bind(go);
            a.c_addi(I, 1);
            a.c_nop();
            a.bne(I, N, top);
        },
        [7, 12, 17, 22, 5002],
    ),
    (
        "backward branch, jump to half a word",
        |a| {
            let (top, go) = (a.here(), a.label());
            a.c_j(go);
            a.align(16);
            a.c_nop();
            a.bind(go);
            a.c_addi(I, 1);
            a.bne(I, N, top);
        },
        [6, 10, 14, 18, 4002],
    ),
    ("lbu, align 1", |a| load(a, 4), [7, 13, 18, 23, 5003]),
    ("lbu, align 2", |a| load(a, 4), [7, 13, 18, 23, 5003]),
    ("lbu, align 4", |a| load(a, 4), [7, 13, 18, 23, 5003]),
    ("lbu, align 8", |a| load(a, 4), [7, 13, 18, 23, 5003]),
    ("lbu, align 256", |a| load(a, 4), [7, 13, 18, 23, 5003]),
    (
        "lbu, align 1, pins",
        |a| {
            let top = a.here();
            set(a);
            a.lbu(T, P, 0);
            a.c_add(P, T);
            a.c_nop();
            clear(a);
            a.bne(P, END, top);
            set(a);
        },
        [10, 18, 25, 32, 7004],
    ),
    ("lw, align 1", |a| load(a, 2), [7, 13, 18, 23, 5003]),
    ("lw, align 2", |a| load(a, 2), [7, 13, 18, 23, 5003]),
    ("lw, align 4", |a| load(a, 2), [7, 13, 18, 23, 5003]),
    ("lw, align 8", |a| load(a, 2), [7, 13, 18, 23, 5003]),
    ("lw, align 256", |a| load(a, 2), [7, 13, 18, 23, 5003]),
    ("sb, align 1", |a| store(a, 0), [9, 17, 24, 31, 7003]),
    ("sb, align 2", |a| store(a, 0), [9, 17, 24, 31, 7003]),
    ("sb, align 4", |a| store(a, 0), [9, 17, 24, 31, 7003]),
    ("sb, align 8", |a| store(a, 0), [9, 17, 24, 31, 7003]),
    ("sb, align 256", |a| store(a, 0), [9, 17, 24, 31, 7003]),
    (
        "sb, align 1, pins",
        |a| {
            let top = a.here();
            set(a);
            a.xor(T, T, 0);
            a.sb(T, P, 0);
            clear(a);
            a.c_nop();
            a.c_nop();
            a.c_addi(P, 1);
            a.c_nop();
            a.bne(P, END, top);
            set(a);
        },
        [12, 22, 31, 40, 9004],
    ),
    ("sw, align 1", |a| store(a, 2), [9, 17, 24, 31, 7003]),
    ("sw, align 2", |a| store(a, 2), [9, 17, 24, 31, 7003]),
    ("sw, align 4", |a| store(a, 2), [9, 17, 24, 31, 7003]),
    ("sw, align 8", |a| store(a, 2), [9, 17, 24, 31, 7003]),
    ("sw, align 256", |a| store(a, 2), [9, 17, 24, 31, 7003]),
];

fn load(a: &mut Asm, funct3: u32) {
    let top = a.here();
    a.load(funct3, T, P, 0);
    a.c_add(P, T);
    a.c_nop();
    a.bne(P, END, top);
}

fn store(a: &mut Asm, funct3: u32) {
    let top = a.here();
    a.xor(T, T, 0);
    a.store(funct3, if funct3 == 0 { T } else { 0 }, P, 0);
    a.c_nop();
    a.c_nop();
    a.c_addi(P, if funct3 == 0 { 1 } else { 4 });
    a.c_nop();
    a.bne(P, END, top);
}

/// Cycles between two readings of the performance counter, less the one of the first reading, as in
/// the original.
fn measure(row: &Row, rounds: u32, timing: linerate_sim::rv32::Timing) -> u32 {
    let (name, code, _) = row;
    let counter = u32::from(csr_number::MPCCR);
    let mut asm = Asm::new();
    asm.align(16);
    asm.csrw(counter, 0);
    asm.csrr(START_COUNT, counter);
    code(&mut asm);
    asm.csrr(END_COUNT, counter);
    for _ in 0..4 {
        asm.c_nop();
    }
    asm.wfi();
    let mut bench = Bench::new(&asm.finish(), RAM, timing);
    let width = if name.starts_with("lw") || name.starts_with("sw") {
        4
    } else {
        1
    };
    // Words are at least 4-aligned, regardless of the name.
    let align = name
        .split("align ")
        .nth(1)
        .and_then(|n| n.split(',').next()?.parse().ok());
    let data = DATA + align.unwrap_or(1).max(width);
    let step = width.to_le_bytes();
    for i in 0..rounds {
        let at = data + i * width;
        bench.memory.write(at, &step[..width as usize]).unwrap();
    }
    bench.hart.set_reg(N as u8, rounds);
    bench.hart.set_reg(P as u8, data);
    bench.hart.set_reg(END as u8, data + rounds * width);
    bench.hart.set_reg(T as u8, 1);
    assert_eq!(bench.run_to_end(), Stop::Wfi, "{name}");
    let x = bench.hart.regs();
    x[END_COUNT as usize] - x[START_COUNT as usize] - 1
}

#[test]
fn all_rows_equal_the_chip_s_counts() {
    assert_eq!(ROWS.len() * ROUNDS.len(), 180);
    for row in ROWS {
        let counted = ROUNDS.map(|rounds| measure(row, rounds, esp32c6()));
        assert_eq!(counted, row.2, "{}", row.0);
    }
}

/// Only this bound of the target buffer's size is known, as the table states; a change of the rules
/// that moves the bound should fail here.
#[test]
fn three_entries_of_the_target_buffer_are_sufficient() {
    let fits = |entries| {
        let timing = linerate_sim::rv32::Timing {
            target_buffer_entries: entries,
            ..esp32c6()
        };
        ROWS.iter()
            .all(|row| ROUNDS.map(|rounds| measure(row, rounds, timing)) == row.2)
    };
    assert_eq!([1, 2, 3, 4].map(fits), [false, false, true, true]);
}
