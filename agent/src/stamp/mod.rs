//! STAMP, the Simple Two-way Active Measurement Protocol (RFC 8762): a sender's numbered, timestamped packets
//! are answered by a reflector, which adds its own number and timestamps. Unauthenticated mode.
//!
//! With T1 when a packet was sent, T2 and T3 when the reflector received and answered it, and T4 when the
//! answer arrived, the round trip is (T4 - T1) - (T3 - T2), independent of the clocks' offset. The one-way
//! delays T2 - T1 and T4 - T3 are valid only if both clocks are synchronised, and only as accurate as they
//! are.

mod packet;
mod reflector;
mod sender;
mod time;

pub use packet::{LEN, Probe, Reflection};
pub use reflector::{Counts, Reflector};
pub use sender::{Loss, OneWay, Outcome, Plan, Sample, Sender};
pub use time::{Clock, ErrorEstimate, Format};

/// The port of a reflector (RFC 8762 section 4.1).
pub const PORT: u16 = 862;
