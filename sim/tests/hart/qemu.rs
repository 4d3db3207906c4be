//! The hart against QEMU with `-icount`: registers, memory and instructions retired.

use std::io::ErrorKind;
use std::path::Path;
use std::process::{Command, Stdio};

use super::bench::{Bench, RAM, esp32c6};
use super::random_programs::{REACH, image};

/// UART output of a program on QEMU's `virt` machine until it switches the machine off; `None`
/// without QEMU, which is required if `LINERATE_REQUIRE_TOOLS` is set.
pub fn run(name: &str, image: &[u8]) -> Option<Vec<u8>> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.bin"));
    std::fs::write(&path, image).unwrap();
    let loader = format!("loader,file={},addr={RAM:#x},force-raw=on", path.display());
    let run = Command::new("qemu-system-riscv32")
        .args([
            "-M", "virt", "-m", "16M", "-bios", "none", "-icount", "shift=0",
        ])
        .args([
            "-display", "none", "-monitor", "none", "-serial", "stdio", "-device", &loader,
        ])
        .stdin(Stdio::null())
        .output();
    match run {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let required = std::env::var_os("LINERATE_REQUIRE_TOOLS").is_some();
            assert!(!required, "qemu-system-riscv32 is required, but not there");
            println!("skipped: no qemu-system-riscv32 (Debian: qemu-system-misc)");
            None
        }
        other => {
            let output = other.unwrap();
            let output_text = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{name}: {} {output_text}",
                output.status
            );
            Some(output.stdout)
        }
    }
}

/// The same on the hart.
pub fn run_here(image: &[u8]) -> Vec<u8> {
    let mut bench = Bench::new(image, RAM, esp32c6());
    let stop = bench.run_to_end();
    assert!(bench.chip.off, "{stop:?} at {:#x}", bench.hart.pc());
    bench.chip.output
}

#[test]
fn random_programs_agree() {
    const PROGRAMS: u32 = 60;
    let seeds = if std::env::var_os("LINERATE_LONG").is_some() {
        200
    } else {
        10
    };
    for seed in 0..seeds {
        let image = image(seed, PROGRAMS, 120, false);
        let ours = run_here(&image);
        assert_eq!(
            ours.len(),
            (PROGRAMS * 128 + 2 * REACH) as usize,
            "seed {seed} trapped"
        );
        let Some(theirs) = run("random", &image) else {
            return;
        };
        let first = ours.iter().zip(&theirs).position(|(a, b)| a != b);
        if let Some(at) = first {
            let word = |bytes: &[u8]| {
                u32::from_le_bytes(bytes[at & !3..(at & !3) + 4].try_into().unwrap())
            };
            let (program, register) = (at / 128, at % 128 / 4 + 1);
            let (ours, theirs) = (word(&ours), word(&theirs));
            panic!("seed {seed}, program {program}, x{register}: {ours:#x}, QEMU {theirs:#x}");
        }
        assert_eq!(ours.len(), theirs.len(), "seed {seed}");
    }
}
