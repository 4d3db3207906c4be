//! A compact histogram of times: the width of a bucket is below 1 % of its value.

/// Buckets per octave.
const BUCKETS_PER_OCTAVE: usize = 128;
/// Times below this share one bucket.
const MIN_NS: u64 = 256;
const OCTAVES: usize = 40;

/// A histogram of times whose octaves are allocated on first use.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    octaves: Vec<Option<Box<[u32; BUCKETS_PER_OCTAVE]>>>,
    count: u64,
    min_ns: u64,
    max_ns: u64,
}

impl Histogram {
    /// Adds a time.
    #[inline]
    pub fn add(&mut self, ns: u64) {
        self.min_ns = if self.count == 0 {
            ns
        } else {
            self.min_ns.min(ns)
        };
        self.max_ns = self.max_ns.max(ns);
        self.count += 1;
        let (octave, fine) = bucket_of(ns);
        match self.octaves.get_mut(octave) {
            Some(Some(buckets)) => buckets[fine] += 1,
            _ => self.octave_mut(octave)[fine] += 1,
        }
    }

    #[cold]
    fn octave_mut(&mut self, octave: usize) -> &mut [u32; BUCKETS_PER_OCTAVE] {
        if self.octaves.len() <= octave {
            self.octaves.resize(octave + 1, None);
        }
        self.octaves[octave].get_or_insert_with(|| Box::new([0; BUCKETS_PER_OCTAVE]))
    }

    /// Number of times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The shortest; `None` if empty.
    pub fn min(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min_ns)
    }

    /// The longest; `None` if empty.
    pub fn max(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max_ns)
    }

    /// The time at `percent` (0 to 100) by nearest rank, at most 0.5 % off; `None` if empty.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        if self.count == 0 {
            return None;
        }
        let rank = ((percent / 100.0 * self.count as f64).ceil() as u64).max(1);
        let mut seen = 0;
        for (octave, buckets) in self.octaves.iter().enumerate() {
            for (fine, count) in buckets
                .iter()
                .flat_map(|buckets| buckets.iter().enumerate())
            {
                seen += u64::from(*count);
                if seen >= rank {
                    return Some(bucket_middle(octave, fine).clamp(self.min_ns, self.max_ns));
                }
            }
        }
        Some(self.max_ns)
    }
}

#[inline]
fn bucket_of(ns: u64) -> (usize, usize) {
    let ns = ns.max(MIN_NS);
    let octave = (ns.ilog2() - MIN_NS.ilog2()) as usize;
    if octave >= OCTAVES {
        return (OCTAVES - 1, BUCKETS_PER_OCTAVE - 1);
    }
    let shift = ns.ilog2() - BUCKETS_PER_OCTAVE.ilog2();
    (octave, (ns >> shift) as usize - BUCKETS_PER_OCTAVE)
}

fn bucket_middle(octave: usize, fine: usize) -> u64 {
    let shift = octave as u32 + MIN_NS.ilog2() - BUCKETS_PER_OCTAVE.ilog2();
    (((BUCKETS_PER_OCTAVE + fine) as u64) << shift) + (1_u64 << shift >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_half_a_per_cent() {
        let mut buckets = Histogram::default();
        assert_eq!(
            (buckets.percentile(50.0), buckets.min(), buckets.max()),
            (None, None, None)
        );
        for ns in 1..=10_000_u64 {
            buckets.add(ns * 977);
        }
        for percent in [1.0, 25.0, 50.0, 99.0, 100.0] {
            let exact = percent * 100.0 * 977.0;
            let reported = buckets.percentile(percent).expect("some") as f64;
            assert!(
                (reported / exact - 1.0).abs() < 0.005,
                "{percent}: {reported} for {exact}"
            );
        }
        assert_eq!((buckets.min(), buckets.max()), (Some(977), Some(9_770_000)));
        assert_eq!(buckets.count(), 10_000);
    }

    #[test]
    fn nothing_is_too_short_or_too_long() {
        let mut buckets = Histogram::default();
        buckets.add(0);
        buckets.add(u64::MAX);
        assert_eq!(buckets.percentile(50.0), Some(MIN_NS + 1));
        assert!(buckets.percentile(100.0).expect("some") > 1 << 46);
    }
}
