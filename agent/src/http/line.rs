//! A line of a head, collected from pieces of any size.

/// Octets kept of a line: enough for every relevant field.
const MAX_LINE: usize = 128;

#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    octets: [u8; MAX_LINE],
    len: usize,
    /// The line was longer than the buffer.
    is_cut: bool,
    is_over: bool,
}

impl Line {
    pub(super) const fn new() -> Self {
        Self {
            octets: [0; MAX_LINE],
            len: 0,
            is_cut: false,
            is_over: false,
        }
    }

    /// Consumes octets of the line. Returns their number, and true if the line is complete. The next call
    /// starts a new line then.
    pub(super) fn push(&mut self, octets: &[u8]) -> (usize, bool) {
        if self.is_over {
            *self = Self::new();
        }
        let end = octets.iter().position(|octet| *octet == b'\n');
        let part = &octets[..end.unwrap_or(octets.len())];
        let len = part.len().min(MAX_LINE - self.len);
        self.octets[self.len..self.len + len].copy_from_slice(&part[..len]);
        self.len += len;
        // A CR at the end does not count.
        self.is_cut |= part.len() > len && !(part.len() == len + 1 && part[len] == b'\r');
        self.is_over = end.is_some();
        (part.len() + usize::from(end.is_some()), end.is_some())
    }

    /// The line without its end, CR LF or LF (RFC 9112 section 2.2), or the start of it.
    pub(super) fn text(&self) -> &[u8] {
        let text = &self.octets[..self.len];
        text.strip_suffix(b"\r").unwrap_or(text)
    }

    pub(super) const fn is_cut(&self) -> bool {
        self.is_cut
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
                let (taken, over) = line.push(part);
                part = &part[taken..];
                if over {
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
