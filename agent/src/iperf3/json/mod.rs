//! JSON (RFC 8259), as far as iperf 3 needs it: parsed octet by octet as it arrives, and written into the
//! buffer space available, without a copy.

mod number;
mod reader;
mod scan;

#[cfg(test)]
mod tests;

pub(crate) use crate::partial_writer::PartialWriter;
#[cfg(test)]
use number::Number;
pub(crate) use reader::{Member, Objects, Reader};
pub(crate) use scan::{Event, InvalidJson, MAX_DEPTH, Scanner};
