//! Detects the end of a message's content (RFC 9112 sections 6 and 7.1).

use super::line::Line;
use super::{number, split};
use crate::octets::split as split_behind;

/// Maximum length of trailers and of the lines between chunks, in total.
const MAX_OVERHEAD: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Content, or a chunk.
    Data,
    Chunk,
    /// After a chunk.
    ChunkEnd,
    Size,
    Trailers,
    UntilEnd,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Body {
    /// Remaining octets of the content or the chunk.
    left: u64,
    /// Octets of lines since the last data.
    overhead: usize,
    state: State,
}

/// Result of parsing a part of the content.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken<'a> {
    /// Content, possibly empty; more follows.
    Data(&'a [u8]),
    /// End of the content.
    End,
    /// Malformed.
    Fault,
}

impl Body {
    const fn new(state: State, left: u64) -> Self {
        Self {
            left,
            overhead: 0,
            state,
        }
    }

    pub(super) const fn of_length(len: u64) -> Self {
        Self::new(State::Data, len)
    }

    pub(super) const fn chunked() -> Self {
        Self::new(State::Size, 0)
    }

    pub(super) const fn until_end() -> Self {
        Self::new(State::UntilEnd, 0)
    }

    pub(super) const fn is_until_end(&self) -> bool {
        matches!(self.state, State::UntilEnd)
    }

    /// Consumes some of `octets`; `line` collects what is not content. Call it until everything is consumed,
    /// and once more: a content of length 0 ends without any octets.
    pub(super) fn push<'a>(&mut self, octets: &mut &'a [u8], line: &mut Line) -> Taken<'a> {
        match self.state {
            State::UntilEnd => Taken::Data(core::mem::take(octets)),
            State::Data if self.left == 0 => Taken::End,
            State::Data | State::Chunk => {
                let most = usize::try_from(self.left).unwrap_or(usize::MAX);
                let (data, rest) = split_behind(octets, most);
                *octets = rest;
                self.left -= data.len() as u64;
                if self.left == 0 && self.state == State::Chunk {
                    self.state = State::ChunkEnd;
                    self.overhead = 0;
                }
                Taken::Data(data)
            }
            State::Size | State::ChunkEnd | State::Trailers => {
                let before = octets.len();
                let over = line.push(octets);
                self.overhead += before - octets.len();
                if self.overhead > MAX_OVERHEAD {
                    return Taken::Fault;
                }
                if over {
                    self.line(line)
                } else {
                    Taken::Data(&[])
                }
            }
        }
    }

    fn line(&mut self, line: &Line) -> Taken<'static> {
        let text = line.text();
        match self.state {
            State::Trailers if text.is_empty() => return Taken::End,
            State::Trailers => {}
            State::ChunkEnd if text.is_empty() => self.state = State::Size,
            State::Size if !line.is_cut() => {
                // Before any extension.
                let digits = split(text, b';').map_or(text, |(digits, _)| digits);
                let Some(size) = number(digits.trim_ascii_end(), 16) else {
                    return Taken::Fault;
                };
                self.left = size;
                self.state = match size {
                    0 => State::Trailers,
                    _ => State::Chunk,
                };
            }
            _ => return Taken::Fault,
        }
        Taken::Data(&[])
    }
}

#[cfg(test)]
mod tests {
    use super::{Body, Line, Taken};
    use proptest::prelude::*;
    use std::vec::Vec;

    fn read(mut body: Body, pieces: &[&[u8]]) -> (Vec<u8>, Option<bool>, usize) {
        let (mut line, mut data, mut left) = (Line::new(), Vec::new(), 0);
        let mut over = None;
        for piece in pieces {
            let mut octets = *piece;
            while over.is_none() {
                let before = octets.len();
                match body.push(&mut octets, &mut line) {
                    Taken::Data(more) => data.extend(more),
                    Taken::End => over = Some(true),
                    Taken::Fault => over = Some(false),
                }
                if octets.is_empty() && before == 0 {
                    break;
                }
            }
            left += octets.len();
        }
        (data, over, left)
    }

    #[test]
    fn sizes_that_are_none_are_refused() {
        for text in [
            "",
            "g",
            "-1",
            "+1",
            " 1",
            "0x1",
            "11111111111111111",
            ";x",
            "1 1",
        ] {
            let octets = [text, "\r\n"].concat();
            let (_, over, _) = read(Body::chunked(), &[octets.as_bytes()]);
            assert_eq!(over, Some(false), "{text:?}");
        }
    }

    #[test]
    fn a_chunk_ends_where_it_says() {
        let (_, over, _) = read(Body::chunked(), &[b"1\r\nab\r\n"]);
        assert_eq!(over, Some(false));
    }

    #[test]
    fn trailers_without_end_end() {
        let many = "a: b\r\n".repeat(1000);
        let (_, over, _) = read(Body::chunked(), &[b"0\r\n", many.as_bytes()]);
        assert_eq!(over, Some(false));
    }

    proptest! {
        #[test]
        fn chunks_are_put_together(
            chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..50), 0..6),
            piece in 1..60_usize,
        ) {
            let mut octets = Vec::new();
            for chunk in &chunks {
                octets.extend(std::format!("{:X};a=b\r\n", chunk.len()).bytes());
                octets.extend(chunk);
                octets.extend(b"\r\n");
            }
            octets.extend(b"0\r\nTrailer: x\r\n\r\nnext");
            let pieces: Vec<&[u8]> = octets.chunks(piece).collect();
            let (data, over, left) = read(Body::chunked(), &pieces);
            prop_assert_eq!(data, chunks.concat());
            prop_assert_eq!((over, left), (Some(true), 4));
        }
    }
}
