//! Targets, procedures and the result store.
//!
//! | module | what a person finds there |
//! |---|---|
//! | [`scenario`] | an experiment as a TOML file |
//! | [`board`] | the boards there are |
//! | [`conformance`] | whether a driver does what every driver has to |
//! | [`firmware`] | finding a board's firmware |
//! | [`machine`] | firmware that runs in a time of its own: one folder a kind |
//! | [`endpoint`] | what is at the other end of a link, by URL: one folder a kind |
//! | [`registers`] | devices whose registers can be shown, by URL |
//! | [`gdb`] | memory behind a gdb server |
//! | [`measure`] | how it is measured: one folder a procedure |
//! | [`procedure`] | what is done with a target: one file or folder each |
//! | [`profile`] | where a frame's instructions go, on an emulated board |
//! | [`run`] | a whole scenario, on several threads |
//! | [`sensitivity`] | a scenario with each guess changed |
//! | [`store`] | results on disk, each as soon as it is there |
//! | [`timing`] | timing tables that a person brings |
//! | [`tap`] | a simulated board on a network interface of this machine |
//! | [`progress`], [`provenance`] | what is going on, and what it was made with |
#![forbid(unsafe_code)]

pub mod board;
pub mod conformance;
pub mod endpoint;
pub mod firmware;
pub mod gdb;
pub mod machine;
pub mod measure;
pub mod procedure;
pub mod profile;
pub mod progress;
pub mod provenance;
pub mod registers;
pub mod run;
pub mod scenario;
pub mod sensitivity;
pub mod store;
pub mod tap;

pub mod timing;
