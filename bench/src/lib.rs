//! Targets, procedures and the result store.
//!
//! | module | what a person finds there |
//! |---|---|
//! | [`scenario`] | an experiment as a TOML file |
//! | [`board`] | the boards there are |
//! | [`conformance`] | whether a driver does what every driver has to |
//! | [`firmware`] | finding a board's firmware |
//! | [`machine`] | firmware that runs in a time of its own: one folder a kind |
//! | [`target`] | what is at the other end of a link, by URL: one folder a kind |
//! | [`registers`] | devices whose registers can be shown, by URL |
//! | [`gdb`] | memory behind a gdb server |
//! | [`host`] | protocols over this machine's sockets |
//! | [`load`] | load generator and receiver: UDP, raw frames, round trips, what they are worth |
//! | [`measure`] | how it is measured: one folder a procedure |
//! | [`procedure`] | what is done with a target: one file or folder each |
//! | [`profile`] | where a frame's instructions go, on an emulated board |
//! | [`run`] | a whole scenario, on several threads |
//! | [`sensitivity`] | a scenario with each guess changed |
//! | [`serve`] | servers of what devices speak |
//! | [`store`] | results on disk, each as soon as it is there |
//! | [`timing`] | timing tables that a person brings |
//! | [`tap`] | a simulated board on a network interface of this machine |
//! | [`relay`] | a cable with faults between two network interfaces of this machine |
//! | [`quantity`] | numbers, times, rates and shares as people write them |
//! | [`progress`], [`provenance`] | what is going on, and what it was made with |
#![forbid(unsafe_code)]

pub mod board;
pub mod conformance;
pub mod distribution;
pub mod firmware;
pub mod gdb;
pub mod host;
pub mod load;
pub mod machine;
pub mod measure;
pub mod procedure;
pub mod profile;
pub mod progress;
pub mod provenance;
pub mod quantity;
pub mod registers;
pub mod relay;
pub mod run;
pub mod scenario;
pub mod sensitivity;
pub mod serve;
pub mod store;
pub mod tap;
pub mod target;
#[cfg(test)]
mod testing;
pub mod timing;

/// The known name nearest to what was written, if one is near enough to be meant.
pub fn nearest<'a>(written: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance =
        |name: &str| strsim::damerau_levenshtein(&written.to_lowercase(), &name.to_lowercase());
    let (distance, name) = known.into_iter().map(|name| (distance(name), name)).min()?;
    (distance <= (written.chars().count() / 3).max(1)).then_some(name)
}
