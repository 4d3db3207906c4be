//! Octets in a ring of memory, by their distance from its beginning.

/// Index of the octet `offset` behind index `at`; neither exceeds `capacity`.
pub(crate) fn index(capacity: u16, at: u16, offset: u16) -> u16 {
    let index = at + offset;
    if index >= capacity {
        index - capacity
    } else {
        index
    }
}

/// Octets from index `from` to index `to`.
pub(crate) fn distance(capacity: u16, from: u16, to: u16) -> u16 {
    if to >= from {
        to - from
    } else {
        capacity - from + to
    }
}

/// Octets of memory, which [`Channel`](crate::Channel) limits.
pub(crate) fn capacity(memory: &[u8]) -> u16 {
    memory.len() as u16
}

pub(crate) fn get(memory: &[u8], at: u16) -> u8 {
    memory.get(usize::from(at)).copied().unwrap_or_default()
}

pub(crate) fn put(memory: &mut [u8], at: u16, octet: u8) {
    if let Some(place) = memory.get_mut(usize::from(at)) {
        *place = octet;
    }
}

/// The 16-bit number at index `at`, which may wrap.
pub(crate) fn get_u16(memory: &[u8], at: u16) -> u16 {
    let capacity = capacity(memory);
    u16::from_le_bytes([get(memory, at), get(memory, index(capacity, at, 1))])
}

/// Writes a 16-bit number at index `at`.
pub(crate) fn put_u16(memory: &mut [u8], at: u16, value: u16) {
    let capacity = capacity(memory);
    let [low, high] = value.to_le_bytes();
    put(memory, at, low);
    put(memory, index(capacity, at, 1), high);
}
