//! A buffered stream with lookahead.

use std::io::{self, Read};

/// Read size: large enough to make system calls negligible.
const CHUNK: usize = 128 * 1024;

/// A stream whose next octets can be inspected before they are consumed.
pub(super) struct Source<R> {
    inner: R,
    buffer: Vec<u8>,
    /// The buffered octets that were not consumed yet.
    start: usize,
    end: usize,
    /// Octets of the stream before those in the buffer.
    consumed_before: u64,
    at_end: bool,
    io_error: Option<io::Error>,
}

impl<R: Read> Source<R> {
    pub(super) fn new(inner: R) -> Self {
        Self {
            inner,
            buffer: vec![0; CHUNK],
            start: 0,
            end: 0,
            consumed_before: 0,
            at_end: false,
            io_error: None,
        }
    }

    /// Octets consumed so far.
    #[inline]
    pub(super) fn offset(&self) -> u64 {
        self.consumed_before + self.start as u64
    }

    /// The error that ended the stream early.
    pub(super) fn io_error(&self) -> Option<&io::Error> {
        self.io_error.as_ref()
    }

    /// The buffered octets.
    #[inline]
    pub(super) fn buffered(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Buffers the next `len` octets, or as many as there are; returns their number, at most `len`.
    #[inline]
    pub(super) fn fill_to(&mut self, len: usize) -> usize {
        if self.end - self.start < len {
            self.fill(len);
        }
        len.min(self.end - self.start)
    }

    /// The first `len` of the [buffered](Self::fill_to) octets.
    #[inline]
    pub(super) fn peek(&self, len: usize) -> &[u8] {
        &self.buffer[self.start..self.start + len]
    }

    /// The next `N` octets, if there are that many.
    #[inline]
    pub(super) fn peek_array<const N: usize>(&mut self) -> Option<[u8; N]> {
        (self.fill_to(N) == N).then(|| self.peek(N).try_into().expect("N octets"))
    }

    /// Consumes `len` [buffered](Self::fill_to) octets.
    #[inline]
    pub(super) fn consume(&mut self, len: usize) {
        self.start += len;
    }

    /// The `len` octets that were consumed last.
    #[inline]
    pub(super) fn last_consumed(&self, len: usize) -> &[u8] {
        &self.buffer[self.start - len..self.start]
    }

    /// Consumes `len` octets, buffered or not; returns how many there were.
    pub(super) fn skip(&mut self, len: u64) -> u64 {
        let mut left = len;
        while left > 0 {
            let step = self.fill_to(left.min(CHUNK as u64) as usize);
            if step == 0 {
                break;
            }
            self.consume(step);
            left -= step as u64;
        }
        len - left
    }

    #[cold]
    fn fill(&mut self, len: usize) {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.consumed_before += self.start as u64;
        self.start = 0;
        if self.buffer.len() < len {
            self.buffer.resize(len, 0);
        }
        while self.end < len && !self.at_end {
            match self.inner.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.at_end = true;
                    self.io_error = Some(error);
                }
            }
        }
    }
}
