//! Emulation of an impaired link between two TAP interfaces of this machine: loss, delay, rate and more
//! in each direction, with the fate of every frame.
//!
//! [`ImpairedLink`] is one direction: pure, with time passed in, reproducible by its seed. [`Impairment`]
//! holds its settings. On Linux, `run` forwards frames between two `Port`s in real time, `Namespace`s
//! contain the two ends, and a `Rig` combines all of it for tests. `docs/relay.md` describes each
//! setting and its accuracy.

mod impairment;
mod link;
mod loss;
mod random;

pub use impairment::{
    BurstLoss, DEFAULT_QUEUE_FRAMES, Impairment, ImpairmentError, MAX_BIT_ERROR_RATE, MAX_DELAY_NS,
    MAX_RATE_BITS_PER_S, Queue, Reorder,
};
pub use link::{
    Delivered, Fate, FrameFates, ImpairedLink, MAX_BUFFERED_OCTETS, REORDER_TIMEOUT_NS,
    occupancy_ns,
};
pub use loss::LossReason;

#[cfg(target_os = "linux")]
mod error;
#[cfg(target_os = "linux")]
mod namespace;
#[cfg(target_os = "linux")]
mod port;
#[cfg(target_os = "linux")]
pub mod rig;
#[cfg(target_os = "linux")]
mod run;

#[cfg(target_os = "linux")]
pub use error::RelayError;
#[cfg(target_os = "linux")]
pub use namespace::Namespace;
#[cfg(target_os = "linux")]
pub use port::Port;
#[cfg(target_os = "linux")]
pub use rig::{NamespacePair, Rig};
#[cfg(target_os = "linux")]
pub use run::{Direction, FrameObserver, LATE_THRESHOLD_NS, RelayConfig, Transmission, run};
