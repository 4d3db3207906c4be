//! The contents of a capture with its findings: the JSON, the text and the pictures of `linerate explain`.

mod report;
pub(crate) mod table;
mod text;

pub use report::{Report, Source};

#[cfg(test)]
mod tests;
