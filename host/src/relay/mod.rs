//! A cable with faults between two TAP interfaces of this machine: loss, delay, rate and the like in
//! each direction, and the truth about what became of every frame.
//!
//! [`Link`] is one direction: pure, time passed in, the same for the same seed. [`Impairment`] is what
//! it does. On Linux, `run` carries frames between two `Port`s by the clock, `Namespace`s
//! hold the two ends, and a `Rig` has all of it, for tests. `docs/relay.md` says what each setting
//! means and how exact it is.

mod chance;
mod counts;
mod impairment;
mod link;

pub use counts::{Counts, Loss};
pub use impairment::{
    BurstLoss, Impairment, ImpairmentError, MOST_BIT_ERRORS, MOST_BITS_PER_S, MOST_DELAY_NS, Queue,
    Reorder, USUAL_QUEUE_FRAMES,
};
pub use link::{Delivered, Fate, HOLD_NS, Link, ROOM, Verdict, occupancy_ns};

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
pub use rig::{Pair, Rig};
#[cfg(target_os = "linux")]
pub use run::{Exit, LATE_NS, Plan, Report, Way, WayReport, Witness, run};
