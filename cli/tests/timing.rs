//! From a chip's console to the simulator: the output of `cycle_counting` is loaded as a timing table and, for
//! a simulated chip, equals that chip's timing table.
//!
//! `cargo xtask firmware` builds it; `LINERATE_FIRMWARE` names the folder of the ELFs.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Every entry that the program measures, with a value other than the built-in one. The resolution of a
/// pin's delay is one cycle, 6.25 ns.
const CHANGED: [(&str, &[(&str, u64)]); 2] = [
    (
        "cpu",
        &[
            ("load_use", 2),
            ("mispredicted", 5),
            ("jump_hit", 2),
            ("jump_miss", 4),
            ("jump_to_jump", 2),
            ("straddled_after_branch", 3),
            ("straddled_after_jump", 2),
            ("target_buffer_entries", 8),
            ("indirect_jump", 4),
            ("mul", 3),
            ("mulh", 5),
            ("div", 17),
            ("csr", 2),
            ("amo", 6),
            ("fence", 4),
            ("misaligned", 3),
            ("mmio_load", 11),
            ("mmio_store", 5),
            ("exception_entry", 7),
            ("interrupt_entry", 14),
            ("mret", 6),
        ],
    ),
    (
        "chip",
        &[
            ("gpio_interrupt_ns", 75),
            ("flash_cache_bytes", 16_384),
            ("flash_cache_ways", 8),
            ("flash_cache_line_bytes", 64),
            ("flash_miss_ns", 5_000),
            ("rom_call_cycles", 31),
            ("rom_byte_millicycles", 1_250),
            ("rom_divide_cycles", 333),
            ("rom_float_cycles", 120),
            ("rom_checksum_byte_cycles", 9),
        ],
    ),
];

fn linerate(args: &[&Path]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_linerate"));
    let output = command.args(args).output().expect("the binary runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    String::from_utf8(output.stdout).expect("text")
}

/// ELF files, one per variant of the firmware.
fn elfs() -> Option<Vec<PathBuf>> {
    let Some(folder) = std::env::var_os("LINERATE_FIRMWARE") else {
        println!("skipped: `cargo xtask test` builds the firmware and names its folder");
        return None;
    };
    let files = std::fs::read_dir(folder).expect("the folder of the ELFs");
    let paths = files.map(|file| file.expect("readable").path());
    let elfs: Vec<_> = paths
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("cycle_counting-") && name.ends_with(".elf")
        })
        .collect();
    assert!(!elfs.is_empty(), "no cycle_counting among the ELFs");
    Some(elfs)
}

/// Output of the program on a chip with this table, or the built-in one; also written to a file.
fn log(elf: &Path, timing: Option<&Path>, to: &Path) -> String {
    let words = ["sim", "esp32c6-bitbang", "--elf"].map(Path::new);
    let mut args = Vec::from(words);
    args.push(elf);
    if let Some(timing) = timing {
        args.extend([Path::new("--timing"), timing]);
    }
    let console = linerate(&args);
    std::fs::write(to, &console).expect("written");
    console
}

fn compared(log: &Path) -> String {
    linerate(&[Path::new("timing"), log])
}

#[test]
fn a_run_repeats_the_table_that_it_ran_with_and_confirms_nothing() {
    let dir = tempfile::tempdir().expect("a folder");
    for elf in elfs().unwrap_or_default() {
        let console = dir.path().join("console.log");
        let printed = log(&elf, None, &console);
        let counted = |line: &&str| line.starts_with("INFO - loop: ");
        let mut loops = printed.lines().filter(counted).peekable();
        assert!(loops.peek().is_some(), "{}", elf.display());
        assert!(
            loops.all(|line| line.ends_with(": as claimed")),
            "{printed}"
        );
        let output = compared(&console);
        let last = output.lines().last().unwrap_or_default();
        assert_eq!(
            last,
            "this log is the simulator's: it repeats the table that it ran with, and confirms or refutes nothing",
            "{}\n{output}",
            elf.display()
        );
        // Every entry that is measured has the table's value.
        for row in output
            .lines()
            .skip(1)
            .filter(|row| row.ends_with(" simulated"))
        {
            let figures: Vec<&str> = row.split_whitespace().collect();
            assert_eq!(figures[1], figures[2], "{row}");
        }
    }
}

/// A program that printed the built-in values instead of measuring would fail here.
#[test]
fn a_run_finds_every_changed_value() {
    let dir = tempfile::tempdir().expect("a folder");
    let [changed, first, second] =
        ["changed.toml", "first.log", "second.log"].map(|name| dir.path().join(name));
    let mut text = String::new();
    for (section, entries) in CHANGED {
        let _ = writeln!(text, "[{section}]");
        for (name, value) in entries {
            let _ = writeln!(
                text,
                "{name} = {{ value = {value}, kind = \"guess\", source = \"a test\" }}"
            );
        }
    }
    std::fs::write(&changed, text).expect("written");
    for elf in elfs().unwrap_or_default() {
        let printed = log(&elf, Some(&changed), &first);
        assert!(printed.contains(": NOT as claimed"), "{printed}");
        let output = compared(&first);
        for (section, entries) in CHANGED {
            for (name, value) in entries {
                let entry = format!("{section}.{name}");
                let row = output
                    .lines()
                    .find(|line| line.split(' ').next() == Some(&entry));
                let figures: Vec<&str> = row.expect("a row").split_whitespace().collect();
                assert_eq!(figures[2], value.to_string(), "{entry}, {}", elf.display());
            }
        }
        // A chip with the loaded table yields the same table.
        log(&elf, Some(&first), &second);
        assert_eq!(compared(&second), output, "{}", elf.display());
    }
}
