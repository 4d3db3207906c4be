//! The firmware of `boards/rv32-soft-soc` on the SoC that `system.toml` describes.

use std::path::Path;
use std::process::Command;

use linerate_sim::chip::soft_soc::{SoftSoc, Stop, file};
use linerate_sim::elf::Elf;
use linerate_sim::time::Instant;

const TARGET: &str = "riscv32imac-unknown-none-elf";
pub const BOARD: &str = include_str!("../../../boards/rv32-soft-soc/system.toml");

/// The firmware; `None` without the compiler's target, which is required if
/// `LINERATE_REQUIRE_TOOLS` is set.
fn build() -> Option<Vec<u8>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("../boards/rv32-soft-soc/firmware");
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("soft_soc");
    let output = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--target", TARGET])
        .current_dir(&here)
        .env("CARGO_TARGET_DIR", &target_dir)
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .output()
        .unwrap();
    let output_text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() && output_text.contains("can't find crate for `core`") {
        let required = std::env::var_os("LINERATE_REQUIRE_TOOLS").is_some();
        assert!(!required, "target {TARGET} is required, but not there");
        println!("skipped: no target {TARGET} (rustup target add {TARGET})");
        return None;
    }
    assert!(output.status.success(), "{output_text}");
    let file = target_dir
        .join(TARGET)
        .join("release/rv32-soft-soc-firmware");
    Some(std::fs::read(file).unwrap())
}

/// What the firmware prints on the board described by `board`.
fn run(elf: &Elf, board: &str) -> String {
    let board = file::parse(board, "system.toml").unwrap();
    let mut soc = SoftSoc::new(&board.config, elf).unwrap();
    assert_eq!(soc.run(Instant::from_ns(50_000_000)), Stop::Asleep);
    String::from_utf8(soc.console()).unwrap()
}

/// The number called `name` in the event of the loop called `event`.
fn figure(output: &str, event: &str, name: &str) -> u64 {
    let line = output
        .lines()
        .find(|line| line.contains(event))
        .unwrap_or_else(|| panic!("no {event} in {output}"));
    let (_, rest) = line.split_once(&format!("\"{name}\":")).unwrap();
    let end = rest.find([',', '}']).unwrap();
    rest[..end]
        .parse()
        .unwrap_or_else(|_| panic!("{name} in {line}"))
}

#[test]
fn the_firmware_takes_the_computed_cycles() {
    let Some(elf) = build() else { return };
    let elf = Elf::parse(&elf).unwrap();
    let output = run(&elf, BOARD);
    println!("{output}");
    let cycles = |name: &str| figure(&output, &format!("\"name\":\"{name}\""), "cycles");
    let overhead = cycles("null");
    assert!(overhead < 40, "{output}");
    // The call and return of a loop, its set-up, and the misprediction at its end.
    let near = |name: &str, computed: u64, slack: u64| {
        let taken = cycles(name) - overhead;
        assert!(
            (computed..=computed + slack).contains(&taken),
            "{name}: {taken} cycles, computed {computed}\n{output}"
        );
    };
    // 1000 x (1 for addi, 2 for a taken branch).
    near("count", 3000, 30);
    // 256 words x (lw 1 + addi 1 + taken branch 2); the lines are in the cache from the first
    // round: the source is 1 KiB of a 2 KiB cache.
    near("load_ddr", 1024, 60);
    // The packet memory is not cached: the word arrives one cycle later: 256 x 5.
    near("load_packet", 1280, 60);
    // Each word by itself from the open row: command after 2 cycles, data after CL 2 and 1, back 3:
    // 8 cycles; 256 x (4 + 8). A refresh now and then costs a precharge, 7 cycles and an activate.
    near("load_ddr_uncached", 3072, 150);
    // Source and target meet in the cache or not; the copy to packet memory does not depend on
    // that: 256 x (lw 1, late result not used next, addi 1, sw 1 + 1 wait, addi 1, branch 2).
    near("copy_to_packet", 1792, 80);
    // 256 words, each read and then written by the DMA, at least one cycle each.
    assert!(cycles("dma_copy") > 512, "{output}");
    assert!(output.contains("\"dma_equal\":true"), "{output}");
    // Timer: 10,000 cycles and the way to and from it.
    let timer = figure(&output, "\"event\":\"done\"", "timer_cycles");
    assert!((10_000..10_060).contains(&timer), "{output}");
}

#[test]
fn a_run_is_reproducible_and_a_slower_memory_is_slower() {
    let Some(elf) = build() else { return };
    let elf = Elf::parse(&elf).unwrap();
    let output = run(&elf, BOARD);
    assert_eq!(run(&elf, BOARD), output);
    let slow = BOARD.replacen("cas = 2", "cas = 8", 1);
    let slow = run(&elf, &slow);
    let uncached = |output: &str| figure(output, "\"name\":\"load_ddr_uncached\"", "cycles");
    // Six cycles more for each word.
    let more = uncached(&slow) - uncached(&output);
    assert!((6 * 256..6 * 256 + 40).contains(&more), "{more}");
}
