//! Parses register values from the output of other tools.
//!
//! | line | source |
//! |---|---|
//! | `ENET_RCR:0x02188084 =0x05ee0264` | `devregs` of Boundary Devices |
//! | `0x0080:  00 00 00 00 64 02 ee 05 ...` | `ethtool -d` without a decoder for the driver |
//! | `offset 0x74, HW_CFG = 0x00050000`, `index 8, FLOW = 0x0` | `ethtool -d` of a LAN9118 |
//! | `02188084: 05ee0264 00000000 ...` | a memory dump: U-Boot's `md`, `memtool`, gdb's `x` |
//! | `1140 796d 0022 ...` below `registers for MII PHY` | `mii-tool -vv` |
//! | `0x84 0x05ee0264`, `RCR = 05ee0264` | pairs, written by hand or by a program |
//! | `[{"register": "ENET.RCR", "value": 99484260}]` | `--json` of linerate: the whole text |
//!
//! Link settings that `ethtool` prints without `-d` are parsed in `ethtool.rs`. All other lines of a terminal log are
//! ignored.

use super::ethtool;

/// A register value printed by a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Line of the dump, from 1.
    pub line: usize,
    /// The register.
    pub register: RegisterRef,
    /// Its value.
    pub value: u32,
    /// The known bits of the value.
    pub known: u32,
}

/// Reference to a register, as given in a dump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterRef {
    /// By name, and by address or offset if the tool also printed one.
    Name(String, Option<u32>),
    /// By address or offset.
    At(u32),
    /// Part of a memory dump: there may be no register. With the value's size in octets, 2 or 4.
    Memory(u32, u8),
    /// From a list of this block's registers, by offset or number: the map may not have all of them.
    Block(&'static str, u32),
}

impl RegisterRef {
    /// The bits that a value of it contains.
    fn known(&self) -> u32 {
        match self {
            Self::Memory(_, 2) => 0xffff,
            _ => u32::MAX,
        }
    }
}

/// A line that begins like a register value but is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Line number, from 1.
    pub line: usize,
    /// Description.
    pub what: String,
}

/// All values in `text`, in its order.
///
/// # Errors
/// The first line whose value is no 32-bit number.
pub fn read(text: &str) -> Result<Vec<Reading>, ParseError> {
    if let Some(readings) = json(text) {
        return Ok(readings);
    }
    let mut readings = Vec::new();
    let mut section = Section::None;
    let mut settings = ethtool::Settings::default();
    for (number, line) in (1..).zip(text.lines()) {
        let line = strip_colors(line);
        if settings.read_line(number, &line) {
            continue;
        }
        if let Some(entered) = Section::entered(&line) {
            section = entered;
            continue;
        }
        let found = section.read(line.trim(), line.starts_with([' ', '\t']));
        let found = found.map_err(|what| ParseError { line: number, what })?;
        readings.extend(found.into_iter().map(|(register, value)| Reading {
            line: number,
            known: register.known(),
            register,
            value,
        }));
    }
    readings.extend(settings.readings());
    readings.sort_by_key(|reading| reading.line);
    Ok(readings)
}

/// Parses the JSON of [`decode`](super::decode).
fn json(text: &str) -> Option<Vec<Reading>> {
    #[derive(serde::Deserialize)]
    struct JsonValue {
        register: String,
        value: u32,
        #[serde(default = "all")]
        known: u32,
    }
    const fn all() -> u32 {
        u32::MAX
    }
    // A terminal log may also begin like this.
    if !text.trim_start().starts_with('[') {
        return None;
    }
    let values: Vec<JsonValue> = serde_json::from_str(text).ok()?;
    let reading = |it: JsonValue| Reading {
        line: 1,
        register: RegisterRef::Name(it.register, None),
        value: it.value & it.known,
        known: it.known,
    };
    Some(values.into_iter().map(reading).collect())
}

/// Removes the colors that `devregs` prints on a terminal.
fn strip_colors(line: &str) -> String {
    let mut parts = line.split('\u{1b}');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text.push_str(part.split_once('m').map_or(part, |(_, shown)| shown));
    }
    text
}

