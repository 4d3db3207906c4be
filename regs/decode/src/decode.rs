//! Register values by field.

use std::fmt::Write as _;

use linerate_regs::{Found, Map};
use serde::Serialize;

use super::dump::{Reading, RegisterRef};
use super::index::name;
use super::resolve::{Resolved, resolve};
use super::{ChipSelection, Error, Note};

/// A register's value, field by field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Value {
    /// The map's name.
    pub chip: String,
    /// `BLOCK.REGISTER`.
    pub register: String,
    /// Descriptive name.
    pub title: String,
    /// Address, if the map has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<u32>,
    /// Byte offset from the block's base, or register number.
    pub offset: u32,
    /// Width in bits.
    pub width: u8,
    /// Section of the map's source.
    pub section: String,
    /// Line of the dump, from 1.
    pub line: usize,
    /// The value; unknown bits are 0.
    pub value: u32,
    /// The known bits.
    pub known: u32,
    /// The fields whose bits are all known, in the order of the manual.
    pub fields: Vec<FieldValue>,
    /// Set bits without a field.
    pub unnamed: u32,
}

/// Value of one field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldValue {
    /// Name.
    pub name: String,
    /// Purpose.
    pub title: String,
    /// Its highest bit.
    pub high: u8,
    /// Its lowest bit.
    pub low: u8,
    /// Its value.
    pub value: u32,
    /// Name of this value, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<String>,
}

/// All values in `text`, in its order, and notes on those without a place in the map.
///
/// # Errors
/// See [`Error`].
pub fn decode(
    text: &str,
    maps: &[Map],
    selection: ChipSelection,
) -> Result<(Vec<Value>, Vec<Note>), Error> {
    let (resolved, notes) = resolve(text, maps, selection)?;
    Ok((resolved.iter().map(value).collect(), notes))
}

/// A value just read from a device; `line` counts them.
pub(super) fn live_value(
    map: Map,
    found: Found,
    read: u32,
    address: Option<u32>,
    line: usize,
) -> Value {
    let register = RegisterRef::At(address.unwrap_or(found.register.offset));
    let reading = Reading {
        line,
        register,
        value: read,
        known: u32::MAX,
    };
    let decoded = value(&Resolved {
        map,
        found,
        reading,
    });
    Value { address, ..decoded }
}

fn value(resolved: &Resolved) -> Value {
    let Resolved {
        map,
        found,
        reading,
    } = resolved;
    let register = found.register;
    let offset = register.offset + found.index * register.stride;
    let all = linerate_regs::Bits::all(register.width).mask();
    let decoded = register.decode(reading.value);
    let known = decoded.filter(|d| d.field.bits.mask() & !reading.known == 0);
    Value {
        chip: map.name().to_owned(),
        register: name(found),
        title: register.title.to_owned(),
        address: found.block.base.and_then(|base| base.checked_add(offset)),
        offset,
        width: register.width,
        section: register.section.to_owned(),
        line: reading.line,
        value: reading.value,
        known: reading.known & all,
        fields: known
            .map(|decoded| FieldValue {
                name: decoded.field.name.to_owned(),
                title: decoded.field.title.to_owned(),
                high: decoded.field.bits.low + decoded.field.bits.count - 1,
                low: decoded.field.bits.low,
                value: decoded.value,
                meaning: decoded.meaning.map(|value| value.name.to_owned()),
            })
            .collect(),
        unnamed: reading.value & register.unnamed(),
    }
}

impl Value {
    /// `0x05ee0264`, in the register's width; `in part` if not all bits are known.
    pub fn number(&self) -> String {
        let digits = usize::from(self.width / 4);
        let whole = self.known == linerate_regs::Bits::all(self.width).mask();
        let number = format!("0x{:0digits$x}", self.value);
        if whole {
            number
        } else {
            format!("{number} in part")
        }
    }
}

impl FieldValue {
    /// `5` or `29:16`.
    pub fn bits(&self) -> String {
        bits(self.high, self.low)
    }

    /// `1518`, or `2 READ`.
    pub fn number(&self) -> String {
        number(self.value, self.meaning.as_deref())
    }
}

pub(super) fn bits(high: u8, low: u8) -> String {
    if high == low {
        high.to_string()
    } else {
        format!("{high}:{low}")
    }
}

pub(super) fn number(value: u32, meaning: Option<&str>) -> String {
    meaning.map_or_else(|| value.to_string(), |meaning| format!("{value} {meaning}"))
}

/// `values` as text for people.
pub fn text(values: &[Value]) -> String {
    let mut text = String::new();
    for value in values {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", heading(value));
        for field in &value.fields {
            let _ = writeln!(
                text,
                "{}",
                row(&field.bits(), &field.name, &field.number(), &field.title)
            );
        }
        if value.unnamed != 0 {
            let _ = writeln!(text, "  also set, without a name: 0x{:x}", value.unnamed);
        }
    }
    text
}

fn heading(value: &Value) -> String {
    let mut heading = format!("{} = {}", value.register, value.number());
    if !value.title.is_empty() {
        let _ = write!(heading, "  {}", value.title);
    }
    let section = if value.section.is_empty() {
        String::new()
    } else {
        format!(", {}", value.section)
    };
    let _ = write!(heading, "  [{}{section}]", value.chip);
    heading
}

/// Line of a field.
pub(super) fn row(bits: &str, name: &str, value: &str, title: &str) -> String {
    let row = format!("  {bits:>5}  {name:<16} {value:>6}  {title}");
    row.trim_end().to_owned()
}
