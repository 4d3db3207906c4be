//! Loss by how closely segments follow what their sender has sent before.

use linerate_results::stats;

/// Losses close behind other packets are this much more frequent where bursts are their cause.
const BURSTS_MATTER: f64 = 3.0;
/// Fewer losses are chance.
const FEWEST_LOSSES: u64 = 3;

/// What became of segments with payload, those that were sent again among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fate {
    /// How often they were sent.
    pub sent: u64,
    /// After how many of these times they had to be sent again.
    pub lost: u64,
}

impl Fate {
    /// The part that was lost, 0 to 1.
    pub fn rate(self) -> f64 {
        stats::ratio(self.lost as f64, self.sent as f64)
    }

    fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            lost: self.lost + other.lost,
        }
    }
}

/// The fates of segments by what came before them. A receiver is busy with any packet, so a bare acknowledgment is one
/// of a burst, too; and of what is sent again, most comes alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spacing {
    /// Nothing of their sender came shortly before.
    pub alone: Fate,
    /// They came right behind another packet of their sender.
    pub close: Fate,
}

impl Spacing {
    #[inline]
    fn fate(&mut self, close: bool) -> &mut Fate {
        if close {
            &mut self.close
        } else {
            &mut self.alone
        }
    }

    #[inline]
    pub(super) fn sent(&mut self, close: bool) {
        self.fate(close).sent += 1;
    }

    pub(super) fn lost(&mut self, close: bool) {
        self.fate(close).lost += 1;
    }

    /// Both together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            alone: self.alone.and(other.alone),
            close: self.close.and(other.close),
        }
    }

    /// Whether what comes right behind other packets is lost much more often than what comes alone.
    pub fn loses_in_bursts(&self) -> bool {
        self.close.lost >= FEWEST_LOSSES && self.close.rate() >= BURSTS_MATTER * self.alone.rate()
    }

    /// By how much more often it is lost than has to be for that: 1 is just enough.
    pub fn clearness(&self) -> f64 {
        match self.alone.rate() {
            0.0 => f64::INFINITY,
            alone => self.close.rate() / (BURSTS_MATTER * alone),
        }
    }

    /// How probable it is that chance alone loses so few of the segments that come alone.
    pub fn chance(&self) -> f64 {
        let all = self.alone.and(self.close);
        at_most(self.alone.lost, all.rate() * self.alone.sent as f64)
    }
}

/// How probable it is that at most `count` come where so many are expected (Poisson).
pub fn at_most(count: u64, expected: f64) -> f64 {
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

    fn spacing(alone: [u64; 2], close: [u64; 2]) -> Spacing {
        let fate = |[sent, lost]: [u64; 2]| Fate { sent, lost };
        Spacing {
            alone: fate(alone),
            close: fate(close),
        }
    }

    #[test]
    fn what_follows_closely_has_to_be_lost_much_more_often() {
        assert!(spacing([40, 1], [60, 30]).loses_in_bursts());
        assert!(!spacing([40, 10], [60, 30]).loses_in_bursts());
        assert!(!spacing([40, 0], [60, 2]).loses_in_bursts(), "few");
        assert!((spacing([40, 4], [60, 36]).clearness() - 2.0).abs() < 1e-9);
    }

    #[test]
    fn of_few_that_come_alone_chance_may_lose_none() {
        assert!(spacing([40, 0], [60, 30]).chance() < 0.001);
        assert!(spacing([2, 0], [60, 30]).chance() > 0.3);
        assert!((at_most(1, 2.0) - 3.0 * (-2.0_f64).exp()).abs() < 1e-12);
    }
}
