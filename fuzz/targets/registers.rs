//! Any text as a register dump, and as a register map beside one.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| linerate_regs_decode::exercise::registers(text));
