//! The part of `cargo xtask links` that changes links under a self-test.

use crate::links;
use anyhow::Result;
use serde_json::{Map, Value};

/// Changes a link under its self-test 96 times; returns how many changes were named.
///
/// # Errors
/// The test cannot be built or run, or user data was lost or delayed.
pub fn counts() -> Result<Map<String, Value>> {
    links::counts("self_test", "changes_are_named", true)
}
