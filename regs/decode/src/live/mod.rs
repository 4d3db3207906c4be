//! Registers of a running device, through any access to its memory.
//!
//! Registers that change when read are skipped unless requested, and so are indirect ones (banks, MDIO, an index
//! register), for which others are written. Those are restored, so that the driver, which has to be stopped meanwhile,
//! finds its state unchanged.
//!
//! | module | contents |
//! |---|---|
//! | `access` | blocks in memory, in banks, behind an index register |
//! | `mdio` | registers of PHYs |

mod access;
mod mdio;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use linerate_regs::{Access, Found, Map, Register};

use self::access::BlockReader;
use super::Error;
use super::decode::{self, Value};
use super::index::{name, numbered};

/// Access to a device's memory.
pub trait Memory {
    /// Reads 8, 16 or 32 bits in one access.
    ///
    /// # Errors
    /// [`MemoryError`].
    fn read(&mut self, address: u32, bits: u8) -> Result<u32, MemoryError>;

    /// Writes 8, 16 or 32 bits in one access.
    ///
    /// # Errors
    /// [`MemoryError`].
    fn write(&mut self, address: u32, bits: u8, value: u32) -> Result<(), MemoryError>;
}

/// Failed memory access.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// No answer at this address or at this time; other addresses may be readable.
    #[error("{0}")]
    Refused(String),
    /// The connection to the device is lost.
    #[error("{0}")]
    Lost(String),
}

/// Registers to read.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest<'a> {
    /// The map of the device.
    pub map: Map<'a>,
    /// The map of PHYs, which are read where the device has MDIO.
    pub phys: Map<'a>,
    /// The block at `base`; if absent, the map's first.
    pub block: Option<&'a str>,
    /// That block's address, if different from the map's.
    pub base: Option<u32>,
    /// Blocks and registers, ignoring case; all if empty.
    pub names: &'a [String],
    /// True to read indirect registers.
    pub indirect: bool,
    /// True to read registers that change when read.
    pub side_effects: bool,
}

/// Result of reading.
#[derive(Clone, Debug, Default)]
pub struct Readout {
    /// Values, in the order of the maps; lines number them, from 1.
    pub values: Vec<Value>,
    /// Registers that were not read, with the reason.
    pub skipped: Vec<Skipped>,
}

/// Registers without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// `BLOCK.REGISTER`, or a whole `BLOCK`.
    pub name: String,
    /// Reason.
    pub reason: SkipReason,
}

/// Reason why a register has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// Reading changes it.
    SideEffect,
    /// Other registers have to be written for it.
    Indirect,
    /// The device does not return it.
    Refused(String),
}

/// Reads what is requested. Nothing else may use the device meanwhile.
///
/// # Errors
/// [`Error`]: the map has no such name, its address is not known, or the device is lost.
pub fn read(memory: &mut dyn Memory, request: &ReadRequest) -> Result<Readout, Error> {
    let mut parts = access::parts(request)?;
    check_names(request, &parts)?;
    parts.retain(|part| is_any_requested(request, part));
    let mut seen = Readout::default();
    for part in &mut parts {
        if !part.access.is_direct() && !request.indirect {
            seen.skip(part.block.name, SkipReason::Indirect);
            continue;
        }
        seen.read_block(memory, request, part)
            .map_err(Error::Lost)?;
    }
    Ok(seen)
}

/// Checks that every name is one of a block or register.
fn check_names(request: &ReadRequest, parts: &[BlockReader]) -> Result<(), Error> {
    let is_known = |name: &&String| {
        parts
            .iter()
            .any(|part| part.found().any(|it| is(&it, name)))
    };
    match request.names.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(Error::NotFound {
            chip: request.map.name().to_owned(),
            kind: "block or register",
            name: name.clone(),
        }),
    }
}

fn is_any_requested(request: &ReadRequest, part: &BlockReader) -> bool {
    part.found().any(|found| is_requested(request, &found))
}

fn is_requested(request: &ReadRequest, found: &Found) -> bool {
    request.names.is_empty() || request.names.iter().any(|name| is(found, name))
}

