//! The systems: `boards/rv32-soft-soc/system.toml` with the changes of `boards/rv32-soft-soc/an440`.

use super::cells::{Cell, Memory, System};
use crate::board_file;
use anyhow::{Context, Result, anyhow};
use linerate_sim::chip::soft_soc::{Config, file};
use toml::Table;

/// Values that a fit or a sensitivity changes.
#[derive(Debug, Clone, PartialEq)]
pub struct Parameters {
    /// Blocks of 64 instructions that the firmware executes for each data packet sent, and received, beside lwIP.
    pub blocks_sent: u32,
    pub blocks_received: u32,
    /// Each frame that a DMA controller received is copied once more.
    pub copies_received: bool,
    /// The whole data cache is flushed before a checksum of a packet that it may hold, else the packet's lines.
    pub flushes_cache: bool,
    /// Cycles of an access to the data register of the LAN91C111; `None` for the board file's.
    pub pio_cycles: Option<u32>,
    /// Datagrams instead of TCP.
    pub datagrams: Option<Offered>,
    /// Speed of the line; `None` for the system's.
    pub link_mbit_per_s: Option<u32>,
    /// Reaction time of the workstation.
    pub workstation_us: u64,
    /// Between the workstation and the SoC.
    pub path: Path,
    /// Fields of the board file with other values, by their path.
    pub changes: Vec<(String, i64)>,
    /// Sections of the board file with other fields.
    pub sections: Option<&'static str>,
}

/// Delays between the ends of the line.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Path {
    /// Of the line, each way.
    pub latency_us: u64,
    /// A switch stores each frame, and forwards it later at the line's rate. Its queue has room for all frames: no more than
    /// a window is on the way.
    pub is_switched: bool,
}

impl Default for Parameters {
    fn default() -> Self {
        Self {
            blocks_sent: 0,
            blocks_received: 0,
            copies_received: true,
            flushes_cache: true,
            pio_cycles: None,
            datagrams: None,
            link_mbit_per_s: None,
            workstation_us: 80,
            path: Path::default(),
            changes: Vec::new(),
            sections: None,
        }
    }
}

/// Datagrams that the workstation offers to a receiver.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offered {
    /// Mbit/s of payload.
    pub mbit_per_s: f64,
}

/// Board file without memory's and system's changes.
const BASE: &str = "system.toml";
/// Changes for a program in SSRAM.
const SSRAM: &str = "an440/ssram.toml";
/// The fields that [`Parameters::pio_cycles`] changes, and their part of it in tenths: the processor waits for the data
/// of a read, while the pins are still busy with a write.
const PIO: [(&str, u32); 2] = [
    ("device.ethernet.read_cycles", 10),
    ("device.ethernet.write_cycles", 6),
];

/// The board file of a cell's system.
///
/// # Errors
/// A file cannot be read, or does not describe a system.
pub fn table(system: System, memory: Memory) -> Result<Table> {
    let mut table = board_file::read(BASE)?;
    for change in system.changes() {
        board_file::merge(&mut table, board_file::read(&format!("an440/{change}"))?);
    }
    if memory == Memory::Ssram {
        board_file::merge(&mut table, board_file::read(SSRAM)?);
    }
    Ok(table)
}

/// The SoC of `cell` with `parameters`.
///
/// # Errors
/// As [`table`]; a field of `parameters` does not exist.
pub fn config(cell: Cell, parameters: &Parameters) -> Result<Config> {
    let mut table = table(cell.system, cell.memory)?;
    if let Some(sections) = parameters.sections {
        board_file::merge(&mut table, sections.parse()?);
    }
    for (path, value) in &parameters.changes {
        board_file::set(&mut table, path, *value)
            .with_context(|| format!("{cell}: no field {path}"))?;
    }
    if let (System::Lan91c111, Some(cycles)) = (cell.system, parameters.pio_cycles) {
        for (path, tenths) in PIO {
            board_file::set(&mut table, path, (cycles * tenths / 10).into())
                .with_context(|| format!("{cell}: no field {path}"))?;
        }
    }
    let text = toml::to_string(&table)?;
    let description = file::parse(&text, cell.system.name()).map_err(|error| anyhow!("{error}"))?;
    Ok(description.config)
}

#[cfg(test)]
mod tests {
    use super::super::cells::{Direction, Optimisation};
    use super::*;

    #[test]
    fn every_system_is_described() {
        for cell in Cell::all() {
            let config = config(cell, &Parameters::default()).unwrap();
            let program = &config.memories[0];
            assert_eq!(program.name, cell.memory.name().to_lowercase(), "{cell}");
            assert_eq!(program.base, 0);
            let hertz = linerate_sim::time::TICKS_PER_SECOND / config.ports.period;
            let expected = if cell.system == System::TseOptimised {
                150_000_000
            } else {
                83_333_333
            };
            assert_eq!(hertz, expected, "{cell}");
        }
    }

    #[test]
    fn a_parameter_changes_the_system_that_is_run() {
        let cell = Cell::new(
            System::TseStandard,
            Direction::Tx,
            Memory::Ddr,
            Optimisation::None,
        );
        let path = "hart.cpu.data_cache.size";
        let (before, _) = board_file::get(&table(cell.system, cell.memory).unwrap(), path).unwrap();
        assert_eq!(before, 2048);
        let parameters = Parameters {
            changes: vec![(path.to_owned(), 4096)],
            ..Parameters::default()
        };
        let config = config(cell, &parameters).unwrap();
        assert_eq!(config.ports.data_cache.unwrap().geometry.size, 4096);
    }
}
