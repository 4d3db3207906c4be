//! Frame check sequence: CRC-32 of IEEE 802.3 clause 3.2.9.
//!
//! The generator is 0x04C11DB7; bits enter least significant first, the register starts as all
//! ones and its complement is sent, so everything here works on the reflected polynomial
//! 0xEDB88320 and the FCS goes out as a little-endian word.
//!
//! One calculation, four implementations, selected by the memory that a target can spare. The cost
//! is the number of instructions per octet in the loops that rustc 1.95 generates for RV32IMAC:
//!
//! | method        | table | bytes | words | for                                    |
//! |---------------|-------|-------|-------|----------------------------------------|
//! | [`Bitwise`]   | (*)   | 10    | 10    | the reference                          |
//! | [`Tables<1>`] | 1 KiB | 10    | 10    | in step with a bit-banged receive loop |
//! | [`Tables<4>`] | 4 KiB | 8.8   | 6.3   | a 32-bit MCU, by word                  |
//! | [`Tables<8>`] | 8 KiB | 6.8   | 5.8   | a host, or an MCU with RAM to spare    |
//!
//! (*) Written without a table; LLVM recognizes the loop and generates one of 1 KiB.
//!
//! # Two residues
//! Computing the CRC over a frame *with* its FCS gives the same value for every good frame. In the
//! reflected register that constant is [`RESIDUE`] = 0xDEBB20E3 before the final complement, thus
//! [`CHECK`] = 0x2144DF1C after it. The standard writes the register in the other bit order, as
//! 0xC704DD7B ([`RESIDUE_MSB_FIRST`]).
#![allow(
    clippy::inline_always,
    reason = "code that firmware runs from RAM must not call into flash"
)]

mod combine;

pub use combine::Advance;

/// Octets of the frame check sequence.
pub const LEN: usize = 4;
/// The generator polynomial as 802.3 clause 3.2.9 writes it, without its x^32 term.
pub const POLYNOMIAL: u32 = 0x04C1_1DB7;
/// [`POLYNOMIAL`] with its bits reversed: the form that shifts right.
pub const POLYNOMIAL_REFLECTED: u32 = POLYNOMIAL.reverse_bits();
/// The register after a good frame and its FCS, before the final complement.
pub const RESIDUE: u32 = 0xDEBB_20E3;
/// [`RESIDUE`] as the standard writes it, most significant bit first.
pub const RESIDUE_MSB_FIRST: u32 = RESIDUE.reverse_bits();
/// Result of [`crc32`] for a good frame including its FCS.
pub const CHECK: u32 = !RESIDUE;

/// The register before the first byte.
const INITIAL: u32 = !0;

/// An implementation of the CRC: advances the register over bytes.
///
/// `register` is the raw shift register: all ones before the first byte, complemented after the
/// last one. [`Crc32`] does both.
pub trait CrcMethod {
    /// Advances `register` over `bytes`.
    #[must_use]
    fn update(&self, register: u32, bytes: &[u8]) -> u32;

    /// Advances `register` over words in memory order (the lowest address of a word is its first
    /// byte on the wire): whole-word loads where a byte slice would need four byte loads, as on
    /// cores that trap unaligned access.
    #[must_use]
    fn update_words(&self, register: u32, words: &[u32]) -> u32 {
        words.iter().fold(register, |register, word| {
            self.update(register, &word.to_ne_bytes())
        })
    }
}

/// One bit at a time, directly from the definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bitwise;

/// Advances the register over eight bits held in the low byte of `register` (already mixed in).
const fn shift_eight(mut register: u32) -> u32 {
    let mut bit = 0;
    while bit < 8 {
        let carry = register & 1;
        register >>= 1;
        if carry != 0 {
            register ^= POLYNOMIAL_REFLECTED;
        }
        bit += 1;
    }
    register
}

impl CrcMethod for Bitwise {
    fn update(&self, register: u32, bytes: &[u8]) -> u32 {
        bytes.iter().fold(register, |register, &byte| {
            shift_eight(register ^ u32::from(byte))
        })
    }
}

