//! Timing tables that a person brings: what `cycle_counting` printed on a chip, or a "what if".

pub use linerate_sim::chip::{Kind, TimingEntry, TimingError, TimingTable};

use linerate_sim::chip::esp32c6;
use toml::{Table, Value};

/// Between these lines of its console `cycle_counting` prints the table.
const BEGIN: &str = "# timing table: begin";
const END: &str = "# timing table: end";

/// Why a text cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    /// The console's log has the begin of a table, and not its end.
    #[error("the log is cut off within the timing table")]
    CutOff,
    /// What is there is no table.
    #[error(transparent)]
    Table(#[from] TimingError),
}

/// Reads a table in the form of `sim/src/chip/esp32c6/timing.toml`, whole or in part: an entry that
/// is not there has the built-in table's figure. The console's log of `cycle_counting` will do as it
/// is; if it has several tables, the last one counts.
///
/// # Errors
/// [`Unusable`] says which entry is wrong.
pub fn parse(text: &str) -> Result<TimingTable, Unusable> {
    let mut whole: Table = toml::from_str(esp32c6::TIMING_TABLE).map_err(TimingError::from)?;
    let part: Table = toml::from_str(&cut_out(text)?).map_err(TimingError::from)?;
    for (name, value) in part {
        match (whole.get_mut(&name), value) {
            (Some(Value::Table(section)), Value::Table(entries)) => section.extend(entries),
            (_, value) => _ = whole.insert(name, value),
        }
    }
    Ok(esp32c6::parse_timing_table(&whole.to_string())?)
}

/// The table in a log, or all of a text that is no log.
fn cut_out(text: &str) -> Result<String, Unusable> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let table = match lines.iter().rposition(|line| *line == BEGIN) {
        None => &lines[..],
        Some(begin) => {
            let rest = &lines[begin + 1..];
            let end = rest.iter().position(|line| *line == END);
            &rest[..end.ok_or(Unusable::CutOff)?]
        }
    };
    Ok(table.join("\n"))
}

/// What a table says of an entry of the built-in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was a guess, and is what was measured.
    Confirmed,
    /// It was a guess, and something else was measured.
    Refuted,
    /// It was known, and is the same.
    Same,
    /// It was known as something else.
    Contradicted,
    /// It is a guess, and was not measured.
    Open,
}

impl Verdict {
    /// As a word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Same => "the same",
            Self::Contradicted => "contradicted",
            Self::Open => "still a guess",
        }
    }
}

/// Holds `table` against the built-in one: each entry's figures, there and here.
pub fn compare(table: &TimingTable) -> Vec<(TimingEntry, u64, Verdict)> {
    let built_in = built_in();
    let pairs = built_in.entries().zip(table.entries());
    pairs
        .map(|(before, now)| {
            let guess = before.kind == Kind::Guess;
            let verdict = match (guess, before.value == now.value) {
                (true, _) if now.kind == Kind::Guess => Verdict::Open,
                (true, true) => Verdict::Confirmed,
                (true, false) => Verdict::Refuted,
                (false, true) => Verdict::Same,
                (false, false) => Verdict::Contradicted,
            };
            (before.clone(), now.value, verdict)
        })
        .collect()
}

/// The table that is built in.
pub fn built_in() -> TimingTable {
    esp32c6::timing_table()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_table_leaves_out_is_the_built_in_one_s() {
        let text = "name = \"mine\"\n[cpu]\n\
            mmio_load = { value = 12, kind = \"measured\", source = \"my board\" }\n";
        let table = parse(text).expect("valid");
        assert_eq!(table.name(), "mine");
        assert_eq!(table.cpu().mmio_load, 12);
        assert_eq!(table.cpu().mmio_store, built_in().cpu().mmio_store);
        let mine = |name: &str| table.guesses().any(|guess| guess.name == name);
        assert!(!mine("cpu.mmio_load") && mine("cpu.mmio_store"));
    }

    const LOG: &str = "INFO - 10 x nop  14\r\n# timing table: begin\r\nname = \"chip\"\r\n[cpu]\r\n\
        mul = { value = 2, kind = \"measured\", source = \"chip\" }\r\n\
        amo = { value = 3, kind = \"measured\", source = \"chip\" }\r\n\
        mret = { value = 5, kind = \"measured\", source = \"chip\" }\r\n\
        # div: not measured\r\n# timing table: end\r\n@ {\"event\":\"done\"}\r\n";

    #[test]
    fn a_console_s_log_is_a_table() {
        let table = parse(LOG).expect("valid");
        assert_eq!((table.name(), table.cpu().mret), ("chip", 5));
        let twice = format!("{}{LOG}", LOG.replace("value = 5", "value = 6"));
        assert_eq!(parse(&twice).expect("valid"), table);
        let (cut, _) = LOG.split_once("amo").expect("there");
        let error = parse(cut).expect_err("cut off").to_string();
        assert_eq!(error, "the log is cut off within the timing table");
    }

    #[test]
    fn what_was_measured_confirms_or_refutes() {
        let compared = compare(&parse(LOG).expect("valid"));
        let of = |name: &str| {
            let row = compared.iter().find(|(entry, ..)| entry.name == name);
            row.expect("an entry").2
        };
        assert_eq!(of("cpu.amo"), Verdict::Confirmed);
        assert_eq!(of("cpu.mret"), Verdict::Refuted);
        assert_eq!(of("cpu.div"), Verdict::Open);
        assert_eq!(of("cpu.csr"), Verdict::Same);
        assert_eq!(of("cpu.mul"), Verdict::Contradicted);
    }

    #[test]
    fn mistakes_name_the_entry() {
        let unknown = "[cpu]\nmagic = { value = 1, kind = \"guess\", source = \"\" }\n";
        let error = parse(unknown).expect_err("unknown").to_string();
        assert_eq!(error, "timing entry cpu.magic is unknown");
        assert!(parse("[cpu").is_err());
    }
}
