//! Pure functions, and counts over loopback and veth pairs.

mod catching_up;
mod loopback;
#[cfg(target_os = "linux")]
mod namespace;
mod pure;
