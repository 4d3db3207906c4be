//! A hash to compare runs: the same on every machine, not cryptographic.

use crate::random::mix;

/// The hash of nothing.
pub(super) const SEED: u64 = 0x6c69_6e65_7261_7465;

/// Extends `hash` by `word`.
pub(super) const fn add(hash: u64, word: u64) -> u64 {
    mix(hash.rotate_left(5) ^ word)
}

/// Extends `hash` by `bytes`.
pub(super) fn add_bytes(mut hash: u64, bytes: &[u8]) -> u64 {
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash = add(hash, u64::from_le_bytes(word));
    }
    add(hash, bytes.len() as u64)
}
