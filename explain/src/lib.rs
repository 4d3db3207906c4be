//! Causes, summaries and the report. Pure: no socket, no clock, no file.
//!
//! | module | contents |
//! |---|---|
//! | [`cause`] | record or capture to findings: what keeps a link from line rate |
//! | `series` | trials of one procedure in order, as causes and summaries read them |
//! | [`summary`] | results of one procedure together: a sentence, charts, a table |
//! | [`traffic`] | the report of a capture |
//! | [`published`] | published figures to compare with |
//! | [`fidelity`] | published figures beside predicted ones |
//! | [`profile`] | cycles by function: text and folded stacks |
//! | [`report`] | records to HTML and Markdown |
//! | `svg` | drawings |
#![forbid(unsafe_code)]

pub mod cause;
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
