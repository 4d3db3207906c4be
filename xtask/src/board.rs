//! The board folders, and the programs and variants of their firmware.

use crate::sh;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The board of the demo.
pub const DEFAULT: &str = "esp32c6-bitbang";

/// A firmware crate under `boards/`, as its `board.toml` describes it.
pub struct Board {
    /// The board's name, which is the name of its folder.
    pub name: String,
    /// The folder.
    pub dir: PathBuf,
    /// The target triple.
    pub target: String,
    /// Its programs, sorted.
    pub programs: Vec<String>,
    /// Its variants, in the order of `board.toml`.
    pub variants: Vec<String>,
    /// The variant that is used unless another one is named.
    pub default_variant: String,
    /// Its emulation by QEMU, if QEMU has the board.
    pub qemu: Option<Qemu>,
    /// True if it is a soft SoC that the simulator builds from its `system.toml`.
    pub is_soft_soc: bool,
    /// Its variant with lwIP, in C, if it has one.
    pub lwip: Option<Lwip>,
    /// Programs that are not built like the others.
    special: BTreeMap<String, Special>,
}

/// The parts of a `board.toml` that building and emulating need.
#[derive(Deserialize)]
struct Description {
    firmware: Firmware,
    qemu: Option<Qemu>,
    /// Only whether it is there matters.
    soft_soc: Option<toml::Value>,
}

#[derive(Deserialize)]
struct Firmware {
    target: String,
    programs: BTreeMap<String, toml::Value>,
    variants: Vec<String>,
    default_variant: String,
    #[serde(default)]
    special: BTreeMap<String, Special>,
    lwip: Option<Lwip>,
}

/// Emulation of a board by QEMU.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qemu {
    /// The QEMU program.
    pub program: String,
    /// Arguments that select the machine.
    pub arguments: Vec<String>,
    /// Arguments for its network device on the network n0; `{mac}` is replaced by its address.
    pub device: Vec<String>,
}

/// The variant `lwip` of `bench_agent`: how its C code is compiled.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lwip {
    /// The compiler, and Debian's package of it.
    pub compiler: String,
    /// See `compiler`.
    pub package: String,
    /// Flags of the compiler.
    pub flags: Vec<String>,
    /// Flags of the linker, which select the compiler's library.
    pub link_flags: Vec<String>,
    /// Octets behind a word at which TCP's data begin in the driver's transmit buffers.
    pub skew: u8,
}

/// A program with its own cargo feature, so that other programs are built without its dependencies.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Special {
    feature: String,
    /// The variants in which it is built.
    variants: Vec<String>,
}

impl Board {
    /// The cargo feature of this program alone, if it has one.
    pub fn feature(&self, program: &str) -> Option<&str> {
        Some(&self.special.get(program)?.feature)
    }

    /// All features that only some programs of this variant need.
    pub fn features(&self, variant: &str) -> BTreeSet<&str> {
        let special = self.special.values();
        let here = special.filter(|it| it.variants.iter().any(|name| name == variant));
        here.map(|it| it.feature.as_str()).collect()
    }

    /// True if this program is built in this variant.
    pub fn has(&self, program: &str, variant: &str) -> bool {
        let special = self.special.get(program);
        special.is_none_or(|it| it.variants.iter().any(|name| name == variant))
    }
}

/// Reads `boards/<name>/board.toml`.
///
/// # Errors
/// There is no such board, or its `board.toml` is incomplete.
pub fn read(name: &str) -> Result<Board> {
    let dir = sh::root().join("boards").join(name);
    let file = dir.join("board.toml");
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("there is no board {name}; there are: {}", all().join(", ")))?;
    let Description {
        firmware,
        qemu,
        soft_soc,
    } = toml::from_str(&text).with_context(|| format!("boards/{name}/board.toml"))?;
    Ok(Board {
        name: name.to_owned(),
        dir,
        target: firmware.target,
        programs: firmware.programs.into_keys().collect(),
        variants: firmware.variants,
        default_variant: firmware.default_variant,
        qemu,
        lwip: firmware.lwip,
        special: firmware.special,
        is_soft_soc: soft_soc.is_some(),
    })
}

/// Names of all folders under `boards/` with a firmware crate, sorted.
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
