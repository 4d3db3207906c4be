//! Reports of accesses to addresses and functions that the simulator does not model.

use core::fmt;

use crate::time::Instant;

/// Kind of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// A register without behaviour: it holds the written value.
    Stored {
        /// Block and register.
        name: String,
        /// True if the first access was a store.
        write: bool,
    },
    /// An address in a peripheral's range without a known register: it holds the written value.
    UnknownRegister {
        /// The block that it seems to belong to, if any.
        block: Option<String>,
        /// True if the first access was a store.
        write: bool,
    },
    /// An access to an unmapped address.
    NoDevice {
        /// True if it was a store.
        write: bool,
    },
    /// A call of a ROM function that is not implemented.
    RomFunction {
        /// Its name, if the address is an entry.
        name: Option<String>,
    },
    /// A ROM function that does nothing here.
    RomStub {
        /// Its name.
        name: String,
    },
    /// A control and status register that the chip does not have.
    UnknownCsr,
    /// The program waits for a register that does not change: behaviour is missing.
    Polled {
        /// Block and register.
        name: String,
        /// Value of each read.
        value: u32,
        /// The polling function, if known.
        function: Option<String>,
    },
}

/// The first access of its kind to one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Time of the access.
    pub at: Instant,
    /// Address of the register or function, or number of the CSR.
    pub addr: u32,
    /// Its kind.
    pub kind: ReportKind,
}

impl Report {
    /// True if it can make the program fail (not just storage of a known register).
    pub fn is_serious(&self) -> bool {
        !matches!(
            self.kind,
            ReportKind::Stored { .. } | ReportKind::RomStub { .. }
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addr = self.addr;
        let verb = |write: bool| if write { "written" } else { "read" };
        match &self.kind {
            ReportKind::Stored { name, write } => {
                write!(
                    f,
                    "register {name} ({addr:#010x}) is plain storage; first {}",
                    verb(*write)
                )
            }
            ReportKind::UnknownRegister { block, write } => {
                let block = block.as_deref().unwrap_or("no block");
                write!(
                    f,
                    "unknown register at {addr:#010x} ({block}); first {}",
                    verb(*write)
                )
            }
            ReportKind::NoDevice { write } => {
                write!(f, "nothing answers at {addr:#010x}; first {}", verb(*write))
            }
            ReportKind::RomFunction { name: Some(name) } => {
                write!(f, "ROM function {name} ({addr:#010x}) is not implemented")
            }
            ReportKind::RomFunction { name: None } => {
                write!(
                    f,
                    "jump into the ROM at {addr:#010x}, where no function begins"
                )
            }
            ReportKind::RomStub { name } => {
                write!(f, "ROM function {name} ({addr:#010x}) does nothing here")
            }
            ReportKind::UnknownCsr => write!(f, "unknown CSR {addr:#05x}"),
            ReportKind::Polled {
                name,
                value,
                function,
            } => {
                write!(
                    f,
                    "polls {name} ({addr:#010x}), which always reads {value:#010x}"
                )?;
                function
                    .as_ref()
                    .map_or(Ok(()), |function| write!(f, ", in {function}"))
            }
        }
    }
}
