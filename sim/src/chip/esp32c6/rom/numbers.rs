//! ROM functions on numbers: the compiler's run-time library.

fn pair(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn unpair(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

/// Integer functions: the values of `a0` and `a1`, and whether a division was done; `None`: not one
/// of them. Division by zero gives the same as the hardware: all ones, or the dividend.
pub(super) fn integer(name: &str, args: [u32; 8]) -> Option<([u32; 2], bool)> {
    let [a, b, count, ..] = args;
    let (x, y) = (pair(a, b), pair(count, args[3]));
    let (sx, sy) = (x as i64, y as i64);
    let wide = |value: u64| Some((unpair(value), false));
    let divided = |value: u64| Some((unpair(value), true));
    let narrow = |value: u32| Some(([value, b], false));
    let divided32 = |value: u32| Some(([value, b], true));
    match name {
        "__udivdi3" => divided(x.checked_div(y).unwrap_or(u64::MAX)),
        "__umoddi3" => divided(x.checked_rem(y).unwrap_or(x)),
        "__divdi3" => divided(if y == 0 {
            u64::MAX
        } else {
            sx.wrapping_div(sy) as u64
        }),
        "__moddi3" => divided(if y == 0 {
            x
        } else {
            sx.wrapping_rem(sy) as u64
        }),
        "__udivsi3" => divided32(a.checked_div(b).unwrap_or(u32::MAX)),
        "__umodsi3" => divided32(a.checked_rem(b).unwrap_or(a)),
        "__divsi3" if b == 0 => divided32(u32::MAX),
        "__divsi3" => divided32((a as i32).wrapping_div(b as i32) as u32),
        "__modsi3" if b == 0 => divided32(a),
        "__modsi3" => divided32((a as i32).wrapping_rem(b as i32) as u32),
        "__muldi3" => wide(x.wrapping_mul(y)),
        "__mulsi3" => narrow(a.wrapping_mul(b)),
        "__ashldi3" => wide(x.checked_shl(count).unwrap_or(0)),
        "__lshrdi3" => wide(x.checked_shr(count).unwrap_or(0)),
        "__ashrdi3" => wide((sx >> count.min(63)) as u64),
        "__negdi2" => wide(x.wrapping_neg()),
        "__bswapdi2" => wide(x.swap_bytes()),
        "__bswapsi2" => narrow(a.swap_bytes()),
        "__clzdi2" => narrow(x.leading_zeros()),
        "__clzsi2" => narrow(a.leading_zeros()),
        "__ctzdi2" => narrow(x.trailing_zeros()),
        "__ctzsi2" => narrow(a.trailing_zeros()),
        "__popcountdi2" => narrow(x.count_ones()),
        "__popcountsi2" => narrow(a.count_ones()),
        "__paritysi2" => narrow(a.count_ones() & 1),
        "__ffsdi2" => narrow(if x == 0 { 0 } else { x.trailing_zeros() + 1 }),
        "__ffssi2" => narrow(if a == 0 { 0 } else { a.trailing_zeros() + 1 }),
        "__cmpdi2" => narrow((sx.cmp(&sy) as i32 + 1) as u32),
        "__ucmpdi2" => narrow((x.cmp(&y) as i32 + 1) as u32),
        "abs" => narrow((a as i32).wrapping_abs() as u32),
        _ => None,
    }
}

/// Result of the comparison functions: negative, zero or positive; unordered gives `nan`.
fn order(ordering: Option<core::cmp::Ordering>, nan: i32) -> [u32; 2] {
    [ordering.map_or(nan, |ordering| ordering as i32) as u32, 0]
}

/// Floating-point functions: the values of `a0` and `a1`; `None`: not one of them.
pub(super) fn float(name: &str, args: [u32; 8]) -> Option<[u32; 2]> {
    let [a, b, ..] = args;
    let x = f64::from_bits(pair(a, b));
    let y = f64::from_bits(pair(args[2], args[3]));
    let (xs, ys) = (f32::from_bits(a), f32::from_bits(b));
    let double = |value: f64| unpair(value.to_bits());
    let single = |value: f32| [value.to_bits(), b];
    Some(match name {
        "__adddf3" => double(x + y),
        "__subdf3" => double(x - y),
        "__muldf3" => double(x * y),
        "__divdf3" => double(x / y),
        "__negdf2" => double(-x),
        "__addsf3" => single(xs + ys),
        "__subsf3" => single(xs - ys),
        "__mulsf3" => single(xs * ys),
        "__divsf3" => single(xs / ys),
        "__negsf2" => single(-xs),
        "__extendsfdf2" => double(f64::from(xs)),
        "__truncdfsf2" => single(x as f32),
        "__fixdfsi" => [x as i32 as u32, b],
        "__fixunsdfsi" => [x as u32, b],
        "__fixsfsi" => [xs as i32 as u32, b],
        "__fixunssfsi" => [xs as u32, b],
        "__fixdfdi" => unpair(x as i64 as u64),
        "__fixsfdi" => unpair(xs as i64 as u64),
        "__fixunssfdi" => unpair(xs as u64),
        "__floatsidf" => double(f64::from(a as i32)),
        "__floatunsidf" => double(f64::from(a)),
        "__floatsisf" => single(a as i32 as f32),
        "__floatunsisf" => single(a as f32),
        "__floatdidf" => double(pair(a, b) as i64 as f64),
        "__floatundidf" => double(pair(a, b) as f64),
        "__floatdisf" => single(pair(a, b) as i64 as f32),
        "__floatundisf" => single(pair(a, b) as f32),
        "__eqdf2" | "__nedf2" | "__ltdf2" | "__ledf2" => order(x.partial_cmp(&y), 1),
        "__gtdf2" | "__gedf2" => order(x.partial_cmp(&y), -1),
        "__eqsf2" | "__nesf2" | "__ltsf2" | "__lesf2" => order(xs.partial_cmp(&ys), 1),
        "__gtsf2" | "__gesf2" => order(xs.partial_cmp(&ys), -1),
        "__unorddf2" => [u32::from(x.is_nan() || y.is_nan()), 0],
        "__unordsf2" => [u32::from(xs.is_nan() || ys.is_nan()), 0],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(x: u64, y: u64) -> [u32; 8] {
        let (first, second) = (unpair(x), unpair(y));
        [first[0], first[1], second[0], second[1], 0, 0, 0, 0]
    }

    #[test]
    fn wide_division() {
        let quotient = |name, x, y| integer(name, args(x, y)).unwrap().0;
        assert_eq!(
            quotient("__udivdi3", 10_000_000_000, 3),
            unpair(3_333_333_333)
        );
        assert_eq!(quotient("__divdi3", -9i64 as u64, 2), unpair(-4i64 as u64));
        assert_eq!(quotient("__moddi3", -9i64 as u64, 2), unpair(-1i64 as u64));
        assert_eq!(quotient("__udivdi3", 1, 0), unpair(u64::MAX));
        assert_eq!(quotient("__divdi3", 1 << 63, u64::MAX), unpair(1 << 63));
        assert_eq!(quotient("__ashldi3", 1, 40), unpair(1 << 40));
    }

    #[test]
    fn doubles_and_comparisons() {
        let (two, nan) = (2f64.to_bits(), f64::NAN.to_bits());
        assert_eq!(
            float("__muldf3", args(two, two)),
            Some(unpair(4f64.to_bits()))
        );
        assert_eq!(
            float("__ltdf2", args(two, 3f64.to_bits())).unwrap()[0] as i32,
            -1
        );
        assert_eq!(float("__ltdf2", args(two, nan)).unwrap()[0] as i32, 1);
        assert_eq!(float("__gedf2", args(two, nan)).unwrap()[0] as i32, -1);
        assert_eq!(
            float("__fixdfsi", args((-7.9f64).to_bits(), 0)).unwrap()[0] as i32,
            -7
        );
    }
}
