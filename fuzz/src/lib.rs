//! What the fuzz targets of the agent's services share: a [driver](play) on a network where nobody
//! means well.
//!
//! From the fuzzer's octets it derives what a driver may tell a service, in any order in which it may:
//! connections that come, stay half open and break, octets in any pieces, datagrams from anywhere, also
//! again and altered, time that stands still or leaps. It fails where a service breaks what
//! [`Service`](linerate_agent::Service) or its [`Rules`] promise.

mod driver;
mod event;
mod ledger;

pub use driver::{Rules, play};
pub use ledger::Sends;
pub use libfuzzer_sys::arbitrary::{Result, Unstructured};

use core::net::SocketAddr;
use core::time::Duration;
use linerate_agent::Limits;

/// What the servers of iperf under test do for whoever asks.
#[must_use]
pub fn limits(sends_datagrams: bool) -> Limits {
    Limits {
        sends_datagrams,
        longest: Duration::from_mins(1),
        ..Limits::default()
    }
}

/// The server of every client under test: one of the addresses that hostile datagrams come from.
#[must_use]
pub fn server() -> SocketAddr {
    event::ADDRESSES[0].parse().expect("an address")
}
