//! Any text as the output of the tools that report counters of an interface.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| linerate_regs_decode::exercise::interface_counters(text));