/// Format of the lines below a heading.
#[derive(Clone, Copy)]
enum Section {
    None,
    /// `index` of a LAN9118's MAC, hexadecimal.
    Mac,
    /// `index` of a LAN9118's PHY, decimal.
    Phy,
    /// Rows of 16-bit values without a number; counts them.
    MiiRows(u32),
}

type Found = Vec<(RegisterRef, u32)>;

impl Section {
    fn entered(line: &str) -> Option<Self> {
        match line.trim() {
            "MAC Registers" => Some(Self::Mac),
            "PHY Registers" => Some(Self::Phy),
            other if other.starts_with("registers for MII PHY") => Some(Self::MiiRows(0)),
            _ => None,
        }
    }

    fn read(&mut self, line: &str, indented: bool) -> Result<Found, String> {
        if let Self::MiiRows(number) = self {
            let row = values(line.split_whitespace(), 4);
            if indented && !row.is_empty() && row.len() == line.split_whitespace().count() {
                let first = *number;
                *number += row.len() as u32;
                let numbered = (first..).zip(row);
                return Ok(numbered
                    .map(|(n, value)| (RegisterRef::Block("MII", n), value))
                    .collect());
            }
            *self = Self::None;
        }
        if line.starts_with("index ") || line.starts_with("offset ") {
            return self.listed(line);
        }
        if indented && is_field_of_devregs(line) {
            return Ok(Vec::new());
        }
        if let Some(found) = devregs(line)? {
            return Ok(vec![found]);
        }
        if let Some(found) = memory(line) {
            return Ok(found);
        }
        Ok(pair(line)?.into_iter().collect())
    }

    /// `offset 0x74, HW_CFG = 0x00050000` or `index 8, FLOW = 0x0`.
    fn listed(self, line: &str) -> Result<Found, String> {
        let Some((place, rest)) = line.split_once(", ") else {
            return Ok(Vec::new());
        };
        let (Some((kind, number)), Some((name, value))) =
            (place.split_once(' '), rest.split_once('='))
        else {
            return Ok(Vec::new());
        };
        let name = name.trim();
        if name.eq_ignore_ascii_case("reserved") {
            return Ok(Vec::new());
        }
        let value = number_of_32_bits(value.trim())?;
        let of = match (kind, self) {
            ("index", Self::Phy) => number.parse().ok().map(|n| RegisterRef::Block("MII", n)),
            ("index", _) => hex(number).map(|n| RegisterRef::Block("MAC", n)),
            _ => hex(number).map(|n| RegisterRef::Name(name.to_owned(), Some(n))),
        };
        Ok(of.map(|of| (of, value)).into_iter().collect())
    }
}

/// ` FCE               5- 5 =0x1`: a field of the register that `devregs` printed above it.
fn is_field_of_devregs(line: &str) -> bool {
    let Some((before, value)) = line.split_once('=') else {
        return false;
    };
    let mut words = before.split_whitespace();
    let name = words.next().is_some_and(is_name);
    let bits: String = words.collect();
    let range = bits.split_once('-');
    name && value.trim().starts_with("0x")
        && range.is_some_and(|(low, high)| low.parse::<u8>().is_ok() && high.parse::<u8>().is_ok())
}

/// `ENET_RCR:0x02188084 =0x05ee0264`; without a name for unknown registers.
fn devregs(line: &str) -> Result<Option<(RegisterRef, u32)>, String> {
    let Some((name, rest)) = line.split_once(':') else {
        return Ok(None);
    };
    let Some((address, value)) = rest.split_once('=') else {
        return Ok(None);
    };
    if !(name.is_empty() || is_name(name)) {
        return Ok(None);
    }
    // devregs appends the width of registers that are not 32 bits wide.
    let address = address.trim();
    let address = address
        .split_once('.')
        .map_or(address, |(address, _)| address);
    let Some(address) = prefixed(address) else {
        return Ok(None);
    };
    // A write has a second equals sign: `== 0x05ee0244...0x05ee0264`.
    let written = value.trim_start_matches('=').trim();
    let value = written
        .rsplit_once("...")
        .map_or(written, |(_, value)| value);
    let value = number_of_32_bits(value)?;
    let of = if name.is_empty() {
        RegisterRef::At(address)
    } else {
        RegisterRef::Name(name.to_owned(), Some(address))
    };
    Ok(Some((of, value)))
}

