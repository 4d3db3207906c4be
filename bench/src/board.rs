//! The supported boards. A board is a folder in `boards/` and a line here.

use linerate_explain::published::Published;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// The part of a board's `board.toml` that the bench uses.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Its name, the same as its folder's.
    pub name: String,
    /// One-line description.
    pub description: String,
    /// Simulation settings, if it can be simulated: `sim://`, scenarios.
    pub simulated: Option<Simulated>,
    /// Its soft SoC, if it has one: `sim://`.
    pub soft_soc: Option<SoftSoc>,
    /// Emulation settings, if QEMU emulates it: `qemu://`.
    pub qemu: Option<Qemu>,
    /// The Linux system that it runs instead of this tree's firmware.
    pub linux: Option<Linux>,
    /// Conformance cases that it cannot pass, by name, with the reason.
    #[serde(default, alias = "lacks")]
    pub unsupported_cases: BTreeMap<String, String>,
    /// Its network address.
    pub link: Link,
    /// The registers of its network controller.
    pub registers: Registers,
    /// Its firmware.
    pub firmware: Firmware,
}

/// A board that the simulator supports.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulated {
    /// Name of the timing table of its chip.
    pub timing_table: String,
    /// Its pads.
    pub pins: Pins,
}

/// A board with a soft SoC, which the simulator builds from its `system.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SoftSoc {
    /// The device that is its console.
    pub console: String,
    /// The rate of its network line, if nothing else limits it.
    pub line_bits_per_s: u64,
}

/// A board that QEMU emulates. The bench adds the network, the serial port and the firmware to the
/// arguments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qemu {
    /// The QEMU executable.
    pub program: String,
    /// Arguments that select the machine.
    pub arguments: Vec<String>,
    /// Arguments for its network device, on the network called n0; `{mac}` is replaced by its
    /// address.
    pub device: Vec<String>,
}

/// A Linux system for an emulated board: names of images in the board's folder of `target/firmware`, where
/// `cargo xtask linux-board` writes them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Linux {
    /// The kernel.
    pub kernel: String,
    /// The description of the board for the kernel.
    pub device_tree: String,
    /// The root file system. Its first program reports as firmware does (`boot`, `listening`), and executes lines that
    /// are typed on the console (`command`).
    pub initramfs: String,
    /// Timeout for its start, seconds.
    pub start_timeout_s: u64,
}

/// GPIO numbers of the connected pads.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// Drives the transmit pair.
    pub tx: u8,
    /// The receive comparator's output.
    pub rx: u8,
    /// True if the comparator's output is low while the line is positive.
    pub rx_inverted: bool,
    /// High while the receive interrupt runs.
    pub debug: u8,
}

/// A board's network address.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The firmware's address unless it is built with another.
    pub ipv4: Ipv4Addr,
}

/// Location of the registers for `linerate regs show`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// Name of their map (`linerate regs list`).
    pub map: String,
    /// Address of the map's first block, if the map does not define it.
    pub base: Option<u32>,
}

/// A board's firmware.
#[derive(Clone, Debug, Deserialize)]
pub struct Firmware {
    /// Variants of every program.
    pub variants: Vec<String>,
    /// The default variant.
    pub default_variant: String,
    /// Symbol of the counters (ledger), if it has them.
    pub ledger_symbol: Option<String>,
    /// How its variant `lwip` is compiled, if it has one: it is not among `variants`, as it needs a C compiler.
    pub lwip: Option<IgnoredAny>,
    /// Programs by name.
    pub programs: BTreeMap<String, Program>,
}

/// A program of a board's firmware.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// True if it terminates.
    pub ends: bool,
    /// True if it needs a link partner.
    pub network: bool,
}

/// The files in a board's folder.
macro_rules! files {
    ($name:literal) => {
        Files {
            description: include_str!(concat!("../../boards/", $name, "/board.toml")),
            published: None,
            system: None,
        }
    };
    ($name:literal, system) => {
        Files {
            system: Some(include_str!(concat!(
                "../../boards/",
                $name,
                "/system.toml"
            ))),
            ..files!($name)
        }
    };
    ($name:literal, published) => {
        Files {
            published: Some(include_str!(concat!(
                "../../boards/",
                $name,
                "/published.toml"
            ))),
            ..files!($name)
        }
    };
}

/// The files of a board that are part of the program.
struct Files {
    description: &'static str,
    /// Published figures that it reproduces.
    published: Option<&'static str>,
    /// The description of its soft SoC.
    system: Option<&'static str>,
}

