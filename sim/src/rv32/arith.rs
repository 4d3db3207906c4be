//! Products and quotients (volume I, chapter 7).

/// The upper half of a signed product.
#[inline]
pub(super) fn mulh(a: u32, b: u32) -> u32 {
    ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
}

/// The upper half of the product of a signed and an unsigned number.
#[inline]
pub(super) fn mulhsu(a: u32, b: u32) -> u32 {
    ((i64::from(a as i32) * i64::from(b)) >> 32) as u32
}

/// The upper half of an unsigned product.
#[inline]
pub(super) fn mulhu(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

/// Signed quotient; all ones for a division by 0 (volume I, 7.2).
#[inline]
pub(super) fn div(a: u32, b: u32) -> u32 {
    if b == 0 {
        u32::MAX
    } else {
        (a as i32).wrapping_div(b as i32) as u32
    }
}

/// Signed remainder; the dividend for a division by 0.
#[inline]
pub(super) fn rem(a: u32, b: u32) -> u32 {
    if b == 0 {
        a
    } else {
        (a as i32).wrapping_rem(b as i32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIN: u32 = 1 << 31;

    #[test]
    fn the_corners_are_those_of_the_manual() {
        assert_eq!([div(7, 0), rem(7, 0)], [u32::MAX, 7]);
        assert_eq!([div(MIN, u32::MAX), rem(MIN, u32::MAX)], [MIN, 0]);
        assert_eq!(
            [div(-7_i32 as u32, 2), rem(-7_i32 as u32, 2)],
            [-3_i32 as u32, -1_i32 as u32]
        );
        assert_eq!(
            [mulh(MIN, MIN), mulhsu(MIN, MIN), mulhu(MIN, MIN)],
            [1 << 30, 3 << 30, 1 << 30]
        );
        assert_eq!(
            [mulh(!0, !0), mulhsu(!0, !0), mulhu(!0, !0)],
            [0, !0, !0 - 1]
        );
    }
}
