//! Exceptions, and reasons for the hart to stop.

use core::fmt;

/// Synchronous exceptions; the discriminants are `mcause` codes (volume II, table 3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Cause {
    /// Fetch from an unmapped address.
    InstructionAccess = 1,
    /// Undefined instruction, or a CSR that does not exist.
    IllegalInstruction = 2,
    /// `ebreak`.
    Breakpoint = 3,
    /// Misaligned load that the hardware does not split.
    LoadMisaligned = 4,
    /// Load from an unmapped address.
    LoadAccess = 5,
    /// Misaligned store or atomic that the hardware does not split.
    StoreMisaligned = 6,
    /// Store or atomic to an unmapped address or to flash.
    StoreAccess = 7,
    /// `ecall`.
    MachineCall = 11,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Cause::InstructionAccess => "instruction access fault",
            Cause::IllegalInstruction => "illegal instruction",
            Cause::Breakpoint => "breakpoint",
            Cause::LoadMisaligned => "misaligned load",
            Cause::LoadAccess => "load access fault",
            Cause::StoreMisaligned => "misaligned store",
            Cause::StoreAccess => "store access fault",
            Cause::MachineCall => "environment call",
        })
    }
}

/// An exception and where it happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The exception.
    pub cause: Cause,
    /// Address of the instruction.
    pub pc: u32,
    /// Value for `mtval`: the address that was accessed, the illegal instruction's bits, or 0.
    pub value: u32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at pc {:#010x} ({:#010x})",
            self.cause, self.pc, self.value
        )
    }
}

/// Reason that [`super::Hart::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The next instruction would begin at or after the platform's deadline.
    Deadline,
    /// The hart waits for an interrupt and none is pending. It waits until
    /// [`super::Platform::interrupt`] returns a line: advance the time, then call `run` again.
    Wfi,
    /// An exception that the program cannot handle: no handler is installed, the handler cannot be
    /// fetched, or the handler's first instruction itself faults. The hart stays where it is.
    Fault(Fault),
}
