//! Entry points for fuzzers and for tests with mutated inputs: they run any input and assert the invariants.

use crate::scenario::Scenario;

/// Treats `text` as a scenario.
///
/// # Panics
/// If an error does not begin with the file's name.
pub fn scenario(text: &str) {
    if let Err(error) = Scenario::parse(text, "fuzz.toml") {
        assert!(error.to_string().starts_with("fuzz.toml"), "{error}");
    }
}
