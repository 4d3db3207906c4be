//! What every kind of result tells of itself, so that console and report need no list of the kinds.

/// A result in words. Each kind implements it beside its record.
pub trait Told {
    /// What tells it from the other results of its run, in a few words.
    fn detail(&self) -> String;

    /// What came out, in one line.
    fn line(&self) -> String;

    /// What holds without being asked for and does not, each in a sentence. That the ledger adds
    /// up is every kind's and not told here.
    fn failures(&self) -> Vec<String> {
        Vec::new()
    }

    /// Its row in the report; `None` for a kind that has a section of its own there.
    fn row(&self) -> Option<Row> {
        None
    }
}

/// A row of the report's table of measurements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The kind, for people.
    pub kind: &'static str,
    /// What came out.
    pub words: String,
    /// Whether what always has to hold does.
    pub passed: bool,
}

impl Row {
    pub(super) const fn new(kind: &'static str, words: String, passed: bool) -> Self {
        Self {
            kind,
            words,
            passed,
        }
    }
}

/// A sentence where what was received is not what was sent.
pub(super) fn crc32_differs(received: &[u32], expected: &[u32]) -> Vec<String> {
    if received == expected {
        Vec::new()
    } else {
        vec!["CRC-32 differs between the two sides".to_owned()]
    }
}
