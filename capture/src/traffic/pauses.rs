//! Duration of pauses by pause frames (IEEE 802.3 annex 31B).

use crate::tcp::Occurrences;

/// A pause quantum is 512 bit times. Captures do not contain the link rate: 100 Mbit/s is assumed.
const QUANTUM_NS: u64 = 5_120;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pauses {
    /// The frames, weighted by the requested pause.
    pub(super) occurrences: Occurrences,
    /// End of the last pause, unless another frame ends it.
    until_ns: u64,
    total_ns: u64,
}

impl Pauses {
    /// Records a frame that requests `quanta`; it replaces the rest of the previous pause.
    pub(super) fn record(&mut self, quanta: u16, time_ns: u64, number: u64) {
        self.occurrences.record(number, quanta.into());
        let pause_ns = u64::from(quanta) * QUANTUM_NS;
        self.total_ns = self.total_ns(time_ns).saturating_add(pause_ns);
        self.until_ns = time_ns.saturating_add(pause_ns);
    }

    /// Total duration of the pauses by `time_ns`.
    pub(super) fn total_ns(&self, time_ns: u64) -> u64 {
        self.total_ns
            .saturating_sub(self.until_ns.saturating_sub(time_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_on_expiry_or_with_the_next_frame() {
        let mut pauses = Pauses::default();
        assert_eq!(pauses.total_ns(5), 0);
        pauses.record(100, 1_000_000, 1);
        assert_eq!(pauses.total_ns(1_200_000), 200_000);
        assert_eq!(pauses.total_ns(9_000_000), 512_000);
        // Ended after 100 µs, then requested twice, the second time before the first one is over.
        pauses.record(100, 10_000_000, 2);
        pauses.record(0, 10_100_000, 3);
        pauses.record(100, 20_000_000, 4);
        pauses.record(100, 20_300_000, 5);
        assert_eq!(pauses.total_ns(30_000_000), 512_000 + 100_000 + 812_000);
        assert_eq!((pauses.occurrences.first, pauses.occurrences.last), (1, 5));
    }
}
