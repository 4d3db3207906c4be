//! TAP.
