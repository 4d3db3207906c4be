//! What is pure, and round trips over loopback by counts.

mod loopback;
#[cfg(target_os = "linux")]
mod namespace;
mod pure;