/// An address, a colon, and values of 1, 2 or 4 octets; then perhaps the same as text.
fn memory(line: &str) -> Option<Found> {
    let (address, rest) = line.split_once(':')?;
    let address = hex(address
        .split_once(' ')
        .map_or(address, |(address, _)| address))?;
    let digits = |word: &str| word.strip_prefix("0x").unwrap_or(word).len();
    let first = rest.split_whitespace().next()?;
    // A single value with `0x` may have any length.
    let alone = rest.split_whitespace().nth(1).is_none() && first.starts_with("0x");
    let size = match digits(first) {
        _ if alone => 4,
        2 => 1,
        4 => 2,
        8 => 4,
        _ => return None,
    };
    let values = if alone {
        vec![prefixed(first)?]
    } else {
        values(rest.split_whitespace(), 2 * size as usize)
    };
    let found: Vec<u32> = if size == 1 {
        let words = values.chunks_exact(4);
        words
            .map(|b| b[0] | b[1] << 8 | b[2] << 16 | b[3] << 24)
            .collect()
    } else {
        values
    };
    let step: u8 = if size == 2 { 2 } else { 4 };
    let addresses = (0..).map(|i: u32| address.wrapping_add(i.wrapping_mul(step.into())));
    let of = |address| {
        if alone {
            RegisterRef::At(address)
        } else {
            RegisterRef::Memory(address, step)
        }
    };
    let found: Found = addresses.map(of).zip(found).collect();
    (!found.is_empty()).then_some(found)
}

/// `RCR 0x05ee0264`, `0x84 = 05ee0264`, and the like.
fn pair(line: &str) -> Result<Option<(RegisterRef, u32)>, String> {
    let apart = |c: char| c.is_whitespace() || matches!(c, '=' | ':' | ',');
    let words = line.split(apart);
    let mut words = words.filter(|word| !["", "-", "->"].contains(word));
    let (Some(place), Some(value), None) = (words.next(), words.next(), words.next()) else {
        return Ok(None);
    };
    let of = match hex(place) {
        Some(offset) if place.starts_with(|c: char| c.is_ascii_digit()) => RegisterRef::At(offset),
        _ if is_name(place) => RegisterRef::Name(place.to_owned(), None),
        _ => return Ok(None),
    };
    // Two words are a value only if the second looks like a number.
    let digits = value.strip_prefix("0x").unwrap_or(value);
    if value == digits && !digits.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(None);
    }
    Ok(Some((of, number_of_32_bits(value)?)))
}

/// The leading words that are values of `digits` hexadecimal digits.
fn values<'a>(words: impl Iterator<Item = &'a str>, digits: usize) -> Vec<u32> {
    let one = |word: &str| {
        let word = word.strip_prefix("0x").unwrap_or(word);
        if word.len() == digits {
            hex(word)
        } else {
            None
        }
    };
    words.map_while(one).collect()
}

fn is_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "_.[]".contains(c))
}

/// A hexadecimal number, with or without `0x`.
fn hex(word: &str) -> Option<u32> {
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X"));
    // Some tools print 64-bit addresses.
    let number = u64::from_str_radix(digits.unwrap_or(word), 16).ok()?;
    u32::try_from(number).ok()
}

fn prefixed(word: &str) -> Option<u32> {
    hex(word.strip_prefix("0x")?)
}

fn number_of_32_bits(word: &str) -> Result<u32, String> {
    hex(word).ok_or_else(|| format!("`{word}` is no 32-bit hexadecimal number"))
}
