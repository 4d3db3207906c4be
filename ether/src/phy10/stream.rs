//! Packed streams of half-bits over memory that the caller provides.

use core::fmt;

/// A view of half-bits packed into words, the first in the least significant bit.
#[derive(Clone, Copy)]
pub struct HalfBits<'a> {
    words: &'a [u64],
    /// Index of the first half-bit within `words`.
    start: usize,
    len: usize,
}

impl<'a> HalfBits<'a> {
    /// All half-bits of `words`.
    #[must_use]
    pub const fn new(words: &'a [u64]) -> Self {
        // A slice holds at most isize::MAX bytes, so only its count in bits could overflow.
        Self {
            words,
            start: 0,
            len: words.len().saturating_mul(64),
        }
    }

    /// The number of half-bits.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The range `from..to`; both are limited to the length of the stream.
    #[must_use]
    pub fn slice(&self, from: usize, to: usize) -> Self {
        let to = to.min(self.len);
        let from = from.min(to);
        Self {
            words: self.words,
            start: self.start + from,
            len: to - from,
        }
    }

    /// The range from `from` on.
    #[must_use]
    pub fn skip(&self, from: usize) -> Self {
        self.slice(from, self.len)
    }

    /// The half-bit at `index`; `None` beyond the end.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<bool> {
        (index < self.len).then(|| {
            let at = self.start + index;
            self.words[at / 64] >> (at % 64) & 1 != 0
        })
    }

    /// The 64 half-bits from `index` on, the first in the least significant bit; beyond the end of
    /// the stream the line is low.
    #[must_use]
    pub fn window(&self, index: usize) -> u64 {
        let left = self.len.saturating_sub(index);
        if left == 0 {
            return 0;
        }
        let at = self.start + index;
        let (word, shift) = (at / 64, at % 64);
        let low = self.words[word] >> shift;
        let high = match self.words.get(word + 1) {
            Some(next) if shift != 0 => next << (64 - shift),
            _ => 0,
        };
        let window = low | high;
        if left < 64 {
            window & ((1 << left) - 1)
        } else {
            window
        }
    }

    /// Index of the first half-bit from `from` on at which the line is at `level`.
    #[must_use]
    pub fn find(&self, from: usize, level: bool) -> Option<usize> {
        let mut at = from;
        while at < self.len {
            let window = if level {
                self.window(at)
            } else {
                !self.window(at)
            };
            let found = at + window.trailing_zeros() as usize;
            if window != 0 {
                return (found < self.len).then_some(found);
            }
            at += 64;
        }
        None
    }

    /// The half-bits one by one.
    #[must_use]
    pub const fn iter(&self) -> Iter<'a> {
        Iter {
            stream: *self,
            next: 0,
        }
    }
}

impl fmt::Debug for HalfBits<'_> {
    /// The line as text: `_` low, `-` high.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.iter()
            .try_for_each(|level| f.write_str(if level { "-" } else { "_" }))
    }
}

impl PartialEq for HalfBits<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len
            && (0..self.len)
                .step_by(64)
                .all(|at| self.window(at) == other.window(at))
    }
}

impl Eq for HalfBits<'_> {}

impl<'a> IntoIterator for HalfBits<'a> {
    type Item = bool;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &HalfBits<'a> {
    type Item = bool;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The half-bits of a stream, in order.
#[derive(Debug, Clone)]
pub struct Iter<'a> {
    stream: HalfBits<'a>,
    next: usize,
}

impl Iterator for Iter<'_> {
    type Item = bool;

    fn next(&mut self) -> Option<bool> {
        let level = self.stream.get(self.next)?;
        self.next += 1;
        Some(level)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.stream.len - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Iter<'_> {}

/// The buffer is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferFull;

impl fmt::Display for BufferFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no room for more half-bits")
    }
}

impl core::error::Error for BufferFull {}

/// Fills words with half-bits, the first in the least significant bit of the first word.
#[derive(Debug)]
pub struct HalfBitWriter<'a> {
    words: &'a mut [u64],
    len: usize,
}

impl<'a> HalfBitWriter<'a> {
    /// Starts an empty stream; the content of `words` is overwritten as the stream grows.
    #[must_use]
    pub const fn new(words: &'a mut [u64]) -> Self {
        Self { words, len: 0 }
    }

