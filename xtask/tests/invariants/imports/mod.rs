//! Which file depends on which: modules of a crate, and the names that they import.

pub mod graph;
pub mod modules;
pub mod paths;
