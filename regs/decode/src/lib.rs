//! Values of registers, as people have them from `devregs`, `ethtool -d` and the like, by the names of their
//! bits.
//!
//! | module | what a person finds there |
//! |---|---|
//! | [`dump`] | the forms in which tools print values, `ethtool`'s words for a PHY's bits among them |
//! | [`decode`] | values by field |
//! | [`diff`] | what changed between two dumps |
//! | [`list`] | the maps themselves |
//! | [`live`] | values read from a device that runs |
//! | [`flow_control`] | flow control, by several registers |
//! | [`svd`] | maps of other chips from SVD files |

#![forbid(unsafe_code)]

pub mod decode;
pub mod diff;
pub mod dump;
mod ethtool;
pub mod flow_control;
mod index;
pub mod list;
pub mod live;
mod resolve;
pub mod svd;
#[cfg(test)]
mod tests;

pub use linerate_regs::{MAPS, MII, Map};
pub use resolve::{ChipSelection, Note};

/// What is wrong with a dump, or with what was asked of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line that begins as a value does, and has none.
    #[error("{what}")]
    Line {
        /// Its number, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Several chips have registers of these names.
    #[error("{} have {name}: say which with --chip", chips.join(" and "))]
    Ambiguous {
        /// The line of the first that several have.
        line: usize,
        /// The register.
        name: String,
        /// The chips.
        chips: Vec<String>,
    },
    /// There are offsets alone.
    #[error(
        "an offset alone does not tell the chip, and no map knows this address: say which with --chip"
    )]
    OffsetOnly {
        /// The first of them.
        line: usize,
    },
    /// There is nothing to decode.
    #[error(
        "there is no value of a register in it. A line has a register and a value: `RCR 0x05ee0264`, \
         `0x84 0x05ee0264`; output of devregs, ethtool, mii-tool and dumps of memory are understood, too"
    )]
    Empty,
    /// Nothing in it has a place in a map.
    #[error("{what}, nor is any other value of a register that is known")]
    Unknown {
        /// The first that is not known.
        line: usize,
        /// DumpSide.
        what: String,
    },
    /// No map has this name.
    #[error("there is no map `{name}`; there are {}", known.join(", "))]
    UnknownChip {
        /// What was asked for.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// The map has no such block or register.
    #[error("{chip} has no {kind} `{name}`; `linerate regs list {chip}` shows what it has")]
    NotFound {
        /// The map.
        chip: String,
        /// `block`, or `block or register`.
        kind: &'static str,
        /// What was asked for.
        name: String,
    },
    /// Nobody knows where the registers lie.
    #[error("where {chip} lies is the board's matter: say it with --base, or with --board")]
    NoBase {
        /// The map.
        chip: String,
    },
    /// Reading everything of a whole chip does more harm than good.
    #[error("{chip} is a whole chip: name the blocks or registers that are to be read")]
    WholeChip {
        /// The map.
        chip: String,
    },
    /// A device that runs is not reached any more.
    #[error("{0}")]
    Lost(String),
}

impl Error {
    /// It, with the line of `file` if it is about one.
    pub fn in_file(&self, file: &str) -> String {
        match self {
            Self::Line { line, .. }
            | Self::Ambiguous { line, .. }
            | Self::OffsetOnly { line }
            | Self::Unknown { line, .. } => {
                format!("{file}:{line}: {self}")
            }
            Self::Empty => format!("{file}: {self}"),
            Self::UnknownChip { .. }
            | Self::NotFound { .. }
            | Self::NoBase { .. }
            | Self::WholeChip { .. }
            | Self::Lost(_) => self.to_string(),
        }
    }
}

impl From<dump::ParseError> for Error {
    fn from(error: dump::ParseError) -> Self {
        Self::Line {
            line: error.line,
            what: error.what,
        }
    }
}

/// The map called `name`.
///
/// # Errors
/// With the names that there are.
pub fn chip<'a>(maps: &[Map<'a>], name: &str) -> Result<Map<'a>, Error> {
    let found = maps
        .iter()
        .find(|map| map.name().eq_ignore_ascii_case(name));
    found.copied().ok_or_else(|| Error::UnknownChip {
        name: name.to_owned(),
        known: maps.iter().map(|map| map.name().to_owned()).collect(),
    })
}
