//! Percentiles by nearest rank, so that every figure is a measured value.

/// The value at `percent` (0 to 100) by nearest rank; `None` if empty.
pub fn percentile(values: &[u64], percent: f64) -> Option<u64> {
    percentile_of(values.to_vec(), percent)
}

/// [`percentile`] of values that are not needed any more.
pub fn percentile_of(mut values: Vec<u64>, percent: f64) -> Option<u64> {
    let rank = rank(values.len(), percent)?;
    Some(*values.select_nth_unstable(rank).1)
}

/// [`percentile`] of floats.
pub fn percentile_f64(values: &[f64], percent: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted.get(rank(sorted.len(), percent)?).copied()
}

fn rank(len: usize, percent: f64) -> Option<usize> {
    let last = len.checked_sub(1)?;
    let rank = (percent.clamp(0.0, 100.0) / 100.0 * len as f64).ceil() as usize;
    Some(rank.saturating_sub(1).min(last))
}

/// `part` divided by `whole`; zero if `whole` is zero.
pub fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rank() {
        let values = [30, 10, 20, 40];
        assert_eq!(percentile(&values, 0.0), Some(10));
        assert_eq!(percentile(&values, 50.0), Some(20));
        assert_eq!(percentile(&values, 51.0), Some(30));
        assert_eq!(percentile(&values, 99.0), Some(40));
        assert_eq!(percentile(&values, 100.0), Some(40));
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(percentile_f64(&[2.0, 1.0, 3.0], 50.0), Some(2.0));
    }

    #[test]
    fn ratio_to_zero_is_zero() {
        assert!(ratio(1.0, 0.0) < f64::EPSILON);
        assert!((ratio(1.0, 4.0) - 0.25).abs() < f64::EPSILON);
    }
}
