//! What is pure, and round trips over loopback by counts.

mod catching_up;
mod loopback;
#[cfg(target_os = "linux")]
pub(crate) mod namespace;
mod pure;
