//! Octets in a ring of memory.
//!
//! An index may lie up to one round behind the end: the functions that access memory bring it back, so that callers
//! only add.

/// The index in memory of `at`, which is less than twice the capacity.
pub(crate) const fn wrap(capacity: usize, at: usize) -> usize {
    if at >= capacity { at - capacity } else { at }
}

/// Octets from index `from` to index `to`, both in memory.
pub(crate) const fn distance(capacity: usize, from: usize, to: usize) -> usize {
    if to >= from {
        to - from
    } else {
        capacity + to - from
    }
}

pub(crate) fn get(memory: &[u8], at: usize) -> u8 {
    memory
        .get(wrap(memory.len(), at))
        .copied()
        .unwrap_or_default()
}

pub(crate) fn put(memory: &mut [u8], at: usize, octet: u8) {
    if let Some(place) = memory.get_mut(wrap(memory.len(), at)) {
        *place = octet;
    }
}

/// The 16-bit number at index `at`, which may wrap.
pub(crate) fn get_u16(memory: &[u8], at: usize) -> usize {
    usize::from(get(memory, at)) | usize::from(get(memory, at + 1)) << 8
}

/// Writes a 16-bit number at index `at`.
pub(crate) fn put_u16(memory: &mut [u8], at: usize, value: usize) {
    put(memory, at, value as u8);
    put(memory, at + 1, (value >> 8) as u8);
}
