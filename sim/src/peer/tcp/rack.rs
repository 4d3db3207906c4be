//! RACK: loss detection by time (RFC 8985 section 6), with Linux's reordering window.

use super::retransmission::SentSegment;
use crate::time::{Instant, Span};

/// Number of recoveries for which a reordering window widened by DSACK persists (RFC 8985 section
/// 6.2, step 4).
const WINDOW_PERSISTS: u32 = 16;
/// Maximum of the reordering window in quarters of the minimum round trip (Linux).
const MAX_WINDOW_QUARTERS: u32 = 255;

/// RACK's state of a connection.
#[derive(Debug, Clone)]
pub struct Rack {
    /// Of the most recently sent segment that was delivered: time of sending, and end position.
    newest_delivered: (Instant, u64),
    /// Its round trip.
    round_trip: Span,
    /// Something was delivered since the last loss detection.
    advanced: bool,
    /// A segment arrived after one that was sent later.
    reordering_seen: bool,
    /// The reordering window in quarters of the minimum round trip.
    window_quarters: u32,
    /// Recoveries until it is reset to one.
    window_persists: u32,
    /// A DSACK reported a retransmission as unnecessary for which RACK may have waited too briefly.
    dsack_seen: bool,
    /// SND.NXT when the window was last widened: it is widened at most once per round trip.
    widened_until: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            newest_delivered: (Instant::ZERO, 0),
            round_trip: Span::ZERO,
            advanced: false,
            reordering_seen: false,
            window_quarters: 1,
            window_persists: 0,
            dsack_seen: false,
            widened_until: 0,
        }
    }
}

impl Rack {
    /// Records that `sent` was delivered. `min_round_trip` distinguishes the delivery of a
    /// retransmission from the late acknowledgment of the original.
    pub fn on_delivered(&mut self, sent: &SentSegment, now: Instant, min_round_trip: Span) {
        let round_trip = now.since(sent.sent_at);
        if sent.transmissions > 1 && round_trip < min_round_trip {
            return;
        }
        self.advanced = true;
        self.round_trip = round_trip;
        self.newest_delivered = self.newest_delivered.max((sent.sent_at, sent.end));
    }

    /// Records that segments arrive out of order on this path.
    pub fn on_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// True if something was delivered since the last call. Only then can an acknowledgment reveal a
    /// loss; otherwise the reordering timer does.
    pub fn take_advanced(&mut self) -> bool {
        core::mem::take(&mut self.advanced)
    }

    /// A DSACK reports a segment as received twice that no tail-loss probe had repeated. Without
    /// reordering it is irrelevant to RACK.
    pub fn on_dsack(&mut self) {
        self.dsack_seen |= self.reordering_seen;
    }

    /// Adapts the reordering window to the DSACKs seen, once per round trip: `acknowledged` and `next`
    /// are the first positions not acknowledged and not sent.
    pub fn adapt_window(&mut self, acknowledged: u64, next: u64) {
        if acknowledged < self.widened_until {
            self.dsack_seen = false;
        }
        if core::mem::take(&mut self.dsack_seen) {
            self.window_quarters = (self.window_quarters + 1).min(MAX_WINDOW_QUARTERS);
            self.widened_until = next;
            self.window_persists = WINDOW_PERSISTS;
        } else if self.window_persists == 0 {
            self.window_quarters = 1;
        }
    }

    /// A recovery ended: `needed` if at least one of its retransmissions was necessary.
    pub fn on_recovery_end(&mut self, needed: bool) {
        self.window_persists = if needed {
            self.window_persists.saturating_sub(1)
        } else {
            (self.window_persists + 1).min(WINDOW_PERSISTS)
        };
    }

    /// Time beyond a round trip to wait for an acknowledgment. Zero if no reordering was seen and
    /// `impatient`: three segments are known to be delivered, or a recovery is in progress.
    #[must_use]
    pub fn reordering_window(
        &self,
        impatient: bool,
        min_round_trip: Span,
        smoothed: Option<Span>,
    ) -> Span {
        if impatient && !self.reordering_seen {
            return Span::ZERO;
        }
        let quarter = min_round_trip.ticks() / 4;
        let window = Span::from_ticks(quarter.saturating_mul(u64::from(self.window_quarters)));
        window.min(smoothed.unwrap_or(window))
    }

    /// True if `sent` was sent less than a round trip ago: even a timeout does not mark it as lost.
    #[must_use]
    pub fn is_recent(&self, sent: &SentSegment, now: Instant) -> bool {
        sent.sent_at + self.round_trip > now
    }