/// Lookup tables for `N` bytes at a time: `N` is 1, 4 or 8.
///
/// The crate provides [`BYTEWISE`], [`SLICING_4`] and [`SLICING_8`]; those that are not used are
/// not linked. Firmware that needs its table in RAM creates its own static with [`Tables::new`] and
/// places it there.
#[derive(Clone, PartialEq, Eq)]
#[repr(C, align(4))]
pub struct Tables<const N: usize>([[u32; 256]; N]);

/// The classic table, one byte per step, 1 KiB.
pub static BYTEWISE: Tables<1> = Tables::new();
/// Four bytes per step, 4 KiB.
pub static SLICING_4: Tables<4> = Tables::new();
/// Eight bytes per step, 8 KiB.
pub static SLICING_8: Tables<8> = Tables::new();

impl<const N: usize> Tables<N> {
    /// Computes the tables, at compile time when in a `static` or `const`.
    #[must_use]
    pub const fn new() -> Self {
        let mut tables = [[0; 256]; N];
        let mut slice = 0;
        while slice < N {
            let mut index = 0;
            while index < 256 {
                // Slice k: contribution of a byte once k more bytes have been shifted in.
                let before = if slice == 0 {
                    index as u32
                } else {
                    tables[slice - 1][index]
                };
                tables[slice][index] = shift_eight(before);
                index += 1;
            }
            slice += 1;
        }
        Self(tables)
    }

    /// Entries of the first slice: the contribution of one byte, indexed by that byte exclusive-or
    /// the register's low byte. For code that keeps its own register, such as assembly.
    #[must_use]
    pub const fn bytewise(&self) -> &[u32; 256] {
        &self.0[0]
    }

    /// Advances the register over one byte.
    #[inline(always)]
    #[must_use]
    pub fn step(&self, register: u32, byte: u8) -> u32 {
        self.lookup(0, register ^ u32::from(byte)) ^ (register >> 8)
    }

    #[inline(always)]
    fn lookup(&self, slice: usize, index: u32) -> u32 {
        self.0[slice][(index & 0xFF) as usize]
    }

    /// The contribution of a word whose bytes are followed by `after` more bytes in the same step.
    #[inline(always)]
    fn word(&self, after: usize, word: u32) -> u32 {
        self.lookup(after + 3, word)
            ^ self.lookup(after + 2, word >> 8)
            ^ self.lookup(after + 1, word >> 16)
            ^ self.lookup(after, word >> 24)
    }

    fn bytes(&self, register: u32, bytes: &[u8]) -> u32 {
        bytes
            .iter()
            .fold(register, |register, &byte| self.step(register, byte))
    }
}

impl Tables<4> {
    /// Advances the register over one little-endian word, for a loop that already holds the word.
    #[inline(always)]
    #[must_use]
    pub fn step_word(&self, register: u32, word: u32) -> u32 {
        self.word(0, register ^ word)
    }
}

impl Tables<8> {
    /// Advances the register over two little-endian words, for a loop that already holds them.
    #[inline(always)]
    #[must_use]
    pub fn step_words(&self, register: u32, first: u32, second: u32) -> u32 {
        self.word(4, register ^ first) ^ self.word(0, second)
    }
}

impl<const N: usize> Default for Tables<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> core::fmt::Debug for Tables<N> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Tables<{N}>")
    }
}

impl CrcMethod for Tables<1> {
    fn update(&self, register: u32, bytes: &[u8]) -> u32 {
        self.bytes(register, bytes)
    }
}

impl CrcMethod for Tables<4> {
    fn update(&self, mut register: u32, bytes: &[u8]) -> u32 {
        let (words, rest) = bytes.as_chunks::<4>();
        for word in words {
            register = self.step_word(register, u32::from_le_bytes(*word));
        }
        self.bytes(register, rest)
    }

    fn update_words(&self, register: u32, words: &[u32]) -> u32 {
        words.iter().fold(register, |register, word| {
            self.step_word(register, word.to_le())
        })
    }
}

