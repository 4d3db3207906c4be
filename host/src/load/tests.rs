//! What is pure, and round trips over loopback by counts.

mod catching_up;
mod loopback;
#[cfg(target_os = "linux")]
mod namespace;
mod pure;
