//! Faults of a program with a symbolic backtrace.

use core::fmt;

use super::Esp32c6;
use crate::rv32::Fault;
use crate::time::Instant;

/// Maximum number of frames in a backtrace.
const MAX_FRAMES: usize = 24;

/// A place in the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Address of the instruction; in callers, the one to return to.
    pub pc: u32,
    /// The function and the bytes from its beginning, if known.
    pub function: Option<(String, u32)>,
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.pc)?;
        match &self.function {
            Some((name, offset)) => write!(f, " {name}+{offset:#x}"),
            None => Ok(()),
        }
    }
}

/// An exception that the program could not handle, with a backtrace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultReport {
    /// Time of the exception.
    pub at: Instant,
    /// The exception.
    pub fault: Fault,
    /// The faulting function, its caller, and so on, as far as frame pointers reach.
    pub frames: Vec<Frame>,
    /// The last serious report: often the cause.
    pub last_report: Option<String>,
}

impl fmt::Display for FaultReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} after {:.6} s", self.fault, self.at.as_secs_f64())?;
        for (i, frame) in self.frames.iter().enumerate() {
            write!(f, "\n  {} {frame}", if i == 0 { "in  " } else { "from" })?;
        }
        match &self.last_report {
            Some(report) => write!(f, "\n  last report: {report}"),
            None => Ok(()),
        }
    }
}

impl Esp32c6 {
    /// The function that `pc` is in, demangled.
    pub fn function_at(&self, pc: u32) -> Option<String> {
        self.frame_at(pc).function.map(|(name, _)| name)
    }

    /// The address of the next instruction, its function if known, and the register that was read last:
    /// `0x42000010 main+0x8; the last register that it read is UART0.STATUS (0x6000001c)`.
    pub fn position(&self) -> String {
        let place = self.frame_at(self.hart.pc()).to_string();
        match self.soc.last_read {
            Some(addr) => format!(
                "{place}; the last register that it read is {}",
                super::report::register(addr)
            ),
            None => place,
        }
    }

    fn frame_at(&self, pc: u32) -> Frame {
        let function = match self.soc.rom.name(pc) {
            Some(name) => Some((format!("{name} (ROM)"), 0)),
            None => self.elf.function_at(pc).map(|symbol| {
                let name = format!("{:#}", rustc_demangle::demangle(&symbol.name));
                (name, pc - symbol.addr)
            }),
        };
        Frame { pc, function }
    }

    /// The current position of the program, and its callers as far as the frame-pointer chain
    /// (`s0`; return address and caller's frame pointer below it) can be followed.
    pub fn backtrace(&self) -> Vec<Frame> {
        let regs = self.hart.regs();
        let mut frames = vec![self.frame_at(self.hart.pc())];
        // A leaf function has not saved its return address.
        frames.push(self.frame_at(regs[1]));
        let mut pointer = regs[8];
        while frames.len() < MAX_FRAMES {
            let saved = |offset: u32| self.memory.read_u32(pointer.wrapping_sub(offset));
            let (Some(ra), Some(next)) = (saved(4), saved(8)) else {
                break;
            };
            if self.memory.kind(ra).is_none() {
                break;
            }
            if frames.last().is_none_or(|frame| frame.pc != ra) {
                frames.push(self.frame_at(ra));
            }
            // The stack grows down, so callers' frames have higher addresses.
            if next <= pointer {
                break;
            }
            pointer = next;
        }
        frames
    }

    pub(super) fn fault_report(&self, fault: Fault) -> FaultReport {
        let last_report = self
            .reports()
            .iter()
            .rev()
            .find(|report| report.is_serious());
        FaultReport {
            at: self.now(),
            fault,
            frames: self.backtrace(),
            last_report: last_report.map(ToString::to_string),
        }
    }
}
