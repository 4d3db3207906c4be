//! Register values from the output of `devregs`, `ethtool -d` and similar tools, decoded by field.
//!
//! | module | contents |
//! |---|---|
//! | [`dump`] | formats in which tools print values, including `ethtool`'s text for a PHY's bits |
//! | [`counters`] | counters of an interface from `ethtool -S`, `devregs`, `ifconfig`, `ip` and `/proc/net/dev` |
//! | [`decode`] | values by field |
//! | [`diff`] | differences between two dumps |
//! | [`list`] | the maps themselves |
//! | [`live`] | values read from a running device |
//! | [`flow_control`] | flow control summary of several registers |
//! | [`svd`] | maps of other chips from SVD files |
//! | [`exercise`] | entry points for fuzzers |

#![forbid(unsafe_code)]

pub mod counters;
pub mod decode;
pub mod diff;
pub mod dump;
mod ethtool;
pub mod exercise;
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

/// Error in a dump or in a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A line that begins like a value but is none.
    #[error("{what}")]
    Line {
        /// Line number, from 1.
        line: usize,
        /// Description.
        what: String,
    },
    /// Several chips have registers of these names.
    #[error("{} have {name}: select one with --chip", chips.join(" and "))]
    Ambiguous {
        /// Line of the first register that several chips have.
        line: usize,
        /// The register.
        name: String,
        /// The chips.
        chips: Vec<String>,
    },
    /// The dump has only offsets.
    #[error(
        "an offset alone does not identify the chip, and no map has this address: select it with --chip"
    )]
    OffsetOnly {
        /// Line of the first one.
        line: usize,
    },
    /// The dump has no register values.
    #[error(
        "it has no register value. A line has a register and a value: `RCR 0x05ee0264`, \
         `0x84 0x05ee0264`; output of devregs, ethtool, mii-tool and memory dumps are accepted, too"
    )]
    Empty,
    /// No value has a place in a map.
    #[error("{what}, and no other register in it is known")]
    Unknown {
        /// Line of the first unknown one.
        line: usize,
        /// Its description.
        what: String,
    },
    /// No map has this name.
    #[error("there is no map `{name}`; there are {}", known.join(", "))]
    UnknownChip {
        /// Requested name.
        name: String,
        /// Available names.
        known: Vec<String>,
    },
    /// The map has no such block or register.
    #[error("{chip} has no {kind} `{name}`; `linerate regs list {chip}` lists its contents")]
    NotFound {
        /// The map.
        chip: String,
        /// `block`, or `block or register`.
        kind: &'static str,
        /// Requested name.
        name: String,
    },
    /// The address of the registers is unknown.
    #[error("the address of {chip} depends on the board: give --base or --board")]
    NoBase {
        /// The map.
        chip: String,
    },
    /// Reading a whole chip does more harm than good.
    #[error("{chip} is a whole chip: name the blocks or registers to read")]
    WholeChip {
        /// The map.
        chip: String,
    },
    /// The connection to the device is lost.
    #[error("{0}")]
    Lost(String),
}

impl Error {
    /// Error text, with `file` and line if it has one.
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
/// [`Error::UnknownChip`] with the available names.
pub fn chip<'a>(maps: &[Map<'a>], name: &str) -> Result<Map<'a>, Error> {
    let found = maps
        .iter()
        .find(|map| map.name().eq_ignore_ascii_case(name));
    found.copied().ok_or_else(|| Error::UnknownChip {
        name: name.to_owned(),
        known: maps.iter().map(|map| map.name().to_owned()).collect(),
    })
}
