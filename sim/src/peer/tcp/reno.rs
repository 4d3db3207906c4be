//! Reno's congestion avoidance (RFC 5681 section 3.1), in whole segments as Linux counts them.

use super::credit::Credit;

/// Growth of a window between losses.
#[derive(Debug, Clone, Default)]
pub(super) struct Reno {
    credit: Credit,
}

impl Reno {
    /// A loss with `window` segments allowed: returns the new slow-start threshold.
    #[expect(clippy::unused_self, reason = "the other algorithm has a state")]
    pub(super) fn on_loss(&mut self, window: u32) -> u32 {
        (window / 2).max(2)
    }

    /// `acknowledged` segments arrived: the window grows by one for each window of them.
    pub(super) fn on_ack(&mut self, window: u32, acknowledged: u32) -> u32 {
        let window = window.max(1);
        window + self.credit.add(acknowledged, window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_acknowledgments_is_worth_a_segment() {
        let mut reno = Reno::default();
        let mut window = 4;
        for _ in 0..4 + 5 {
            window = reno.on_ack(window, 1);
        }
        assert_eq!(window, 6);
        assert_eq!((reno.on_loss(window), reno.on_loss(3)), (3, 2));
    }
}
