//! A line of a head, collected from pieces of any size.

/// Octets kept of a line: enough for every relevant field.
const MAX_LINE: usize = 128;

#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    /// Length of the line so far, and its last octet.
    len: usize,
    last: u8,
    is_over: bool,
    /// The start of the line.
    octets: [u8; MAX_LINE],
}

impl Line {
    pub(super) const fn new() -> Self {
        Self {
            len: 0,
            last: 0,
            is_over: false,
            octets: [0; MAX_LINE],
        }
    }

    /// Consumes octets of the line; true if the line is complete. The next call starts a new line then.
    pub(super) fn push(&mut self, octets: &mut &[u8]) -> bool {
        if core::mem::take(&mut self.is_over) {
            self.restart();
        }
        while let Some((octet, rest)) = octets.split_first() {
            *octets = rest;
            if *octet == b'\n' {
                self.is_over = true;
                break;
            }
            if let Some(place) = self.octets.get_mut(self.len) {
                *place = *octet;
            }
            self.len += 1;
            self.last = *octet;
        }
        self.is_over
    }

    /// Discards the line.
    pub(super) const fn restart(&mut self) {
        self.len = 0;
        self.last = 0;
    }

    /// The line without its end, CR LF or LF (RFC 9112 section 2.2), or the start of it.
    pub(super) fn text(&self) -> &[u8] {
        let text = self.octets.get(..self.len).unwrap_or(&self.octets);
        text.strip_suffix(b"\r").unwrap_or(text)
    }

    /// True if the line is longer than its start; a CR at the end does not count.
    pub(super) fn is_cut(&self) -> bool {
        self.len > MAX_LINE + usize::from(self.last == b'\r')
    }
}

#[cfg(test)]
mod tests {
    use super::{Line, MAX_LINE};
    use proptest::prelude::*;
    use std::vec::Vec;

    fn lines(octets: &[u8], pieces: &[usize]) -> Vec<(Vec<u8>, bool)> {
        let (mut line, mut lines, mut rest) = (Line::new(), Vec::new(), octets);
        for piece in pieces.iter().cycle() {
            let mut part = &rest[..rest.len().min(*piece)];
            rest = &rest[part.len()..];
            while !part.is_empty() {
                if line.push(&mut part) {
                    lines.push((line.text().to_vec(), line.is_cut()));
                }
            }
            if rest.is_empty() {
                return lines;
            }
        }
        lines
    }

    proptest! {
        #[test]
        fn how_it_is_split_means_nothing(
            text in prop::collection::vec("[a-c]{0,140}\r?\n", 0..5),
            pieces in prop::collection::vec(1..200_usize, 1..9),
        ) {
            let text = text.concat();
            let got = lines(text.as_bytes(), &pieces);
            let expected: Vec<&str> = text.lines().collect();
            prop_assert_eq!(got.len(), expected.len());
            for ((line, cut), expected) in got.iter().zip(expected) {
                prop_assert_eq!(line, &expected.as_bytes()[..expected.len().min(MAX_LINE)]);
                prop_assert_eq!(*cut, expected.len() > MAX_LINE);
            }
        }
    }
}
