//! Access to big-endian fields of messages. Reads out of bounds return `None`, writes out of bounds do
//! nothing: lengths come from the network.

use crate::Instant;

/// The 32-bit field at `at`.
#[inline(never)]
pub(crate) fn u32_at(octets: &[u8], at: usize) -> Option<u32> {
    let field = octets.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*field))
}

/// The 32-bit field at `at`, or 0.
pub(crate) fn word_at(octets: &[u8], at: usize) -> u32 {
    u32_at(octets, at).unwrap_or(0)
}

/// The time at `at` in nanoseconds: seconds and microseconds.
pub(crate) fn time_at(octets: &[u8], at: usize) -> Option<u64> {
    let micros = u32_at(octets, at + 4)?;
    Some(Instant::from_seconds_and_micros(word_at(octets, at), micros).ns())
}

/// Writes a time in nanoseconds at `at`: seconds and microseconds.
pub(crate) fn put_time(octets: &mut [u8], at: usize, ns: u64) {
    let (seconds, micros) = Instant::from_ns(ns).to_seconds_and_micros();
    put_u32(octets, at, seconds);
    put_u32(octets, at + 4, micros);
}

/// The first `len` octets, or all if there are fewer. Slicing would panic instead, which takes code.
pub(crate) fn start(octets: &mut [u8], len: usize) -> &mut [u8] {
    let len = len.min(octets.len());
    octets.split_at_mut_checked(len).unwrap_or_default().0
}

/// Sets the first `len` octets to zero, and returns `len`.
pub(crate) fn zero(octets: &mut [u8], len: usize) -> usize {
    start(octets, len).fill(0);
    len
}

/// The octets behind the first `len`, or none if there are fewer.
pub(crate) fn behind(octets: &mut [u8], len: usize) -> &mut [u8] {
    octets.get_mut(len..).unwrap_or_default()
}

/// Splits behind the first `len` octets, or behind all if there are fewer.
pub(crate) fn split(octets: &[u8], len: usize) -> (&[u8], &[u8]) {
    octets.split_at_checked(len).unwrap_or((octets, &[]))
}

/// Copies as many octets as there are in both.
#[inline(never)]
pub(crate) fn copy(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from;
    }
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

/// Divides `dividend` in place, and returns the remainder. Numbers of more than 32 bits are divided bit by bit, in
/// a tenth of the code of a fast division: for what is rare. Dividing by 0 gives any number.
#[inline(never)]
pub(crate) fn divide(dividend: &mut u64, divisor: u64) -> u64 {
    if let (Ok(small), Ok(divisor @ 1..)) = (u32::try_from(*dividend), u32::try_from(divisor)) {
        *dividend = (small / divisor).into();
        return (small % divisor).into();
    }
    let (mut quotient, mut rest) = (*dividend, 0_u64);
    for _ in 0..u64::BITS {
        let carry = rest >> (u64::BITS - 1) != 0;
        rest = rest << 1 | quotient >> (u64::BITS - 1);
        quotient <<= 1;
        if carry || rest >= divisor {
            rest = rest.wrapping_sub(divisor);
            quotient |= 1;
        }
    }
    *dividend = quotient;
    rest
}

/// Appends a decimal digit to a number.
pub(crate) fn with_digit(number: u64, digit: u8) -> Option<u64> {
    product(number, 10)?.checked_add(digit.into())
}

#[cfg(test)]
mod tests {
    use super::divide;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_division_has_quotient_and_remainder(
            dividend in any::<u64>(),
            divisor in 1_u64..,
            shifts in (0..64, 0..63),
        ) {
            let (dividend, divisor): (u64, u64) = (dividend >> shifts.0, divisor >> shifts.1);
            let divisor = divisor.max(1);
            let mut quotient = dividend;
            let rest = divide(&mut quotient, divisor);
            prop_assert_eq!((quotient, rest), (dividend / divisor, dividend % divisor));
        }
    }
}
