//! Loss by the distance of segments to their sender's previous packet.

use linerate_results::stats;

/// Where bursts cause loss, back-to-back packets are lost at least this much more often.
const MIN_BURST_LOSS_RATIO: f64 = 3.0;
/// Fewer losses may be chance.
const MIN_LOSSES: u64 = 3;

/// Segments with payload sent and lost, retransmissions included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCount {
    /// Number of transmissions.
    pub sent: u64,
    /// Number of transmissions after which a retransmission was necessary.
    pub lost: u64,
}

impl LossCount {
    /// Share that was lost, 0 to 1.
    pub fn rate(self) -> f64 {
        stats::ratio(self.lost as f64, self.sent as f64)
    }

    fn merged(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            lost: self.lost + other.lost,
        }
    }
}

/// Losses by the packet before them. Every packet keeps a receiver busy, so a pure acknowledgment is also part of a
/// burst; most retransmissions are isolated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossBySpacing {
    /// No packet of the sender shortly before.
    pub isolated: LossCount,
    /// Right after another packet of the sender.
    pub back_to_back: LossCount,
}

impl LossBySpacing {
    #[inline]
    fn count_of(&mut self, follows_closely: bool) -> &mut LossCount {
        if follows_closely {
            &mut self.back_to_back
        } else {
            &mut self.isolated
        }
    }

    #[inline]
    pub(super) fn add_sent(&mut self, follows_closely: bool) {
        self.count_of(follows_closely).sent += 1;
    }

    pub(super) fn add_lost(&mut self, follows_closely: bool) {
        self.count_of(follows_closely).lost += 1;
    }

    /// True if back-to-back segments are lost much more often than isolated ones.
    pub fn loses_in_bursts(&self) -> bool {
        self.back_to_back.lost >= MIN_LOSSES
            && self.back_to_back.rate() >= MIN_BURST_LOSS_RATIO * self.isolated.rate()
    }

    /// Loss ratio relative to the threshold for that: 1 just reaches it.
    pub fn excess_ratio(&self) -> f64 {
        match self.isolated.rate() {
            0.0 => f64::INFINITY,
            isolated => self.back_to_back.rate() / (MIN_BURST_LOSS_RATIO * isolated),
        }
    }

    /// Probability that chance alone loses so few of the isolated segments.
    pub fn chance_probability(&self) -> f64 {
        let all = self.isolated.merged(self.back_to_back);
        poisson_at_most(self.isolated.lost, all.rate() * self.isolated.sent as f64)
    }
}

/// Probability of at most `count` events where `expected` are expected (Poisson).
pub fn poisson_at_most(count: u64, expected: f64) -> f64 {
    // By logarithms: the first terms are below the least number where many events are expected.
    let mut term_ln = -expected;
    let mut sum = term_ln.exp();
    for number in 1..=count {
        term_ln += (expected / number as f64).ln();
        sum += term_ln.exp();
    }
    sum.min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_events_have_the_probability_of_their_deviation() {
        assert!((poisson_at_most(2, 1.64) - 0.773).abs() < 0.001);
        // The standard deviation of 2,500 is 50.
        assert!((poisson_at_most(2_499, 2_500.0) - 0.5).abs() < 0.01);
        assert!((poisson_at_most(2_549, 2_500.0) - 0.84).abs() < 0.01);
        assert!(poisson_at_most(2_100, 2_500.0) < 1e-9);
    }

    fn spacing(isolated: [u64; 2], back_to_back: [u64; 2]) -> LossBySpacing {
        let count_of = |[sent, lost]: [u64; 2]| LossCount { sent, lost };
        LossBySpacing {
            isolated: count_of(isolated),
            back_to_back: count_of(back_to_back),
        }
    }

    #[test]
    fn back_to_back_loss_has_to_be_much_more_frequent() {
        assert!(spacing([40, 1], [60, 30]).loses_in_bursts());
        assert!(!spacing([40, 10], [60, 30]).loses_in_bursts());
        assert!(!spacing([40, 0], [60, 2]).loses_in_bursts(), "few");
        assert!((spacing([40, 4], [60, 36]).excess_ratio() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn with_few_isolated_segments_chance_may_lose_none() {
        assert!(spacing([40, 0], [60, 30]).chance_probability() < 0.001);
        assert!(spacing([2, 0], [60, 30]).chance_probability() > 0.3);
        assert!((poisson_at_most(1, 2.0) - 3.0 * (-2.0_f64).exp()).abs() < 1e-12);
    }
}
