//! Registers, their fields, and the names of field values.

use crate::attributes::{Access, Attributes};
use crate::reference::{Bits, RegisterRef};
use crate::text::{decimal, hex, line, strip_prefix, word};

/// One register, or an array of equal registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register<'a> {
    /// Name without that of the peripheral; in an array `{}` is replaced by the index.
    pub name: &'a str,
    /// Bytes from the base of the block to the register, or to the first of the array; a number if
    /// the block is not memory-mapped.
    pub offset: u32,
    /// Bytes from one register of the array to the next.
    pub stride: u32,
    /// Registers in the array; 1 for a single register.
    pub count: u32,
    /// Value after power-on reset.
    pub reset: u32,
    /// Bits.
    pub width: u8,
    /// Effect of reading and writing.
    pub access: Access,
    /// Section of the source document; empty if the map has none.
    pub section: &'a str,
    /// Title, or empty.
    pub title: &'a str,
    /// The register that has the same fields, or empty.
    pub(crate) like: &'a str,
    /// The lines from its first field on.
    pub(crate) fields: &'a str,
}

impl<'a> Register<'a> {
    /// Parses `line`; `below` is the text after it.
    pub(crate) const fn parse(
        line: &'a str,
        below: &'a str,
        block: Attributes<'a>,
    ) -> Option<Self> {
        let (place, rest) = word(line);
        let (name, rest) = word(rest);
        let (reset, rest) = word(rest);
        let (Some((offset, stride, count)), Some(reset)) = (parse_span(place), hex(reset)) else {
            return None;
        };
        if name.is_empty() {
            return None;
        }
        let attributes = block.overridden_by(rest);
        Some(Self {
            name,
            offset,
            stride,
            count,
            reset,
            width: attributes.width,
            access: attributes.access,
            section: attributes.section,
            title: attributes.title,
            like: attributes.like,
            fields: below,
        })
    }

    /// Location for a driver; of an array, the first register.
    pub const fn register_ref(self) -> RegisterRef {
        RegisterRef {
            offset: self.offset,
            width: self.width,
            reset: self.reset,
        }
    }

    /// The offset of each register of the array.
    pub fn offsets(self) -> impl Iterator<Item = u32> {
        (0..self.count).map(move |i| self.offset + i * self.stride)
    }

    /// Its fields, in the order of the map.
    pub fn fields(self) -> impl Iterator<Item = Field<'a>> {
        let mut rest = self.fields;
        core::iter::from_fn(move || {
            let (field, below) = self.next_field(rest)?;
            rest = below;
            Some(field)
        })
    }

    /// The field called `name`.
    pub const fn field(self, name: &str) -> Option<Field<'a>> {
        let mut rest = self.fields;
        while let Some(inner) = strip_prefix(rest, " ") {
            let (first, below) = line(inner);
            rest = below;
            let first_name = word(word(first).1).0;
            if crate::text::equal(first_name, name)
                && let Some(field) = Field::parse(first, below, self.access)
            {
                return Some(field);
            }
        }
        None
    }

    /// Decodes `word` field by field.
    pub fn decode(self, word: u32) -> impl Iterator<Item = Decoded<'a>> {
        self.fields().map(move |field| {
            let value = field.bits.get(word);
            Decoded {
                field,
                value,
                meaning: field.values().find(|known| known.number == value),
            }
        })
    }

    /// The bits not covered by a field; 0 if the register has no fields.
    pub fn unnamed(self) -> u32 {
        let named = self.fields().fold(0, |mask, f| mask | f.bits.mask());
        if named == 0 {
            0
        } else {
            !named & Bits::all(self.width).mask()
        }
    }

    const fn next_field(self, text: &'a str) -> Option<(Field<'a>, &'a str)> {
        let mut rest = text;
        while let Some(inner) = strip_prefix(rest, " ") {
            let (first, below) = line(inner);
            rest = below;
            if let Some(field) = Field::parse(first, below, self.access) {
                return Some((field, below));
            }
        }
        None
    }
}

/// Maximum number of registers in an array.
const MAX_ARRAY_LEN: u32 = 0x1_0000;

