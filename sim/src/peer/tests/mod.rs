//! A host against smoltcp over a virtual link that loses, doubles and reorders.

mod growth;
mod link;
mod loss;
mod services;
pub(crate) mod station;