/// True if `name` is that of a register or its block.
fn is(found: &Found, name: &str) -> bool {
    let (block, bare) = (found.block.name, numbered(&found.register, found.index));
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    is(block) || is(&bare) || is(&format!("{block}.{bare}")) || is(&format!("{block}_{bare}"))
}

/// True if reading does not change it or any of its fields.
fn is_harmless(register: Register) -> bool {
    let mut fields = register.fields();
    register.access.is_harmless_to_read() && fields.all(|field| field.access.is_harmless_to_read())
}

impl Readout {
    /// Reads a block.
    fn read_block(
        &mut self,
        memory: &mut dyn Memory,
        request: &ReadRequest,
        part: &mut BlockReader,
    ) -> Result<(), String> {
        let entered = part.access.enter(memory);
        match entered {
            Ok(true) => {
                let read = self.read_registers(memory, request, part);
                // Restore the driver's values even after a failed read.
                let left = part.access.leave(memory);
                read?;
                match left {
                    Err(MemoryError::Lost(what)) => Err(what),
                    Err(MemoryError::Refused(what)) => {
                        self.skip(part.block.name, SkipReason::Refused(what));
                        Ok(())
                    }
                    Ok(()) => Ok(()),
                }
            }
            Ok(false) => Ok(()),
            Err(MemoryError::Refused(what)) => {
                self.skip(part.block.name, SkipReason::Refused(what));
                Ok(())
            }
            Err(MemoryError::Lost(what)) => Err(what),
        }
    }

    fn read_registers(
        &mut self,
        memory: &mut dyn Memory,
        request: &ReadRequest,
        part: &mut BlockReader,
    ) -> Result<(), String> {
        let (map, block) = (part.map, part.block);
        for found in access::found(block) {
            let register = found.register;
            let offset = register.offset + found.index * register.stride;
            let is_asked = register.access != Access::WriteOnly && is_requested(request, &found);
            if !is_asked || !part.access.has(offset) {
                continue;
            }
            if !is_harmless(register) && !request.side_effects {
                self.skip(&name(&found), SkipReason::SideEffect);
                continue;
            }
            match part.access.read(memory, offset, register.width) {
                Ok(value) => {
                    let line = self.values.len() + 1;
                    let address = part.access.address(offset);
                    self.values
                        .push(decode::live_value(map, found, value, address, line));
                }
                Err(MemoryError::Refused(what)) => {
                    self.skip(&name(&found), SkipReason::Refused(what));
                }
                Err(MemoryError::Lost(what)) => return Err(what),
            }
        }
        Ok(())
    }

    fn skip(&mut self, name: &str, reason: SkipReason) {
        self.skipped.push(Skipped {
            name: name.to_owned(),
            reason,
        });
    }

    /// One line for each reason for skipping registers.
    pub fn notes(&self) -> Vec<String> {
        let mut reasons: Vec<(&SkipReason, Vec<&str>)> = Vec::new();
        for Skipped { name, reason } in &self.skipped {
            match reasons.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, names)) => names.push(name),
                None => reasons.push((reason, vec![name])),
            }
        }
        let line = |(why, names): &(&SkipReason, Vec<&str>)| {
            let why = match why {
                SkipReason::SideEffect => "reading changes them (--side-effects)",
                SkipReason::Indirect => {
                    "other registers are written for it, and put back (--indirect)"
                }
                SkipReason::Refused(what) => what,
            };
            format!("not read: {}: {why}", names.join(", "))
        };
        reasons.iter().map(line).collect()
    }
}

/// `values` in the format of `devregs`, which [`decode`](decode::decode) parses.
pub fn devregs(values: &[Value]) -> String {
    let mut text = String::new();
    for value in values {
        let name = value.register.replacen('.', "_", 1);
        let digits = usize::from(value.width / 4);
        let number = value.value;
        // Writing to a string cannot fail.
        let _ = match value.address {
            Some(address) => writeln!(text, "{name}:0x{address:08x}\t=0x{number:0digits$x}"),
            None => writeln!(text, "{name} = 0x{number:0digits$x}"),
        };
    }
    text
}
