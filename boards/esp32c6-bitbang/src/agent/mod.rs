//! What the program `bench_agent` is made of: the services of `linerate-agent` on this board's sockets,
//! the counter and reflector of raw frames, the load for the CPU, and what the console says of them.

mod commands;
mod frames;
mod load;
mod sockets;
mod tell;

pub use commands::{Command, parse};
pub use frames::Frames;
pub use load::{calibrated, report as report_load};
pub use sockets::{FRAMES_A_ROUND, Sockets, open};
pub use tell::{http, iperf2, iperf3, unknown};

use linerate_agent::Instant;

/// The time since the start, as services have it.
#[inline]
pub fn now() -> Instant {
    let elapsed = esp_hal::time::Instant::now().duration_since_epoch();
    Instant::from_ns(elapsed.as_micros() * 1_000)
}
