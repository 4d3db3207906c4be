//! Differences between two dumps.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use linerate_regs::Map;
use serde::Serialize;

use super::decode::{Value, bits, decode, number, row};
use super::{ChipSelection, Error, Note};

/// Two dumps compared by register; of a register that occurs several times in a dump, the last value counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// Registers with different values, in the order of the second dump.
    pub changed: Vec<Change>,
    /// Number of equal registers.
    pub equal: usize,
    /// Registers only in the first dump.
    pub only_before: Vec<String>,
    /// Registers only in the second dump.
    pub only_after: Vec<String>,
}

/// A register with different values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The map's name.
    pub chip: String,
    /// `BLOCK.REGISTER`.
    pub register: String,
    /// Descriptive name.
    pub title: String,
    /// The earlier value.
    pub before: u32,
    /// The later value.
    pub after: u32,
    /// Width in bits.
    pub width: u8,
    /// Fields that changed.
    pub fields: Vec<FieldChange>,
    /// Changed bits without a field.
    pub unnamed: u32,
}

/// A field with different values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// Name.
    pub name: String,
    /// Purpose.
    pub title: String,
    /// Its highest bit.
    pub high: u8,
    /// Its lowest bit.
    pub low: u8,
    /// The earlier value.
    pub before: u32,
    /// Its name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning_before: Option<String>,
    /// The later value.
    pub after: u32,
    /// Its name, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning_after: Option<String>,
}

/// One of the two dumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DumpSide {
    /// The first.
    Before,
    /// The second.
    After,
}

/// Notes on values without a place in the map, with their dump.
pub type Notes = Vec<(DumpSide, Note)>;

/// Differences from `before` to `after`.
///
/// # Errors
/// [`Error`], with its dump.
pub fn diff(
    before: &str,
    after: &str,
    maps: &[Map],
    selection: ChipSelection,
) -> Result<(Diff, Notes), (DumpSide, Error)> {
    let mut notes = Vec::new();
    let mut of = |text, which| {
        let (values, of_it) = decode(text, maps, selection).map_err(|error| (which, error))?;
        notes.extend(of_it.into_iter().map(|note| (which, note)));
        Ok(values)
    };
    let (first, second) = (of(before, DumpSide::Before)?, of(after, DumpSide::After)?);
    Ok((compare(&first, &second), notes))
}

/// Differences from the values `first` to `second`.
pub fn compare(first: &[Value], second: &[Value]) -> Diff {
    let (mut before, after) = (last(first), last(second));
    let mut diff = Diff {
        changed: Vec::new(),
        equal: 0,
        only_before: Vec::new(),
        only_after: Vec::new(),
    };
    for later in after {
        let same = |value: &&Value| key(value) == key(later);
        match before.iter().position(same).map(|at| before.remove(at)) {
            None => diff.only_after.push(later.register.clone()),
            Some(earlier) => match change(earlier, later) {
                None => diff.equal += 1,
                Some(change) => diff.changed.push(change),
            },
        }
    }
    diff.only_before = before
        .into_iter()
        .map(|value| value.register.clone())
        .collect();
    diff
}

fn key(value: &Value) -> (&str, &str) {
    (&value.chip, &value.register)
}

/// The last value of each register, in the order of first occurrence.
fn last(values: &[Value]) -> Vec<&Value> {
    let mut places = BTreeMap::new();
    let mut last: Vec<&Value> = Vec::new();
    for value in values {
        let place = *places.entry(key(value)).or_insert(last.len());
        if place == last.len() {
            last.push(value);
        } else {
            last[place] = value;
        }
    }
    last
}

fn change(before: &Value, after: &Value) -> Option<Change> {
    let known = before.known & after.known;
    let differs = (before.value ^ after.value) & known;
    if differs == 0 {
        return None;
    }
    let mut named = 0;
    let mut fields = Vec::new();
    for later in &after.fields {
        let same = |field: &&super::decode::FieldValue| field.name == later.name;
        let Some(earlier) = before.fields.iter().find(same) else {
            continue;
        };
        if earlier.value != later.value {
            named |= linerate_regs::Bits {
                low: later.low,
                count: later.high - later.low + 1,
            }
            .mask();
            fields.push(FieldChange {
                name: later.name.clone(),
                title: later.title.clone(),
                high: later.high,
                low: later.low,
                before: earlier.value,
                meaning_before: earlier.meaning.clone(),
                after: later.value,
                meaning_after: later.meaning.clone(),
            });
        }
    }
    Some(Change {
        chip: after.chip.clone(),
        register: after.register.clone(),
        title: after.title.clone(),
        before: before.value,
        after: after.value,
        width: after.width,
        fields,
        unnamed: differs & !named,
    })
}

impl Diff {
    /// Text for people.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for change in &self.changed {
            let digits = usize::from(change.width / 4);
            // Writing to a string cannot fail.
            let _ = write!(
                text,
                "{}  0x{:0digits$x} -> 0x{:0digits$x}",
                change.register, change.before, change.after
            );
            let _ = writeln!(text, "  {}  [{}]", change.title, change.chip);
            for field in &change.fields {
                let from = number(field.before, field.meaning_before.as_deref());
                let to = number(field.after, field.meaning_after.as_deref());
                let values = format!("{from} -> {to}");
                let bits = bits(field.high, field.low);
                let _ = writeln!(text, "{}", row(&bits, &field.name, &values, &field.title));
            }
            if change.unnamed != 0 && !change.fields.is_empty() {
                let _ = writeln!(text, "  also, without a name: 0x{:x}", change.unnamed);
            }
        }
        for (which, registers) in [("first", &self.only_before), ("second", &self.only_after)] {
            if !registers.is_empty() {
                let _ = writeln!(text, "only in the {which}: {}", registers.join(", "));
            }
        }
        let _ = writeln!(text, "{} changed, {} equal", self.changed.len(), self.equal);
        text
    }
}
