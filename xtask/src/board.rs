//! The board folders: which there are, and which programs and variants a firmware has.

use crate::{sh, tools};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};

/// The board of the demo.
pub const DEFAULT: &str = "esp32c6-bitbang";

/// The names a variant of a firmware can have; each is a cargo feature where a board has it.
const VARIANTS: [&str; 4] = ["isr-all", "main-thread", "zero-copy", "windowed"];

/// A firmware crate under `boards/`.
pub struct Board {
    /// Folder name, which is the board's name.
    pub name: String,
    /// The folder.
    pub dir: PathBuf,
    /// The target triple, from its `.cargo/config.toml`.
    pub target: String,
    /// What lies in `src/bin`: a file or a folder each.
    pub programs: Vec<String>,
    /// Its selectable stages.
    pub variants: Vec<String>,
}

fn toml(path: &Path) -> Result<toml::Table> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    text.parse()
        .with_context(|| format!("{} is not valid TOML", path.display()))
}

/// Reads `boards/<name>/Cargo.toml`.
///
/// # Errors
/// Where there is no such board or its manifest cannot be read.
pub fn read(name: &str) -> Result<Board> {
    let dir = sh::root().join("boards").join(name);
    let manifest = toml(&dir.join("Cargo.toml")).with_context(|| format!("no board {name}"))?;
    let config = toml(&dir.join(".cargo/config.toml")).unwrap_or_default();
    let target = config
        .get("build")
        .and_then(|b| b.get("target")?.as_str())
        .unwrap_or(tools::RISCV)
        .to_owned();
    let programs = programs(&dir.join("src/bin"));
    let features = manifest.get("features").and_then(toml::Value::as_table);
    let variants = VARIANTS
        .iter()
        .filter(|v| features.is_some_and(|f| f.contains_key(**v)))
        .map(|v| (*v).to_owned())
        .collect();
    Ok(Board {
        name: name.to_owned(),
        dir,
        target,
        programs,
        variants,
    })
}

/// The programs that cargo finds in `src/bin`, sorted.
fn programs(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|p| p.extension().is_some_and(|e| e == "rs") || p.join("main.rs").is_file())
        .filter_map(|p| Some(p.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    names
}

/// Every folder under `boards/` with a firmware crate, sorted.
pub fn all() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(sh::root().join("boards"))
        .into_iter()
        .flatten()
        .flatten()
        .filter(|e| e.path().join("Cargo.toml").is_file())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
