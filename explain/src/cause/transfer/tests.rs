//! Each cause on scripted transfers, and healthy ones.

mod beside;
mod limits;
mod script;
mod sleep;
