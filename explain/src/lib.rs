//! Causes, summaries and the report. Pure: no socket, no clock, no file.
//!
//! | module | contents |
//! |---|---|
//! | [`cause`] | findings from a record or capture: the causes that keep a link from line rate |
//! | `series` | trials of one procedure, sorted for causes and summaries |
//! | [`summary`] | all results of one procedure: a sentence, charts, a table |
//! | [`traffic`] | the report of a capture |
//! | [`published`] | published figures for comparison |
//! | [`fidelity`] | predicted figures compared with published ones |
//! | [`profile`] | cycles by function: text and folded stacks |
//! | [`report`] | records to HTML and Markdown |
//! | `svg` | drawings |
//! | [`exercise`] | entry points for fuzzers |
#![forbid(unsafe_code)]

pub mod cause;
pub mod exercise;
pub mod fidelity;
pub mod profile;
pub mod published;
pub mod report;
#[cfg(test)]
mod sample;
pub(crate) mod series;
pub mod summary;
pub(crate) mod svg;
pub mod traffic;
