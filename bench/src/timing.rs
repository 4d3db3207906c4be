//! Timing tables supplied by the user: the output of `cycle_counting` on a chip, or a hypothetical
//! table.

pub use linerate_sim::chip::{SourceKind, TimingEntry, TimingError, TimingTable};

use linerate_sim::chip::esp32c6;
use toml::{Table, Value};

/// `cycle_counting` prints the table between these lines.
const BEGIN: &str = "# timing table: begin";
const END: &str = "# timing table: end";
/// Precedes the chip's address in it.
const CHIP: &str = "# chip: ";
/// Bit of an address's first octet (IEEE 802 section 8.2.2).
const LOCALLY_ADMINISTERED: u8 = 0x02;

/// An entry with an impossible figure, as from a disturbed loop, which may count less than zero.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("timing entry {entry} cannot be {value}: ignored, the built-in value is used")]
pub struct RejectedEntry {
    /// The entry, `section.name`.
    pub entry: String,
    /// Its figure.
    pub value: Value,
}

/// Why a text is not a timing table.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// The console log has the start of a table, but not its end.
    #[error("the log is cut off within the timing table")]
    CutOff,
    /// There is no entry, or none is usable.
    #[error("it has no usable timing entry{}", rejected.iter().map(|one| format!("; {one}")).collect::<Vec<_>>().concat())]
    NoEntry {
        /// The rejected entries.
        rejected: Vec<RejectedEntry>,
    },
    /// An entry has a syntax error.
    #[error("timing entry {entry}: {message}")]
    Entry {
        /// The entry, `section.name`.
        entry: String,
        /// The error.
        message: String,
    },
    /// The table is invalid.
    #[error(transparent)]
    Table(#[from] TimingError),
}

/// The chip that a table was measured on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A chip with a factory-programmed address.
    Chip,
    /// The simulator, whose chip has a locally administered address: its figures are those of the table that it ran
    /// with.
    Simulator,
    /// The text does not name a chip.
    Unknown,
}

/// A parsed table.
#[derive(Clone, Debug, PartialEq)]
pub struct ParsedTable {
    /// The table.
    pub table: TimingTable,
    /// Where it was measured.
    pub origin: Origin,
    /// The entries of the text that are not in it.
    pub rejected: Vec<RejectedEntry>,
}

/// Parses a table in the format of `sim/src/chip/esp32c6/timing.toml`, complete or partial: a missing
/// entry has the built-in table's figure, and so has one with an impossible figure. The console log
/// of `cycle_counting` is accepted, too; if it has several tables, the last one counts.
///
/// # Errors
/// [`ParseError`] names the wrong entry or line.
pub fn parse(text: &str) -> Result<ParsedTable, ParseError> {
    let mut whole: Table = toml::from_str(esp32c6::TIMING_TABLE).map_err(TimingError::from)?;
    let part: Table = toml::from_str(&extract_table(text)?).map_err(TimingError::from)?;
    let mut entries = Vec::new();
    for (name, value) in part {
        match (whole.get(&name), value) {
            (Some(Value::Table(_)), Value::Table(section)) => {
                entries.extend(
                    section
                        .into_iter()
                        .map(|(entry, value)| (name.clone(), entry, value)),
                );
            }
            (_, value) => _ = whole.insert(name, value),
        }
    }
    let mut table = esp32c6::parse_timing_table(&whole.to_string())?;
    let mut used = false;
    // A cache's sizes depend on each other: repeated as long as another one fits.
    loop {
        let before = entries.len();
        let mut rest = Vec::new();
        for (section, entry, value) in entries {
            let mut with = whole.clone();
            if let Some(Value::Table(section)) = with.get_mut(&section) {
                section.insert(entry.clone(), value.clone());
            }
            match esp32c6::parse_timing_table(&with.to_string()) {
                Ok(fits) => (table, whole, used) = (fits, with, true),
                Err(TimingError::OutOfRange { .. }) => rest.push((section, entry, value)),
                Err(TimingError::Syntax(_))
                    if figure(&value).as_integer().is_some_and(|n| n < 0) =>
                {
                    rest.push((section, entry, value));
                }
                Err(TimingError::Syntax(error)) => {
                    return Err(ParseError::Entry {
                        entry: format!("{section}.{entry}"),
                        message: error.message().trim().replace('\n', "; "),
                    });
                }
                Err(error) => return Err(error.into()),
            }
        }
        entries = rest;
        if entries.len() == before {
            break;
        }
    }
    let rejected = entries
        .into_iter()
        .map(|(section, entry, value)| RejectedEntry {
            entry: format!("{section}.{entry}"),
            value: figure(&value).clone(),
        })
        .collect();
    if used {
        let origin = origin(text);
        Ok(ParsedTable {
            table,
            origin,
            rejected,
        })
    } else {
        Err(ParseError::NoEntry { rejected })
    }
}

