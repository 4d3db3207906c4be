//! Kinds of work of the processor.

use crate::time::Instant;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Work {
    /// It waits for an interrupt.
    Asleep,
    /// Interrupts and exceptions.
    Interrupt,
    /// Copying and clearing memory.
    Copy,
    /// Checksums.
    Checksum,
    /// The TCP/IP stack and its adapter to the interface.
    Stack,
    /// MAC and PHY on the main thread.
    Driver,
    /// The program, its executor and everything else.
    Other,
}

/// An interval with one kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// Start time.
    pub start: Instant,
    /// End time.
    pub end: Instant,
    /// Kind of work.
    pub work: Work,
}

/// Substrings of function names and the work they indicate. The first match counts.
const NAME_PATTERNS: [(&str, Work); 16] = [
    ("memcpy", Work::Copy),
    ("memmove", Work::Copy),
    ("memset", Work::Copy),
    ("memcmp", Work::Copy),
    ("crc", Work::Checksum),
    ("fcs", Work::Checksum),
    ("checksum", Work::Checksum),
    ("pattern", Work::Checksum),
    ("smoltcp", Work::Stack),
    ("embassy_net", Work::Stack),
    ("::net::", Work::Stack),
    ("linerate_nic", Work::Driver),
    ("linerate_ether", Work::Driver),
    ("linerate_phy", Work::Driver),
    ("::phy::", Work::Driver),
    ("::mac::", Work::Driver),
];

impl Work {
    /// Kind of work of the function `name`, by the crate and the words in its name.
    pub(super) fn of_function(name: &str) -> Self {
        let name = name.to_lowercase();
        let matches = NAME_PATTERNS.iter().find(|(word, _)| name.contains(word));
        matches.map_or(Self::Other, |&(_, work)| work)
    }
}