/// Every board, one line each.
const BOARDS: &[Files] = &[
    files!("esp32c6-bitbang", published),
    files!("qemu-linux-sabrelite"),
    files!("qemu-mps2-an385"),
    files!("qemu-riscv32-virt"),
    files!("qemu-sabrelite"),
    files!("qemu-versatilepb"),
    files!("rv32-dwmac", system),
    files!("rv32-enet", system),
    files!("rv32-soft-soc", system),
];

impl Board {
    /// True if it runs this tree's firmware, with its console, counters and services.
    pub const fn has_firmware(&self) -> bool {
        self.linux.is_none()
    }
}

/// No board has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no board `{name}`{}; the boards are {}", hint(nearest.as_deref()), known.join(", "))]
pub struct UnknownBoard {
    /// The requested name.
    pub name: String,
    /// The nearest known name.
    pub nearest: Option<String>,
    /// All known names.
    pub known: Vec<String>,
}

/// ` (did you mean ...)` or an empty string.
pub(crate) fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// Every board.
pub fn all() -> Vec<Board> {
    // The files are compiled in and a test parses each.
    BOARDS
        .iter()
        .filter_map(|files| toml::from_str(files.description).ok())
        .collect()
}

/// The published figures that the board called `name` reproduces; empty for a board without any.
pub fn published(name: &str) -> Published {
    let all = all();
    let at = all.iter().position(|board| board.name == name);
    let text = at.and_then(|at| BOARDS.get(at)?.published);
    // The file is part of the program and a test reads it.
    text.and_then(|text| toml::from_str(text).ok())
        .unwrap_or_default()
}

/// The description of the soft SoC of the board called `name`, if it has one.
pub fn system(name: &str) -> Option<&'static str> {
    let at = all().iter().position(|board| board.name == name)?;
    BOARDS.get(at)?.system
}

/// The board called `name`.
///
/// # Errors
/// [`UnknownBoard`] if no board has this name.
pub fn find(name: &str) -> Result<Board, UnknownBoard> {
    select(all(), name)
}

/// The board called `name`, if the simulator runs it.
///
/// # Errors
/// [`UnknownBoard`] if no simulated board has this name.
pub fn find_simulated(name: &str) -> Result<Board, UnknownBoard> {
    select(
        all().into_iter().filter(Board::is_simulated).collect(),
        name,
    )
}

impl Board {
    /// True if the simulator runs it.
    pub const fn is_simulated(&self) -> bool {
        self.simulated.is_some() || self.soft_soc.is_some()
    }
}

fn select(boards: Vec<Board>, name: &str) -> Result<Board, UnknownBoard> {
    let known: Vec<String> = boards.iter().map(|board| board.name.clone()).collect();
    boards
        .into_iter()
        .find(|board| board.name == name)
        .ok_or_else(|| UnknownBoard {
            nearest: linerate_host::nearest(name, known.iter().map(String::as_str))
                .map(str::to_owned),
            name: name.to_owned(),
            known,
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_description_can_be_read() {
        let boards = all();
        assert_eq!(boards.len(), BOARDS.len());
        for board in boards {
            assert!(
                board
                    .firmware
                    .variants
                    .contains(&board.firmware.default_variant),
                "{}",
                board.name
            );
            assert!(!board.firmware.programs.is_empty(), "{}", board.name);
            assert!(
                board.is_simulated() || board.qemu.is_some(),
                "nothing runs {}",
                board.name
            );
        }
    }

    /// The chip, or a product with it, behaves as its data sheet specifies; a model as its author wrote it.
    #[test]
    fn a_simulated_board_has_a_name_of_its_own() {
        for board in all() {
            let Board { name, .. } = &board;
            if let Some(simulated) = &board.simulated {
                let chip = &simulated.timing_table;
                assert!(name != chip && !name.contains("devkit"), "{name}");
            }
            assert_eq!(board.soft_soc.is_some(), system(name).is_some(), "{name}");
            if board.qemu.is_some() {
                assert!(name.starts_with("qemu-"), "{name}");
            }
        }
    }

    #[test]
    fn a_misspelled_name_gets_a_hint() {
        let error = find("esp32c6-bitbag")
            .expect_err("no such board")
            .to_string();
        let start = "there is no board `esp32c6-bitbag` (did you mean `esp32c6-bitbang`?); \
                     the boards are esp32c6-bitbang, qemu-";
        assert!(error.starts_with(start), "{error}");
        let error = find_simulated("qemu-sabrelite").expect_err("emulated");
        assert_eq!(
            error.known,
            [
                "esp32c6-bitbang",
                "rv32-dwmac",
                "rv32-enet",
                "rv32-soft-soc"
            ]
        );
        let error = find("z80").expect_err("no such board").to_string();
        let start = "there is no board `z80`; the boards are esp32c6-bitbang, qemu-";
        assert!(error.starts_with(start), "{error}");
    }
}
