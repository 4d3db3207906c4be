//! Registers of a device that runs, through whatever reaches its memory.
//!
//! What reading would change is left alone unless it is asked for, and so are registers behind others (banks,
//! MDIO, an index): those are written on the way there. They get back what they had, so that the driver, which
//! has to stand still meanwhile, finds everything as it was.
//!
//! | module | what a person finds there |
//! |---|---|
//! | `way` | blocks in the memory, in banks, behind an index |
//! | `mdio` | registers of PHYs |

mod mdio;
#[cfg(test)]
mod tests;
mod way;

use std::fmt::Write as _;

use linerate_regs::{Access, Found, Map, Register};

use self::way::Part;
use super::Error;
use super::decode::{self, Value};
use super::index::{name, numbered};

/// What reaches a device's memory.
pub trait Memory {
    /// Reads 8, 16 or 32 bits at once.
    ///
    /// # Errors
    /// [`Fault`].
    fn read(&mut self, address: u32, bits: u8) -> Result<u32, Fault>;

    /// Writes them.
    ///
    /// # Errors
    /// [`Fault`].
    fn write(&mut self, address: u32, bits: u8, value: u32) -> Result<(), Fault>;
}

/// Why there is no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Nothing answers there, or not now; what lies elsewhere can still be read.
    #[error("{0}")]
    Refused(String),
    /// The device is not reached any more.
    #[error("{0}")]
    Lost(String),
}

/// What is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// The map of the device.
    pub map: Map<'a>,
    /// That of PHYs, which are read where the device has MDIO.
    pub phys: Map<'a>,
    /// The block that `base` is of; else the map's first.
    pub block: Option<&'a str>,
    /// That block's address, where it is not the map's.
    pub base: Option<u32>,
    /// Blocks and registers, in any letters; none: all that there are.
    pub names: &'a [String],
    /// Whether registers behind others are read.
    pub indirect: bool,
    /// Whether registers are read that change by it.
    pub side_effects: bool,
}

/// What was read.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Values, in the order of the maps; lines count them, from 1.
    pub values: Vec<Value>,
    /// What was not, and why.
    pub left_out: Vec<LeftOut>,
}

/// Registers without a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// `BLOCK.REGISTER`, or a whole `BLOCK`.
    pub name: String,
    /// Why.
    pub why: Why,
}

/// Why a register has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// It would not be the same afterwards.
    SideEffect,
    /// It lies behind others.
    Indirect,
    /// The device does not give it.
    Refused(String),
}

/// Reads what is `wanted`. Nobody else may use the device meanwhile.
///
/// # Errors
/// [`Error`]: there is no such thing in the map, its address is not known, or the device is lost.
pub fn read(memory: &mut dyn Memory, wanted: &Wanted) -> Result<Seen, Error> {
    let mut parts = way::parts(wanted)?;
    all_known(wanted, &parts)?;
    parts.retain(|part| wants_any(wanted, part));
    let mut seen = Seen::default();
    for part in &mut parts {
        if !part.way.is_direct() && !wanted.indirect {
            seen.leave_out(part.block.name, Why::Indirect);
            continue;
        }
        seen.take(memory, wanted, part).map_err(Error::Lost)?;
    }
    Ok(seen)
}

/// Every name has to be one of a block or register here.
fn all_known(wanted: &Wanted, parts: &[Part]) -> Result<(), Error> {
    let is_known = |name: &&String| {
        parts
            .iter()
            .any(|part| part.found().any(|it| is(&it, name)))
    };
    match wanted.names.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => Err(Error::NoSuch {
            chip: wanted.map.name().to_owned(),
            kind: "block or register",
            name: name.clone(),
        }),
    }
}

fn wants_any(wanted: &Wanted, part: &Part) -> bool {
    part.found().any(|found| wants(wanted, &found))
}

fn wants(wanted: &Wanted, found: &Found) -> bool {
    wanted.names.is_empty() || wanted.names.iter().any(|name| is(found, name))
}

/// Whether `name` is that of a register or its block.
fn is(found: &Found, name: &str) -> bool {
    let (block, bare) = (found.block.name, numbered(&found.register, found.index));
    let is = |known: &str| known.eq_ignore_ascii_case(name);
    is(block) || is(&bare) || is(&format!("{block}.{bare}")) || is(&format!("{block}_{bare}"))
}

/// Whether reading leaves it and all of its fields as they are.
fn is_harmless(register: Register) -> bool {
    let mut fields = register.fields();
    register.access.is_harmless_to_read() && fields.all(|field| field.access.is_harmless_to_read())
}

impl Seen {
    /// Reads a block.
    fn take(
        &mut self,
        memory: &mut dyn Memory,
        wanted: &Wanted,
        part: &mut Part,
    ) -> Result<(), String> {
        let entered = part.way.enter(memory);
        match entered {
            Ok(true) => {
                let read = self.registers(memory, wanted, part);
                // Even if one of them was refused, the driver's values come back.
                let left = part.way.leave(memory);
                read?;
                match left {
                    Err(Fault::Lost(what)) => Err(what),
                    Err(Fault::Refused(what)) => {
                        self.leave_out(part.block.name, Why::Refused(what));
                        Ok(())
                    }
                    Ok(()) => Ok(()),
                }
            }
            Ok(false) => Ok(()),
            Err(Fault::Refused(what)) => {
                self.leave_out(part.block.name, Why::Refused(what));
                Ok(())
            }
            Err(Fault::Lost(what)) => Err(what),
        }
    }

    fn registers(
        &mut self,
        memory: &mut dyn Memory,
        wanted: &Wanted,
        part: &mut Part,
    ) -> Result<(), String> {
        let (map, block) = (part.map, part.block);
        for found in way::found(block) {
            let register = found.register;
            let offset = register.offset + found.index * register.stride;
            let is_asked = register.access != Access::WriteOnly && wants(wanted, &found);
            if !is_asked || !part.way.has(offset) {
                continue;
            }
            if !is_harmless(register) && !wanted.side_effects {
                self.leave_out(&name(&found), Why::SideEffect);
                continue;
            }
            match part.way.read(memory, offset, register.width) {
                Ok(value) => {
                    let line = self.values.len() + 1;
                    let address = part.way.address(offset);
                    self.values
                        .push(decode::live(map, found, value, address, line));
                }
                Err(Fault::Refused(what)) => self.leave_out(&name(&found), Why::Refused(what)),
                Err(Fault::Lost(what)) => return Err(what),
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, name: &str, why: Why) {
        self.left_out.push(LeftOut {
            name: name.to_owned(),
            why,
        });
    }

    /// A line for each reason why something was not read.
    pub fn notes(&self) -> Vec<String> {
        let mut reasons: Vec<(&Why, Vec<&str>)> = Vec::new();
        for LeftOut { name, why } in &self.left_out {
            match reasons.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(name),
                None => reasons.push((why, vec![name])),
            }
        }
        let line = |(why, names): &(&Why, Vec<&str>)| {
            let why = match why {
                Why::SideEffect => "reading changes them (--side-effects)",
                Why::Indirect => "other registers are written for it, and put back (--indirect)",
                Why::Refused(what) => what,
            };
            format!("not read: {}: {why}", names.join(", "))
        };
        reasons.iter().map(line).collect()
    }
}

/// `values` as `devregs` prints them, which [`decode`](decode::decode) reads back.
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
