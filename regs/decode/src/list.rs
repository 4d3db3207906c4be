//! The contents of maps.

use std::fmt::Write as _;

use linerate_regs::{Block, Map, Register};
use serde::Serialize;

use super::Error;
use super::decode::{bits, row};

/// A chip's map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chip {
    /// Name on the command line.
    pub name: String,
    /// Description.
    pub title: String,
    /// Source document of the map.
    pub source: String,
    /// Its peripherals.
    pub blocks: Vec<Peripheral>,
}

/// The registers of one peripheral.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Peripheral {
    /// Name.
    pub name: String,
    /// Description, and how to access it.
    pub title: String,
    /// Address of offset 0, if the map has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<u32>,
    /// Its registers.
    pub registers: Vec<Entry>,
}

/// A register, or an array of equal ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Name; `{}` is the index in an array.
    pub name: String,
    /// Descriptive name.
    pub title: String,
    /// Byte offset from the base, or register number.
    pub offset: u32,
    /// Registers in the array.
    pub count: u32,
    /// Bytes from one register of the array to the next.
    pub stride: u32,
    /// Width in bits.
    pub width: u8,
    /// Access: rw, ro, wo, w1c, rc, sc, re.
    pub access: &'static str,
    /// Value after reset.
    pub reset: u32,
    /// Section of the source.
    pub section: String,
    /// Its fields.
    pub fields: Vec<FieldEntry>,
}

/// A field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldEntry {
    /// Name.
    pub name: String,
    /// Purpose.
    pub title: String,
    /// Its highest bit.
    pub high: u8,
    /// Its lowest bit.
    pub low: u8,
    /// Access, as for a register.
    pub access: &'static str,
    /// Named values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<NamedValue>,
}

/// A named value of a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedValue {
    /// The value.
    pub value: u32,
    /// Name.
    pub name: String,
    /// Effect.
    pub title: String,
}

/// Contents of `map`: all of it, or the block or the registers named `wanted`.
///
/// # Errors
/// [`Error::NotFound`].
pub fn chip(map: Map, wanted: Option<&str>) -> Result<Chip, Error> {
    let (mut blocks, wanted_name) = (Vec::new(), wanted.unwrap_or_default());
    for block in map.blocks() {
        let registers = block.registers().filter(|register| {
            let is = |name: &str| name.eq_ignore_ascii_case(wanted_name);
            wanted.is_none()
                || is(block.name)
                || is(register.name)
                || ['.', '_']
                    .iter()
                    .any(|by| is(&format!("{}{by}{}", block.name, register.name)))
        });
        let registers: Vec<Entry> = registers.map(entry).collect();
        if !registers.is_empty() {
            blocks.push(peripheral(block, registers));
        }
    }
    if blocks.is_empty() {
        return Err(Error::NotFound {
            chip: map.name().to_owned(),
            kind: "block or register",
            name: wanted_name.to_owned(),
        });
    }
    Ok(Chip {
        name: map.name().to_owned(),
        title: map.title().to_owned(),
        source: map.source().to_owned(),
        blocks,
    })
}

fn peripheral(block: Block, registers: Vec<Entry>) -> Peripheral {
    Peripheral {
        name: block.name.to_owned(),
        title: block.title.to_owned(),
        base: block.base,
        registers,
    }
}

fn entry(register: Register) -> Entry {
    let fields = register.fields().map(|field| FieldEntry {
        name: field.name.to_owned(),
        title: field.title.to_owned(),
        high: field.bits.low + field.bits.count - 1,
        low: field.bits.low,
        access: field.access.word(),
        values: field
            .values()
            .map(|value| NamedValue {
                value: value.number,
                name: value.name.to_owned(),
                title: value.title.to_owned(),
            })
            .collect(),
    });
    Entry {
        name: register.name.to_owned(),
        title: register.title.to_owned(),
        offset: register.offset,
        count: register.count,
        stride: register.stride,
        width: register.width,
        access: register.access.word(),
        reset: register.reset,
        section: register.section.to_owned(),
        fields: fields.collect(),
    }
}

/// List of the maps, one per line.
pub fn chips(maps: &[Map]) -> String {
    let mut text = String::new();
    for map in maps {
        let registers: usize = map.blocks().map(|block| block.registers().count()).sum();
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:10} {:>4} registers  {}\n{:27}from {}",
            map.name(),
            registers,
            map.title(),
            "",
            map.source()
        );
    }
    text
}

impl Chip {
    /// Text for people; with fields, or registers only.
    pub fn text(&self, fields: bool) -> String {
        let mut text = format!("{}: {}\nfrom {}\n", self.name, self.title, self.source);
        for block in &self.blocks {
            let base = block
                .base
                .map_or_else(String::new, |base| format!(" at 0x{base:08x}"));
            // Writing to a string cannot fail.
            let _ = writeln!(text, "\n{}{base}  {}", block.name, block.title);
            for register in &block.registers {
                let _ = writeln!(text, "{}", register.row());
                for field in register.fields.iter().filter(|_| fields) {
                    let bits = bits(field.high, field.low);
                    let _ = writeln!(
                        text,
                        "{}",
                        row(&bits, &field.name, field.access, &field.title)
                    );
                    for value in &field.values {
                        let number = format!("{:x}", value.value);
                        let _ =
                            writeln!(text, "{:9}{number:>4} {}: {}", "", value.name, value.title);
                    }
                }
            }
        }
        text
    }
}

impl Entry {
    fn row(&self) -> String {
        let digits = usize::from(self.width / 4);
        let array = if self.count > 1 {
            format!(" ({} times, every 0x{:x})", self.count, self.stride)
        } else {
            String::new()
        };
        let section = if self.section.is_empty() {
            String::new()
        } else {
            format!("  [{}]", self.section)
        };
        let row = format!(
            "{:>5x}  {:<18} {:<3}  0x{:0digits$x}  {}{array}{section}",
            self.offset, self.name, self.access, self.reset, self.title
        );
        row.trim_end().to_owned()
    }
}
