//! Errors of board files.

/// An error in a board file: where, which field, and what would be valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}: {field}: {problem}")]
pub struct FileError {
    /// Name of the file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// The field, such as `memory.ddr.cas`.
    pub field: String,
    /// The error.
    pub problem: Problem,
}

/// Kind of an error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Not TOML.
    #[error("{0}")]
    Syntax(String),
    /// A field is missing.
    #[error("is missing; {valid}")]
    Missing {
        /// What it could be.
        valid: String,
    },
    /// A field without meaning.
    #[error("is unknown; valid here: {}", valid.join(", "))]
    Unknown {
        /// The known fields.
        valid: Vec<String>,
    },
    /// A value of another type.
    #[error("is {found}; {valid}")]
    Type {
        /// What it is.
        found: String,
        /// What it could be.
        valid: String,
    },
    /// A value that is not possible.
    #[error("cannot be {found}; {valid}")]
    Value {
        /// The value.
        found: String,
        /// What it could be.
        valid: String,
    },
    /// A number without source.
    #[error(
        "has no source; write {{ value = {value}, source = \"...\" }}, or a `source` for the section; `guess` is one"
    )]
    NoSource {
        /// The number.
        value: u64,
    },
}
