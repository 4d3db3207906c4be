//! Measuring a link by test messages: trains of numbered messages, echoes, and the reports on them.
//!
//! A [`Responder`] is the device's part: it takes trains and reports what came, sends trains on request and answers
//! echoes. It is all that a device needs for `linerate test serial://...`. [`SelfTest`](crate::SelfTest) is an end
//! that measures by itself; it contains a responder. The messages are in `docs/link-self-test.md`.

mod arrivals;
mod budget;
mod message;
mod octets;
mod outgoing;
mod responder;

pub use arrivals::{Arrivals, GAP_BINS, Pace, gap_bin};
pub use budget::Budget;
pub use message::{Ask, Identity, MAX_NAME, Message, Report, TRAIN_HEAD, VERSION, filler};
pub use outgoing::Outgoing;
pub use responder::{Responder, ResponderConfig};
