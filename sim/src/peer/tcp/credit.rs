//! Growth of a congestion window by whole segments, as Linux counts it.

/// Acknowledged segments not yet turned into growth.
#[derive(Debug, Clone, Default)]
pub(super) struct Credit(u32);

impl Credit {
    /// `acknowledged` segments arrived, and the window grows by one for each `per_segment` of them, 1 or more; returns
    /// the growth. Credit left from a larger divisor is worth one segment at most.
    pub(super) fn add(&mut self, acknowledged: u32, per_segment: u32) -> u32 {
        let early = u32::from(self.0 >= per_segment);
        if early > 0 {
            self.0 = 0;
        }
        self.0 += acknowledged;
        let grown = self.0 / per_segment;
        self.0 %= per_segment;
        early + grown
    }
}
