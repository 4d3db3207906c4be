//! Loss by how closely segments follow what their sender has sent before.

use linerate_results::stats;

/// Losses close behind other packets are this much more frequent where bursts are their cause.
const MIN_BURST_LOSS_RATIO: f64 = 3.0;
/// Fewer losses are chance.
const MIN_LOSSES: u64 = 3;

/// What became of segments with payload, those that were sent again among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossCount {
    /// How often they were sent.
    pub sent: u64,
    /// After how many of these times they had to be sent again.
    pub lost: u64,
}

impl LossCount {
    /// The part that was lost, 0 to 1.
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

/// The fates of segments by what came before them. A receiver is busy with any packet, so a bare acknowledgment is one
/// of a burst, too; and of what is sent again, most comes isolated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LossBySpacing {
    /// Nothing of their sender came shortly before.
    pub isolated: LossCount,
    /// They came right behind another packet of their sender.
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

    /// Both together.
    #[must_use]
    pub fn merged(self, other: Self) -> Self {
        Self {
            isolated: self.isolated.merged(other.isolated),
            back_to_back: self.back_to_back.merged(other.back_to_back),
        }
    }

    /// Whether what comes right behind other packets is lost much more often than what comes isolated.
    pub fn loses_in_bursts(&self) -> bool {
        self.back_to_back.lost >= MIN_LOSSES
            && self.back_to_back.rate() >= MIN_BURST_LOSS_RATIO * self.isolated.rate()
    }

    /// By how much more often it is lost than has to be for that: 1 is just enough.
    pub fn excess_ratio(&self) -> f64 {
        match self.isolated.rate() {
            0.0 => f64::INFINITY,
            isolated => self.back_to_back.rate() / (MIN_BURST_LOSS_RATIO * isolated),
        }
    }

    /// How probable it is that chance alone loses so few of the segments that come alone.
    pub fn chance_probability(&self) -> f64 {
        let all = self.isolated.merged(self.back_to_back);
        poisson_at_most(self.isolated.lost, all.rate() * self.isolated.sent as f64)
    }
}

/// How probable it is that at most `count` come where so many are expected (Poisson).
pub fn poisson_at_most(count: u64, expected: f64) -> f64 {
    let mut term = (-expected).exp();
    let mut sum = term;
    for number in 1..=count {
        term *= expected / number as f64;
        sum += term;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spacing(isolated: [u64; 2], back_to_back: [u64; 2]) -> LossBySpacing {
        let count_of = |[sent, lost]: [u64; 2]| LossCount { sent, lost };
        LossBySpacing {
            isolated: count_of(isolated),
            back_to_back: count_of(back_to_back),
        }
    }

    #[test]
    fn what_follows_closely_has_to_be_lost_much_more_often() {
        assert!(spacing([40, 1], [60, 30]).loses_in_bursts());
        assert!(!spacing([40, 10], [60, 30]).loses_in_bursts());
        assert!(!spacing([40, 0], [60, 2]).loses_in_bursts(), "few");
        assert!((spacing([40, 4], [60, 36]).excess_ratio() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn of_few_that_come_alone_chance_may_lose_none() {
        assert!(spacing([40, 0], [60, 30]).chance_probability() < 0.001);
        assert!(spacing([2, 0], [60, 30]).chance_probability() > 0.3);
        assert!((poisson_at_most(1, 2.0) - 3.0 * (-2.0_f64).exp()).abs() < 1e-12);
    }
}
