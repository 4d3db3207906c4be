//! Files that are not a program for this chip: one clear error each, never a panic.

use linerate_sim::chip::esp32c6::{Config, Esp32c6};
use linerate_sim::elf::{Elf, ElfError};
use proptest::prelude::*;

use crate::asm::{CODE, Program};

fn file() -> Vec<u8> {
    Program::new().nop().stay().elf_bytes()
}

fn error(bytes: &[u8]) -> String {
    Elf::parse(bytes).unwrap_err().to_string()
}

/// The file with the 32-bit word at `offset` replaced.
fn with(offset: usize, word: u32) -> Vec<u8> {
    let mut bytes = file();
    bytes[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
    bytes
}

#[test]
fn a_good_file_gives_its_entry_point_and_segments() {
    let elf = Elf::parse(&file()).unwrap();
    assert_eq!(elf.entry(), CODE);
    let [segment] = elf.segments() else {
        panic!("one segment")
    };
    assert_eq!(
        (segment.addr, segment.data.len(), segment.size),
        (CODE, 8, 72)
    );
    assert!(segment.executable);
}

#[test]
fn invalid_files_give_distinct_errors() {
    assert_eq!(error(b""), "not an ELF file");
    assert_eq!(
        error(b"#!/bin/sh\nexit 0\n# long enough\n"),
        "not an ELF file"
    );
    let mut bytes = file();
    bytes[4] = 2;
    bytes[18..20].copy_from_slice(&62u16.to_le_bytes());
    assert_eq!(
        error(&bytes),
        "made for 64-bit little-endian x86-64, needs a 32-bit little-endian RISC-V executable"
    );
    let mut bytes = file();
    bytes[16] = 1;
    assert_eq!(error(&bytes), "not linked into an executable (ELF type 1)");
    assert!(error(&file()[..60]).starts_with("truncated or damaged: program headers"));
    assert_eq!(
        error(&file()[..90]),
        "truncated or damaged: segment at 0x40800000 reaches past the end of the file"
    );
    assert_eq!(
        error(&with(24, 0x1000)),
        "entry point 0x00001000 is in no executable segment"
    );
    assert_eq!(error(&with(52, 2)), "no segment to load");
    assert_eq!(
        error(&with(72, u32::MAX)),
        "segment at 0x40800000 of 4294967295 bytes is impossible"
    );
}

#[test]
fn a_segment_outside_of_memory_is_rejected_by_the_chip() {
    let mut bytes = with(60, 0x2000_0000);
    bytes[24..28].copy_from_slice(&0x2000_0000u32.to_le_bytes());
    let elf = Elf::parse(&bytes).unwrap();
    let error = Esp32c6::new(Config::default(), &elf).unwrap_err();
    assert_eq!(
        error,
        ElfError::OutsideMemory {
            addr: 0x2000_0000,
            size: 72
        }
    );
}

proptest! {
    #[test]
    fn no_bytes_make_the_loader_panic(
        changes in prop::collection::vec((0usize..92, any::<u8>()), 0..12),
        len in 0usize..=92,
    ) {
        let mut bytes = file();
        for (offset, byte) in changes {
            bytes[offset] = byte;
        }
        if let Ok(elf) = Elf::parse(&bytes[..len.min(bytes.len())]) {
            let _ = Esp32c6::new(Config::default(), &elf);
        }
    }
}
