//! Targets, procedures and the result store.
//!
//! | module | content |
//! |---|---|
//! | [`scenario`] | an experiment as a TOML file |
//! | [`answers`] | what the simulated peer's HTTP server answers |
//! | [`board`] | the supported boards |
//! | [`conformance`] | tests that every driver has to pass |
//! | [`firmware`] | finding a board's firmware |
//! | [`machine`] | machines that run firmware in virtual time: one folder per kind |
//! | [`endpoint`] | the other end of a link, named by URL: one folder per kind |
//! | [`registers`] | devices whose registers can be read, named by URL |
//! | [`gdb`] | access to memory through a gdb server |
//! | [`measure`] | measurements of a scenario: one file or folder each |
//! | [`procedure`] | procedures run on a target: one file or folder each |
//! | [`profile`] | instructions per frame by layer, on an emulated board |
//! | [`replay`] | a recorded host's connections again, with the simulated host in its place |
//! | [`request`] | requests of a user as procedures: defaults, ranges, directions |
//! | [`run`] | a whole scenario, on several threads |
//! | [`sensitivity`] | a scenario with each guessed timing entry changed |
//! | [`recorder`] | the results of a command, as they are measured |
//! | [`store`] | results on disk, each written as soon as it is available |
//! | [`timing`] | timing tables supplied by the user |
//! | [`tap`] | a simulated board on a network interface of this machine |
//! | [`exercise`] | entry points for fuzzers |
//! | [`progress`], [`provenance`] | progress on stderr; version and host of a run |
#![forbid(unsafe_code)]
// They panic if the output is closed: see `progress::message`.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod answers;
pub mod baseline;
pub mod board;
pub mod conformance;
pub mod endpoint;
pub mod exercise;
pub mod firmware;
pub mod gdb;
pub mod input;
pub mod machine;
pub mod measure;
pub mod procedure;
pub mod profile;
pub mod progress;
pub mod provenance;
pub mod recorder;
pub mod registers;
pub mod replay;
pub mod request;
pub mod run;
pub mod scenario;
pub mod sensitivity;
pub mod slurm;
pub mod store;
pub mod tap;

pub mod timing;
