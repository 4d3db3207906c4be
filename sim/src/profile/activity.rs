//! What the processor is busy with, in a few words.

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
    /// The TCP/IP stack and what joins it to the interface.
    Stack,
    /// MAC and PHY on the main thread.
    Driver,
    /// The program, its executor and everything else.
    Rest,
}

/// A stretch of time in which one kind of work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Activity {
    /// From.
    pub start: Instant,
    /// To.
    pub end: Instant,
    /// What.
    pub work: Work,
}

/// Words in a function's name, and what it does then. The first that fits holds.
const WORDS: [(&str, Work); 16] = [
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
    /// What the function called `name` does, by the crate and the words in its name.
    pub(super) fn of(name: &str) -> Self {
        let name = name.to_lowercase();
        let fits = WORDS.iter().find(|(word, _)| name.contains(word));
        fits.map_or(Self::Rest, |&(_, work)| work)
    }
}
