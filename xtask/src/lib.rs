//! Builds, checks and demonstrates linerate: one module per command of `cargo xtask`.
//!
//! [`sh`] runs other programs; [`steps`] names, times and summarises the steps of a command. `setup` is the only
//! command that installs packages of the system. Experiments that generate tables of `docs/` are in `lab/`, which uses
//! these modules.
#![forbid(unsafe_code)]
#![allow(missing_docs, clippy::missing_errors_doc)]

pub mod board;
pub mod captures;
pub mod concurrent;
pub mod cross;
pub mod demo;
mod dependencies;
pub mod docs;
pub mod elapsed;
pub mod firmware;
pub mod foreign;
pub mod fuzz;
pub mod imx6;
pub mod lab;
mod link_boards;
pub mod links;
pub mod linux_board;
pub mod procedures;
pub mod repro;
pub mod scenarios;
pub mod setup;
pub mod sh;
mod slurm;
pub mod stack;
pub mod steps;
pub mod tap;
pub mod test;
pub mod tools;
mod tree;
pub mod w5500;
