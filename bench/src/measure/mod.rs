//! The measurements of scenarios. A measurement is a file or folder here and a line of
//! `measurements!`.

pub(crate) mod console;
mod drive;
pub mod http;
pub mod hub_share;
pub mod negotiation;
mod observer;
pub mod phy;
pub mod ping;
mod plan;
mod registry;
#[cfg(test)]
pub(crate) mod scripted;
pub mod storm;
#[cfg(test)]
mod tests;
pub mod udp_sweep;

pub use console::DeviceEvent;
pub use drive::{drive, follow};
pub(crate) use observer::ledger;
pub use observer::{MeasureError, Observer};
pub use plan::{Plan, Section};
pub use registry::NAMES;
pub(crate) use registry::measurements;