/// The chip that the last table of a log names.
fn origin(text: &str) -> Origin {
    let mut lines = text.lines().rev();
    let named = lines.find_map(|line| line.trim().strip_prefix(CHIP));
    let first = named.and_then(|address| u8::from_str_radix(address.split(':').next()?, 16).ok());
    match first {
        Some(first) if first & LOCALLY_ADMINISTERED != 0 => Origin::Simulator,
        Some(_) => Origin::Chip,
        None => Origin::Unknown,
    }
}

/// The figure of an entry.
fn figure(entry: &Value) -> &Value {
    entry.get("value").unwrap_or(entry)
}

/// The table in a log, with empty lines in place of those before it, to keep line numbers; or the
/// whole text if it is no log.
fn extract_table(text: &str) -> Result<String, ParseError> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let Some(begin) = lines.iter().rposition(|line| *line == BEGIN) else {
        return Ok(lines.join("\n"));
    };
    let rest = &lines[begin + 1..];
    let end = rest.iter().position(|line| *line == END);
    let table = &rest[..end.ok_or(ParseError::CutOff)?];
    Ok("\n".repeat(begin + 1) + &table.join("\n"))
}

/// Comparison of a table's entry with the built-in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was a guess, and the measurement confirms it.
    Confirmed,
    /// It was a guess, and the measurement differs.
    Refuted,
    /// It was known, and is the same.
    Same,
    /// It was known, and differs.
    Contradicted,
    /// It is a guess, and was not measured.
    Unmeasured,
}

impl Verdict {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Same => "the same",
            Self::Contradicted => "contradicted",
            Self::Unmeasured => "still a guess",
        }
    }
}

/// Compares `table` with the built-in one: each built-in entry, with the figure in `table` and the
/// verdict.
pub fn compare(table: &TimingTable) -> Vec<(TimingEntry, u64, Verdict)> {
    let built_in = built_in();
    let pairs = built_in.entries().zip(table.entries());
    pairs
        .map(|(before, now)| {
            let guess = before.kind == SourceKind::Guess;
            let verdict = match (guess, before.value == now.value) {
                (true, _) if now.kind == SourceKind::Guess => Verdict::Unmeasured,
                (true, true) => Verdict::Confirmed,
                (true, false) => Verdict::Refuted,
                (false, true) => Verdict::Same,
                (false, false) => Verdict::Contradicted,
            };
            (before.clone(), now.value, verdict)
        })
        .collect()
}

