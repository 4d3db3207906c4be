//! A host against smoltcp over a virtual link that loses, duplicates and reorders frames.

mod growth;
mod link;
mod loss;
mod services;
pub(crate) mod station;
