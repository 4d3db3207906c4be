//! Access to big-endian fields of messages. Reads out of bounds return `None`, writes out of bounds do
//! nothing: lengths come from the network.

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

/// Checked 64-bit product; out of line, as it takes many instructions.
#[inline(never)]
pub(crate) fn product(one: u64, other: u64) -> Option<u64> {
    one.checked_mul(other)
}

/// Appends a decimal digit to a number.
pub(crate) fn with_digit(number: u64, digit: u8) -> Option<u64> {
    product(number, 10)?.checked_add(digit.into())
}
