//! Timing tables: latencies of a chip, each with its source and confidence.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::rv32;

/// Kind of source of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SourceKind {
    /// Measured on a chip by the named source.
    Measured,
    /// From a manual or a standard, or computed from one.
    Datasheet,
    /// Plausible, unconfirmed.
    Guess,
}

/// One figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TimingEntry {
    /// `section.name`; the unit is in the name, CPU cycles in section `cpu`.
    pub name: String,
    /// The figure.
    pub value: u64,
    /// Kind of its source.
    pub kind: SourceKind,
    /// Its source.
    pub source: String,
    /// The published figure that was known when the value was chosen: a prediction of that figure
    /// from the table is no evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fitted: Option<String>,
}

/// Reason that a timing table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TimingError {
    /// Not TOML, or of another shape.
    #[error("{0}")]
    Syntax(#[from] toml::de::Error),
    /// An entry that the chip needs is missing.
    #[error("timing entry {0} is missing")]
    Missing(String),
    /// An unknown entry.
    #[error("timing entry {0} is unknown")]
    Unknown(String),
    /// A figure outside of its range.
    #[error("timing entry {name} cannot be {value}")]
    OutOfRange {
        /// The entry.
        name: String,
        /// Its value.
        value: u64,
    },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawEntry {
    value: u64,
    kind: SourceKind,
    source: String,
    fitted: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTable {
    name: String,
    cpu: BTreeMap<String, RawEntry>,
    chip: BTreeMap<String, RawEntry>,
}

/// All figures of a chip, complete and checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimingTable {
    name: String,
    cpu: rv32::Timing,
    /// By name.
    entries: BTreeMap<String, TimingEntry>,
}

impl TimingTable {
    /// Reads a table that must hold exactly the hart's entries and those in `chip`.
    ///
    /// # Errors
    /// [`TimingError`] names the entry that is wrong.
    pub fn parse(text: &str, chip: &[&str]) -> Result<Self, TimingError> {
        let raw: RawTable = toml::from_str(text)?;
        let mut cpu = rv32::Timing::ideal();
        let mut entries = BTreeMap::new();
        for (section, known, raw) in [
            ("cpu", &rv32::Timing::NAMES[..], raw.cpu),
            ("chip", chip, raw.chip),
        ] {
            let missing = known.iter().find(|&&name| !raw.contains_key(name));
            if let Some(name) = missing {
                return Err(TimingError::Missing(format!("{section}.{name}")));
            }
            for (
                name,
                RawEntry {
                    value,
                    kind,
                    source,
                    fitted,
                },
            ) in raw
            {
                let full = format!("{section}.{name}");
                if !known.contains(&name.as_str()) {
                    return Err(TimingError::Unknown(full));
                }
                if value > u64::from(u32::MAX) {
                    return Err(TimingError::OutOfRange { name: full, value });
                }
                if section == "cpu"
                    && let Some(entry) = cpu.entry(&name)
                {
                    *entry = value as u32;
                }
                entries.insert(
                    full.clone(),
                    TimingEntry {
                        name: full,
                        value,
                        kind,
                        source,
                        fitted,
                    },
                );
            }
        }
        Ok(Self {
            name: raw.name,
            cpu,
            entries,
        })
    }

    /// Name of the table.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The hart's figures.
    pub fn cpu(&self) -> rv32::Timing {
        self.cpu
    }

    /// All entries, by name.
    pub fn entries(&self) -> impl Iterator<Item = &TimingEntry> {
        self.entries.values()
    }

    /// The unconfirmed entries.
    pub fn guesses(&self) -> impl Iterator<Item = &TimingEntry> {
        self.entries()
            .filter(|entry| entry.kind == SourceKind::Guess)
    }

    /// The figure of the entry `chip.name`.
    ///
    /// # Panics
    /// If the entry was not in the list of names given to [`Self::parse`].
    pub fn chip(&self, name: &str) -> u64 {
        self.entries[&format!("chip.{name}")].value
    }

    /// The table with one figure changed, for experiments and for fitting: the entry becomes a
    /// guess.
    ///
    /// # Errors
    /// [`TimingError::Unknown`] if there is no entry `name` (`section.name`),
    /// [`TimingError::OutOfRange`] if the figure is too large.
    pub fn with(mut self, name: &str, value: u64) -> Result<Self, TimingError> {
        let entry = self
            .entries
            .get_mut(name)
            .ok_or_else(|| TimingError::Unknown(name.to_owned()))?;
        let Ok(narrow) = u32::try_from(value) else {
            return Err(TimingError::OutOfRange {
                name: name.to_owned(),
                value,
            });
        };
        if let Some(field) = name
            .strip_prefix("cpu.")
            .and_then(|name| self.cpu.entry(name))
        {
            *field = narrow;
        }
        (entry.value, entry.kind) = (value, SourceKind::Guess);
        "changed by hand".clone_into(&mut entry.source);
        entry.fitted = None;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chip::esp32c6;

    #[test]
    fn the_built_in_table_is_complete_and_names_its_guesses() {
        let table = esp32c6::timing_table();
        assert_eq!(table.cpu().mispredicted, 3);
        assert_eq!(table.chip("dedicated_input_cycles"), 2);
        assert!(
            table
                .guesses()
                .any(|entry| entry.name == "chip.flash_miss_ns")
        );
        assert!(table.guesses().all(|entry| entry.name != "cpu.load_use"));
        let fitted = |name: &str| {
            let mut entries = table.entries();
            entries.any(|entry| entry.name == name && entry.fitted.is_some())
        };
        assert!(fitted("cpu.interrupt_entry") && !fitted("cpu.load_use"));
    }

    #[test]
    fn a_changed_figure_is_a_guess() {
        let table = esp32c6::timing_table().with("cpu.mispredicted", 4).unwrap();
        assert_eq!(table.cpu().mispredicted, 4);
        assert!(
            table
                .guesses()
                .any(|entry| entry.name == "cpu.mispredicted")
        );
        let error = esp32c6::timing_table().with("cpu.magic", 4).unwrap_err();
        assert_eq!(error.to_string(), "timing entry cpu.magic is unknown");
    }

    #[test]
    fn missing_and_unknown_entries_are_named() {
        let error = TimingTable::parse("name = 'x'\n[cpu]\n[chip]", &[]).unwrap_err();
        assert_eq!(error.to_string(), "timing entry cpu.load_use is missing");
        let text = include_str!("esp32c6/timing.toml");
        let error = TimingTable::parse(text, &[]).unwrap_err();
        assert!(error.to_string().ends_with("is unknown"), "{error}");
    }
}
