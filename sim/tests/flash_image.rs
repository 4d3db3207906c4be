//! The simulator loads the same image that `esptool` would write to a real chip.
//!
//! `LINERATE_FIRMWARE` names a folder of ELFs and `LINERATE_ESPTOOL` the program;
//! `cargo xtask test` sets both.
#![forbid(unsafe_code)]

use linerate_sim::chip::esp32c6::FLASH;
use linerate_sim::elf::Elf;
use std::path::{Path, PathBuf};
use std::process::Command;

/// First byte of an image (ESP-IDF: "App Image Format").
const MAGIC: u8 = 0xE9;
/// Offset of the ELF's SHA-256 in the application descriptor, written by `esptool`
/// (`esp_app_desc_t`).
const ELF_SHA256: std::ops::Range<u32> = 0x90..0xB0;
/// Its header and extended header.
const HEADER: usize = 8 + 16;

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

/// Address and content of each segment, without those that only pad the flash.
fn segments(image: &[u8]) -> Vec<(u32, &[u8])> {
    assert_eq!(image[0], MAGIC, "not an image");
    let mut found = Vec::new();
    let mut at = HEADER;
    for _ in 0..image[1] {
        let (addr, len) = (word(image, at), word(image, at + 4) as usize);
        at += 8;
        if addr != 0 {
            found.push((addr, &image[at..at + len]));
        }
        at += len;
    }
    found
}

/// The byte at `addr`, if a segment covers it.
fn byte(segments: &[(u32, &[u8])], addr: u32) -> Option<u8> {
    let inside = |(start, data): &&(u32, &[u8])| {
        addr.checked_sub(*start)
            .is_some_and(|at| (at as usize) < data.len())
    };
    let (start, data) = segments.iter().find(inside)?;
    Some(data[(addr - start) as usize])
}

fn compare(elf: &Path, esptool: &str) {
    let name = elf.display();
    let image = PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
        .join(elf.file_name().expect("a file"))
        .with_extension("bin");
    let done = Command::new(esptool)
        .args(["--chip", "esp32c6", "elf2image", "--output"])
        .args([&image, elf])
        .output()
        .expect("esptool starts");
    let output_text = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success(), "{name}: {output_text}");
    let image = std::fs::read(image).expect("esptool wrote the image");
    let image_segments = segments(&image);
    // The boot loader maps one for constants and one for code.
    let mapped = image_segments
        .iter()
        .filter(|(addr, _)| FLASH.contains(addr));
    assert!(mapped.count() <= 2, "{name}: too many segments in flash");
    let elf = Elf::parse(&std::fs::read(elf).expect("readable")).expect("an ELF");
    let loaded: Vec<(u32, &[u8])> = elf
        .segments()
        .iter()
        .map(|s| (s.addr, s.data.as_slice()))
        .collect();

    assert_eq!(word(&image, 4), elf.entry(), "{name}: entry");
    let descriptor = elf.symbol("esp_app_desc").map_or(0, |s| s.addr);
    let stamped = descriptor + ELF_SHA256.start..descriptor + ELF_SHA256.end;
    let mut compared = 0;
    // Either may pad with zeros where the other ends; common bytes must be equal.
    for (ours, theirs) in [(&loaded, &image_segments), (&image_segments, &loaded)] {
        for (start, data) in ours {
            for (addr, value) in (*start..).zip(*data) {
                match byte(theirs, addr) {
                    Some(_) if stamped.contains(&addr) => {}
                    Some(other) => {
                        assert_eq!(*value, other, "{name}: {addr:#010x}");
                        compared += 1;
                    }
                    None => assert_eq!(*value, 0, "{name}: {addr:#010x} is in one of them only"),
                }
            }
        }
    }
    assert!(compared > 10_000, "{name}: only {compared} bytes in common");
}

#[test]
fn the_flash_image_equals_the_image_that_the_simulator_loads() {
    let (Ok(firmware), Ok(esptool)) = (
        std::env::var("LINERATE_FIRMWARE"),
        std::env::var("LINERATE_ESPTOOL"),
    ) else {
        println!(
            "skipped: comparing flash images needs esptool: cargo xtask setup, then cargo xtask test"
        );
        return;
    };
    let mut elfs: Vec<PathBuf> = std::fs::read_dir(firmware)
        .expect("the folder of the ELFs")
        .map(|entry| entry.expect("readable").path())
        // One variant of each program, and one that has its constants in RAM: esptool is slow to start.
        .filter(|path| {
            let name = path.to_string_lossy();
            name.ends_with("-windowed.elf") || name.ends_with("cycle_counting-line-rate.elf")
        })
        .collect();
    elfs.sort();
    assert!(!elfs.is_empty(), "no ELF to compare");
    for elf in elfs {
        compare(&elf, &esptool);
    }
}
