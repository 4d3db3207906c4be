//! Answers that replace the files `/N`: what a server gives to requests for certain paths.

use std::sync::Arc;

use linerate_ether as ether;

use crate::time::Span;

/// Answer to requests for one path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Path, with its leading slash.
    pub path: String,
    /// Status of the response.
    pub status: u16,
    /// Its body.
    pub body: Body,
    /// Value of `Content-Type`.
    pub content_type: String,
    /// Time from the request to the response, in addition to the server's.
    pub delay: Span,
}

/// Body of a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// The first octets of [`ether::pattern`].
    Pattern(u64),
    /// These octets.
    Octets(Arc<[u8]>),
}

impl Body {
    /// Its length in octets.
    #[must_use]
    pub fn len(&self) -> u64 {
        match self {
            Self::Pattern(octets) => *octets,
            Self::Octets(octets) => octets.len() as u64,
        }
    }

    /// True if it has no octets.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its octets from position `at` on, into all of `into`; the body must have them.
    pub(super) fn copy(&self, at: u64, into: &mut [u8]) {
        match self {
            Self::Pattern(_) => ether::pattern::fill(at, into),
            Self::Octets(octets) => {
                let at = at as usize;
                into.copy_from_slice(&octets[at..at + into.len()]);
            }
        }
    }
}

/// The answers of a server. Of several for the same path, each request gets the next, and the last one repeats.
#[derive(Debug)]
pub(super) struct Answers {
    all: Vec<Answer>,
    given: Vec<bool>,
}

impl Answers {
    pub(super) fn new(all: Vec<Answer>) -> Self {
        let given = vec![false; all.len()];
        Self { all, given }
    }

    /// The next answer for `path`, if there is any.
    pub(super) fn next(&mut self, path: &str) -> Option<Answer> {
        let of_path = |at: &usize| self.all[*at].path == path;
        let places: Vec<usize> = (0..self.all.len()).filter(of_path).collect();
        let fresh = places.iter().copied().find(|&at| !self.given[at]);
        let place = fresh.or(places.last().copied())?;
        self.given[place] = true;
        Some(self.all[place].clone())
    }
}
