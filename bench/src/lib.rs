//! Targets, procedures and the result store.
#![forbid(unsafe_code)]
