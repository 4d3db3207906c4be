//! Files named on the command line.

use std::path::Path;

use anyhow::{Context, Result};
pub use linerate_bench::input::{MAX_CONTENT, MAX_TEXT};

/// Reads a file of at most `max_octets`.
pub fn read(path: &Path, max_octets: u64) -> Result<Vec<u8>> {
    linerate_bench::input::read(path, max_octets).with_context(|| cannot_read(path))
}

/// Reads a text file of at most `max_octets`.
pub fn read_text(path: &Path, max_octets: u64) -> Result<String> {
    linerate_bench::input::read_text(path, max_octets).with_context(|| cannot_read(path))
}

fn cannot_read(path: &Path) -> String {
    format!("cannot read {}", path.display())
}
