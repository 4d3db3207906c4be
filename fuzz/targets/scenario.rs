//! Any text as a scenario.
#![no_main]

use linerate_bench::scenario::Scenario;

libfuzzer_sys::fuzz_target!(|text: &str| {
    if let Err(error) = Scenario::parse(text, "fuzz.toml") {
        assert!(error.to_string().starts_with("fuzz.toml"), "{error}");
    }
});