impl CrcMethod for Tables<8> {
    fn update(&self, mut register: u32, bytes: &[u8]) -> u32 {
        let (pairs, rest) = bytes.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in pairs {
            let (first, second) = (
                u32::from_le_bytes([a, b, c, d]),
                u32::from_le_bytes([e, f, g, h]),
            );
            register = self.step_words(register, first, second);
        }
        self.bytes(register, rest)
    }

    fn update_words(&self, mut register: u32, words: &[u32]) -> u32 {
        let (pairs, rest) = words.as_chunks::<2>();
        for [first, second] in pairs {
            register = self.step_words(register, first.to_le(), second.to_le());
        }
        rest.iter().fold(register, |register, word| {
            self.bytes(register, &word.to_ne_bytes())
        })
    }
}

/// A CRC-32 in progress: add bytes in any portions, then call [`Crc32::finish`].
///
/// ```
/// use linerate_ether::fcs::{Crc32, SLICING_8, crc32};
/// let mut crc = Crc32::with(&SLICING_8);
/// crc.update(b"1234").update(b"56789");
/// assert_eq!(crc.finish(), 0xCBF4_3926);
/// assert_eq!(crc.finish(), crc32(b"123456789"));
/// ```
#[derive(Debug)]
pub struct Crc32<'t, M = Tables<4>> {
    register: u32,
    method: &'t M,
}

impl Crc32<'static> {
    /// Starts a calculation with [`SLICING_4`].
    #[must_use]
    pub fn new() -> Self {
        Self::with(&SLICING_4)
    }
}

impl Default for Crc32<'static> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M> Clone for Crc32<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Crc32<'_, M> {}

impl<'t, M: CrcMethod> Crc32<'t, M> {
    /// Starts a calculation with `method`.
    #[must_use]
    pub fn with(method: &'t M) -> Self {
        Self {
            register: INITIAL,
            method,
        }
    }

    /// Resumes a calculation at a raw `register`, such as one that a receive loop has kept.
    #[must_use]
    pub fn resume(method: &'t M, register: u32) -> Self {
        Self { register, method }
    }

    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) -> &mut Self {
        self.register = self.method.update(self.register, bytes);
        self
    }

    /// Adds words in memory order, see [`CrcMethod::update_words`].
    pub fn update_words(&mut self, words: &[u32]) -> &mut Self {
        self.register = self.method.update_words(self.register, words);
        self
    }

    /// The CRC-32 of everything added so far. As an FCS it is sent least significant byte first.
    #[must_use]
    pub fn finish(&self) -> u32 {
        !self.register
    }

    /// The raw register, not complemented.
    #[must_use]
    pub fn register(&self) -> u32 {
        self.register
    }

    /// True if the added bytes are a frame that ends in its own FCS.
    #[must_use]
    pub fn residue_is_good(&self) -> bool {
        self.register == RESIDUE
    }
}

/// The CRC-32 of `bytes` (the one of zlib, PNG and 802.3), with [`SLICING_4`].
#[must_use]
pub fn crc32(bytes: &[u8]) -> u32 {
    Crc32::new().update(bytes).finish()
}

/// True if `frame`, its FCS included, is intact. Always false for fewer than four bytes.
#[must_use]
pub fn is_good(frame: &[u8]) -> bool {
    frame.len() >= LEN && Crc32::new().update(frame).residue_is_good()
}

/// Appends the FCS of `buffer[..len]` and returns the new length.
///
/// # Errors
/// [`BufferTooSmall`] when `buffer` has fewer than `len + 4` bytes; nothing is written.
pub fn append(buffer: &mut [u8], len: usize) -> Result<usize, BufferTooSmall> {
    let end = len.checked_add(LEN).ok_or(BufferTooSmall)?;
    let (frame, fcs) = buffer
        .get_mut(..end)
        .ok_or(BufferTooSmall)?
        .split_at_mut(len);
    fcs.copy_from_slice(&crc32(frame).to_le_bytes());
    Ok(end)
}

/// The buffer is too small for the FCS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferTooSmall;

impl core::fmt::Display for BufferTooSmall {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("no room for the frame check sequence")
    }
}

impl core::error::Error for BufferTooSmall {}

#[cfg(test)]
mod tests;
