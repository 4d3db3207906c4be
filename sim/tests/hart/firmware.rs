//! The firmware's own `cycle_counting`, booted on the complete chip: every row that it prints equals a
//! chip's count (Niccle's rows) or, for the others, the sum of the timing table's entries.
//!
//! `cargo xtask firmware` builds it; `LINERATE_FIRMWARE` names the folder of the ELFs.

use std::path::Path;

use linerate_sim::chip::esp32c6::{Config, Esp32c6, Stop};
use linerate_sim::elf::Elf;
use linerate_sim::pads::Pads;
use linerate_sim::rv32::Timing;
use linerate_sim::time::{Instant, Span};

use super::bench::esp32c6;
use super::cycle_counting::{ROUNDS, ROWS};

/// Sufficient for all loops and their output.
const RUN: Span = Span::from_ms(500);

/// Source of a row's figures.
enum Source {
    /// The row of the same loop in [`ROWS`].
    Chip(&'static str),
    /// A loop that ends in a backward branch at an aligned word: cycles of a round without the branch.
    Table(fn(&Timing) -> u32),
    /// Ten consecutive jumps, each to the next, at the head of such a loop.
    Jumps,
}
use Source::{Chip, Jumps, Table};

/// All rows in the order of the program's output.
const PRINTED: &[(&str, Source)] = &[
    (
        "forward, usually taken",
        Chip("forward branch usually taken"),
    ),
    (
        "forward, usually taken, nop behind",
        Chip("forward branch usually taken, an instruction behind it"),
    ),
    ("forward, rarely taken", Chip("forward branch rarely taken")),
    (
        "forward, rarely taken, j to halfword",
        Chip("forward branch rarely taken, jump back to half a word"),
    ),
    (
        "backward, rarely taken",
        Chip("backward branch rarely taken"),
    ),
    (
        "backward, rarely taken, pin",
        Chip("backward branch rarely taken, pins"),
    ),
    ("backward, usually taken", Chip("backward branch, aligned")),
    (
        "backward, usually taken, at halfword",
        Chip("backward branch, unaligned"),
    ),
    (
        "backward, usually taken, pin",
        Chip("backward branch, pins, aligned"),
    ),
    (
        "backward, at halfword, pin",
        Chip("backward branch, pins, unaligned"),
    ),
    (
        "backward, at halfword, nop behind",
        Chip("backward branch, a nop behind it"),
    ),
    (
        "backward, never taken forward before",
        Chip("backward branch behind one that is never taken"),
    ),
    (
        "backward, j forward to word",
        Chip("backward branch, jump to a whole word"),
    ),
    (
        "backward, j forward to halfword",
        Chip("backward branch, jump to half a word"),
    ),
    ("lbu, used next, offset 0", Chip("lbu, align 256")),
    ("lbu, used next, offset 1", Chip("lbu, align 1")),
    ("lbu, used next, offset 2", Chip("lbu, align 2")),
    ("lbu, used next, offset 4", Chip("lbu, align 4")),
    ("lw, used next, offset 0", Chip("lw, align 256")),
    (
        "lw, used next, offset 1",
        Table(|t| 3 + t.load_use + t.misaligned),
    ),
    (
        "lw, used next, offset 2",
        Table(|t| 3 + t.load_use + t.misaligned),
    ),
    ("lw, used next, offset 4", Chip("lw, align 4")),
    ("lbu, used next, pin", Chip("lbu, align 1, pins")),
    ("lw, never used", Table(|_| 3)),
    ("lw x 4, never used", Table(|_| 6)),
    ("sb, offset 0", Chip("sb, align 256")),
    ("sb, offset 1", Chip("sb, align 1")),
    ("sb, offset 2", Chip("sb, align 2")),
    ("sb, offset 4", Chip("sb, align 4")),
    ("sw, offset 0", Chip("sw, align 256")),
    ("sw, offset 1", Table(|t| 6 + t.misaligned)),
    ("sw, offset 2", Table(|t| 6 + t.misaligned)),
    ("sw, offset 4", Chip("sw, align 4")),
    ("sb, offset 1, pin", Chip("sb, align 1, pins")),
    ("sw x 4, one after the other", Table(|_| 6)),
    ("lw, sw of it (a plain memcpy)", Table(|t| 4 + t.load_use)),
    ("empty loop", Table(|_| 1)),
    ("10 x nop", Table(|_| 1 + 10)),
    ("10 x add", Table(|_| 1 + 10)),
    ("10 x slli", Table(|_| 1 + 10)),
    ("10 x mul", Table(|t| 1 + 10 * t.mul)),
    ("10 x divu", Table(|t| 1 + 10 * t.div)),
    ("10 x csrr dedicated input", Table(|t| 1 + 10 * t.csr)),
    ("10 x csrsi dedicated output", Table(|t| 1 + 10 * t.csr)),
    ("10 x csrw dedicated output", Table(|t| 1 + 10 * t.csr)),
    ("10 x csrr counter", Table(|t| 1 + 10 * t.csr)),
    ("10 x j to the next", Jumps),
    ("10 x forward branch not taken", Table(|_| 1 + 10)),
    (
        "10 x forward branch taken",
        Table(|t| 1 + 10 * t.mispredicted),
    ),
];

/// Nothing is connected.
struct NoPads;

impl Pads for NoPads {
    fn level(&mut self, _: u8, _: Instant) -> bool {
        false
    }
    fn next_edge(&mut self, _: u8, _: Instant) -> Instant {
        Instant::NEVER
    }
    fn drive(&mut self, _: u8, _: bool, _: Instant) {}
    fn deadline(&self) -> Instant {
        Instant::NEVER
    }
}

fn on_the_chip(name: &str) -> [u32; ROUNDS.len()] {
    let row = ROWS.iter().find(|row| row.0 == name);
    row.unwrap_or_else(|| panic!("no row {name}")).2
}

impl Source {
    fn cycles(&self, timing: &Timing) -> [u32; ROUNDS.len()] {
        // Cycles of two single-cycle instructions and the branch on the chip.
        let round_of = |cycles: u32, rounds: usize| {
            on_the_chip("backward branch, aligned")[rounds] + cycles * ROUNDS[rounds]
                - 2 * ROUNDS[rounds]
        };
        core::array::from_fn(|rounds| match self {
            Chip(name) => on_the_chip(name)[rounds],
            Table(cycles) => round_of(cycles(timing), rounds),
            Jumps => {
                let n = ROUNDS[rounds];
                let first = 10 * timing.jump_miss;
                let later = 10 * timing.jump_hit + 9 * timing.jump_to_jump;
                // Once it is predicted, the branch at the end is also a jump that lands on a jump.
                let branch = n.saturating_sub(2) * timing.jump_to_jump;
                round_of(1, rounds) + first + (n - 1) * later + branch
            }
        })
    }
}

/// The lines that the program prints.
fn printed(elf: &Path) -> Vec<String> {
    let bytes = std::fs::read(elf).expect("readable");
    let elf = Elf::parse(&bytes).expect("an ELF");
    let mut chip = Esp32c6::new(Config::default(), &elf).expect("a program for this chip");
    assert_eq!(chip.run(Instant::ZERO + RUN, &mut NoPads), Stop::Deadline);
    let bytes: Vec<u8> = chip.console().iter().map(|byte| byte.byte).collect();
    let text = String::from_utf8(bytes).expect("text");
    text.lines()
        .map(|line| line.trim_end_matches('\r').to_owned())
        .collect()
}

/// A row: its name and figures.
fn parse(line: &str) -> Option<(&str, Vec<u32>)> {
    let (what, figures) = line.strip_prefix("INFO - ")?.split_at_checked(38)?;
    let figures: Result<_, _> = figures.split_whitespace().map(str::parse).collect();
    Some((what.trim_end(), figures.ok()?))
}

#[test]
fn the_firmware_prints_the_chip_s_counts_and_the_sums_of_the_table() {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return;
    };
    let mut elfs: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder of the ELFs")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("cycle_counting-") && name.ends_with(".elf")
        })
        .collect();
    elfs.sort();
    assert!(!elfs.is_empty(), "no cycle_counting among the ELFs");
    let timing = esp32c6();
    for elf in elfs {
        let lines = printed(&elf);
        assert!(lines.iter().any(|line| line.contains("\"done\"")));
        // The table's header lists the rounds in the same format.
        let mut rows = lines.iter().filter_map(|line| parse(line));
        assert_eq!(rows.next().expect("a head").1, ROUNDS);
        let rows: Vec<_> = rows.collect();
        for ((what, figures), (name, source)) in rows.iter().zip(PRINTED) {
            assert_eq!(what, name, "{}", elf.display());
            assert_eq!(
                *figures,
                source.cycles(&timing),
                "{what}, {}",
                elf.display()
            );
        }
        assert_eq!(rows.len(), PRINTED.len(), "{}", elf.display());
    }
}
