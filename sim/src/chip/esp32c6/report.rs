//! What a program touched that the simulator does not know or only stores.

use core::fmt;

use crate::time::Instant;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// A register without behaviour: it holds what was written.
    Stored {
        /// Block and register.
        name: String,
        /// Whether the first access was a store.
        write: bool,
    },
    /// An address in a peripheral's range that no register is known at: it holds what was written.
    UnknownRegister {
        /// The block that it seems to belong to, if any.
        block: Option<String>,
        /// Whether the first access was a store.
        write: bool,
    },
    /// An access where nothing answers.
    NoDevice {
        /// Whether it was a store.
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
        /// What it reads each time.
        value: u32,
        /// The reading function, if known.
        function: Option<String>,
    },
}

/// One thing worth telling, the first time that it happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// When.
    pub at: Instant,
    /// Address of the register or function, or number of the CSR.
    pub addr: u32,
    /// What.
    pub finding: Finding,
}

impl Report {
    /// Whether it can make the program go wrong (not just storage of a known register).
    pub fn is_serious(&self) -> bool {
        !matches!(
            self.finding,
            Finding::Stored { .. } | Finding::RomStub { .. }
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addr = self.addr;
        let verb = |write: bool| if write { "written" } else { "read" };
        match &self.finding {
            Finding::Stored { name, write } => {
                write!(
                    f,
                    "register {name} ({addr:#010x}) is plain storage; first {}",
                    verb(*write)
                )
            }
            Finding::UnknownRegister { block, write } => {
                let block = block.as_deref().unwrap_or("no block");
                write!(
                    f,
                    "unknown register at {addr:#010x} ({block}); first {}",
                    verb(*write)
                )
            }
            Finding::NoDevice { write } => {
                write!(f, "nothing answers at {addr:#010x}; first {}", verb(*write))
            }
            Finding::RomFunction { name: Some(name) } => {
                write!(f, "ROM function {name} ({addr:#010x}) is not implemented")
            }
            Finding::RomFunction { name: None } => {
                write!(
                    f,
                    "jump into the ROM at {addr:#010x}, where no function begins"
                )
            }
            Finding::RomStub { name } => {
                write!(f, "ROM function {name} ({addr:#010x}) does nothing here")
            }
            Finding::UnknownCsr => write!(f, "unknown CSR {addr:#05x}"),
            Finding::Polled {
                name,
                value,
                function,
            } => {
                write!(
                    f,
                    "polls {name} ({addr:#010x}), which reads {value:#010x} for ever"
                )?;
                function
                    .as_ref()
                    .map_or(Ok(()), |function| write!(f, ", in {function}"))
            }
        }
    }
}
