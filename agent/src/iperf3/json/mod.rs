//! As much JSON (RFC 8259) as two ends of iperf 3 tell each other: read as it comes, octet by octet,
//! and written into as much room as there is, without a copy of it anywhere.

mod number;
mod scan;

#[cfg(test)]
mod tests;

pub(crate) use crate::window::Window;
#[cfg(test)]
use number::Number;
pub(crate) use scan::{Broken, DEEPEST, Event, Scanner};