/// `OFFSET`, or `OFFSET+STRIDE*COUNT`.
const fn parse_span(text: &str) -> Option<(u32, u32, u32)> {
    let bytes = text.as_bytes();
    let (mut plus, mut times) = (0, 0);
    let mut i = 0;
    while i < bytes.len() {
        if bytes[i] == b'+' {
            plus = i;
        } else if bytes[i] == b'*' {
            times = i;
        }
        i += 1;
    }
    if plus == 0 || times < plus {
        return match hex(text) {
            Some(offset) => Some((offset, 4, 1)),
            None => None,
        };
    }
    let (head, count) = text.split_at(times);
    let (offset, stride) = head.split_at(plus);
    let (Some(offset), Some(stride), Some(count)) = (
        hex(offset),
        hex(stride.split_at(1).1),
        hex(count.split_at(1).1),
    ) else {
        return None;
    };
    // Within the address space, and few enough to iterate over.
    let end = offset as u64 + stride as u64 * count as u64;
    if count == 0 || count > MAX_ARRAY_LEN || end > u32::MAX as u64 {
        return None;
    }
    Some((offset, stride, count))
}

/// A field of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Name as in the manual.
    pub name: &'a str,
    /// Location in the register.
    pub bits: Bits,
    /// Effect of reading and writing: inherited from the register unless the map states another.
    pub access: Access,
    /// Purpose, or empty.
    pub title: &'a str,
    values: &'a str,
}

impl<'a> Field<'a> {
    pub(crate) const fn parse(line: &'a str, below: &'a str, register: Access) -> Option<Self> {
        let (place, rest) = word(line);
        let (name, rest) = word(rest);
        let Some(bits) = parse_bits(place) else {
            return None;
        };
        if name.is_empty() {
            return None;
        }
        let mut default = Attributes::DEFAULT;
        default.access = register;
        let attributes = default.overridden_by(rest);
        Some(Self {
            name,
            bits,
            access: attributes.access,
            title: attributes.title,
            values: below,
        })
    }

    /// The values that have a name.
    pub fn values(self) -> impl Iterator<Item = Value<'a>> {
        let mut rest = self.values;
        core::iter::from_fn(move || {
            let (first, below) = line(rest.strip_prefix("  ")?);
            rest = below;
            Some(Value::parse(first))
        })
        .flatten()
    }

    /// The value called `name`.
    pub const fn value(self, name: &str) -> Option<Value<'a>> {
        let mut rest = self.values;
        while let Some(inner) = strip_prefix(rest, "  ") {
            let (first, below) = line(inner);
            rest = below;
            if let Some(value) = Value::parse(first)
                && crate::text::equal(value.name, name)
            {
                return Some(value);
            }
        }
        None
    }
}

/// `HIGH:LOW` or `BIT`.
const fn parse_bits(text: &str) -> Option<Bits> {
    let bytes = text.as_bytes();
    let mut i = 0;
    while i < bytes.len() && bytes[i] != b':' {
        i += 1;
    }
    let (high, low) = text.split_at(i);
    let low = if low.is_empty() {
        high
    } else {
        low.split_at(1).1
    };
    match (decimal(high), decimal(low)) {
        (Some(high), Some(low)) if low <= high && high < 32 => Some(Bits {
            low,
            count: high - low + 1,
        }),
        _ => None,
    }
}

/// A value of a field that has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value<'a> {
    /// The value.
    pub number: u32,
    /// Name as in the manual.
    pub name: &'a str,
    /// Effect, or empty.
    pub title: &'a str,
}

impl<'a> Value<'a> {
    pub(crate) const fn parse(line: &'a str) -> Option<Self> {
        let (number, rest) = word(line);
        let (name, title) = word(rest);
        match hex(number) {
            Some(number) if !name.is_empty() => Some(Self {
                number,
                name,
                title,
            }),
            _ => None,
        }
    }
}

/// A decoded field of a register value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// The field.
    pub field: Field<'a>,
    /// Its value, shifted down to bit 0.
    pub value: u32,
    /// The name of this value, if it has one.
    pub meaning: Option<Value<'a>>,
}
