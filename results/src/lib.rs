//! The result format and all functions that need only results. Pure: no socket, no clock, no file.
//!
//! | module | contents |
//! |---|---|
//! | [`record`] | schema 1: the record that every measuring command writes |
//! | [`compare`] | comparison with earlier results |
//! | [`consistency`] | contradictions between the sentences of an explanation and its figures |
//! | [`distribution`] | recording of times |
//! | [`export`] | records as CSV, `JUnit`, `OpenMetrics`, `HdrHistogram` logs |
//! | [`stats`] | percentiles |
//! | [`mod@line`] | frame times and the goodput limit of 10BASE-T |
//! | [`vantage`] | where a connection was captured, and from when on |
//! | [`mod@format`] | figures for people: significant digits and a unit |
#![forbid(unsafe_code)]

pub mod compare;
pub mod consistency;
pub mod distribution;
pub mod export;
pub mod format;
pub mod line;
pub mod matrix;
pub mod record;
pub mod stats;
pub mod vantage;
