//! Detects the end of a message's content (RFC 9112 sections 6 and 7.1).

use super::line::Line;
use super::split;

/// Maximum length of trailers and of the lines between chunks, in total.
const MAX_OVERHEAD: usize = 4096;
/// Maximum length of a chunk size and its extension.
const MAX_SIZE_LINE: usize = 16;

#[derive(Debug, Clone, Copy)]
enum State {
    /// Remaining octets of the content.
    Data(u64),
    /// Remaining octets of the chunk.
    Chunk(u64),
    /// After a chunk.
    ChunkEnd,
    Size,
    Trailers,
    UntilEnd,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Body {
    state: State,
    /// Octets of lines since the last data.
    overhead: usize,
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
    const fn new(state: State) -> Self {
        Self { state, overhead: 0 }
    }

    pub(super) const fn of_length(len: u64) -> Self {
        Self::new(State::Data(len))
    }

    pub(super) const fn chunked() -> Self {
        Self::new(State::Size)
    }

    pub(super) const fn until_end() -> Self {
        Self::new(State::UntilEnd)
    }

    pub(super) const fn is_until_end(&self) -> bool {
        matches!(self.state, State::UntilEnd)
    }

    /// Consumes some of `octets`; `line` collects what is not content. Call it until everything is consumed,
    /// and once more: a content of length 0 ends without any octets.
    pub(super) fn push<'a>(&mut self, octets: &mut &'a [u8], line: &mut Line) -> Taken<'a> {
        match &mut self.state {
            State::UntilEnd => Taken::Data(core::mem::take(octets)),
            State::Data(0) => Taken::End,
            State::Data(left) | State::Chunk(left) => {
                let most = usize::try_from(*left).unwrap_or(usize::MAX);
                let (data, rest) = octets.split_at(octets.len().min(most));
                *octets = rest;
                *left -= data.len() as u64;
                if matches!(self.state, State::Chunk(0)) {
                    self.state = State::ChunkEnd;
                    self.overhead = 0;
                }
                Taken::Data(data)
            }
            State::Size | State::ChunkEnd | State::Trailers => {
                let (taken, over) = line.push(octets);
                *octets = &octets[taken..];
                self.overhead += taken;
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
        let next = match self.state {
            State::ChunkEnd if text.is_empty() => State::Size,
            State::Trailers if text.is_empty() => return Taken::End,
            State::Trailers => State::Trailers,
            State::Size if !line.is_cut() => match size(text) {
                Some(0) => State::Trailers,
                Some(size) => State::Chunk(size),
                None => return Taken::Fault,
            },
            _ => return Taken::Fault,
        };
        self.state = next;
        Taken::Data(&[])
    }
}

/// Parses a chunk size, hexadecimal, before any extension.
fn size(text: &[u8]) -> Option<u64> {
    let digits = split(text, b';').map_or(text, |(digits, _)| digits);
    let digits = digits.trim_ascii_end();
    if digits.is_empty() || digits.len() > MAX_SIZE_LINE {
        return None;
    }
    digits.iter().try_fold(0_u64, |sum, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(sum << 4 | u64::from(digit))
    })
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