    /// Marks segments as lost that were sent before the newest delivery and are overdue. Returns the
    /// longest remaining wait of those not yet overdue, and the number marked.
    pub fn detect_loss<'s>(
        &self,
        segments: impl Iterator<Item = &'s mut SentSegment>,
        window: Span,
        now: Instant,
    ) -> (Option<Span>, u32) {
        let mut wait: Option<Span> = None;
        let mut lost = 0;
        for sent in segments {
            let settled = sent.sacked || (sent.lost && !sent.retransmitting);
            if settled || self.newest_delivered <= (sent.sent_at, sent.end) {
                continue;
            }
            let timeout = self.round_trip + window;
            let overdue_at = sent.sent_at + timeout;
            if overdue_at <= now {
                sent.lost = true;
                sent.retransmitting = false;
                lost += 1;
            } else {
                wait = wait.max(Some(overdue_at.since(now)));
            }
        }
        (wait, lost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(at_ms: u64, end: u64) -> SentSegment {
        SentSegment::new(end - 1, end, false, Instant::ZERO + Span::from_ms(at_ms))
    }

    #[test]
    fn only_what_was_sent_before_the_newest_delivery_is_lost() {
        let now = Instant::ZERO + Span::from_ms(20);
        let mut rack = Rack::default();
        let mut segments = [sent(1, 2), sent(5, 3), sent(9, 4)];
        rack.on_delivered(&segments[1], now, Span::from_ms(10));
        segments[1].sacked = true;
        let (wait, lost) = rack.detect_loss(segments.iter_mut(), Span::ZERO, now);
        assert_eq!((wait, lost), (None, 1));
        assert_eq!(segments.map(|sent| sent.lost), [true, false, false]);
    }

    #[test]
    fn reordering_is_given_a_quarter_of_the_least_round_trip() {
        let now = Instant::ZERO + Span::from_ms(20);
        let mut rack = Rack::default();
        let mut segments = [sent(4, 2), sent(5, 3)];
        rack.on_delivered(&segments[1], now, Span::from_ms(8));
        segments[1].sacked = true;
        let window = rack.reordering_window(false, Span::from_ms(8), Some(Span::from_ms(9)));
        assert_eq!(window, Span::from_ms(2));
        let (wait, lost) = rack.detect_loss(segments.iter_mut(), window, now);
        assert_eq!((wait, lost), (Some(Span::from_ms(1)), 0));
        assert_eq!(
            rack.reordering_window(true, Span::from_ms(8), None),
            Span::ZERO
        );
        rack.on_reordering();
        assert_eq!(
            rack.reordering_window(true, Span::from_ms(8), None),
            Span::from_ms(2)
        );
    }

    #[test]
    fn duplicates_widen_the_window_up_to_the_round_trip_for_sixteen_recoveries() {
        let (least, smoothed) = (Span::from_ms(8), Some(Span::from_ms(11)));
        let mut rack = Rack::default();
        let mut window_after = |what: fn(&mut Rack), position: u64| {
            what(&mut rack);
            rack.adapt_window(position, position + 10);
            rack.reordering_window(true, least, smoothed)
        };
        assert_eq!(window_after(Rack::on_dsack, 0), Span::ZERO);
        assert_eq!(window_after(Rack::on_reordering, 1), Span::from_ms(2));
        assert_eq!(window_after(Rack::on_dsack, 2), Span::from_ms(4));
        // Within the same round trip it is widened once.
        assert_eq!(window_after(Rack::on_dsack, 11), Span::from_ms(4));
        let mut at = 12;
        for wide in [6, 8, 10, 11, 11].map(Span::from_ms) {
            assert_eq!(window_after(Rack::on_dsack, at), wide);
            at += 10;
        }
        for _ in 1..WINDOW_PERSISTS {
            let window = window_after(|rack| rack.on_recovery_end(true), at);
            assert_eq!(window, Span::from_ms(11));
        }
        let window = window_after(|rack| rack.on_recovery_end(true), at);
        assert_eq!(window, Span::from_ms(2));
    }

    #[test]
    fn a_lost_retransmission_is_lost_again() {
        let now = Instant::ZERO + Span::from_ms(30);
        let mut rack = Rack::default();
        let mut segments = [sent(10, 2), sent(12, 3)];
        segments[0].transmissions = 2;
        segments[0].lost = true;
        segments[0].retransmitting = true;
        rack.on_delivered(&segments[1], now, Span::from_ms(10));
        segments[1].sacked = true;
        assert_eq!(
            rack.detect_loss(segments.iter_mut(), Span::ZERO, now),
            (None, 1)
        );
        assert!(!segments[0].retransmitting);
    }
}
