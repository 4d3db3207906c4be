//! Shared parts of the fuzz targets of the agent's services: a [driver](play) on a hostile network.
//!
//! It turns the fuzzer's octets into driver calls, in any permitted order: connections that open, stay half
//! open and break, octets in any pieces, datagrams from anywhere, also duplicated and modified, time that
//! stops or jumps. It fails if a service violates the guarantees of [`Service`](linerate_agent::Service) or
//! its [`Rules`].

mod driver;
mod event;
mod ledger;

pub use driver::{Rules, play};
pub use ledger::SendRule;
pub use libfuzzer_sys::arbitrary::{Result, Unstructured};

use core::net::SocketAddr;
use core::time::Duration;
use linerate_agent::Limits;

/// Limits of the iperf servers under test.
#[must_use]
pub fn limits(sends_datagrams: bool) -> Limits {
    Limits {
        sends_datagrams,
        longest: Duration::from_mins(1),
        ..Limits::default()
    }
}

/// The server of every client under test: also a source of hostile datagrams.
#[must_use]
pub fn server() -> SocketAddr {
    event::ADDRESSES[0].parse().expect("an address")
}
