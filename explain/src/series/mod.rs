//! Trials of one procedure, sorted: the points that causes and summaries both use.
//!
//! | module | contents |
//! |---|---|
//! | [`load`] | load sweeps by offered rate: knee, saturation, collapse |
//! | [`size`] | sweeps over the send size |
//! | [`latency`] | round trips, idle and under load |
//! | [`rfc2544`] | trials of RFC 2544 by frame size and test |
//! | [`cost`] | linear fit of times over sizes: cost per send and per octet |

pub(crate) mod cost;
pub(crate) mod latency;
pub(crate) mod load;
pub(crate) mod rfc2544;
pub(crate) mod size;
