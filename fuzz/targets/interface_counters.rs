//! Any text as the output of the tools that report counters of an interface.
#![no_main]

use linerate_regs_decode::counters::InterfaceCounters;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let counters = InterfaceCounters::parse(text);
    // Lines are independent of what follows them: the first value of each source stays.
    let twice = InterfaceCounters::parse(&format!("{text}\n\n{text}"));
    assert_eq!(counters, twice);
});