/// The built-in table.
pub fn built_in() -> TimingTable {
    esp32c6::timing_table()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_entries_are_the_built_in_ones() {
        let text = "name = \"mine\"\n[cpu]\n\
            mmio_load = { value = 12, kind = \"measured\", source = \"my board\" }\n";
        let table = parse(text).expect("valid").table;
        assert_eq!(table.name(), "mine");
        assert_eq!(table.cpu().mmio_load, 12);
        assert_eq!(table.cpu().mmio_store, built_in().cpu().mmio_store);
        let mine = |name: &str| table.guesses().any(|guess| guess.name == name);
        assert!(!mine("cpu.mmio_load") && mine("cpu.mmio_store"));
    }

    const LOG: &str = "INFO - 10 x nop  14\r\n# timing table: begin\r\nname = \"chip\"\r\n[cpu]\r\n\
        mul = { value = 2, kind = \"measured\", source = \"chip\" }\r\n\
        load_use = { value = 2, kind = \"measured\", source = \"chip\" }\r\n\
        amo = { value = 3, kind = \"measured\", source = \"chip\" }\r\n\
        mret = { value = 5, kind = \"measured\", source = \"chip\" }\r\n\
        # div: not measured\r\n# timing table: end\r\n@ {\"event\":\"done\"}\r\n";

    #[test]
    fn a_console_s_log_is_a_table() {
        let table = parse(LOG).expect("valid").table;
        assert_eq!((table.name(), table.cpu().mret), ("chip", 5));
        let twice = format!("{}{LOG}", LOG.replace("value = 5", "value = 6"));
        assert_eq!(parse(&twice).expect("valid").table, table);
        let (cut, _) = LOG.split_once("amo").expect("there");
        let error = parse(cut).expect_err("cut off").to_string();
        assert_eq!(error, "the log is cut off within the timing table");
    }

    #[test]
    fn measurements_confirm_or_refute() {
        let compared = compare(&parse(LOG).expect("valid").table);
        let of = |name: &str| {
            let row = compared.iter().find(|(entry, ..)| entry.name == name);
            row.expect("an entry").2
        };
        assert_eq!(of("cpu.amo"), Verdict::Confirmed);
        assert_eq!(of("cpu.mret"), Verdict::Refuted);
        assert_eq!(of("cpu.div"), Verdict::Unmeasured);
        assert_eq!(of("cpu.csr"), Verdict::Same);
        assert_eq!(of("cpu.mul"), Verdict::Refuted);
        assert_eq!(of("cpu.load_use"), Verdict::Contradicted);
    }

    #[test]
    fn the_chip_s_address_shows_a_simulator() {
        let with = |line: &str| {
            let log = LOG.replace("name = ", &format!("{line}name = "));
            parse(&log).expect("valid").origin
        };
        assert_eq!(with(""), Origin::Unknown);
        assert_eq!(with("# chip: 02:00:00:00:00:02\r\n"), Origin::Simulator);
        assert_eq!(with("# chip: 60:55:f9:00:00:02\r\n"), Origin::Chip);
    }

    #[test]
    fn errors_name_the_entry() {
        let unknown = "[cpu]\nmagic = { value = 1, kind = \"guess\", source = \"\" }\n";
        let error = parse(unknown).expect_err("unknown").to_string();
        assert_eq!(error, "timing entry cpu.magic is unknown");
        assert!(parse("[cpu").is_err());
    }

    #[test]
    fn impossible_figures_are_rejected_and_reported() {
        let odd = LOG.replace("value = 5", "value = -1").replace(
            "# div",
            "[chip]\nflash_cache_line_bytes = { value = 48, kind = \"measured\", source = \"chip\" }\n# div",
        );
        let read = parse(&odd).expect("the rest is valid");
        let rejected: Vec<String> = read.rejected.iter().map(ToString::to_string).collect();
        assert_eq!(
            rejected,
            [
                "timing entry chip.flash_cache_line_bytes cannot be 48: ignored, the built-in \
                 value is used",
                "timing entry cpu.mret cannot be -1: ignored, the built-in value is used",
            ]
        );
        let of = |table: &TimingTable| (table.cpu().mret, table.chip("flash_cache_line_bytes"));
        assert_eq!(of(&read.table), of(&built_in()));
        assert_eq!((read.table.cpu().mul, read.table.cpu().amo), (2, 3));
        let alone = "[cpu]\nmul = { value = -3, kind = \"measured\", source = \"chip\" }\n";
        let error = parse(alone).expect_err("nothing is left").to_string();
        assert!(error.contains("cpu.mul cannot be -3"), "{error}");
    }

    #[test]
    fn sizes_of_a_cache_that_only_go_together_are_read() {
        let entry = |name: &str, value: u64| {
            format!(
                "flash_cache_{name} = {{ value = {value}, kind = \"measured\", source = \"\" }}\n"
            )
        };
        // 32 bytes is no valid size with 32-byte lines and several ways, before the other entries
        // are applied.
        let text = [
            "[chip]\n",
            &entry("bytes", 32),
            &entry("line_bytes", 16),
            &entry("ways", 2),
        ];
        let read = parse(&text.concat()).expect("valid");
        assert_eq!(read.rejected, []);
        assert_eq!(read.table.chip("flash_cache_bytes"), 32);
    }

    #[test]
    fn errors_in_a_log_have_the_log_s_line() {
        let error = parse(&LOG.replace("amo = {", "amo = ["))
            .expect_err("no TOML")
            .to_string();
        assert!(error.contains("line 7"), "{error}");
        let kind = LOG.replace(
            "mret = { value = 5, kind = \"measured\"",
            "mret = { value = 5, kind = \"seen\"",
        );
        let error = parse(&kind).expect_err("an unknown kind").to_string();
        assert!(
            error.starts_with("timing entry cpu.mret: unknown variant `seen`"),
            "{error}"
        );
    }

    #[test]
    fn a_text_without_an_entry_is_no_table() {
        for text in [
            "",
            "\n\n",
            "name = \"mine\"\n",
            "[cpu]\n[chip]\n",
            "# a remark\n",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
