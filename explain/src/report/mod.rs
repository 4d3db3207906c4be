//! Reports for people, from a record. Pure: the same record gives the same bytes.

mod capture;
mod comparison;
mod html;
mod markdown;
mod names;
mod page;
mod verdict;

pub use crate::profile::{folded, profile_text};
pub use crate::svg::flame::flame_file;
pub use capture::{capture_html, capture_pictures};
pub use html::html;
pub use markdown::markdown;
pub use verdict::verdict;

#[cfg(test)]
mod tests;
