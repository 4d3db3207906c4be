//! Output on stdout, on stderr and to files.

use std::io::{ErrorKind, Write};
use std::path::Path;

use anyhow::{Context, Result};

use crate::failure::Failure;

/// Prints a message for the user on stderr. Unlike `eprintln!` it does not panic if nobody can read it.
macro_rules! message {
    ($($text:tt)*) => {
        linerate_bench::progress::message(format_args!($($text)*))
    };
}

/// Writes `text` to stdout. A closed pipe (`| head`) is not an error.
pub fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(anyhow::Error::new(error)
            .context("cannot write to stdout")
            .into()),
        _ => Ok(()),
    }
}

/// Writes `value` to stdout, as JSON for people.
pub fn json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(value).map_err(anyhow::Error::new)?;
    print(&format!("{text}\n"))
}

/// Writes `text` where an option requests it, if it is given: to a file, or for `-` to stdout. Returns true if stdout is
/// taken.
pub fn write_or_print(requested: Option<&Path>, text: &str) -> Result<bool, Failure> {
    match requested {
        Some(path) if path == Path::new("-") => print(text).map(|()| true),
        Some(path) => Ok(write(path, text.as_bytes()).map(|()| false)?),
        None => Ok(false),
    }
}

/// Writes a file and creates its parent folders.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent)
            .with_context(|| format!("cannot create {}", parent.display()))?;
    }
    linerate_bench::store::whole::write(path, content)
        .with_context(|| format!("cannot write {}", path.display()))
}
