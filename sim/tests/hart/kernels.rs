//! The firmware's inner loops, compiled for the chip's instruction set, on the hart and on QEMU.

use std::path::Path;
use std::process::Command;

use super::qemu;

const TARGET: &str = "riscv32imac-unknown-none-elf";

/// The flat image of `tests/kernels`; `None` without the compiler's target, which is required if
/// `LINERATE_REQUIRE_TOOLS` is set.
fn build() -> Option<Vec<u8>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels");
    let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernels");
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
    Some(std::fs::read(target_dir.join(TARGET).join("release/linerate-sim-kernels")).unwrap())
}

#[test]
fn crc_memcpy_and_checksum_agree_with_qemu() {
    let Some(image) = build() else { return };
    let ours = qemu::run_here(&image);
    let words: Vec<u32> = ours
        .chunks(4)
        .map(|word| u32::from_le_bytes(word.try_into().unwrap()))
        .collect();
    let [crc, crc_by_8, _, checksum, _, _, retired] = words[..] else {
        panic!("seven words, not {words:x?}")
    };
    // The same bytes on this machine.
    let mut bytes = vec![0; 4096];
    let mut state = 1_u32;
    for byte in &mut bytes {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        *byte = state as u8;
    }
    assert_eq!(crc, linerate_ether::fcs::crc32(&bytes));
    assert_eq!(crc_by_8, crc);
    assert_eq!(
        checksum,
        u32::from(linerate_ether::checksum::checksum(&bytes))
    );
    assert!(retired > 100_000);
    if let Some(theirs) = qemu::run("kernels", &image) {
        assert_eq!(ours, theirs, "results and, last, instructions retired");
    }
}
