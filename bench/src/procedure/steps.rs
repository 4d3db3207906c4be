//! The values of a sweep.

/// Values from one to another, both included.
///
/// Consecutive values differ by `step`; the last one is `to` even if that is nearer. With a `step`
/// of 0 only `from` and `to` are returned.
pub fn by_step(from: u64, to: u64, step: u64) -> Vec<u64> {
    let (from, to) = (from.min(to), from.max(to));
    let inner = (to - from).checked_div(step).unwrap_or(0);
    let mut values: Vec<u64> = (0..=inner).map(|at| from + at * step).collect();
    values.push(to);
    values.dedup();
    values
}

/// `count` evenly spaced values from one to another, both included.
pub fn even(from: u64, to: u64, count: u32) -> Vec<u64> {
    spread(from, to, count, |share, from, to| {
        from + share * (to - from)
    })
}

/// `count` values from one to another, both included, each the same multiple of the previous one. If
/// `from` is 0, they begin at 1.
pub fn by_factor(from: u64, to: u64, count: u32) -> Vec<u64> {
    spread(from.max(1), to.max(1), count, |share, from, to| {
        from * (to / from).powf(share)
    })
}

fn spread(from: u64, to: u64, count: u32, at: impl Fn(f64, f64, f64) -> f64) -> Vec<u64> {
    let (from, to) = (from.min(to), from.max(to));
    let last = count.max(2) - 1;
    let mut values: Vec<u64> = (0..=last)
        .map(|step| at(f64::from(step) / f64::from(last), from as f64, to as f64))
        .map(|value| (value.round() as u64).clamp(from, to))
        .collect();
    values.dedup();
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_included() {
        assert_eq!(by_step(1, 10, 4), [1, 5, 9, 10]);
        assert_eq!(by_step(10, 50, 20), [10, 30, 50]);
        assert_eq!(by_step(5, 5, 1), [5]);
        assert_eq!(by_step(1, 9, 0), [1, 9]);
        assert_eq!(even(0, 10, 3), [0, 5, 10]);
        assert_eq!(
            by_factor(1_000_000, 1_000_000_000, 4),
            [1_000_000, 10_000_000, 100_000_000, 1_000_000_000]
        );
        // Duplicates are removed.
        assert_eq!(even(1, 3, 9), [1, 2, 3]);
        assert_eq!(by_factor(0, 4, 3), [1, 2, 4]);
    }
}
