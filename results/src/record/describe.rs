//! Descriptions of results: console and report need no list of the kinds.

/// A result as text. Each kind implements it next to its record.
pub trait Describe {
    /// The parameters that distinguish it from other results of its run, in a few words.
    fn detail(&self) -> String;

    /// The result, in one line.
    fn one_line(&self) -> String;

    /// Violations of conditions that must always hold, each in a sentence. The balance of the ledger
    /// is checked for every kind and not reported here.
    fn failures(&self) -> Vec<String> {
        Vec::new()
    }

    /// Its row in the report; `None` for a kind with a separate section.
    fn row(&self) -> Option<ReportRow> {
        None
    }
}

/// A row of the report's table of measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRow {
    /// The kind, for people.
    pub kind: &'static str,
    /// The result.
    pub outcome: String,
    /// True if all conditions that must always hold do.
    pub passed: bool,
}

impl ReportRow {
    pub(super) const fn new(kind: &'static str, outcome: String, passed: bool) -> Self {
        Self {
            kind,
            outcome,
            passed,
        }
    }
}

/// A sentence if the received CRC-32s are not the expected ones.
pub(super) fn crc32_mismatch(received: &[u32], expected: &[u32]) -> Vec<String> {
    if received == expected {
        Vec::new()
    } else {
        vec!["CRC-32 differs between the two sides".to_owned()]
    }
}
