//! The boards there are. A board is a folder in `boards/` and a line here.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// What a board's `board.toml` says that the bench uses.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Its name, which is its folder's.
    pub name: String,
    /// One line for people.
    pub description: String,
    /// How it is simulated, if it can be: `sim://`, scenarios.
    pub simulated: Option<Simulated>,
    /// How QEMU emulates it, if it does: `qemu://`.
    pub qemu: Option<Qemu>,
    /// Conformance cases that cannot be passed on it, by name, and why.
    #[serde(default)]
    pub lacks: BTreeMap<String, String>,
    /// Where it is on the network.
    pub link: Link,
    /// Where the registers of its network controller are.
    pub registers: Registers,
    /// Its firmware.
    pub firmware: Firmware,
}

/// A board that the simulator has.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Simulated {
    /// Name of the timing table of its chip.
    pub timing_table: String,
    /// Its pads.
    pub pins: Pins,
}

/// A board that QEMU has. The bench adds the network, the serial port and the firmware to the arguments.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Qemu {
    /// Which QEMU.
    pub program: String,
    /// The machine.
    pub arguments: Vec<String>,
    /// Its network device, on the network called n0; `{mac}` stands for its address.
    pub device: Vec<String>,
}

/// What is soldered to which pad (GPIO number).
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pins {
    /// Drives the transmit pair.
    pub tx: u8,
    /// The receive comparator's output.
    pub rx: u8,
    /// Whether the comparator's output is low while the line is positive.
    pub rx_inverted: bool,
    /// High while the receive interrupt works.
    pub debug: u8,
}

/// Where a board is on the network.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The firmware's address unless it is built with another.
    pub ipv4: Ipv4Addr,
}

/// Where registers are that `linerate regs show` shows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registers {
    /// Name of their map (`linerate regs list`).
    pub map: String,
    /// Address of the map's first block, where the map does not know it.
    pub base: Option<u32>,
}

/// A board's firmware.
#[derive(Clone, Debug, Deserialize)]
pub struct Firmware {
    /// Variants of every program.
    pub variants: Vec<String>,
    /// The one to use when nobody says.
    pub default_variant: String,
    /// Symbol of the counters.
    pub ledger_symbol: String,
    /// Programs by name.
    pub programs: BTreeMap<String, Program>,
}

/// A program of a board's firmware.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Whether it comes to an end.
    pub ends: bool,
    /// Whether it needs a partner on the line.
    pub network: bool,
}

/// Every board's description, one line each.
const BOARDS: [&str; 5] = [
    include_str!("../../boards/esp32c6-bitbang/board.toml"),
    include_str!("../../boards/qemu-mps2-an385/board.toml"),
    include_str!("../../boards/qemu-riscv32-virt/board.toml"),
    include_str!("../../boards/qemu-sabrelite/board.toml"),
    include_str!("../../boards/qemu-versatilepb/board.toml"),
];

/// No board has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no board `{name}`{}; the boards are {}", hint(nearest.as_deref()), known.join(", "))]
pub struct UnknownBoard {
    /// What was asked for.
    pub name: String,
    /// What may have been meant.
    pub nearest: Option<String>,
    /// What there is.
    pub known: Vec<String>,
}

/// `, did you mean ...` or nothing.
pub(crate) fn hint(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!(" (did you mean `{name}`?)"))
}

/// Every board.
pub fn all() -> Vec<Board> {
    // The files are part of the program and a test reads each.
    BOARDS
        .iter()
        .filter_map(|text| toml::from_str(text).ok())
        .collect()
}

/// The board called `name`.
///
/// # Errors
/// [`UnknownBoard`] when there is none.
pub fn find(name: &str) -> Result<Board, UnknownBoard> {
    select(all(), name)
}

/// The board called `name`, if it is one that the simulator has.
///
/// # Errors
/// [`UnknownBoard`] when there is none among those.
pub fn find_simulated(name: &str) -> Result<Board, UnknownBoard> {
    let mut boards = all();
    boards.retain(|board| board.simulated.is_some());
    select(boards, name)
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
                board.simulated.is_some() || board.qemu.is_some(),
                "nothing runs {}",
                board.name
            );
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_understood() {
        let error = find("esp32c6-bitbag")
            .expect_err("no such board")
            .to_string();
        let start = "there is no board `esp32c6-bitbag` (did you mean `esp32c6-bitbang`?); \
                     the boards are esp32c6-bitbang, qemu-";
        assert!(error.starts_with(start), "{error}");
        let error = find_simulated("qemu-sabrelite").expect_err("emulated");
        assert_eq!(error.known, ["esp32c6-bitbang"]);
        let error = find("z80").expect_err("no such board").to_string();
        let start = "there is no board `z80`; the boards are esp32c6-bitbang, qemu-";
        assert!(error.starts_with(start), "{error}");
    }
}
