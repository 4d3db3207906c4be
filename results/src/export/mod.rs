//! Results in the formats of other programs. Pure: from a [`Run`](crate::record::Run) alone, so each
//! can be regenerated later.
//!
//! | module | for |
//! |---|---|
//! | [`csv`] | spreadsheets and data frames: one row per figure |
//! | [`junit`] | continuous integration |
//! | [`openmetrics`] | Prometheus and other readers of its text format |
//! | [`parquet`](mod@parquet) | data frames and databases: one row per result |
//! | [`hdr`] | `HdrHistogram` logs: complete distributions, not only percentiles |

pub mod csv;
mod figures;
pub mod hdr;
pub mod junit;
pub mod openmetrics;
pub mod parquet;

pub(crate) use figures::conditions;
pub use figures::{Figure, figures};

#[cfg(test)]
mod tests;
