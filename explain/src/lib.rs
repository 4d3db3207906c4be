//! Result types, causes and the report. Pure: no socket, no clock, no file.
//!
//! | module | what a person finds there |
//! |---|---|
//! | [`record`] | the result format: what every measuring command writes |
//! | [`mod@line`] | what the wire allows: frame times and the goodput limit |
//! | [`capture`] | captures of other programs, read packet by packet |
//! | [`tcp`] | a TCP connection as a capture shows it |
//! | [`udp`] | a UDP stream as a capture shows it |
//! | [`traffic`] | a whole capture: its packets by kind, its connections |
//! | [`wire`] | what frames on a wire tell: TCP requests, where their time went |
//! | [`stats`] | percentiles, by one definition |
//! | [`summary`] | what several results of a procedure say together |
//! | [`cause`] | record to findings: what keeps a measurement from line rate |
//! | [`published`] | the figures of the work that is reproduced, each with its source |
//! | [`fidelity`] | published beside predicted |
//! | [`compare`] | results beside earlier ones |
//! | [`export`] | record to CSV, `JUnit`, `OpenMetrics`, `HdrHistogram` logs |
//! | [`registers`] | values of registers by the names of their bits |
//! | [`report`] | record to HTML and Markdown |
#![forbid(unsafe_code)]

pub mod capture;
pub mod cause;
pub mod compare;
pub mod export;
pub mod fidelity;
pub mod line;
pub mod published;
pub mod record;
pub mod registers;
pub mod report;
#[cfg(test)]
mod sample;
pub mod stats;
pub mod summary;
pub mod tcp;
pub mod traffic;
pub mod udp;
pub mod wire;
