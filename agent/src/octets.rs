//! Reading and writing fields of messages, which are big-endian throughout. Out of bounds reads as
//! nothing and writes nothing: lengths come from the network.

/// The 32-bit field at `at`.
#[inline(never)]
pub(crate) fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    let field = octets.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*field))
}

/// Writes the 32-bit field at `at`.
#[inline(never)]
pub(crate) fn put_u32(octets: &mut [u8], at: usize, value: u32) {
    if let Some(field) = octets.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *field = value.to_be_bytes();
    }
}
