//! The result format and everything that works on results alone. Pure: no socket, no clock, no file.
//!
//! | module | contents |
//! |---|---|
//! | [`record`] | schema 1: the record that every measuring command writes |
//! | [`compare`] | results compared with earlier ones |
//! | [`distribution`] | times as they are recorded |
//! | [`export`] | records as CSV, `JUnit`, `OpenMetrics`, `HdrHistogram` logs |
//! | [`stats`] | percentiles, by one definition |
//! | [`mod@line`] | frame times and the goodput limit of 10BASE-T |
//! | [`mod@format`] | figures for people: digits that matter and a unit |
#![forbid(unsafe_code)]

pub mod compare;
pub mod distribution;
pub mod export;
pub mod format;
pub mod line;
pub mod record;
pub mod stats;
