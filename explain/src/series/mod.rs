//! Trials of one procedure in their order: the points that causes and summaries both read.
//!
//! | module | what it orders |
//! |---|---|
//! | [`load`] | load sweeps by the offered rate: knee, saturation, collapse |
//! | [`size`] | sweeps over the size of sends |
//! | [`latency`] | round trips, idle and under load |
//! | [`rfc2544`] | trials of RFC 2544 by frame size and test |
//! | [`cost`] | a straight line through times over sizes: cost per send and per octet |

pub(crate) mod cost;
pub(crate) mod latency;
pub(crate) mod load;
pub(crate) mod rfc2544;
pub(crate) mod size;
