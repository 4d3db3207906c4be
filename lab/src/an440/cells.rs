//! The cells of the table: four systems, both directions, two memories, four optimisations.

/// A system of the paper's table 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum System {
    Lan91c111,
    TseStandard,
    TseBigCache,
    TseOptimised,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    Tx,
    Rx,
}

/// Memory of the program, its data and its stacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Memory {
    Ddr,
    Ssram,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Optimisation {
    None,
    /// Packet buffers in on-chip memory.
    FastMemory,
    /// Checksums by the unit.
    Hardware,
    Both,
}

impl System {
    pub const ALL: [Self; 4] = [
        Self::Lan91c111,
        Self::TseStandard,
        Self::TseBigCache,
        Self::TseOptimised,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Lan91c111 => "LAN91C111",
            Self::TseStandard => "TSE Standard",
            Self::TseBigCache => "TSE Big Cache",
            Self::TseOptimised => "TSE Optimised",
        }
    }

    /// The firmware's name of its network controller.
    pub fn device(self) -> &'static str {
        match self {
            Self::Lan91c111 => "lan91c111",
            _ => "tse",
        }
    }

    /// Speed of its link.
    pub fn link_mbit_per_s(self) -> u32 {
        match self {
            Self::Lan91c111 => 100,
            _ => 1000,
        }
    }

    /// Files of `boards/rv32-soft-soc/an440` that change `system.toml`.
    pub fn changes(self) -> &'static [&'static str] {
        match self {
            Self::Lan91c111 => &["memories.toml", "checksum.toml", "lan91c111.toml"],
            Self::TseStandard => &["memories.toml", "checksum.toml", "tse.toml"],
            Self::TseBigCache => &[
                "memories.toml",
                "checksum.toml",
                "tse.toml",
                "big-cache.toml",
            ],
            Self::TseOptimised => &[
                "memories.toml",
                "checksum.toml",
                "tse.toml",
                "big-cache.toml",
                "150-mhz.toml",
            ],
        }
    }
}

impl Direction {
    pub const ALL: [Self; 2] = [Self::Tx, Self::Rx];

    pub fn name(self) -> &'static str {
        match self {
            Self::Tx => "TX",
            Self::Rx => "RX",
        }
    }
}

impl Memory {
    pub const ALL: [Self; 2] = [Self::Ddr, Self::Ssram];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ddr => "DDR",
            Self::Ssram => "SSRAM",
        }
    }
}

impl Optimisation {
    pub const ALL: [Self; 4] = [Self::None, Self::FastMemory, Self::Hardware, Self::Both];

    /// The firmware's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::FastMemory => "fm",
            Self::Hardware => "hw",
            Self::Both => "fm+hw",
        }
    }
}

/// A cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub system: System,
    pub direction: Direction,
    pub memory: Memory,
    pub optimisation: Optimisation,
}

impl Cell {
    pub fn new(
        system: System,
        direction: Direction,
        memory: Memory,
        optimisation: Optimisation,
    ) -> Self {
        Self {
            system,
            direction,
            memory,
            optimisation,
        }
    }

    /// All 64.
    pub fn all() -> Vec<Self> {
        let mut cells = Vec::new();
        for system in System::ALL {
            for direction in Direction::ALL {
                for memory in Memory::ALL {
                    cells.extend(
                        Optimisation::ALL.map(|it| Self::new(system, direction, memory, it)),
                    );
                }
            }
        }
        cells
    }

    /// The same with another optimisation.
    pub fn with(self, optimisation: Optimisation) -> Self {
        Self {
            optimisation,
            ..self
        }
    }

    /// The same on another memory.
    pub fn on(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    /// The same of another system.
    pub fn of(self, system: System) -> Self {
        Self { system, ..self }
    }

    /// True for the eight cells that parameters are fitted on: "none" of LAN91C111 and of TSE Standard.
    pub fn is_fitted(self) -> bool {
        self.optimisation == Optimisation::None
            && matches!(self.system, System::Lan91c111 | System::TseStandard)
    }
}

impl std::fmt::Display for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            system,
            direction,
            memory,
            optimisation,
        } = self;
        write!(
            f,
            "{} {} {} {}",
            system.name(),
            direction.name(),
            memory.name(),
            optimisation.name()
        )
    }
}
