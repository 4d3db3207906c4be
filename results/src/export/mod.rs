//! Results in the formats of other programs. Pure: from a [`Run`](crate::record::Run) alone, so any of
//! them can be made again later.
//!
//! | module | for |
//! |---|---|
//! | [`csv`] | spreadsheets and data frames: a row a figure |
//! | [`junit`] | continuous integration |
//! | [`openmetrics`] | Prometheus and what reads its text format |
//! | [`hdr`] | `HdrHistogram` logs: distributions whole, not by a few percentiles |

pub mod csv;
mod figures;
pub mod hdr;
pub mod junit;
pub mod openmetrics;

pub(crate) use figures::conditions;
pub use figures::{Figure, figures};

#[cfg(test)]
mod tests;
