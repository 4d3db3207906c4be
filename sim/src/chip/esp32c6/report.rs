//! Reports of accesses to addresses and functions that the simulator does not model.

use core::fmt;

use linerate_regs::ESP32C6;

use crate::time::Instant;

/// Kind of a report. It has no text: a name costs a search through the map of registers, which an access must not wait
/// for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// A register without behaviour: it holds the written value.
    Stored {
        /// True if the first access was a store.
        write: bool,
    },
    /// An address in a peripheral's range without a known register: it holds the written value.
    UnknownRegister {
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
        name: Option<&'static str>,
    },
    /// A ROM function that does nothing here.
    RomStub {
        /// Its name.
        name: &'static str,
    },
    /// A control and status register that the chip does not have.
    UnknownCsr,
    /// The program waits for a register that does not change: behaviour is missing.
    Polled {
        /// Value of each read.
        value: u32,
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
    /// The polling function, if known.
    pub function: Option<String>,
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
        match self.kind {
            ReportKind::Stored { write } => write!(
                f,
                "register {} is plain storage; first {}",
                register(addr),
                verb(write)
            ),
            ReportKind::UnknownRegister { write } => write!(
                f,
                "unknown register at {addr:#010x} ({}); first {}",
                block_name(addr).unwrap_or("no block"),
                verb(write)
            ),
            ReportKind::NoDevice { write } => {
                write!(f, "nothing answers at {addr:#010x}; first {}", verb(write))
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
            ReportKind::Polled { value } => {
                let register = register(addr);
                write!(f, "polls {register}, which always reads {value:#010x}")?;
                let function = self.function.as_ref();
                function.map_or(Ok(()), |function| write!(f, ", in {function}"))
            }
        }
    }
}

/// The register at `addr`: `BLOCK.REGISTER (ADDRESS)`.
pub(super) fn register(addr: u32) -> String {
    let name = register_name(addr);
    let name = name.as_deref().unwrap_or("without a name");
    format!("{name} ({addr:#010x})")
}

/// `BLOCK.REGISTER` at `addr`.
pub(super) fn register_name(addr: u32) -> Option<String> {
    let found = ESP32C6.at(addr)?;
    let index = found.index.to_string();
    let name = found.register.name.replacen("{}", &index, 1);
    Some(format!("{}.{name}", found.block.name))
}

/// The block that `addr` seems to belong to.
fn block_name(addr: u32) -> Option<&'static str> {
    let is_near = |base: u32| (base..base + 0x1000).contains(&addr);
    let blocks = ESP32C6.blocks();
    let near = blocks.filter(|block| block.base.is_some_and(is_near));
    near.last().map(|block| block.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn array_registers_have_their_index() {
        assert_eq!(
            register_name(0x6009_11e0).unwrap(),
            "GPIO.FUNC35_IN_SEL_CFG"
        );
        assert_eq!(register_name(0x6009_1001), None);
    }

    #[test]
    fn a_report_costs_no_text_at_the_access() {
        const fn is_plain<T: Copy>() {}
        is_plain::<ReportKind>();
    }
}