    /// The number of half-bits written.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// True if none was written yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Number of half-bits that still fit.
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.words.len().saturating_mul(64) - self.len
    }

    /// Appends one half-bit.
    ///
    /// # Errors
    /// [`BufferFull`]; the stream is unchanged then.
    pub fn push(&mut self, level: bool) -> Result<(), BufferFull> {
        self.push_bits(u64::from(level), 1)
    }

    /// Appends the `count` (at most 64) least significant bits of `bits`, the lowest first.
    ///
    /// # Errors
    /// [`BufferFull`] when not all fit; the stream is unchanged then.
    pub fn push_bits(&mut self, bits: u64, count: usize) -> Result<(), BufferFull> {
        let count = count.min(64);
        if count == 0 {
            return Ok(());
        }
        if self.remaining() < count {
            return Err(BufferFull);
        }
        let bits = bits & (u64::MAX >> (64 - count));
        let (word, shift) = (self.len / 64, self.len % 64);
        let kept = self.words[word] & !(u64::MAX << shift);
        self.words[word] = kept | bits << shift;
        if shift + count > 64 {
            self.words[word + 1] = bits >> (64 - shift);
        }
        self.len += count;
        Ok(())
    }

    /// Appends `count` half-bits of one level.
    ///
    /// # Errors
    /// [`BufferFull`] when not all fit; the stream is unchanged then.
    pub fn push_level(&mut self, level: bool, count: usize) -> Result<(), BufferFull> {
        if self.remaining() < count {
            return Err(BufferFull);
        }
        let bits = if level { u64::MAX } else { 0 };
        let mut left = count;
        while left > 0 {
            let part = left.min(64);
            self.push_bits(bits, part)?;
            left -= part;
        }
        Ok(())
    }

    /// Finishes writing and returns the stream.
    #[must_use]
    pub fn finish(self) -> HalfBits<'a> {
        HalfBits {
            words: self.words,
            start: 0,
            len: self.len,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::format;
    use std::vec;
    use std::vec::Vec;

    #[test]
    fn full_is_full() {
        let mut words = [u64::MAX; 1];
        let mut writer = HalfBitWriter::new(&mut words);
        assert_eq!(writer.push_level(false, 60), Ok(()));
        assert_eq!(writer.push_bits(0, 5), Err(BufferFull));
        assert_eq!(writer.push_level(true, 5), Err(BufferFull));
        assert_eq!(writer.push_bits(0b101, 4), Ok(()));
        assert_eq!(writer.push(true), Err(BufferFull));
        assert_eq!(format!("{:?}", writer.finish().skip(58)), "__-_-_");
        assert_eq!(HalfBitWriter::new(&mut []).push(true), Err(BufferFull));
    }

    #[test]
    fn reading_past_the_end() {
        let words = [u64::MAX; 2];
        let stream = HalfBits::new(&words).slice(60, 70);
        assert_eq!(
            (stream.len(), stream.window(4), stream.window(10)),
            (10, 0x3F, 0)
        );
        assert_eq!((stream.get(9), stream.get(10)), (Some(true), None));
        assert_eq!(
            (stream.find(0, false), stream.find(9, true)),
            (None, Some(9))
        );
        assert_eq!(stream.slice(20, 5).len(), 0);
        assert_eq!(HalfBits::new(&[]).window(0), 0);
    }

    proptest! {
        #[test]
        fn what_is_pushed_is_read(
            parts in prop::collection::vec((any::<u64>(), 0..=64_usize), 0..20),
            from in 0..100_usize,
        ) {
            let mut words = vec![u64::MAX; 20];
            let mut writer = HalfBitWriter::new(&mut words);
            let mut expected = Vec::new();
            for (bits, count) in parts {
                writer.push_bits(bits, count).unwrap();
                expected.extend((0..count).map(|bit| bits >> bit & 1 != 0));
            }
            let stream = writer.finish();
            prop_assert_eq!(stream.iter().collect::<Vec<_>>(), expected.clone());

            let expected = &expected[from.min(expected.len())..];
            let part = stream.skip(from);
            prop_assert_eq!(part.iter().collect::<Vec<_>>(), expected.to_vec());
            for at in 0..expected.len() {
                let window = part.window(at);
                let reference = expected[at..].iter().take(64).enumerate();
                prop_assert_eq!(window, reference.fold(0, |w, (i, &l)| w | u64::from(l) << i));
                for level in [false, true] {
                    let found = expected[at..].iter().position(|&l| l == level).map(|i| at + i);
                    prop_assert_eq!(part.find(at, level), found);
                }
            }
        }
    }
}
