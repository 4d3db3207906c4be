//! Parts of the program `bench_agent` beside `linerate-agent-firmware`: the services of `linerate-agent` on
//! this board's sockets, the counter and reflector of raw frames.

mod frames;
mod sockets;

pub use frames::Frames;
pub use sockets::{FRAMES_A_ROUND, Sockets, open};

use linerate_agent::Instant;

/// The time since the start, in the services' form.
#[inline]
pub fn now() -> Instant {
    let elapsed = esp_hal::time::Instant::now().duration_since_epoch();
    Instant::from_ns(elapsed.as_micros() * 1_000)
}
